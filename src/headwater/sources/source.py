"""What a source is to a refresh: a newest version, a pinned read, the change window between two.

Values and protocol only; `sources.iceberg` is the implementation, `sources.window` its decisions.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headwater.core.frontier import SourceVersion
    from headwater.core.names import TableName


class Kind(StrEnum):
    """What happened to the rows between two versions."""

    NONE = "NONE"
    APPEND = "APPEND"
    MIXED = "MIXED"
    GAP = "GAP"


class How(StrEnum):
    """How the changed rows are read."""

    NONE = "none"
    APPEND = "append"
    CHANGES = "changes"
    LOG = "log"
    DIFFERENCE = "difference"
    FULL = "full"


class UsedColumn(Protocol):
    """A column a query uses, as it was when the query was defined."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def type(self) -> str:
        """Spark's type text."""


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """A used column is no longer what the definition was compiled with.

    Attributes:
        code: SOURCE_COLUMN_DROPPED, SOURCE_COLUMN_RENAMED or SOURCE_COLUMN_RETYPED.
        column: the column as the definition knows it.
        reason: for people.
    """

    code: str
    column: str
    reason: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a cheaper way to read a window was not taken."""

    how: How
    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class Window:
    """The changes of one source between two of its versions.

    Attributes:
        kind: NONE, APPEND (weights are all +1), MIXED, or GAP (no exact delta can be read).
        how: the way `sql` reads it; `full` means that it does not.
        reason_code: why this kind and this way.
        reason: the same for people.
        sql: parenthesised sub-select with the used columns and `__hw_w` (+1 or −1, bigint). Rows
            of a MIXED window are not netted: one row may come as −1 and +1.
        added_records: rows written by the commits, copies included; None when not known.
        deleted_records: rows taken away by the commits, copies included; None when not known.
        total_records: rows of the source at the end of the window; None when not known.
        planned_bytes: size of the files that `sql` has to open.
        snapshots: ids of the commits covered, oldest first.
        batches: batch ids those commits carry.
        refused: the cheaper ways that were not possible, in the order they were tried.
        schema_change: set when a used column changed; then kind is GAP.
        columns: the used columns, as `sql` names them.
        schema_id: the table's schema `sql` was written for when it reads with the newest one
            (`append`, `changes`, `log`). Another current schema at the time of the read makes it
            stale.
    """

    kind: Kind
    how: How
    reason_code: str
    reason: str
    sql: str | None = None
    added_records: int | None = None
    deleted_records: int | None = None
    total_records: int | None = None
    planned_bytes: int = 0
    snapshots: tuple[int, ...] = ()
    batches: tuple[str, ...] = ()
    refused: tuple[Refusal, ...] = ()
    schema_change: SchemaChange | None = None
    schema_id: int | None = None
    columns: tuple[str, ...] = ()

    @property
    def needs_netting(self) -> bool:
        """Whether a row may come with both signs."""
        return self.kind is Kind.MIXED

    @property
    def changed_records(self) -> int | None:
        """Rows that the commits touched, copies included: an upper bound of the netted change."""
        if self.added_records is None or self.deleted_records is None:
            return None
        return self.added_records + self.deleted_records


class Source(Protocol):
    """A table that a stream table reads."""

    @property
    def name(self) -> TableName:
        """Its name."""

    def latest(self) -> SourceVersion:
        """The newest version; SourceMissing when the table is gone."""

    def snapshot(self, at: SourceVersion) -> str:
        """Text for a FROM clause that reads exactly this version."""

    def window(
        self,
        since: SourceVersion,
        until: SourceVersion,
        columns: Sequence[UsedColumn],
        *,
        without: frozenset[How] = frozenset(),
    ) -> Window:
        """The changes after `since`, up to `until`.

        Args:
            since: the old frontier.
            until: the new frontier.
            columns: the columns that are used.
            without: ways that must not be taken, because the engine refused one of them.
        """
