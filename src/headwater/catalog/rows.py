"""Rows of the catalog as frozen values, and how they are read from the database."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from headwater.catalog.codec import Raw
from headwater.catalog.processes import ProcessIdentity
from headwater.catalog.tables import dependencies, history, stream_tables
from headwater.core.results import DependencyRow, HistoryRow, StatusRow
from headwater.core.spec import Action, ApplyKind, RefreshMode, Status, StreamTableSpec, Tier

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from headwater.catalog.schedule_states import ScheduleState
    from headwater.core.frontier import Frontier
    from headwater.core.names import TableName

STREAM_TABLE_COLUMNS = tuple(stream_tables.columns.keys())
HISTORY_COLUMNS = tuple(history.columns.keys())
DEPENDENCY_COLUMNS = ("namespace", "name", *dependencies.columns.keys())


class SourceType(StrEnum):
    """What a stream table reads."""

    TABLE = "TABLE"
    STREAM_TABLE = "STREAM_TABLE"
    VIEW = "VIEW"


class RunStatus(StrEnum):
    """Where a run is in its life."""

    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    SKIPPED = "SKIPPED"


class InitiatedBy(StrEnum):
    """Who asked for a run."""

    MANUAL = "MANUAL"
    INITIAL = "INITIAL"
    SCHEDULER = "SCHEDULER"
    REPAIR = "REPAIR"


@dataclass(frozen=True, slots=True)
class Dependency:
    """One source of a stream table."""

    source: TableName
    source_type: SourceType = SourceType.TABLE
    columns_used: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NewStreamTable:
    """What is known of a stream table when it is created or defined anew.

    Attributes:
        columns: visible names and Spark types, in order.
        layout: how it is stored; a document of the storage package.
        definition: the fields of sources it uses, with Iceberg field ids and table uuids.
    """

    spec: StreamTableSpec
    definition_hash: str
    columns: tuple[tuple[str, str], ...]
    dependencies: tuple[Dependency, ...] = ()
    layout: Mapping[str, Any] = field(default_factory=dict)
    definition: Mapping[str, Any] = field(default_factory=dict)
    incremental: bool = True
    freshness_deadline_ms: int | None = None
    status: Status = Status.INITIALIZING


@dataclass(frozen=True, slots=True)
class StreamTableRow:
    """One stream table: declaration, definition and the state of its refreshes.

    Attributes:
        generation: grows with each new definition; a run of an older one must not record itself.
        frontier_head: the version for which `frontier` is valid. An empty delta advances the
            frontier without a commit: then it holds only while that version is the head.
    """

    id: int
    spec: StreamTableSpec
    definition_hash: str
    generation: int
    status: Status
    freshness_deadline_ms: int | None
    incremental: bool
    is_populated: bool
    needs_reinit: bool
    reinit_reason: str | None
    consecutive_errors: int
    last_error_code: str | None
    last_error_message: str | None
    last_error_at: datetime | None
    data_timestamp: datetime | None
    last_refresh_at: datetime | None
    last_action: Action | None
    last_reason_code: str | None
    last_reason: str | None
    layout: Mapping[str, Any]
    columns: tuple[tuple[str, str], ...]
    definition: Mapping[str, Any]
    frontier: Frontier | None
    frontier_head: int | None
    version: int | None
    created_at: datetime
    updated_at: datetime
    downstream_publication: str | None

    @property
    def name(self) -> TableName:
        """The name of the stream table."""
        return self.spec.name

    @property
    def tier(self) -> Tier:
        """The tier in force: hot unless another was given."""
        return self.spec.tier or Tier.HOT

    def shown(self, decided: ScheduleState | None = None) -> StatusRow:
        """The row as `status` shows it, with the last decision of the scheduler."""
        return StatusRow(
            name=str(self.name),
            status=self.status.value,
            refresh_mode=self.spec.refresh_mode.value,
            schedule=self.spec.schedule,
            tier=self.tier.value,
            is_populated=self.is_populated,
            incremental=self.incremental,
            needs_reinit=self.needs_reinit,
            consecutive_errors=self.consecutive_errors,
            data_timestamp=self.data_timestamp,
            last_refresh_at=self.last_refresh_at,
            last_action=self.last_action,
            last_reason_code=self.last_reason_code,
            last_reason=self.last_reason,
            last_error=self.last_error_message,
            version=self.version,
            frontier=self.frontier.versions() if self.frontier else {},
            tags=self.spec.tags,
            comment=self.spec.comment,
            downstream_publication=self.downstream_publication,
            sla=self.spec.sla,
            decision_code=decided.decision_code if decided is not None else None,
            decision_reason=decided.decision_reason if decided is not None else None,
            decided_at=decided.decided_at if decided is not None else None,
        )


@dataclass(frozen=True, slots=True)
class RunRow:
    """One refresh; `repeats` counts the idle refreshes folded into it."""

    seq: int
    run_id: str
    stream_table_id: int
    name: str
    status: RunStatus
    action: Action | None
    reason_code: str | None
    reason: str | None
    initiated_by: InitiatedBy
    started_at: datetime
    finished_at: datetime | None
    duration_ms: float | None
    rows_inserted: int
    rows_deleted: int
    delta_rows: int
    spark_jobs: int
    apply: ApplyKind | None
    version: int | None
    parent_version: int | None
    frontier: Frontier | None
    strategy: tuple[Mapping[str, str], ...]
    error_code: str | None
    error_message: str | None
    tick: int | None
    repeats: int
    process: ProcessIdentity

    def shown(self) -> HistoryRow:
        """The row as `history` shows it."""
        return HistoryRow(
            run_id=self.run_id,
            name=self.name,
            status=self.status.value,
            action=self.action,
            reason_code=self.reason_code,
            reason=self.reason,
            initiated_by=self.initiated_by.value,
            started_at=self.started_at,
            finished_at=self.finished_at,
            duration_ms=self.duration_ms,
            rows_inserted=self.rows_inserted,
            rows_deleted=self.rows_deleted,
            delta_rows=self.delta_rows,
            spark_jobs=self.spark_jobs,
            apply=self.apply,
            version=self.version,
            frontier=self.frontier.versions() if self.frontier else {},
            error_code=self.error_code,
            error_message=self.error_message,
            tick=self.tick,
            repeats=self.repeats,
        )


def read_stream_table(row: Iterable[Any]) -> StreamTableRow:
    """Read a row of `hw_stream_tables`, its columns in the order of the table."""
    raw = Raw("hw_stream_tables", STREAM_TABLE_COLUMNS, row, "hub namespace name")
    return StreamTableRow(
        id=raw.integer("id"),
        spec=_read_spec(raw),
        definition_hash=raw.string("definition_hash"),
        generation=raw.integer("generation"),
        status=raw.choice("status", Status),
        freshness_deadline_ms=raw.optional_integer("freshness_deadline_ms"),
        incremental=raw.boolean("incremental"),
        is_populated=raw.boolean("is_populated"),
        needs_reinit=raw.boolean("needs_reinit"),
        reinit_reason=raw.optional_string("reinit_reason"),
        consecutive_errors=raw.integer("consecutive_errors"),
        last_error_code=raw.optional_string("last_error_code"),
        last_error_message=raw.optional_string("last_error_message"),
        last_error_at=raw.optional_instant("last_error_at"),
        data_timestamp=raw.optional_instant("data_timestamp"),
        last_refresh_at=raw.optional_instant("last_refresh_at"),
        last_action=raw.optional_choice("last_action", Action),
        last_reason_code=raw.optional_string("last_reason_code"),
        last_reason=raw.optional_string("last_reason"),
        layout=raw.mapping("layout"),
        columns=raw.pairs("columns"),
        definition=raw.mapping("definition"),
        frontier=raw.frontier("frontier"),
        frontier_head=raw.optional_integer("frontier_head"),
        version=raw.optional_integer("version"),
        created_at=raw.instant("created_at"),
        updated_at=raw.instant("updated_at"),
        downstream_publication=raw.optional_string("downstream_publication"),
    )


def _read_spec(raw: Raw) -> StreamTableSpec:
    return StreamTableSpec(
        name=raw.table_name("namespace", "name"),
        query=raw.string("query"),
        schedule=raw.string("schedule"),
        refresh_mode=raw.choice("refresh_mode", RefreshMode),
        sla=raw.optional_string("sla"),
        tier=raw.optional_choice("tier", Tier),
        unique_key=raw.strings("unique_key"),
        partition_by=raw.strings("partition_by"),
        sort_by=raw.strings("sort_by"),
        append_only=raw.boolean("append_only"),
        diamond_consistency=raw.string("diamond_consistency"),
        diamond_schedule_policy=raw.string("diamond_schedule_policy"),
        comment=raw.optional_string("comment"),
        tags=raw.strings("tags"),
    )


def read_run(row: Iterable[Any]) -> RunRow:
    """Read a row of `hw_history`, its columns in the order of the table."""
    raw = Raw("hw_history", HISTORY_COLUMNS, row, "hub run_id")
    return RunRow(
        seq=raw.integer("seq"),
        run_id=raw.string("run_id"),
        stream_table_id=raw.integer("stream_table_id"),
        name=raw.string("name"),
        status=raw.choice("status", RunStatus),
        action=raw.optional_choice("action", Action),
        reason_code=raw.optional_string("reason_code"),
        reason=raw.optional_string("reason"),
        initiated_by=raw.choice("initiated_by", InitiatedBy),
        started_at=raw.instant("started_at"),
        finished_at=raw.optional_instant("finished_at"),
        duration_ms=raw.number("duration_ms"),
        rows_inserted=raw.integer("rows_inserted"),
        rows_deleted=raw.integer("rows_deleted"),
        delta_rows=raw.integer("delta_rows"),
        spark_jobs=raw.integer("spark_jobs"),
        apply=raw.optional_choice("apply", ApplyKind),
        version=raw.optional_integer("version"),
        parent_version=raw.optional_integer("parent_version"),
        frontier=raw.frontier("frontier"),
        strategy=raw.mappings("strategy"),
        error_code=raw.optional_string("error_code"),
        error_message=raw.optional_string("error_message"),
        tick=raw.optional_integer("tick"),
        repeats=raw.integer("repeats"),
        process=ProcessIdentity(
            raw.string("host"), raw.integer("pid"), raw.string("process_started")
        ),
    )


def read_dependency(row: Iterable[Any]) -> tuple[TableName, Dependency]:
    """Read namespace and name of a stream table, then a row of `hw_dependencies`."""
    raw = Raw("hw_dependencies", DEPENDENCY_COLUMNS, row, "namespace name source_name")
    return raw.table_name("namespace", "name"), Dependency(
        source=raw.table_name("source_namespace", "source_name"),
        source_type=raw.choice("source_type", SourceType),
        columns_used=raw.strings("columns_used"),
    )


def shown_dependency(name: TableName, dependency: Dependency) -> DependencyRow:
    """The row as `dependencies` shows it."""
    return DependencyRow(
        name=str(name),
        source=str(dependency.source),
        source_type=dependency.source_type.value,
        columns_used=dependency.columns_used,
    )
