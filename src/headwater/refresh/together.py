"""Refreshes several stream tables so that they appear together, or not at all.

Every member is staged before any is published; a member reads the staged commits of the members
below it. Then one row in the catalog, the publish intent, is the commit point: from there on
readers through the hub see all members, and whoever finds the row carries it out. A failure before
it leaves nothing behind that anybody sees.
"""

from __future__ import annotations

import time
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from headwater.catalog.history import Outcome
from headwater.catalog.rows import InitiatedBy
from headwater.core.errors import HeadwaterError, RefreshConflict, StreamTableNotFound
from headwater.core.names import TableName
from headwater.core.spec import Action
from headwater.refresh.arms import brought_together, dependency_graph
from headwater.refresh.locks import table_lock
from headwater.refresh.perform import (
    StagedRun,
    failed,
    perform,
    publish_run,
    record,
    stage_run,
    tell_stage,
    told,
)
from headwater.refresh.pin import View
from headwater.refresh.plan import plan_refresh
from headwater.refresh.recover import recover_unrecorded
from headwater.refresh.run import as_this_version_stores_it, refresh
from headwater.refresh.write import check_still_current
from headwater.storage.failures import translate

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from headwater.catalog.history import Run
    from headwater.catalog.intents import PublishIntent
    from headwater.catalog.leases import Lease
    from headwater.catalog.rows import StreamTableRow
    from headwater.core.frontier import Frontier, SourceVersion
    from headwater.core.results import RefreshResult
    from headwater.refresh.runtime import Runtime

MAX_ATTEMPTS = 5
ARMS_DISAGREE = "ARMS_DISAGREE"


class _Disagreement(RefreshConflict):
    """Sources of a member show one base table at different versions."""


class MemberFailed(HeadwaterError):
    """One member of a group failed, so none of them was published."""

    def __init__(self, name: TableName, error: HeadwaterError) -> None:
        super().__init__(error.what, hint=error.hint)
        self.name = name
        self.error = error


def refresh_together(
    runtime: Runtime,
    unit_key: str,
    members: Sequence[TableName],
    *,
    fixed: Mapping[TableName, SourceVersion] | None = None,
    tick: int | None = None,
    is_retried: bool = False,
) -> list[RefreshResult]:
    """Refresh the members of a group, upstream first; all appear or none.

    Raises:
        MemberFailed: the member that failed, and why; nothing was published.
    """
    complete_intents(runtime, of=members)
    arms: Mapping[TableName, Frontier] = {}
    for attempt in range(1, MAX_ATTEMPTS + 1):
        group = _Group(runtime, unit_key, members, fixed, tick, arms, is_retried=is_retried)
        try:
            return group.run()
        except _Disagreement as error:
            found = brought_together(runtime, dependency_graph(runtime), members, refresh)
            fixed, arms = found.fixed, found.arms
            if found.disagreement is not None or attempt == MAX_ATTEMPTS:
                return _waiting(runtime, members, tick, found.disagreement or error.what)
        except RefreshConflict:
            if attempt == MAX_ATTEMPTS:
                raise
            time.sleep(min(0.05 * 2**attempt, 1.0))
    raise AssertionError("unreachable")


def complete_intents(
    runtime: Runtime,
    *,
    of: Collection[TableName] | None = None,
    seconds: float | None = None,
) -> int:
    """Carry out what dead processes committed to; returns how many groups were completed.

    Args:
        runtime: the hub's parts.
        of: only groups with one of these members; None takes all.
        seconds: how long to wait for a group that somebody refreshes, which is then left to them;
            None waits as a refresh does.

    Raises:
        HeadwaterError: a group could not be completed; the others were.
    """
    done, errors = 0, []
    for intent in runtime.store.intents.pending():
        names = sorted(TableName.parse(m["name"]) for m in intent.members)
        if of is not None and not set(names) & set(of):
            continue
        try:
            done += _complete(runtime, intent, names, seconds)
        except HeadwaterError as error:
            if not (isinstance(error, RefreshConflict) and seconds is not None):
                errors.append(error)
    if errors:
        raise errors[0]
    return done


def _complete(
    runtime: Runtime, intent: PublishIntent, names: Sequence[TableName], seconds: float | None
) -> bool:
    """Carry out one group while nobody refreshes its members; False when somebody had done it."""
    with ExitStack() as locks:
        for name in names:
            locks.enter_context(table_lock(runtime, name, seconds=seconds))
        if not any(i.id == intent.id for i in runtime.store.intents.pending()):
            return False
        _carry_out(runtime, intent)
    return True


def _carry_out(runtime: Runtime, intent: PublishIntent) -> None:
    """Publish every member that can be; those that were dropped have nothing to show."""
    errors = []
    for member in intent.members:
        name, parent = TableName.parse(member["name"]), member.get("parent", "")
        if runtime.tables.location(name) is None:
            continue
        try:
            runtime.tables.publish(
                name,
                expect_main=int(parent) if parent else None,
                snapshot_id=int(member["snapshot"]),
            )
        except RefreshConflict:
            # Somebody wrote into the member: its next refresh finds that and makes it whole.
            continue
        except HeadwaterError as error:
            errors.append(error)
    if errors:
        raise errors[0]
    runtime.store.intents.complete(intent.id)
    for member in intent.members:
        with suppress(StreamTableNotFound):
            recover_unrecorded(runtime, TableName.parse(member["name"]))


class _Group:
    """One attempt to refresh the members of a group."""

    def __init__(
        self,
        runtime: Runtime,
        unit_key: str,
        members: Sequence[TableName],
        fixed: Mapping[TableName, SourceVersion] | None,
        tick: int | None,
        arms: Mapping[TableName, Frontier],
        *,
        is_retried: bool,
    ) -> None:
        self._runtime = runtime
        self._unit_key = unit_key
        self._members = members
        self._fixed = fixed
        self._tick = tick
        self._arms = arms
        self._is_retried = is_retried
        self._staged: dict[TableName, StagedRun] = {}
        self._results: dict[TableName, RefreshResult] = {}

    def run(self) -> list[RefreshResult]:
        with ExitStack() as locks:
            leases = [
                locks.enter_context(table_lock(self._runtime, name))
                for name in sorted(self._members)
            ]
            if self._needs_rebuild():
                return self._one_by_one(locks)
            for name in self._members:
                self._stage(name)
            self._publish(leases)
        return [self._results[name] for name in self._members]

    def _needs_rebuild(self) -> bool:
        """Whether the storage of a member must be made anew, which cannot be staged."""
        rows = [
            as_this_version_stores_it(self._runtime, recover_unrecorded(self._runtime, name))
            for name in self._members
        ]
        return any(row.needs_reinit for row in rows)

    def _one_by_one(self, locks: ExitStack) -> list[RefreshResult]:
        locks.close()
        results = []
        for name in self._members:
            try:
                results.append(
                    refresh(
                        self._runtime,
                        name,
                        fixed=self._fixed,
                        initiated_by=InitiatedBy.SCHEDULER,
                        tick=self._tick,
                        is_retried=self._is_retried,
                    )
                )
            except HeadwaterError as error:
                raise MemberFailed(name, error) from error
        return results

    def _stage(self, name: TableName) -> None:
        runtime, started = self._runtime, time.perf_counter()
        row = runtime.store.tables.get(name)
        run = runtime.store.history.begin(row, initiated_by=InitiatedBy.SCHEDULER, tick=self._tick)
        try:
            self._stage_run(row, run, started)
        except RefreshConflict as error:
            runtime.store.history.skip(run, reason_code="CONFLICT", reason=error.what)
            self._give_up("CONFLICT", error.what)
            raise
        except Exception as error:
            told = failed(runtime, row, run, translate(error), is_retried=self._is_retried)
            reason = f"{name} failed, and they appear together: {told.what}"
            self._give_up("GROUP_FAILED", reason)
            raise MemberFailed(name, told) from error

    def _stage_run(self, row: StreamTableRow, run: Run, started: float) -> None:
        runtime = self._runtime
        heads = {
            n: s.applied.snapshot_id
            for n, s in self._staged.items()
            if s.applied.snapshot_id is not None
        }
        view = View.take(runtime).with_staged(heads)
        planned, pinned = plan_refresh(
            runtime,
            row,
            view=view,
            fixed=self._fixed,
            arms=self._arms,
            tell=lambda stage, moment: tell_stage(runtime, row, run.run_id, stage, moment),
        )
        if pinned.conflicts:
            tables = ", ".join(map(str, pinned.conflicts))
            raise _Disagreement(f"the sources of {row.name} show different versions of {tables}")
        if planned.decision.action is Action.NO_DATA:
            self._results[row.name] = perform(runtime, row, run, view, planned, started)
            return
        staged = stage_run(runtime, row, run, view, planned, started)
        if staged.is_empty:
            check_still_current(runtime, staged.planned)
            self._results[row.name] = record(runtime, staged, publish_run(runtime, staged))
        else:
            self._staged[row.name] = staged

    def _publish(self, leases: Sequence[Lease]) -> None:
        runtime, staged = self._runtime, self._staged
        try:
            for each in staged.values():
                check_still_current(runtime, each.planned)
            intent = self._commit(leases) if len(staged) > 1 else None
        except RefreshConflict as error:
            self._give_up("CONFLICT", error.what)
            raise
        refused: RefreshConflict | None = None
        versions: dict[TableName, int | None] = {}
        for name, each in staged.items():
            try:
                versions[name] = publish_run(runtime, each)
            except RefreshConflict as error:
                # Somebody wrote into the member: its next refresh finds that and makes it whole.
                runtime.store.history.skip(each.run, reason_code="CONFLICT", reason=error.what)
                refused = error
        if intent is not None:
            runtime.store.intents.complete(intent)
        for name, version in versions.items():
            self._results[name] = record(runtime, staged[name], version)
        if refused is not None:
            raise refused

    def _commit(self, leases: Sequence[Lease]) -> int:
        """The point after which the group counts as published."""
        for name, each in self._staged.items():
            head = self._runtime.tables.metadata(name)
            if head is None or head.current_snapshot_id != each.planned.parent:
                raise RefreshConflict(f"{name} was published by another run meanwhile")
        members = [
            {
                "name": str(name),
                "snapshot": str(each.applied.snapshot_id),
                "parent": "" if each.planned.parent is None else str(each.planned.parent),
                "run": each.run.run_id,
            }
            for name, each in self._staged.items()
        ]
        return self._runtime.store.intents.add(self._unit_key, members, fences=leases)

    def _give_up(self, code: str, reason: str) -> None:
        for each in self._staged.values():
            self._runtime.store.history.skip(each.run, reason_code=code, reason=reason)


def _waiting(
    runtime: Runtime, members: Sequence[TableName], tick: int | None, reason: str
) -> list[RefreshResult]:
    """Note that the members of a group wait until what is below them agrees."""
    results = []
    for name in members:
        row = runtime.store.tables.get(name)
        run = runtime.store.history.begin(row, initiated_by=InitiatedBy.SCHEDULER, tick=tick)
        runtime.store.history.skip(run, reason_code=ARMS_DISAGREE, reason=reason)
        outcome = Outcome(Action.SKIPPED, ARMS_DISAGREE, reason, row.frontier, row.version)
        results.append(told(row, run.run_id, outcome, time.perf_counter()))
    return results
