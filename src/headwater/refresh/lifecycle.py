"""The life of a stream table: created, redefined, dropped, repaired. Checks first, then changes."""

from __future__ import annotations

import warnings
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from headwater.catalog.rows import Dependency, NewStreamTable, SourceType
from headwater.core.errors import (
    HasDependents,
    HeadwaterError,
    HeadwaterWarning,
    InvalidOption,
    PlanBug,
    RefreshConflict,
    StorageDamaged,
    StreamTableExists,
)
from headwater.core.names import quote
from headwater.core.schedule import parse_sla
from headwater.core.spec import Status
from headwater.observe.events import WarningEvent
from headwater.refresh.arms import dependency_graph
from headwater.refresh.decide import QUERY_CHANGED
from headwater.refresh.definitions import (
    check_mode,
    check_spec,
    layout_document,
    resolve,
    resolved_for,
    with_types,
)
from headwater.refresh.locks import table_lock
from headwater.refresh.oracle import oracle
from headwater.storage import change_log, target
from headwater.storage.sizing import file_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headwater.catalog.rows import StreamTableRow
    from headwater.core.names import TableName
    from headwater.core.spec import StreamTableSpec
    from headwater.refresh.definitions import Resolved
    from headwater.refresh.runtime import Runtime

OPTIONS = (
    "schedule",
    "refresh_mode",
    "sla",
    "tier",
    "append_only",
    "sort_by",
    "diamond_consistency",
    "diamond_schedule_policy",
    "comment",
    "tags",
)


def create(runtime: Runtime, spec: StreamTableSpec) -> StreamTableRow:
    """Add a stream table without content. Leaves nothing behind when it fails."""
    spec.name.check_creatable()
    if runtime.store.tables.find(spec.name) is not None or runtime.tables.exists(spec.name):
        raise StreamTableExists(
            f"a table {spec.name} exists already",
            hint="choose another name, or say or_replace=True for a stream table",
        )
    resolved = resolve(runtime, spec.query, spec.unique_key)
    check_spec(spec, resolved)
    _check_circle(runtime, spec, resolved)
    resolved, fields = _typed(runtime, spec, resolved)
    with table_lock(runtime, spec.name):  # a scheduler that sees the row waits for the storage
        row = runtime.store.tables.add(_new(runtime, spec, resolved, fields))
        try:
            _create_storage(runtime, spec, resolved, fields)
        except BaseException:
            runtime.store.tables.remove(spec.name)
            raise
    runtime.templates.remember(resolved, row)
    _warn_keyless(runtime, spec.name, resolved)
    _warn_of_facts(runtime, spec.name, resolved)
    return row


def redefine(runtime: Runtime, row: StreamTableRow, spec: StreamTableSpec) -> str:
    """Give a stream table another query or key.

    Returns:
        `same` (only the text differs), `compatible` (the old columns stay as they are) or
        `rebuild`. The last two mark the table: its next refresh computes everything again.
    """
    resolved = resolve(runtime, spec.query, spec.unique_key)
    check_spec(spec, resolved)
    _check_circle(runtime, spec, resolved)
    resolved, fields = _typed(runtime, spec, resolved)
    kind = _classify(runtime, row, resolved, fields)
    new = _new(runtime, spec, resolved, fields)
    reason = f"{QUERY_CHANGED} ({kind})"
    renewed = runtime.store.tables.update(
        row.name,
        dependencies=new.dependencies,
        query=spec.query,
        unique_key=spec.unique_key,
        definition_hash=new.definition_hash,
        layout=new.layout,
        columns=new.columns,
        definition=new.definition,
        incremental=new.incremental,
        needs_reinit=row.needs_reinit or kind != "same",
        reinit_reason=row.reinit_reason if kind == "same" else reason,
    )
    runtime.templates.remember(resolved, renewed)
    if kind != "same":
        warn(
            runtime,
            row.name,
            "FULL_REFRESH_BY_ALTER",
            f"the new query of {row.name} is {kind}: its next refresh computes everything again",
        )
        _warn_keyless(runtime, row.name, resolved)
    return kind


def change(runtime: Runtime, row: StreamTableRow, spec: StreamTableSpec) -> None:
    """Bring a stream table from its declaration to another one."""
    if spec.partition_by != row.spec.partition_by:
        raise InvalidOption(
            f"the partitioning of {row.name} cannot be changed",
            hint=f"say partition_by={list(row.spec.partition_by)}, or drop the stream table and "
            "create it again",
        )
    if spec.query.strip() != row.spec.query.strip() or spec.unique_key != row.spec.unique_key:
        redefine(runtime, row, spec)
    elif (spec.refresh_mode, spec.sort_by) != (row.spec.refresh_mode, row.spec.sort_by):
        resolved = resolve(runtime, spec.query, spec.unique_key)
        check_spec(spec, with_types(resolved, row.columns))
    values = {
        key: getattr(spec, key) for key in OPTIONS if getattr(spec, key) != getattr(row.spec, key)
    }
    if "sla" in values:
        values["freshness_deadline_ms"] = None if spec.sla is None else parse_sla(spec.sla)
    if values:
        runtime.store.tables.update(row.name, **values)


def drop(runtime: Runtime, name: TableName, *, cascade: bool = False) -> list[TableName]:
    """Drop a stream table, and with `cascade` those that read it; returns the dropped ones."""
    runtime.store.tables.get(name)
    graph = dependency_graph(runtime)
    readers = graph.downstream({name})
    if readers and not cascade:
        names = ", ".join(sorted(str(r) for r in readers))
        raise HasDependents(
            f"{name} is read by {names}", hint="drop those first, or drop with cascade"
        )
    doomed = [n for n in reversed(graph.order) if n == name or n in readers]
    _complete_groups(runtime, doomed)
    with runtime.engine.exclusive() as session:
        for table in doomed:
            catalog = runtime.lake.catalog
            with _nobody_begins(runtime, table):
                forget_unreadable(runtime, table)
                runtime.engine.run(session, f"DROP TABLE IF EXISTS {table.sql(catalog)} PURGE")
                change_log.drop(runtime.engine, session, runtime.tables, table)
                runtime.store.tables.remove(table, among=doomed)
    return doomed


@contextmanager
def _nobody_begins(runtime: Runtime, name: TableName) -> Iterator[None]:
    """Let refreshes wait while storage and row of a table go; one that runs is not waited for."""
    with ExitStack() as held:
        with suppress(RefreshConflict):
            held.enter_context(table_lock(runtime, name, seconds=0))
        yield


def _complete_groups(runtime: Runtime, names: Sequence[TableName]) -> None:
    """Let what a dead process committed to for these tables appear in the others of its group."""
    from headwater.refresh.together import complete_intents

    with suppress(HeadwaterError):  # whoever finds the group later passes over what is gone
        complete_intents(runtime, of=names, seconds=0)


def forget_unreadable(runtime: Runtime, name: TableName) -> None:
    """Let a table whose metadata is lost count as missing: nothing can be read from it any more."""
    try:
        runtime.tables.metadata(name)
    except StorageDamaged:
        runtime.tables.forget(name)


def reinitialize(
    runtime: Runtime, row: StreamTableRow, reason: str
) -> tuple[StreamTableRow, tuple[target.Field, ...]]:
    """Compile the definition anew as the sources are now.

    Storage that is missing is made. Storage that is there stays as it is: what it is to look like
    is returned, and the table is marked until a refresh has made it so.
    """
    resolved = resolve(runtime, row.spec.query, row.spec.unique_key)
    check_spec(row.spec, resolved)
    resolved, fields = _typed(runtime, row.spec, resolved)
    if runtime.tables.metadata(row.name) is None:
        _create_storage(runtime, row.spec, resolved, fields)
    if resolved.hash != row.definition_hash:
        new = _new(runtime, row.spec, resolved, fields)
        row = runtime.store.tables.update(
            row.name,
            dependencies=new.dependencies,
            definition_hash=new.definition_hash,
            layout=new.layout,
            columns=new.columns,
            definition=new.definition,
            incremental=new.incremental,
            needs_reinit=True,
            reinit_reason=row.reinit_reason or reason,
        )
    runtime.templates.remember(resolved, row)
    return row, fields


def _typed(
    runtime: Runtime, spec: StreamTableSpec, resolved: Resolved
) -> tuple[Resolved, tuple[target.Field, ...]]:
    """Let Spark tell the types, which may forbid incremental maintenance after all."""
    fields = analysed(runtime, resolved)
    typed = with_types(resolved, _visible(fields))
    check_mode(spec, typed)
    return typed, fields


def judged(runtime: Runtime, query: str) -> Resolved:
    """A query with its verdict; a Spark that runs already is asked what it thinks of it."""
    resolved = resolve(runtime, query)
    if not runtime.engine.running:
        return resolved
    return with_types(resolved, _visible(analysed(runtime, resolved)))


def _visible(fields: Sequence[target.Field]) -> list[tuple[str, str]]:
    return [(f.name, f.type) for f in fields if not f.name.startswith("__hw_")]


def analysed(runtime: Runtime, resolved: Resolved) -> tuple[target.Field, ...]:
    """Let Spark analyse the query as written and as stored; returns the physical columns."""
    engine = runtime.engine
    with engine.exclusive() as session:
        check = oracle(runtime, resolved)
        written = target.fields_of(engine.run(session, check.newest()).schema)
        stored = target.fields_of(engine.run(session, check.initial()).schema)
    _check_reading(_visible(written), _visible(stored))
    return stored


def _check_reading(written: list[tuple[str, str]], stored: list[tuple[str, str]]) -> None:
    """Refuse a query of which Spark has other columns than Headwater: one of them misread it.

    Where the query gives no name, the two may call a column in different ways.
    """
    given = {name.lower() for name, _ in written} & {name.lower() for name, _ in stored}
    pairs = zip(written, stored, strict=False)
    for (name, kind), (own, type_) in pairs:
        moved = name.lower() != own.lower() and {name.lower(), own.lower()} & given
        if moved or kind != type_:
            what = f"column {own} ({type_}), where Spark has {name} ({kind})"
            raise PlanBug(f"the query was read in another way than Spark reads it: {what}")
    if len(written) != len(stored):
        what = f"{len(stored)} columns, where Spark has {len(written)}"
        raise PlanBug(f"the query was read in another way than Spark reads it: {what}")


def warn(runtime: Runtime, name: TableName, code: str, message: str) -> None:
    """Warn in Python and tell the listeners."""
    runtime.events.emit(WarningEvent(str(name), code, message))
    warnings.warn(HeadwaterWarning(code, message), stacklevel=4)


def _check_circle(runtime: Runtime, spec: StreamTableSpec, resolved: Resolved) -> None:
    """Refuse a query that closes a circle, unless circles are allowed and it is monotone."""
    allowed = bool(runtime.setting("allow_circular"))
    graph = dependency_graph(runtime).with_table(
        spec.name, resolved.definition.sources, circular=allowed
    )
    if graph.circle_of(spec.name):
        from headwater.refresh.circle import check_circle

        check_circle(runtime, graph, spec.name, resolved)


def _create_storage(
    runtime: Runtime, spec: StreamTableSpec, resolved: Resolved, fields: tuple[target.Field, ...]
) -> None:
    with runtime.engine.exclusive() as session:
        target.create(
            runtime.engine,
            session,
            spec.name,
            fields,
            partition_by=spec.partition_by,
            comment=spec.comment,
            file_bytes=file_bytes(_size_of(runtime, resolved.sources)),
        )


def _size_of(runtime: Runtime, sources: Sequence[TableName]) -> int:
    """Bytes of some tables together: what a stream table over them may come to."""
    known = (runtime.tables.metadata(name) for name in sources)
    heads = (m.snapshot(m.current_snapshot_id) for m in known if m is not None)
    return sum(head.count("total-files-size") for head in heads if head is not None)


def _new(
    runtime: Runtime,
    spec: StreamTableSpec,
    resolved: Resolved,
    fields: tuple[target.Field, ...],
) -> NewStreamTable:
    stream_tables = frozenset(row.name for row in runtime.store.tables.all())
    return NewStreamTable(
        spec=replace(spec, query=resolved.definition.text),
        definition_hash=resolved.hash,
        columns=tuple((f.name, f.type) for f in fields if not f.name.startswith("__hw_")),
        dependencies=tuple(
            Dependency(
                source,
                SourceType.STREAM_TABLE if source in stream_tables else SourceType.TABLE,
                tuple(f.name for f in resolved.definition.used.get(source, ())),
            )
            for source in resolved.definition.sources
        ),
        layout=layout_document(resolved.layout),
        definition=resolved.document(stream_tables),
        incremental=resolved.verdict.incremental,
        freshness_deadline_ms=None if spec.sla is None else parse_sla(spec.sla),
        status=Status.INITIALIZING,
    )


def _classify(
    runtime: Runtime,
    row: StreamTableRow,
    resolved: Resolved,
    fields: tuple[target.Field, ...],
) -> str:
    before = resolved_for(runtime, row)
    same_tree = (
        before.definition.tree == resolved.definition.tree
        and before.definition.output == resolved.definition.output
        and before.layout == resolved.layout
    )
    if same_tree:
        return "same"
    new = {f.name: f.type for f in fields}
    kept = all(new.get(name) == kind for name, kind in row.columns)
    return "compatible" if kept else "rebuild"


def _warn_of_facts(runtime: Runtime, name: TableName, resolved: Resolved) -> None:
    """What the query leaves open, such as the order of rows that tie; each kind once."""
    open_points = {f.reason_code: f for f in resolved.definition.facts if f.severity != "full"}
    for code, fact in open_points.items():
        warn(runtime, name, code, f"{name}: {fact}")


def _warn_keyless(runtime: Runtime, name: TableName, resolved: Resolved) -> None:
    """A bag over sources without a key: equal rows can only be told apart by counting them."""
    if not resolved.layout.bag:
        return
    keyless = []
    for source in resolved.definition.sources:
        metadata = runtime.tables.metadata(source)
        is_stream_table = runtime.store.tables.find(source) is not None
        if metadata and not is_stream_table and not metadata.current_schema.identifier_field_ids:
            keyless.append(source)
    if keyless:
        first = runtime.tables.spelled(keyless[0]).sql(runtime.lake.catalog)
        warn(
            runtime,
            name,
            "SOURCE_WITHOUT_KEY",
            f"{', '.join(str(s) for s in keyless)} has no key: equal rows of {name} are matched by "
            f"all their columns; if there is a key, declare it: ALTER TABLE {first} SET IDENTIFIER "
            f"FIELDS {quote('column')}",
        )
