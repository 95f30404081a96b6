"""Performs a planned refresh: compile, stage, publish, record. Used by single refreshes and groups.

A group stages all its members before it publishes any: the steps are apart for that.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headwater.catalog.history import Outcome, Run
from headwater.core.errors import HeadwaterError, SourceSchemaChanged
from headwater.core.results import RefreshResult
from headwater.core.spec import Action, ApplyKind, Status
from headwater.observe.events import RefreshEvent, StageEvent, WarningEvent
from headwater.refresh import stages as stage
from headwater.refresh.definitions import resolved_for
from headwater.refresh.lifecycle import reinitialize
from headwater.refresh.log_changes import is_logged, log_entry
from headwater.refresh.outlook import measured
from headwater.refresh.past_merges import routed
from headwater.refresh.pin import View
from headwater.refresh.plan import check_schema, plan_refresh
from headwater.refresh.write import apply, check_still_current, publish, statements
from headwater.storage.stage import Stamp

if TYPE_CHECKING:
    from headwater.catalog.rows import StreamTableRow
    from headwater.refresh.runtime import Runtime
    from headwater.refresh.stages import Planned
    from headwater.refresh.write import Applied
    from headwater.storage.target import Field


@dataclass(frozen=True, slots=True)
class StagedRun:
    """A refresh whose commit is written and seen by nobody yet; `took` seconds of its own."""

    row: StreamTableRow
    run: Run
    planned: Planned
    applied: Applied
    started: float
    definition_hash: str
    took: float = 0.0

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to publish: the changes leave the result as it is."""
        unchanged = self.applied.rows.nothing and not self.planned.decision.is_full
        return self.applied.snapshot_id is None or unchanged


def perform(
    runtime: Runtime,
    row: StreamTableRow,
    run: Run,
    view: View,
    planned: Planned,
    started: float,
) -> RefreshResult:
    """Carry out a decision and record it."""
    if planned.decision.action is Action.NO_DATA:
        runtime.store.history.finish(run, outcome_of(planned))
        return told(row, run.run_id, outcome_of(planned), started)
    staged = stage_run(runtime, row, run, view, planned, started)
    check_still_current(runtime, staged.planned)
    return record(runtime, staged, publish_run(runtime, staged))


def stage_run(
    runtime: Runtime,
    row: StreamTableRow,
    run: Run,
    view: View,
    planned: Planned,
    started: float,
) -> StagedRun:
    """Compile a refresh and write its commit, which nobody sees yet."""
    with runtime.crowd.joined(runtime.engine.processors) as own_time:
        staged = _stage(runtime, row, run, view, planned, started)
        return replace(staged, took=own_time())


def _stage(
    runtime: Runtime,
    row: StreamTableRow,
    run: Run,
    view: View,
    planned: Planned,
    started: float,
) -> StagedRun:
    fields: tuple[Field, ...] = ()
    if planned.decision.action is not Action.REINITIALIZE:
        check_schema(row.name, planned.windows)
    _tell(runtime, row, run, stage.COMPILE, "start")
    if planned.decision.action is Action.REINITIALIZE:
        row, fields = reinitialize(runtime, row, planned.decision.reason)
        run = replace(run, generation=row.generation)
        view = View.take(runtime)
        planned = replace(
            plan_refresh(
                runtime,
                replace(row, needs_reinit=False),
                view=view,
                full=True,
                fixed=planned.fixed,
                arms=planned.arms,
                circle=planned.circle,
            )[0],
            decision=planned.decision,
        )
    resolved = resolved_for(runtime, row)
    logged = is_logged(runtime, planned)
    todo = statements(runtime, view, planned, resolved, run.run_id, fields, logged=logged)
    stamp = Stamp(
        run_id=run.run_id,
        frontier=planned.new.to_json(),
        definition_hash=resolved.hash,
        parent=planned.parent,
        action=planned.decision.action.value,
        apply=todo.kind.value,
        reason_code=planned.decision.reason_code,
        reason=planned.decision.reason,
        log=log_entry(runtime, planned, todo.statement, run.run_id) if logged else "",
    )
    _tell(runtime, row, run, stage.COMPILE, "end")
    _tell(runtime, row, run, stage.APPLY, "start")
    applied = apply(
        runtime,
        planned,
        todo,
        stamp,
        routed(runtime, row, planned),
        lambda step: _tell(runtime, row, run, f"{stage.APPLY}.{step}", "start"),
    )
    _tell(runtime, row, run, stage.APPLY, "end")
    return StagedRun(row, run, planned, applied, started, resolved.hash)


def publish_run(runtime: Runtime, staged: StagedRun) -> int | None:
    """Make a staged commit the content; None when there was nothing to publish."""
    _tell(runtime, staged.row, staged.run, stage.PUBLISH, "start")
    version = publish(runtime, staged.planned, staged.applied)
    _tell(runtime, staged.row, staged.run, stage.PUBLISH, "end")
    return version


def record(runtime: Runtime, staged: StagedRun, version: int | None) -> RefreshResult:
    """Note what a refresh did, and tell listeners."""
    row, run, planned, applied = staged.row, staged.run, staged.planned, staged.applied
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
        cost=measured(runtime, planned, staged.definition_hash, applied, staged.took),
    )
    _tell(runtime, row, run, stage.RECORD, "start")
    runtime.store.history.finish(run, outcome)
    _tell(runtime, row, run, stage.RECORD, "end")
    runtime.events.emit(
        RefreshEvent(str(row.name), run.run_id, outcome.action, outcome.reason_code, outcome.reason)
    )
    return told(row, run.run_id, outcome, staged.started)


def failed(
    runtime: Runtime,
    row: StreamTableRow,
    run: Run,
    error: HeadwaterError,
    *,
    is_retried: bool = False,
) -> HeadwaterError:
    """Note that a refresh failed; a transient failure that is tried again counts later."""
    if isinstance(error, SourceSchemaChanged):
        runtime.store.tables.update(row.name, needs_reinit=True, reinit_reason=error.what)
    limit = int(runtime.setting("max_consecutive_errors"))
    counts = not (is_retried and error.is_transient)
    status = runtime.store.history.fail(run, error, max_consecutive_errors=limit, counts=counts)
    runtime.events.emit(
        RefreshEvent(str(row.name), run.run_id, "FAILED", error.code, error.what, error.code)
    )
    if status is Status.SUSPENDED:
        text = f"{row.name} is suspended after {limit} failures in a row"
        runtime.events.emit(WarningEvent(str(row.name), "AUTO_SUSPENDED", text))
    return error


def outcome_of(planned: Planned) -> Outcome:
    """What a refresh with nothing to do did."""
    return Outcome(
        action=planned.decision.action,
        reason_code=planned.decision.reason_code,
        reason=planned.decision.reason,
        frontier=planned.new,
        version=planned.own,
    )


def told(row: StreamTableRow, run_id: str, outcome: Outcome, started: float) -> RefreshResult:
    """An outcome as the caller of a refresh sees it."""
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


def tell_stage(runtime: Runtime, row: StreamTableRow, run_id: str, name: str, moment: str) -> None:
    """Tell listeners that a refresh enters or leaves a stage."""
    runtime.events.emit(StageEvent(str(row.name), run_id, name, moment))  # type: ignore[arg-type]


def _tell(runtime: Runtime, row: StreamTableRow, run: Run, name: str, moment: str) -> None:
    tell_stage(runtime, row, run.run_id, name, moment)
