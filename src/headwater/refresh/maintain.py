"""Maintenance of stream tables: few sorted files, short metadata, no snapshot nobody needs.

Sources belong to their users and are never touched.
"""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING

from headwater.core.figures import MaintenanceRow
from headwater.core.spec import Status
from headwater.observe.events import WarningEvent
from headwater.refresh.arms import dependency_graph
from headwater.refresh.locks import table_lock
from headwater.refresh.order import sort_key
from headwater.refresh.pin import View
from headwater.refresh.plan import current_frontier
from headwater.sources.change_log import log_of
from headwater.storage import change_log, compact, write_mode
from headwater.storage.expire import Expendable, expendable, is_coarse, is_scattered
from headwater.storage.head import read_head
from headwater.storage.sizing import LARGEST, TARGET_FILE_BYTES, file_bytes, is_far

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headwater.catalog.rows import StreamTableRow
    from headwater.core.frontier import Frontier
    from headwater.core.names import TableName
    from headwater.refresh.runtime import Runtime
    from headwater.sources.metadata import TableMetadata

READ_FOR = timedelta(minutes=5)
"""A snapshot younger than this may be in the hands of a query or of a run."""

TEMPLATES_FOR = timedelta(days=7)
"""Compiled templates older than this leave the catalog; those in use are written again."""


def maintain(runtime: Runtime, name: TableName | None = None) -> tuple[MaintenanceRow, ...]:
    """Maintain one stream table, or all of them and the catalog."""
    rows = runtime.store.tables.all() if name is None else (runtime.store.tables.get(name),)
    if name is None:
        tidy_catalog(runtime)
    return tuple(_maintained(runtime, row) for row in rows)


def tidy_catalog(runtime: Runtime) -> None:
    """Let old runs and old templates leave the catalog."""
    days = int(runtime.setting("history_retention_days"))
    now = runtime.clock()
    if days:
        runtime.store.history.prune(now - timedelta(days=days))
    runtime.store.templates.prune(now - TEMPLATES_FOR)


def _maintained(runtime: Runtime, row: StreamTableRow) -> MaintenanceRow:
    started = time.perf_counter()
    before = runtime.tables.metadata(row.name)
    if before is None or before.current_snapshot_id is None:
        return _told(row, before, before, Expendable((), ()), 0, "there is no content", started)
    engine = runtime.engine
    with table_lock(runtime, row.name):
        metadata = runtime.tables.metadata(row.name) or before
        reason = _write_mode(runtime, row, metadata)
        rewritten = _compacted(runtime, row, metadata)
        metadata = runtime.tables.metadata(row.name) or metadata
        gone = _expendable(runtime, row, metadata)
        if gone.all:
            with engine.exclusive() as session:
                compact.expire(engine, session, row.name, gone.all)
        if runtime.tables.exists(log_of(row.name)):
            with engine.exclusive() as session:
                change_log.forget(engine, session, runtime.tables, row.name, _young_ms(runtime))
        after = runtime.tables.metadata(row.name)
    if not rewritten and not gone.all and not reason:
        reason = "there was nothing to do"
    return _told(row, before, after, gone, rewritten, reason, started)


def _write_mode(runtime: Runtime, row: StreamTableRow, metadata: TableMetadata) -> str:
    """Let coming merges write as suits what the last ones did; tells what changed and why."""
    head = metadata.snapshot(metadata.current_snapshot_id)
    size = head.count("total-files-size") if head is not None else 0
    rows = head.count("total-records") if head is not None else 0
    choice = write_mode.choose(
        metadata.properties,
        has_subscribers=row.downstream_publication is not None,
        rewritten=[
            write_mode.Rewritten(
                size * cost.files_rewritten / cost.files, rows * cost.files_rewritten / cost.files
            )
            for cost in (found.cost for found in runtime.store.costs.of(row.id, row.generation))
            if cost.way is not None and cost.files and cost.files_rewritten is not None
        ],
    )
    if not choice.reason:
        return ""
    engine = runtime.engine
    with engine.exclusive() as session:
        compact.set_properties(engine, session, row.name, choice.properties())
    told = f"merges are {choice.mode.value} from now on: {choice.reason}"
    runtime.events.emit(WarningEvent(str(row.name), "WRITE_MODE_CHANGED", told))
    return told


def _compacted(runtime: Runtime, row: StreamTableRow, metadata: TableMetadata) -> int:
    """Bring the files of a stream table to the size it has grown to; returns files rewritten."""
    head = metadata.snapshot(metadata.current_snapshot_id)
    size = head.count("total-files-size") if head is not None else 0
    have = int(metadata.properties.get(TARGET_FILE_BYTES, LARGEST))
    wanted = file_bytes(size) if is_far(have, file_bytes(size)) else have
    key = sort_key(row, metadata)
    coarse = bool(key) and is_coarse(metadata, wanted)
    engine = runtime.engine
    if wanted != have:
        with engine.exclusive() as session:
            compact.set_properties(engine, session, row.name, {TARGET_FILE_BYTES: str(wanted)})
    if not coarse and not is_scattered(metadata, wanted):
        return 0
    with engine.exclusive() as session:
        return compact.rewrite(engine, session, row.name, metadata, key, wanted)


def _expendable(runtime: Runtime, row: StreamTableRow, metadata: TableMetadata) -> Expendable:
    if row.downstream_publication is not None:
        return Expendable((), ())
    return expendable(
        metadata,
        needed=needed_versions(runtime, row, metadata),
        young_ms=_young_ms(runtime),
    )


def _young_ms(runtime: Runtime) -> int:
    """The instant since which snapshots are young."""
    return int((runtime.clock() - READ_FOR).timestamp() * 1000)


def needed_versions(runtime: Runtime, row: StreamTableRow, metadata: TableMetadata) -> set[int]:
    """Versions of a stream table that somebody else will ask for.

    Readers need the version their frontier names. Stream tables over the same base tables need one
    that agrees with theirs, to be read together. A group that somebody committed to publishing
    needs its staged commits.
    """
    view = View.take(runtime)
    needed: set[int] = set()
    graph = dependency_graph(runtime)
    for other in runtime.store.tables.all():
        if other.name == row.name:
            continue
        frontiers = tuple(_frontiers(view, other))
        for frontier in frontiers:
            version = frontier.sources.get(row.name)
            if version is not None and version.snapshot_id is not None:
                needed.add(version.snapshot_id)
        shared = graph.base_of(other.name) & graph.base_of(row.name)
        if shared and other.status is not Status.SUSPENDED:
            needed |= {v for f in frontiers for v in _agreeing(metadata, f)}
    for intent in runtime.store.intents.pending():
        needed |= {
            int(value)
            for member in intent.members
            for value in member.values()
            if str(value).isdigit()
        }
    return needed


def _frontiers(view: View, row: StreamTableRow) -> Iterable[Frontier]:
    """What the content of a stream table equals, by its commit and by the catalog."""
    metadata = view.metadata(row.name)
    if metadata is not None:
        head = read_head(metadata)
        known = (head.frontier if head.own is not None else None, current_frontier(row, head))
        yield from (f for f in known if f is not None)
    if row.frontier is not None:
        yield row.frontier


def _agreeing(metadata: TableMetadata, frontier: Frontier) -> Iterable[int]:
    """The newest version that shows the base tables as a frontier does, if there is one."""
    for snapshot in metadata.ancestry(metadata.current_snapshot_id):
        shown = read_head(metadata, snapshot.snapshot_id).frontier
        if shown is None:
            continue
        shared = shown.base.keys() & frontier.base.keys()
        if all(shown.base[b].snapshot_id == frontier.base[b].snapshot_id for b in shared):
            return (snapshot.snapshot_id,)
    return ()


def _told(
    row: StreamTableRow,
    before: TableMetadata | None,
    after: TableMetadata | None,
    gone: Expendable,
    rewritten: int,
    reason: str,
    started: float,
) -> MaintenanceRow:
    def head(metadata: TableMetadata | None, key: str) -> int:
        found = metadata.snapshot(metadata.current_snapshot_id) if metadata is not None else None
        return found.count(key) if found is not None else 0

    return MaintenanceRow(
        name=str(row.name),
        files_before=head(before, "total-data-files"),
        files_after=head(after, "total-data-files"),
        bytes_before=head(before, "total-files-size"),
        bytes_after=head(after, "total-files-size"),
        delete_files_before=head(before, "total-delete-files"),
        delete_files_after=head(after, "total-delete-files"),
        files_rewritten=rewritten,
        snapshots_before=len(before.snapshots) if before is not None else 0,
        snapshots_after=len(after.snapshots) if after is not None else 0,
        versions_expired=len(gone.published),
        staged_removed=len(gone.staged),
        duration_ms=(time.perf_counter() - started) * 1000,
        reason=reason,
    )
