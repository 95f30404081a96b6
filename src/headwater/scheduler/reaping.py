"""Closes what dead processes left: their jobs, their groups, their history; forgets what is old."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING

from headwater.catalog.owners import is_gone
from headwater.core.errors import HeadwaterError
from headwater.observe.events import WarningEvent
from headwater.refresh.together import complete_intents
from headwater.scheduler.lost_jobs import recover_job
from headwater.scheduler.tick_budget import retry_after

if TYPE_CHECKING:
    from headwater.catalog.jobs import Job
    from headwater.refresh.runtime import Runtime
    from headwater.scheduler.dispatcher import Dispatcher
    from headwater.scheduler.tick_state import Retry

REAP_SECONDS = 2.0
"""How often jobs of dead processes are looked for."""

KEPT_JOBS = timedelta(hours=1)
PRUNE_SECONDS = 3600.0
"""How often what is older than its retention is forgotten."""


class Reaper:
    """Looks for dead processes of one hub.

    Attributes:
        reaped: jobs that run here and were closed as lost.
    """

    def __init__(self, runtime: Runtime, dispatcher: Dispatcher) -> None:
        self._runtime = runtime
        self._dispatcher = dispatcher
        self._reaped_at = -REAP_SECONDS
        self._pruned_at = -PRUNE_SECONDS
        self._lost: list[Job] = []
        self._told: str | None = None
        self.reaped: set[int] = set()

    def reap(self) -> dict[str, Retry | None]:
        """Close the jobs of dead processes, complete their groups and their history.

        Returns:
            For each unit of such a job when it is tried again; None: no more.
        """
        first = self._reaped_at < 0
        if time.monotonic() - self._reaped_at < REAP_SECONDS:
            return {}
        self._reaped_at = time.monotonic()
        jobs = self._runtime.store.jobs
        self._complete_groups()
        lost = jobs.reap(is_gone=is_gone)
        self.reaped |= self._dispatcher.give_up({job.job_id for job in lost})
        ahead = self._runtime.clock() - self._runtime.store.now()
        retries = {
            job.unit_key: retry_after(job.unit_key, job.attempt_no, job.finished_at + ahead)
            for job in (jobs.failures() if first else lost)
            if job.finished_at is not None and job.retryable
        }
        self._lost += [job for job in lost if job.retryable]
        self._recover()
        return retries

    def prune(self) -> None:
        """Once in an hour: forget what is older than its retention."""
        if time.monotonic() - self._pruned_at < PRUNE_SECONDS:
            return
        self._pruned_at = time.monotonic()
        store = self._runtime.store
        now = store.now()
        store.jobs.prune(now - KEPT_JOBS)
        store.intents.prune(now - KEPT_JOBS)
        days = int(self._runtime.setting("history_retention_days"))
        if days:
            before = now - timedelta(days=days)
            store.history.prune(before)
            store.ticks.prune(before)

    def _recover(self) -> None:
        """What the catalog does not take now is tried again; the retries are known all the same."""
        for job in tuple(self._lost):
            try:
                recover_job(self._runtime, job)
            except HeadwaterError as error:
                self._tell("LOST_JOB", error.what)
            else:
                self._lost.remove(job)

    def _complete_groups(self) -> None:
        """Publish what dead processes committed to; a group that cannot be holds up nothing."""
        try:
            complete_intents(self._runtime, seconds=0)
            self._told = None
        except HeadwaterError as error:
            self._tell("GROUP_NOT_PUBLISHED", error.what)

    def _tell(self, code: str, what: str) -> None:
        if self._told != what:
            self._told = what
            self._runtime.events.emit(WarningEvent("*", code, what))
