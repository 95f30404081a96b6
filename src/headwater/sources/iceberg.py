"""Reads an Iceberg table as a source: pinned versions and change windows, as Spark SQL text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.core.errors import PlanBug, SourceMissing, VersionExpired
from headwater.core.names import WEIGHT, literal, quote
from headwater.sources.change_log import ATTEMPT, LOGGED, attempt_of, log_of
from headwater.sources.schema import empty_rows, projection, renamed_projection, same_columns
from headwater.sources.source import How, Kind, Window
from headwater.sources.window import plan_window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headwater.core.frontier import SourceVersion
    from headwater.core.names import TableName
    from headwater.sources.metadata import Schema, Snapshot, TableMetadata
    from headwater.sources.source import UsedColumn
    from headwater.sources.tables import MetadataByName
    from headwater.sources.window import Plan

BATCH_PROPERTY = "hw.batch"


class IcebergSource:
    """One table of the lake.

    Args:
        name: the table.
        tables: where its metadata is found.
        catalog: name of the Spark catalog, as SQL text must spell it.
    """

    def __init__(self, name: TableName, tables: MetadataByName, catalog: str) -> None:
        self.name = name
        self._tables = tables
        self._catalog = catalog

    def latest(self) -> SourceVersion:
        """The newest version."""
        return self._metadata().version

    def snapshot(self, at: SourceVersion) -> str:
        """Text for a FROM clause that shows the columns and rows of `at`.

        A schema change makes no version, and Spark reads a version with the schema of its commit:
        columns that were added, renamed or widened after it are put on top.
        """
        metadata = self._metadata()
        want = metadata.schema(at.schema_id)
        lost = at.snapshot_id is not None and metadata.snapshot(at.snapshot_id) is None
        if metadata.table_uuid != at.table_id or want is None or lost:
            raise VersionExpired(
                f"version {at.snapshot_id} of {self.name} can no longer be read",
                hint="run a full refresh; keep versions longer if this happens often",
            )
        if at.snapshot_id is None:
            return empty_rows(want)
        read = metadata.schema_at(at.snapshot_id)
        if same_columns(read, want):
            return self._version(at.snapshot_id)
        return f"(SELECT {', '.join(projection(read, want))} FROM {self._version(at.snapshot_id)})"

    def window(
        self,
        since: SourceVersion,
        until: SourceVersion,
        columns: Sequence[UsedColumn],
        *,
        without: frozenset[How] = frozenset(),
    ) -> Window:
        """The changes after `since`, up to `until`."""
        metadata = self._metadata()
        log_id = self._log_id(metadata, columns)
        plan = plan_window(metadata, since, until, columns, without, log_id)
        ends = (since.snapshot_id, until.snapshot_id)
        sql = self._sql(plan, metadata, ends, until.schema_id, [c.name for c in columns])
        commits = [s for s in plan.covered if s.operation != "replace"]
        end = metadata.snapshot(until.snapshot_id)
        along = (How.APPEND, How.CHANGES, How.LOG)
        reads_newest = plan.how in along and ends[0] is not None
        return Window(
            kind=plan.kind,
            how=plan.how,
            reason_code=plan.code,
            reason=plan.reason,
            sql=sql,
            added_records=_added(commits) if plan.path_known else None,
            deleted_records=_deleted(commits) if plan.path_known else None,
            total_records=_rows(end) if end is not None else 0,
            planned_bytes=_planned_bytes(plan, metadata, ends, commits),
            snapshots=tuple(s.snapshot_id for s in plan.covered),
            batches=tuple(
                dict.fromkeys(
                    s.summary[BATCH_PROPERTY] for s in commits if BATCH_PROPERTY in s.summary
                )
            ),
            refused=plan.refused,
            schema_change=plan.schema_change,
            schema_id=metadata.current_schema_id if reads_newest else None,
            columns=tuple(c.name for c in columns),
        )

    def _log_id(self, metadata: TableMetadata, columns: Sequence[UsedColumn]) -> str | None:
        """The identity of the change log, if there is one that has the columns as they are."""
        if not any(LOGGED in s.summary for s in metadata.snapshots):
            return None
        log = self._tables.metadata(log_of(self.name))
        if log is None:
            return None
        have, want = log.current_schema, metadata.current_schema
        pairs = [(have.field(c.name), want.field(c.name)) for c in columns]
        fits = all(a is not None and b is not None and a.type == b.type for a, b in pairs)
        return log.table_uuid if fits else None

    def _metadata(self) -> TableMetadata:
        metadata = self._tables.metadata(self.name)
        if metadata is None:
            raise SourceMissing(
                f"source table {self.name} does not exist",
                hint="create it again, or drop the stream tables that read it",
            )
        return metadata

    def _version(self, snapshot_id: int) -> str:
        return f"{self.name.sql(self._catalog)} VERSION AS OF {snapshot_id}"

    def _sql(
        self,
        plan: Plan,
        metadata: TableMetadata,
        ends: tuple[int | None, int | None],
        schema_id: int,
        names: Sequence[str],
    ) -> str | None:
        if plan.how in (How.NONE, How.FULL):
            return None
        want = metadata.schema(schema_id)
        if want is None:
            raise PlanBug(f"{self.name}: a window was planned without its schema {schema_id}")
        if plan.how is How.DIFFERENCE or ends[0] is None:
            return self._difference(metadata, ends, want, names)
        items = renamed_projection(metadata.current_schema, want, names)
        if items is None:
            raise PlanBug(f"{self.name}: a window by {plan.how} lacks columns of {list(names)}")
        options = f"WITH (`start-snapshot-id` = '{ends[0]}', `end-snapshot-id` = '{ends[1]}')"
        table = self.name.sql(self._catalog)
        appended = f"SELECT {', '.join([*items, _weight('1')])} FROM {table} {options}"
        if plan.how is How.APPEND:
            return f"({appended})"
        if plan.how is How.LOG:
            return self._logged(plan, names, appended)
        sign = "1" if plan.kind is Kind.APPEND else "IF(`_change_type` = 'INSERT', 1, -1)"
        return f"(SELECT {', '.join([*items, _weight(sign)])} FROM {table}.`changes` {options})"

    def _logged(self, plan: Plan, names: Sequence[str], appended: str) -> str:
        """Rows of the attempts that were published, and those of commits that only add rows."""
        attempts = (attempt_of(s) for s in plan.covered if s.operation != "append")
        listed = ", ".join(literal(a) for a in attempts if a is not None)
        columns = ", ".join(quote(c) for c in (*names, WEIGHT))
        log = log_of(self.name).sql(self._catalog)
        text = f"SELECT {columns} FROM {log} WHERE {quote(ATTEMPT)} IN ({listed})"
        adds = any(s.operation == "append" for s in plan.covered)
        return f"({text} UNION ALL {appended})" if adds else f"({text})"

    def _difference(
        self,
        metadata: TableMetadata,
        ends: tuple[int | None, int | None],
        want: Schema,
        names: Sequence[str],
    ) -> str:
        sides = []
        for snapshot_id, sign in ((ends[1], "1"), (ends[0], "-1")):
            if snapshot_id is not None:
                items = projection(metadata.schema_at(snapshot_id), want, names)
                columns = ", ".join([*items, _weight(sign)])
                sides.append(f"SELECT {columns} FROM {self._version(snapshot_id)}")
        return f"({' UNION ALL '.join(sides)})"


def _weight(sign: str) -> str:
    return f"CAST({sign} AS BIGINT) AS {quote(WEIGHT)}"


def _added(commits: Sequence[Snapshot]) -> int:
    return sum(s.count("added-records") for s in commits)


def _deleted(commits: Sequence[Snapshot]) -> int:
    """Rows of removed files, and rows newly marked as deleted in files that stay."""
    marked = sum(
        s.count("added-position-deletes") - s.count("removed-position-deletes") for s in commits
    )
    equality = sum(s.count("added-equality-deletes") for s in commits)
    return sum(s.count("deleted-records") for s in commits) + max(0, marked) + equality


def _rows(snapshot: Snapshot) -> int | None:
    if "total-records" not in snapshot.summary:
        return None
    return max(0, snapshot.count("total-records") - snapshot.count("total-position-deletes"))


def _planned_bytes(
    plan: Plan,
    metadata: TableMetadata,
    ends: tuple[int | None, int | None],
    commits: Sequence[Snapshot],
) -> int:
    if plan.how is How.NONE:
        return 0
    if plan.how is How.APPEND and ends[0] is not None:
        return sum(s.count("added-files-size") for s in commits)
    if plan.how is How.LOG:
        # A merge that marks rows writes the new ones only; the log has the old ones too.
        return 2 * sum(s.count("added-files-size") for s in commits)
    if plan.how is How.CHANGES:
        return sum(s.count("added-files-size") + s.count("removed-files-size") for s in commits)
    read = ends if plan.how is How.DIFFERENCE else ends[1:]
    versions = (metadata.snapshot(snapshot_id) for snapshot_id in read)
    return sum(s.count("total-files-size") for s in versions if s is not None)
