"""One refresh: walks the stages, and leaves a history row whatever happens.

The order is what makes it exact once: the frontier travels inside the commit, the commit becomes
visible by one compare-and-swap, and the catalog row is only a copy. After a crash between any two
stages the next refresh reads the truth from the table and goes on.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headwater.catalog.history import Outcome
from headwater.catalog.idle import Idle
from headwater.catalog.rows import InitiatedBy
from headwater.core.errors import (
    HeadwaterError,
    QueryFailed,
    RefreshConflict,
    StorageDamaged,
    StreamTableSuspended,
    VersionExpired,
)
from headwater.core.results import RefreshResult
from headwater.core.spec import Action, Status
from headwater.refresh.arms import align_arms, dependency_graph
from headwater.refresh.decide import REPAIR
from headwater.refresh.definitions import resolved_for
from headwater.refresh.lifecycle import forget_unreadable, reinitialize
from headwater.refresh.locks import table_lock
from headwater.refresh.perform import failed, outcome_of, perform, tell_stage, told
from headwater.refresh.pin import NO_CIRCLE, Circle, Pin, View
from headwater.refresh.plan import plan_refresh
from headwater.refresh.recover import recover_unrecorded
from headwater.sources.source import How
from headwater.storage.failures import translate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headwater.catalog.rows import StreamTableRow
    from headwater.core.frontier import Frontier, SourceVersion
    from headwater.core.names import TableName
    from headwater.refresh.runtime import Runtime
    from headwater.refresh.stages import Planned

MAX_ATTEMPTS = 8
"""How often a refused publish is tried again before the conflict is told."""

SOON_SECONDS = 0.25
"""A plan made so shortly before is not checked for newer versions of the sources: what it pinned is
as exact, and a stream table that moved meanwhile refuses the publish."""

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
    tick: int | None = None,
    is_retried: bool = False,
) -> RefreshResult:
    """Bring one stream table to a new frontier.

    Args:
        runtime: the hub's parts.
        name: the stream table.
        full: compute everything again.
        strict: refuse a full refresh that was not asked for; None follows the refresh mode.
        fixed: versions of base tables that several refreshes share.
        initiated_by: who asked.
        tick: the tick that asked.
        is_retried: the caller tries a transient failure again: it is no error of the table yet.
    """
    if runtime.setting("allow_circular"):
        graph = dependency_graph(runtime)
        members = graph.circle_of(name)
        if members:
            from headwater.refresh.circle import refresh_circle

            return refresh_circle(
                runtime,
                graph,
                tuple(members),
                fixed=fixed,
                initiated_by=initiated_by,
                tick=tick,
                is_retried=is_retried,
                full=full,
            )[name]
    return refresh_once(
        runtime, name, Asked(full, strict, fixed, initiated_by, tick, is_retried), NO_CIRCLE
    )


@dataclass(frozen=True, slots=True)
class Asked:
    """What the caller of a refresh wants, see `refresh`; `arms`: what those in `fixed` hold."""

    full: bool
    strict: bool | None
    fixed: Mapping[TableName, SourceVersion] | None
    initiated_by: InitiatedBy
    tick: int | None
    is_retried: bool
    arms: Mapping[TableName, Frontier] | None = None


def refresh_once(runtime: Runtime, name: TableName, asked: Asked, circle: Circle) -> RefreshResult:
    """Bring one stream table to a new frontier, whatever it reads; see `refresh`."""
    without: frozenset[How] = frozenset()
    attempt = 0
    while True:
        attempt += 1
        try:
            return _attempt(runtime, name, asked, without, circle)
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
    runtime.store.tables.get(name)
    forget_unreadable(runtime, name)
    row = recover_unrecorded(runtime, name)
    if runtime.tables.metadata(name) is None:
        reinitialize(runtime, row, REPAIR)
    runtime.store.tables.update(
        name,
        status=Status.ACTIVE,
        consecutive_errors=0,
        needs_reinit=True,
        reinit_reason=REPAIR,
    )
    return refresh(runtime, name, full=True, initiated_by=InitiatedBy.REPAIR)


def _attempt(
    runtime: Runtime, name: TableName, asked: Asked, without: frozenset[How], circle: Circle
) -> RefreshResult:
    started = time.perf_counter()
    row, view = _found(runtime, name)
    try:
        planned, pinned = _planned(runtime, row, view, asked, without, circle)
    except Exception as error:
        known = translate(error)
        if _next_way(known, without) is None:
            not_planned(runtime, row, asked, known)
        if known is error:
            raise
        raise known from error
    if planned.decision.action is Action.NO_DATA:
        if planned.own != row.version:
            row = recover_unrecorded(runtime, name)
        if pinned.conflicts and planned.old is not None:
            # Empty windows of arms that disagree prove nothing about the newer base versions.
            planned = replace(planned, new=planned.old)
        return _idle(runtime, row, planned, asked, started)
    if pinned.conflicts:
        # Before the lock of this table is taken: a group takes the locks of its members in order.
        aligned = align_arms(runtime, row, refresh)
        if aligned.disagreement is not None:
            return _skipped(runtime, row, asked, aligned.disagreement, started)
        asked = replace(asked, fixed=aligned.fixed, arms=aligned.arms)
    with table_lock(runtime, name):
        return _locked(runtime, row, (planned, pinned), asked, without, started)


def _found(runtime: Runtime, name: TableName) -> tuple[StreamTableRow, View]:
    """A stream table that may be refreshed, and the tables as they are now.

    One without storage is being created or dropped: it is waited for until that is done.
    """
    row, view = runtime.store.tables.get(name), View.take(runtime)
    if name not in view.locations:
        with table_lock(runtime, name):
            row, view = runtime.store.tables.get(name), View.take(runtime)
    if row.status is Status.SUSPENDED:
        raise StreamTableSuspended(
            f"{name} is suspended: {row.last_error_message or 'by its owner'}",
            hint=f"mend the cause, then resume_stream_table('{name}')",
        )
    return row, view


def _locked(
    runtime: Runtime,
    before: StreamTableRow,
    plan: tuple[Planned, Pin],
    asked: Asked,
    without: frozenset[How],
    started: float,
) -> RefreshResult:
    """Refresh while nobody else does; the plan made before stands if nothing moved since."""
    name = before.name
    row = as_this_version_stores_it(runtime, recover_unrecorded(runtime, name))
    run = runtime.store.history.begin(row, initiated_by=asked.initiated_by, tick=asked.tick)
    try:
        planned, pinned = plan
        is_same = row == before and not pinned.conflicts
        is_young = is_same and time.perf_counter() - started < SOON_SECONDS
        view = pinned.view if is_young else View.take(runtime)
        if view != pinned.view or not is_same:
            circle = planned.circle
            planned, pinned = _planned(runtime, row, view, asked, without, circle, run.run_id)
        if pinned.conflicts:
            raise RefreshConflict(f"the sources of {name} moved apart", hint="refresh again")
        return perform(runtime, row, run, view, planned, started)
    except RefreshConflict as error:
        runtime.store.history.skip(run, reason_code="CONFLICT", reason=error.what)
        raise
    except Exception as error:
        told = failed(runtime, row, run, translate(error), is_retried=asked.is_retried)
        if told is error:
            raise
        raise told from error


def not_planned(runtime: Runtime, row: StreamTableRow, asked: Asked, error: HeadwaterError) -> None:
    """Note that it could not even be decided what a refresh has to do; conflicts pass."""
    if isinstance(error, RefreshConflict):
        return
    run = runtime.store.history.begin(row, initiated_by=asked.initiated_by, tick=asked.tick)
    failed(runtime, row, run, error, is_retried=asked.is_retried)


def _planned(
    runtime: Runtime,
    row: StreamTableRow,
    view: View,
    asked: Asked,
    without: frozenset[How],
    circle: Circle,
    run_id: str = "",
) -> tuple[Planned, Pin]:
    return plan_refresh(
        runtime,
        row,
        view=view,
        full=asked.full,
        strict=asked.strict,
        fixed=asked.fixed,
        arms=asked.arms,
        without=without,
        circle=circle,
        tell=lambda stage, moment: tell_stage(runtime, row, run_id, stage, moment),
    )


def as_this_version_stores_it(runtime: Runtime, row: StreamTableRow) -> StreamTableRow:
    """Mark a table whose definition another version of Headwater has compiled differently."""
    if row.needs_reinit or resolved_for(runtime, row).hash == row.definition_hash:
        return row
    reason = "this version of Headwater stores the definition differently"
    return runtime.store.tables.update(row.name, needs_reinit=True, reinit_reason=reason)


def _idle(
    runtime: Runtime,
    row: StreamTableRow,
    planned: Planned,
    asked: Asked,
    started: float,
) -> RefreshResult:
    """Nothing to do: note the look, and the frontier if versions moved without a change."""
    outcome = outcome_of(planned)
    run_id = runtime.store.record_idle(
        row,
        Idle(
            frontier=planned.new,
            head=planned.own,
            reason_code=outcome.reason_code,
            reason=outcome.reason,
            duration_ms=(time.perf_counter() - started) * 1000,
            initiated_by=asked.initiated_by,
            tick=asked.tick,
        ),
    )
    return told(row, run_id, outcome, started)


def _skipped(
    runtime: Runtime, row: StreamTableRow, asked: Asked, reason: str, started: float
) -> RefreshResult:
    run = runtime.store.history.begin(row, initiated_by=asked.initiated_by, tick=asked.tick)
    runtime.store.history.skip(run, reason_code="ARMS_DISAGREE", reason=reason)
    outcome = Outcome(Action.SKIPPED, "ARMS_DISAGREE", reason, row.frontier, row.version)
    return told(row, run.run_id, outcome, started)


def _next_way(error: HeadwaterError, without: frozenset[How]) -> frozenset[How] | None:
    """The ways left to read a window after Spark refused one; None when it was not that."""
    refused = any(text in error.what for text in _REFUSED_READS)
    expired = isinstance(error, StorageDamaged | VersionExpired)
    if not (expired or (refused and isinstance(error, QueryFailed))):
        return None
    for way in (How.APPEND, How.CHANGES, How.DIFFERENCE):
        if way not in without:
            return without | {way} if way is not How.APPEND else without | {way, How.CHANGES}
    return None
