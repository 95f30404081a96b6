"""Rows that calls return: frozen, printable, the same words in Python, SQL and CLI."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from headwater.core.errors import Place


@dataclass(frozen=True, slots=True)
class RefreshResult:
    """What one refresh did, and why."""

    name: str
    action: str
    reason_code: str
    reason: str
    rows_inserted: int
    rows_deleted: int
    delta_rows: int
    duration_ms: float
    frontier: Mapping[str, int | None]
    version: int | None
    run_id: str
    spark_jobs: int
    strategy: tuple[Mapping[str, str], ...]
    apply: str

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """A stream table compared with its query at the recorded frontier, as bags."""

    name: str
    equal: bool
    missing: int
    unexpected: int
    frontier: Mapping[str, int | None]
    sample: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class StatusRow:
    """One stream table as `status` shows it.

    Attributes:
        decision_code: what the scheduler last decided about it, to refresh or not.
        decision_reason: why.
        decided_at: when it first decided so.
    """

    name: str
    status: str
    refresh_mode: str
    schedule: str
    tier: str
    is_populated: bool
    incremental: bool
    needs_reinit: bool
    consecutive_errors: int
    data_timestamp: datetime | None
    last_refresh_at: datetime | None
    last_action: str | None
    last_reason_code: str | None
    last_reason: str | None
    last_error: str | None
    version: int | None
    frontier: Mapping[str, int | None]
    tags: tuple[str, ...]
    comment: str | None
    downstream_publication: str | None = None
    sla: str | None = None
    decision_code: str | None = None
    decision_reason: str | None = None
    decided_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """One refresh as `history` shows it.

    Attributes:
        tick: the tick that asked for it; all refreshes of a tick read the same source versions.
        repeats: how many refreshes in a row that had nothing to do this row stands for.
    """

    run_id: str
    name: str
    status: str
    action: str | None
    reason_code: str | None
    reason: str | None
    initiated_by: str
    started_at: datetime
    finished_at: datetime | None
    duration_ms: float | None
    rows_inserted: int
    rows_deleted: int
    delta_rows: int
    spark_jobs: int
    apply: str | None
    version: int | None
    frontier: Mapping[str, int | None]
    error_code: str | None
    error_message: str | None
    tick: int | None = None
    repeats: int = 1


@dataclass(frozen=True, slots=True)
class DependencyRow:
    """An arrow of the dependency graph."""

    name: str
    source: str
    source_type: str
    columns_used: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NodeStrategy:
    """How one node of the plan is maintained, or why it cannot be."""

    node: str
    strategy: str
    detail: str = ""
    keys: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    reason_code: str | None = None
    reason: str | None = None
    advice: str | None = None
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a query can be maintained incrementally, node by node."""

    incremental: bool
    nodes: tuple[NodeStrategy, ...]
    warnings: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()

    @property
    def reasons(self) -> tuple[NodeStrategy, ...]:
        """The nodes that forbid incremental maintenance."""
        return tuple(n for n in self.nodes if n.strategy == "X")

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
        return asdict(self)

    def __str__(self) -> str:
        head = "incremental" if self.incremental else "full refresh only"
        lines = [head]
        for node in self.nodes:
            where = f" (line {node.place.line}, column {node.place.column})" if node.place else ""
            lines.append(f"  {node.strategy:<2} {node.node}{where} {node.detail}".rstrip())
            if node.reason:
                lines.append(f"     {node.reason_code}: {node.reason}")
            if node.advice:
                lines.append(f"     Do: {node.advice}")
        lines.extend(f"  warning: {w}" for w in self.warnings)
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Explanation:
    """What `explain` tells: text for people, a document for programs."""

    subject: str
    what: str
    text: str
    document: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
        return {"subject": self.subject, "what": self.what, **self.document}
