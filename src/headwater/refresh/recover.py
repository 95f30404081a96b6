"""After a crash: reads what really happened from the table and brings the catalog up to it.

A run that published and then died is completed in the history; one that died before left at
most a staged commit that nobody reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.catalog.history import Outcome, Run
from headwater.core.spec import Action, ApplyKind, Status
from headwater.storage.head import Head, read_head
from headwater.storage.stage import ACTION, APPLY, REASON, REASON_CODE, written

if TYPE_CHECKING:
    from headwater.catalog.processes import ProcessIdentity
    from headwater.catalog.rows import RunRow, StreamTableRow
    from headwater.core.names import TableName
    from headwater.refresh.runtime import Runtime


def recover_unrecorded(
    runtime: Runtime, name: TableName, *, lost: ProcessIdentity | None = None
) -> StreamTableRow:
    """Complete what dead processes left; returns the row as it is then.

    Args:
        runtime: the hub's parts.
        name: the stream table.
        lost: a process that counts as dead: it may live, but has lost its right to refresh.
    """
    row = runtime.store.tables.get(name)
    metadata = runtime.tables.metadata(name)
    running = runtime.store.history.running(name)
    if metadata is not None:
        head = read_head(metadata)
        at_head = head.own is not None and head.own.snapshot_id == row.version
        if at_head and not running:
            return row
        for run in running:
            gone = run.process == lost or run.process.is_alive() is False
            if run.run_id == head.run_id and gone:
                _complete(runtime, row, run, head)
        _adopt(runtime, name, head)
    if running:
        runtime.store.history.reconcile(name, lost=lost)
    return runtime.store.tables.get(name)


def _complete(runtime: Runtime, row: StreamTableRow, run: RunRow, head: Head) -> None:
    """Record a run that published before its process died, as its commit tells it."""
    own = head.own
    if own is None:
        return
    rows = written(own)
    reason = own.summary.get(REASON, "")
    outcome = Outcome(
        action=Action(own.summary.get(ACTION, Action.INCREMENTAL)),
        reason_code=own.summary.get(REASON_CODE, "RECOVERED"),
        reason=f"{reason} (recorded after a crash: it had been published)",
        frontier=head.frontier,
        version=own.snapshot_id,
        parent_version=own.parent_id,
        rows_inserted=rows.inserted,
        rows_deleted=rows.deleted,
        delta_rows=rows.inserted + rows.deleted,
        apply=ApplyKind(own.summary.get(APPLY, ApplyKind.NONE)),
        data_timestamp=runtime.clock(),
    )
    generation = row.generation
    runtime.store.history.finish(
        Run(run.run_id, run.stream_table_id, generation, run.started_at), outcome
    )


def _adopt(runtime: Runtime, name: TableName, head: Head) -> None:
    """Let the catalog row say what the table says, when no run did."""
    row = runtime.store.tables.get(name)
    if head.own is None or row.version == head.own.snapshot_id:
        return
    if head.definition_hash != row.definition_hash:
        return
    runtime.store.tables.update(
        name,
        version=head.own.snapshot_id,
        frontier=head.frontier,
        frontier_head=head.own.snapshot_id,
        is_populated=True,
        status=row.status if row.status is Status.SUSPENDED else Status.ACTIVE,
    )
