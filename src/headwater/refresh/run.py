"""One refresh: walks the stages, and leaves a history row whatever happens.

The order is what makes it exact once: the frontier travels inside the commit, the commit becomes
visible by one compare-and-swap, and the catalog row is only a copy. After a crash between any two
stages the next refresh reads the truth from the table and goes on.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from headwater.catalog.history import Outcome, Run
from headwater.catalog.idle import Idle
from headwater.catalog.rows import InitiatedBy
from headwater.core.errors import (
    HeadwaterError,
    QueryFailed,
    RefreshConflict,
    SourceSchemaChanged,
    StorageDamaged,
    StreamTableSuspended,
    VersionExpired,
)
from headwater.core.results import RefreshResult
from headwater.core.spec import Action, ApplyKind, Status
from headwater.observe.events import RefreshEvent, StageEvent, WarningEvent
from headwater.refresh import stages as stage
from headwater.refresh.arms import align_arms
from headwater.refresh.lifecycle import reinitialize, resolved_for
from headwater.refresh.locks import table_lock
from headwater.refresh.outlook import measured
from headwater.refresh.pin import View
from headwater.refresh.plan import check_schema, plan_refresh
from headwater.refresh.recover import recover_unrecorded
from headwater.refresh.write import (
    apply,
    check_still_current,
    publish,
    statements,
)
from headwater.sources.source import How
from headwater.storage.failures import translate
from headwater.storage.stage import Stamp

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headwater.catalog.rows import StreamTableRow
    from headwater.core.frontier import SourceVersion
    from headwater.core.names import TableName
    from headwater.refresh.runtime import Runtime
    from headwater.refresh.stages import Planned

MAX_ATTEMPTS = 8
"""How often a refused publish is tried again before the conflict is told."""

_REFUSED_READS = (
    "Delete files are currently not supported in changelog scans",
    "is not a parent ancestor",
)


def refresh(
    runtime: Runtime,
    name: TableName,
    *,
    full: bool = False,
    strict: bool | None = None,
    fixed: Mapping[TableName, SourceVersion] | None = None,
    initiated_by: InitiatedBy = InitiatedBy.MANUAL,
) -> RefreshResult:
    """Bring one stream table to a new frontier.

    Args:
        runtime: the hub's parts.
        name: the stream table.
        full: compute everything again.
        strict: refuse a full refresh that was not asked for; None follows the refresh mode.
        fixed: versions of base tables that several refreshes share.
        initiated_by: who asked.
    """
    without: frozenset[How] = frozenset()
    attempt = 0
    while True:
        attempt += 1
        try:
            return _attempt(
                runtime,
                name,
                full=full,
                strict=strict,
                fixed=fixed,
                initiated_by=initiated_by,
                without=without,
            )
        except RefreshConflict:
            if attempt >= MAX_ATTEMPTS:
                raise
            time.sleep(min(0.05 * 2**attempt, 1.0))
        except (QueryFailed, StorageDamaged, VersionExpired) as error:
            passed_over = _next_way(error, without)
            if passed_over is None:
                raise
            without = passed_over


def repair(runtime: Runtime, name: TableName) -> RefreshResult:
    """Rebuild a stream table from its sources, whatever state it is in."""
    row = recover_unrecorded(runtime, name)
    if runtime.tables.metadata(name) is None:
        reinitialize(runtime, row)
    runtime.store.tables.update(
        name,
        status=Status.ACTIVE,
        consecutive_errors=0,
        needs_reinit=True,
        reinit_reason="a repair was asked for",
    )
    return refresh(runtime, name, full=True, initiated_by=InitiatedBy.REPAIR)


def _attempt(
    runtime: Runtime,
    name: TableName,
    *,
    full: bool,
    strict: bool | None,
    fixed: Mapping[TableName, SourceVersion] | None,
    initiated_by: InitiatedBy,
    without: frozenset[How],
) -> RefreshResult:
    started = time.perf_counter()
    row = runtime.store.tables.get(name)
    if row.status is Status.SUSPENDED:
        raise StreamTableSuspended(
            f"{name} is suspended: {row.last_error_message or 'by its owner'}",
            hint=f"mend the cause, then resume_stream_table('{name}')",
        )
    view = View.take(runtime)
    planned, pinned = plan_refresh(
        runtime, row, view=view, full=full, strict=strict, fixed=fixed, without=without
    )
    if planned.decision.action is Action.NO_DATA:
        if planned.own != row.version:
            row = recover_unrecorded(runtime, name)
        return _idle(runtime, row, planned, initiated_by, started)
    with table_lock(runtime, name):
        before = row
        row = _as_this_version_stores_it(runtime, recover_unrecorded(runtime, name))
        run = runtime.store.history.begin(row, initiated_by=initiated_by)
        try:
            if pinned.conflicts:
                aligned = align_arms(runtime, row, pinned, refresh)
                if aligned is not None:
                    return _skipped(runtime, row, run, aligned, started)
            again = View.take(runtime)
            if again != view or row != before:
                view = again
                planned, _ = plan_refresh(
                    runtime, row, view=view, full=full, strict=strict, fixed=fixed, without=without
                )
            return _run(runtime, row, run, view, planned, started)
        except RefreshConflict as error:
            runtime.store.history.skip(run, reason_code="CONFLICT", reason=error.what)
            raise
        except Exception as error:
            told = _failed(runtime, row, run, translate(error))
            if told is error:
                raise
            raise told from error


def _as_this_version_stores_it(runtime: Runtime, row: StreamTableRow) -> StreamTableRow:
    """Mark a table whose definition another version of Headwater has compiled differently."""
    if row.needs_reinit or resolved_for(runtime, row).hash == row.definition_hash:
        return row
    reason = "this version of Headwater stores the definition differently"
    return runtime.store.tables.update(row.name, needs_reinit=True, reinit_reason=reason)


def _run(
    runtime: Runtime,
    row: StreamTableRow,
    run: Run,
    view: View,
    planned: Planned,
    started: float,
) -> RefreshResult:
    began = time.perf_counter()

    def tell(name: str, moment: str) -> None:
        runtime.events.emit(StageEvent(str(row.name), run.run_id, name, moment))  # type: ignore[arg-type]

    if planned.decision.action is Action.NO_DATA:
        runtime.store.history.finish(run, _outcome(planned))
        return _told(row, run.run_id, _outcome(planned), started)
    if planned.decision.action is not Action.REINITIALIZE:
        check_schema(planned)
    tell(stage.COMPILE, "start")
    if planned.decision.action is Action.REINITIALIZE:
        row = reinitialize(runtime, row)
        run = replace(run, generation=row.generation)
        view = View.take(runtime)
        planned = replace(
            plan_refresh(runtime, replace(row, needs_reinit=False), view=view, full=True)[0],
            decision=planned.decision,
        )
    resolved = resolved_for(runtime, row)
    todo = statements(runtime, view, planned, resolved, run.run_id)
    stamp = Stamp(
        run_id=run.run_id,
        frontier=planned.new.to_json(),
        definition_hash=resolved.hash,
        parent=planned.parent,
        action=planned.decision.action.value,
        apply=todo.kind.value,
        reason_code=planned.decision.reason_code,
        reason=planned.decision.reason,
    )
    tell(stage.COMPILE, "end")
    tell(stage.APPLY, "start")
    applied = apply(
        runtime, planned, todo, stamp, lambda step: tell(f"{stage.APPLY}.{step}", "start")
    )
    tell(stage.APPLY, "end")
    check_still_current(runtime, planned)
    tell(stage.PUBLISH, "start")
    version = publish(runtime, planned, applied)
    tell(stage.PUBLISH, "end")
    empty = version is None
    outcome = Outcome(
        action=planned.decision.action,
        reason_code="EMPTY_DELTA" if empty else planned.decision.reason_code,
        reason="the changes leave the result as it is" if empty else planned.decision.reason,
        frontier=planned.new,
        version=planned.own if empty else version,
        parent_version=planned.parent,
        rows_inserted=0 if empty else applied.rows.inserted,
        rows_deleted=0 if empty else applied.rows.deleted,
        delta_rows=0 if empty else applied.rows.inserted + applied.rows.deleted,
        spark_jobs=applied.spark_jobs,
        apply=ApplyKind.NONE if empty else applied.kind,
        strategy=applied.strategy,
        data_timestamp=None if empty else runtime.clock(),
        cost=measured(runtime, planned, resolved.hash, applied.kind, began),
    )
    tell(stage.RECORD, "start")
    runtime.store.history.finish(run, outcome)
    tell(stage.RECORD, "end")
    runtime.events.emit(
        RefreshEvent(str(row.name), run.run_id, outcome.action, outcome.reason_code, outcome.reason)
    )
    return _told(row, run.run_id, outcome, started)


def _idle(
    runtime: Runtime,
    row: StreamTableRow,
    planned: Planned,
    initiated_by: InitiatedBy,
    started: float,
) -> RefreshResult:
    """Nothing to do: note the look, and the frontier if versions moved without a change."""
    outcome = _outcome(planned)
    run_id = runtime.store.record_idle(
        row,
        Idle(
            frontier=planned.new,
            head=planned.own,
            reason_code=outcome.reason_code,
            reason=outcome.reason,
            duration_ms=(time.perf_counter() - started) * 1000,
            initiated_by=initiated_by,
        ),
    )
    return _told(row, run_id, outcome, started)


def _outcome(planned: Planned) -> Outcome:
    return Outcome(
        action=planned.decision.action,
        reason_code=planned.decision.reason_code,
        reason=planned.decision.reason,
        frontier=planned.new,
        version=planned.own,
    )


def _told(row: StreamTableRow, run_id: str, outcome: Outcome, started: float) -> RefreshResult:
    return RefreshResult(
        name=str(row.name),
        action=outcome.action.value,
        reason_code=outcome.reason_code,
        reason=outcome.reason,
        rows_inserted=outcome.rows_inserted,
        rows_deleted=outcome.rows_deleted,
        delta_rows=outcome.delta_rows,
        duration_ms=(time.perf_counter() - started) * 1000,
        frontier=outcome.frontier.versions() if outcome.frontier else {},
        version=outcome.version,
        run_id=run_id,
        spark_jobs=outcome.spark_jobs,
        strategy=tuple(outcome.strategy),
        apply=outcome.apply.value,
    )


def _skipped(
    runtime: Runtime, row: StreamTableRow, run: Run, reason: str, started: float
) -> RefreshResult:
    runtime.store.history.skip(run, reason_code="ARMS_DISAGREE", reason=reason)
    outcome = Outcome(Action.SKIPPED, "ARMS_DISAGREE", reason, row.frontier, row.version)
    return _told(row, run.run_id, outcome, started)


def _failed(
    runtime: Runtime, row: StreamTableRow, run: Run, error: HeadwaterError
) -> HeadwaterError:
    if isinstance(error, SourceSchemaChanged):
        runtime.store.tables.update(row.name, needs_reinit=True, reinit_reason=error.what)
    limit = int(runtime.setting("max_consecutive_errors"))
    status = runtime.store.history.fail(run, error, max_consecutive_errors=limit)
    runtime.events.emit(
        RefreshEvent(str(row.name), run.run_id, "FAILED", error.code, error.what, error.code)
    )
    if status is Status.SUSPENDED:
        text = f"{row.name} is suspended after {limit} failures in a row"
        runtime.events.emit(WarningEvent(str(row.name), "AUTO_SUSPENDED", text))
    return error


def _next_way(error: HeadwaterError, without: frozenset[How]) -> frozenset[How] | None:
    """The ways left to read a window after Spark refused one; None when it was not that."""
    refused = any(text in error.what for text in _REFUSED_READS)
    expired = isinstance(error, StorageDamaged | VersionExpired)
    if not (refused or expired):
        return None
    for way in (How.APPEND, How.CHANGES, How.DIFFERENCE):
        if way not in without:
            return without | {way} if way is not How.APPEND else without | {way, How.CHANGES}
    return None
