"""The second half of a refresh: compile, stage, publish by compare-and-swap."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from headwater.core.errors import HeadwaterError, RefreshConflict
from headwater.core.names import quote
from headwater.core.spec import ApplyKind, Way
from headwater.delta.change import Change
from headwater.delta.program import STAGE_PREFIX, USING
from headwater.refresh import among
from headwater.refresh.conf import stage_conf, statement_conf, target_of, way_of, window_bytes
from headwater.refresh.fill import Filling
from headwater.refresh.log_changes import log_changes
from headwater.refresh.order import in_order, is_by_key
from headwater.refresh.outlook import changes_in
from headwater.refresh.plan import source_of
from headwater.refresh.windows import (
    LIGHT_BYTES,
    names_read_often,
    window_reads,
)
from headwater.storage import target
from headwater.storage.jobs import counted_jobs
from headwater.storage.shared import shared_parts
from headwater.storage.spark import settings
from headwater.storage.stage import Stamp, Written, staged, staged_by, written

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession

    from headwater.core.frontier import Frontier, SourceVersion
    from headwater.core.names import TableName
    from headwater.delta.compile import Program
    from headwater.refresh.definitions import Resolved
    from headwater.refresh.pin import View
    from headwater.refresh.routing import Route
    from headwater.refresh.runtime import Runtime
    from headwater.refresh.stages import Planned
    from headwater.refresh.windows import First
    from headwater.sources.iceberg import IcebergSource
    from headwater.storage.shared import SharedParts
    from headwater.storage.target import Field


WHOLE = f"{STAGE_PREFIX}whole"
"""Name of the whole content, where it is computed before the stream table can take it."""


@dataclass(frozen=True, slots=True)
class Applied:
    """A staged commit that waits to be published.

    Attributes:
        snapshot_id: the commit; None when nothing was written.
        way: how the files to rewrite were found, where there was a choice.
        files: files of the stream table before.
        files_rewritten: those that were rewritten.
    """

    snapshot_id: int | None
    rows: Written
    kind: ApplyKind
    spark_jobs: int
    strategy: tuple[Mapping[str, str], ...]
    way: Way | None = None
    files: int | None = None
    files_rewritten: int | None = None


@dataclass(frozen=True, slots=True)
class Statements:
    """What a refresh runs, in order, with every hole filled; see `delta.program.Program`.

    Attributes:
        fields: the columns that the stream table gets before the statement, if it has others: all
            that can fail about the query has been computed by then.
    """

    kind: ApplyKind
    stages: tuple[tuple[str, str], ...]
    statement: str
    source: str | None
    strategy: tuple[Mapping[str, str], ...]
    windows: tuple[First, ...] = ()
    fields: tuple[Field, ...] = ()


def statements(
    runtime: Runtime,
    view: View,
    planned: Planned,
    resolved: Resolved,
    run_id: str,
    fields: tuple[Field, ...] = (),
    *,
    logged: bool = False,
) -> Statements:
    """The text of a refresh.

    Args:
        runtime: the hub's parts.
        view: the tables as they are.
        planned: the refresh.
        resolved: its definition.
        run_id: the run.
        fields: the columns of the stream table where they are anew.
        logged: the source of a MERGE is read again, to log what it changed.
    """
    sources = {name: source_of(runtime, view, name) for name in resolved.sources}
    if planned.decision.is_full:
        filling = _filling(runtime, planned, sources, {}, run_id)
        query = filling.fill(resolved.layout.initial)
        return _overwrite(runtime, planned, resolved, filling.target, query, fields)
    changes = changes_of(planned)
    program: Program = runtime.templates.program(resolved, changes)
    templates = [stage.sql for stage in program.stages] + [program.statement]
    asked = {name for text in templates for name in among.stages_asked(text)}
    often = names_read_often(templates)
    reads = window_reads(runtime, planned, sources, resolved.sources, asked, often)
    if reads.netted:
        netted = dict.fromkeys(reads.netted, Change.NETTED)
        program = runtime.templates.program(resolved, {**changes, **netted})
    filling = _filling(runtime, planned, sources, reads.texts, run_id)
    stages = [(stage.name, stage.sql) for stage in program.stages]
    statement, source = program.statement, program.source
    if program.using is not None and (logged or target_of(runtime, planned).is_large):
        stages.append((USING, program.using))
        statement = statement.replace(program.using, f"SELECT * FROM `{USING}`")
        source = USING
    return Statements(
        program.apply,
        tuple((name, filling.fill(sql)) for name, sql in stages),
        filling.fill(statement),
        source,
        _strategy_of(program.strategy),
        reads.first,
    )


def _overwrite(
    runtime: Runtime,
    planned: Planned,
    resolved: Resolved,
    into: str,
    query: str,
    fields: tuple[Field, ...],
) -> Statements:
    """Everything anew: computed while it is written, or before if the columns are to change."""
    metadata = runtime.tables.metadata(planned.table)
    have = target.columns_of(metadata) if metadata is not None else ()
    layout = resolved.layout
    columns = ", ".join(quote(c) for c in (*layout.visible, *layout.hidden))
    query = in_order(runtime, planned, layout, query, fields or have)
    stages: tuple[tuple[str, str], ...] = ()
    if fields and fields != have:
        stages, query = ((WHOLE, query),), f"SELECT {columns} FROM {quote(WHOLE)}"
    return Statements(
        ApplyKind.OVERWRITE,
        stages,
        f"INSERT OVERWRITE {into} ({columns}) {query}",
        None,
        _strategy_of(resolved.verdict.nodes),
        fields=fields if stages else (),
    )


def _filling(
    runtime: Runtime,
    planned: Planned,
    sources: Mapping[TableName, IcebergSource],
    delta: Mapping[TableName, str],
    run_id: str,
) -> Filling:
    """What goes into the holes of this refresh."""
    old = planned.old
    before: Mapping[TableName, SourceVersion] = {}
    if old is not None and not planned.decision.is_full:
        before = old.sources
    return Filling(
        sources=tuple(sources),
        new={name: source.snapshot(planned.new.sources[name]) for name, source in sources.items()},
        old={n: s.snapshot(before[n]) for n, s in sources.items() if n in before},
        delta=delta,
        target=planned.table.sql(runtime.lake.catalog),
        run_id=run_id,
        now=instant(planned.new),
        before=instant(old),
    )


def changes_of(planned: Planned) -> dict[TableName, Change]:
    """Which sources changed, and how: the specialisation of the program."""
    return changes_in(planned.windows)


def apply(
    runtime: Runtime,
    planned: Planned,
    todo: Statements,
    stamp: Stamp,
    route: Route,
    on_step: Callable[[str], None],
) -> Applied:
    """Stage the refresh as a commit that nobody reads.

    Raises:
        RefreshConflict: the stream table moved meanwhile; whatever failed is due to that.
    """
    engine = runtime.engine
    before, way = target_of(runtime, planned), None
    with engine.exclusive() as session, counted_jobs(session, stamp.run_id) as jobs:
        on_step("write")
        try:
            with (
                settings(session, stage_conf(planned, todo.kind)),
                shared_parts(session, small=window_bytes(planned) <= LIGHT_BYTES) as parts,
            ):
                _compute(parts, todo)
                if todo.fields:
                    _refit(runtime, session, planned.table, todo.fields)
                if todo.source is None or parts.rows.get(todo.source) != 0:
                    known = _values(todo.statement, parts)
                    keys = [v for (stage, _), v in known.items() if stage == todo.source]
                    if keys and not is_by_key(runtime.store.tables.get(planned.table)):
                        keys = []  # neighbouring keys may lie in any file
                    way = way_of(todo.kind, before, keys, route.way)
                    conf = statement_conf(planned, todo.kind, way)
                    statement = _told(todo.statement, known)
                    with settings(session, conf), staged(session, stamp):
                        engine.run(session, statement)
                    if stamp.log:
                        log_changes(runtime, session, planned, stamp, statement)
        except HeadwaterError as error:
            _check_parent(runtime, planned, error)
            raise
        on_step("staged")
        spark_jobs = jobs.total
    metadata = runtime.tables.metadata(planned.table)
    snapshot = staged_by(metadata, stamp.run_id) if metadata is not None else None
    if snapshot is None:
        return Applied(None, Written(0, 0), todo.kind, spark_jobs, todo.strategy)
    return Applied(
        snapshot.snapshot_id,
        written(snapshot),
        todo.kind,
        spark_jobs,
        (*todo.strategy, *_way_told(way, route)),
        way,
        before.files,
        snapshot.count("deleted-data-files"),
    )


def _way_told(way: Way | None, route: Route) -> Iterator[Mapping[str, str]]:
    """The way of a MERGE, as one more line of its strategy."""
    if way is not None:
        why = "the keys lie close together" if way is Way.TOLD else route.reason
        yield {"node": "Merge", "strategy": way.value, "detail": why}


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


def _compute(parts: SharedParts, todo: Statements) -> None:
    """Compute what the statement reads, in order."""
    for first in todo.windows:
        _take(parts, first)
    for name, sql in todo.stages:
        if name == WHOLE:
            parts.keep(name, sql)
        else:
            parts.add(name, _told(sql, _values(sql, parts), parts.rows))


def _refit(
    runtime: Runtime, session: SparkSession, table: TableName, fields: tuple[Field, ...]
) -> None:
    """Give a stream table other columns."""
    metadata = runtime.tables.metadata(table)
    if metadata is not None:
        have = target.columns_of(metadata)
        target.evolve(runtime.engine, session, table, have, fields)


def _take(parts: SharedParts, first: First) -> None:
    """Compute a window, or give one that has been computed its name."""
    if first.made:
        parts.name(first.name, first.sql, first.rows)
    else:
        parts.add(first.name, first.sql, tiny=first.tiny)


def _told(
    text: str,
    known: Mapping[tuple[str, str], Collection[object]],
    joined: Collection[str] = (),
) -> str:
    """A statement with the values that are known; those of `joined` parts may be joined with."""
    return among.with_values(text, lambda stage, column: known.get((stage, column)), joined)


def _values(text: str, parts: SharedParts) -> dict[tuple[str, str], Collection[object]]:
    """The values of the parts that a statement joins tables with, by part and column."""
    return {
        (name, column): values
        for name, columns in among.stages_asked(text).items()
        for column, values in parts.values(name, columns).items()
    }


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
