"""The second half of a refresh: compile, stage, publish by compare-and-swap."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from headwater.core.errors import HeadwaterError, RefreshConflict
from headwater.core.spec import ApplyKind
from headwater.refresh import among
from headwater.refresh.fill import Filling
from headwater.refresh.outlook import changes_in
from headwater.refresh.plan import source_of
from headwater.storage.jobs import counted_jobs
from headwater.storage.shared import shared_parts
from headwater.storage.spark import settings
from headwater.storage.stage import Stamp, Written, staged, staged_by, written

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from headwater.core.frontier import Frontier
    from headwater.core.names import TableName
    from headwater.delta.change import Change
    from headwater.delta.compile import Program
    from headwater.refresh.definitions import Resolved
    from headwater.refresh.pin import View
    from headwater.refresh.runtime import Runtime
    from headwater.refresh.stages import Planned
    from headwater.sources.iceberg import IcebergSource
    from headwater.sources.source import Window
    from headwater.storage.shared import SharedParts

SMALL_TARGET_FILES = 4
SMALL_TARGET_ROWS = 100_000
"""Up to this size a MERGE rewrites the whole table rather than looking for the files it needs."""

_ALWAYS = {"spark.sql.datetime.java8API.enabled": "true"}
SMALL_REFRESH = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.optimizer.runtime.rowLevelOperationGroupFilter.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.join.preferSortMergeJoin": "false",
    **_ALWAYS,
}
"""Session settings of a refresh of few changes into a small stream table."""

LARGE_REFRESH = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.optimizer.runtime.rowLevelOperationGroupFilter.enabled": "true",
    **_ALWAYS,
}
"""Session settings of every other delta."""

TINY_BYTES = 4 * 1024 * 1024
"""Windows up to this size are read by one task."""

LIGHT_BYTES = 64 * 1024 * 1024
"""Windows up to this size are refreshed without adaptive planning: it costs more than it saves."""


@dataclass(frozen=True, slots=True)
class Applied:
    """A staged commit that waits to be published; None when nothing was written."""

    snapshot_id: int | None
    rows: Written
    kind: ApplyKind
    spark_jobs: int
    strategy: tuple[Mapping[str, str], ...]


@dataclass(frozen=True, slots=True)
class Statements:
    """What a refresh runs, in order, with every hole filled; see `delta.program.Program`."""

    kind: ApplyKind
    stages: tuple[tuple[str, str], ...]
    statement: str
    source: str | None
    strategy: tuple[Mapping[str, str], ...]


def statements(
    runtime: Runtime, view: View, planned: Planned, resolved: Resolved, run_id: str
) -> Statements:
    """The text of a refresh."""
    filling = filling_of(runtime, view, planned, resolved, run_id)
    if planned.decision.is_full:
        columns = ", ".join(f"`{c}`" for c in (*resolved.layout.visible, *resolved.layout.hidden))
        query = filling.fill(resolved.layout.initial)
        text = f"INSERT OVERWRITE {filling.target} ({columns}) {query}"
        return Statements(ApplyKind.OVERWRITE, (), text, None, _strategy_of(resolved.verdict.nodes))
    program: Program = runtime.templates.program(resolved, changes_of(planned))
    return Statements(
        program.apply,
        tuple((stage.name, filling.fill(stage.sql)) for stage in program.stages),
        filling.fill(program.statement),
        program.source,
        _strategy_of(program.strategy),
    )


def filling_of(
    runtime: Runtime, view: View, planned: Planned, resolved: Resolved, run_id: str
) -> Filling:
    """What goes into the holes of this refresh."""
    sources = resolved.sources
    old = planned.old
    reads = {name: source_of(runtime, view, name) for name in sources}
    return Filling(
        sources=sources,
        new={name: reads[name].snapshot(planned.new.sources[name]) for name in sources},
        old={}
        if old is None or planned.decision.is_full
        else {
            name: reads[name].snapshot(old.sources[name]) for name in _readable(planned, sources)
        },
        delta={
            n: _in_one_task(w, _shared(runtime, planned, reads[n], w) or w.sql)
            for n, w in planned.windows.items()
            if w.sql is not None
        },
        target=planned.table.sql(runtime.lake.catalog),
        run_id=run_id,
        now=instant(planned.new),
        before=instant(old),
    )


def _shared(
    runtime: Runtime, planned: Planned, source: IcebergSource, window: Window
) -> str | None:
    """The read of a window that other refreshes of this round read too; None if there are none."""
    if runtime.scans is None or planned.old is None or planned.decision.is_full:
        return None
    since, until = planned.old.sources[source.name], planned.new.sources[source.name]
    return runtime.scans.read(source, window, since, until)


def _in_one_task(window: Window, sql: str) -> str:
    """The read of a window; few rows stay in one task, so that grouping them needs no exchange."""
    if window.planned_bytes > TINY_BYTES:
        return sql
    return re.sub(r"\A\(SELECT ", "(SELECT /*+ COALESCE(1) */ ", sql)


def _readable(planned: Planned, sources: Sequence[TableName]) -> list[TableName]:
    """Sources whose old version may be asked for: the others did not change."""
    return [n for n in sources if planned.old is not None and n in planned.old.sources]


def changes_of(planned: Planned) -> dict[TableName, Change]:
    """Which sources changed, and how: the specialisation of the program."""
    return changes_in(planned.windows)


def apply(
    runtime: Runtime,
    planned: Planned,
    todo: Statements,
    stamp: Stamp,
    on_step: Callable[[str], None],
) -> Applied:
    """Stage the refresh as a commit that nobody reads.

    Raises:
        RefreshConflict: the stream table moved meanwhile; whatever failed is due to that.
    """
    engine = runtime.engine
    with engine.exclusive() as session, counted_jobs(session, stamp.run_id) as jobs:
        on_step("write")
        try:
            with (
                settings(session, _session_conf(runtime, planned, todo.kind)),
                shared_parts(session, small=_window_bytes(planned) <= LIGHT_BYTES) as parts,
            ):
                for name, sql in todo.stages:
                    parts.add(name, _with_values(sql, parts))
                if todo.source is None or parts.rows.get(todo.source) != 0:
                    with staged(session, stamp):
                        engine.run(session, _with_values(todo.statement, parts))
        except HeadwaterError as error:
            _check_parent(runtime, planned, error)
            raise
        on_step("staged")
        spark_jobs = jobs.total
    metadata = runtime.tables.metadata(planned.table)
    snapshot = staged_by(metadata, stamp.run_id) if metadata is not None else None
    if snapshot is None:
        return Applied(None, Written(0, 0), todo.kind, spark_jobs, todo.strategy)
    return Applied(snapshot.snapshot_id, written(snapshot), todo.kind, spark_jobs, todo.strategy)


def check_still_current(runtime: Runtime, planned: Planned) -> None:
    """Refuse a delta read with a schema that has moved meanwhile: a re-added column reads NULL."""
    for name, window in planned.windows.items():
        if window.schema_id is None:
            continue
        metadata = runtime.tables.metadata(name)
        if metadata is None or metadata.current_schema_id != window.schema_id:
            raise RefreshConflict(
                f"the schema of {name} changed during the refresh", hint="refresh again"
            )


def publish(runtime: Runtime, planned: Planned, applied: Applied) -> int | None:
    """Make the staged commit the content, if main is still what the run started from.

    Returns:
        The version that holds the new frontier: the published one, or None when the delta was empty
        and the old one stays.
    """
    unchanged = applied.rows.nothing and not planned.decision.is_full
    if applied.snapshot_id is None or unchanged:
        _check_parent(runtime, planned, None)
        return None
    runtime.tables.publish(
        planned.table, expect_main=planned.parent, snapshot_id=applied.snapshot_id
    )
    return applied.snapshot_id


def _check_parent(runtime: Runtime, planned: Planned, cause: HeadwaterError | None) -> None:
    """Refuse when the stream table is no longer at the version that the run started from."""
    head = runtime.tables.metadata(planned.table)
    if head is None or head.current_snapshot_id != planned.parent:
        raise RefreshConflict(
            f"{planned.table} was published by another run meanwhile", hint="refresh again"
        ) from cause


def _with_values(text: str, parts: SharedParts) -> str:
    """A statement that is told the values of the parts it joins tables with."""
    known = {
        name: parts.values(name, columns) for name, columns in among.stages_asked(text).items()
    }

    def values(stage: str, key: str) -> Collection[object] | None:
        found = known[stage]
        return None if found is None else found[key]

    return among.with_values(text, values)


def _window_bytes(planned: Planned) -> int:
    return sum(w.planned_bytes for w in planned.windows.values())


def _session_conf(runtime: Runtime, planned: Planned, kind: ApplyKind) -> dict[str, str]:
    if kind is ApplyKind.OVERWRITE:
        return {"spark.sql.adaptive.enabled": "true"}
    metadata = runtime.tables.metadata(planned.table)
    head = metadata.snapshot(planned.parent) if metadata is not None else None
    small = (
        head is None
        or head.count("total-data-files") <= SMALL_TARGET_FILES
        or head.count("total-records") <= SMALL_TARGET_ROWS
    )
    return dict(SMALL_REFRESH if small and _window_bytes(planned) <= LIGHT_BYTES else LARGE_REFRESH)


def _strategy_of(nodes: Sequence[object]) -> tuple[Mapping[str, str], ...]:
    kept = ("node", "strategy", "detail", "reason_code")
    rows = []
    for node in nodes:
        values = asdict(node)  # type: ignore[call-overload]
        rows.append({key: str(values[key]) for key in kept if values.get(key)})
    return tuple(rows)


def instant(frontier: Frontier | None) -> str | None:
    """The clock of a frontier as a timestamp text."""
    if frontier is None or frontier.clock is None:
        return None
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=frontier.clock)
    return moment.strftime("%Y-%m-%d %H:%M:%S.%f")
