"""What a worker that was lost left behind: groups completed, runs ended, errors counted."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from headwater.catalog.owners import process_of
from headwater.catalog.rows import RunStatus
from headwater.core.errors import HeadwaterError, RunInterrupted
from headwater.core.names import TableName
from headwater.core.spec import Status
from headwater.observe.events import WarningEvent
from headwater.refresh.locks import LEASE_SECONDS
from headwater.refresh.recover import recover_unrecorded
from headwater.refresh.together import complete_intents
from headwater.scheduler.execute import note_failure
from headwater.scheduler.tick_budget import MAX_ATTEMPTS

if TYPE_CHECKING:
    from headwater.catalog.jobs import Job
    from headwater.catalog.processes import ProcessIdentity
    from headwater.refresh.runtime import Runtime


def recover_job(runtime: Runtime, job: Job) -> None:
    """Complete what the holder of a job left, and tell in the history that the attempt failed.

    A job that used up its attempts is one error of the tables that it was refreshing.
    """
    names = [TableName.parse(member) for member in job.members]
    holder = process_of(job.lease_owner or "")
    with suppress(HeadwaterError):  # tried again with the others
        complete_intents(runtime, of=names, seconds=LEASE_SECONDS)
    began, is_last = False, job.attempt_no >= MAX_ATTEMPTS
    for name in names:
        with suppress(HeadwaterError):  # dropped meanwhile
            runs = _runs_of(runtime, name, holder)
            began = began or bool(runs)
            recover_unrecorded(runtime, name, lost=holder)
            if is_last and runs & _failed(runtime, name):
                _count(runtime, name)
    if not began and job.started_at is not None:
        _note(runtime, names[0], job, is_retried=not is_last)


def _runs_of(runtime: Runtime, name: TableName, holder: ProcessIdentity | None) -> set[str]:
    """Runs that a process has begun and not ended."""
    return {r.run_id for r in runtime.store.history.running(name) if r.process == holder}


def _failed(runtime: Runtime, name: TableName) -> set[str]:
    runs = runtime.store.history.runs(name, limit=20)
    return {run.run_id for run in runs if run.status is RunStatus.FAILED}


def _note(runtime: Runtime, name: TableName, job: Job, *, is_retried: bool) -> None:
    """The worker was lost before the refresh began: nothing else tells of this attempt."""
    row = runtime.store.tables.find(name)
    last = row.last_refresh_at if row is not None else None
    if last is not None and job.started_at is not None and last >= job.started_at:
        return  # it had ended, only its worker could not say so
    lost = RunInterrupted(f"the worker of {job.unit_key} was lost before the refresh began")
    note_failure(runtime, name, lost, tick=None, is_retried=is_retried)


def _count(runtime: Runtime, name: TableName) -> None:
    row = runtime.store.tables.get(name)
    errors, limit = row.consecutive_errors + 1, int(runtime.setting("max_consecutive_errors"))
    is_suspended = errors >= limit
    lost = RunInterrupted(f"its worker was lost in {MAX_ATTEMPTS} attempts in a row")
    runtime.store.tables.update(
        name,
        consecutive_errors=errors,
        status=Status.SUSPENDED if is_suspended else row.status,
        last_error_code=lost.code,
        last_error_message=str(lost),
        last_error_at=runtime.clock(),
    )
    if is_suspended:
        text = f"{name} is suspended after {limit} failures in a row"
        runtime.events.emit(WarningEvent(str(name), "AUTO_SUSPENDED", text))
