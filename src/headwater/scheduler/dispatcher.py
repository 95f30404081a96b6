"""Takes units from the ready queue to workers: jobs with leases, shared budget, results, retries.

Used from one thread, the coordinator's; only `run_unit` runs in workers. A second thread renews the
leases of all jobs and cancels refreshes that take too long.
"""

from __future__ import annotations

import queue
import threading
import time
import uuid
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from headwater.catalog.jobs import JobStatus, NewJob
from headwater.catalog.processes import ProcessIdentity
from headwater.core.errors import HeadwaterError, RunInterrupted
from headwater.scheduler.execute import UnitResult, run_unit
from headwater.scheduler.tick_budget import MAX_ATTEMPTS, Budget
from headwater.scheduler.tick_dispatch import ReadyQueue
from headwater.scheduler.workers import Workers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from headwater.catalog.jobs import Job, Load
    from headwater.core.frontier import SourceVersion
    from headwater.core.names import TableName
    from headwater.refresh.runtime import Runtime
    from headwater.scheduler.ledger import Shape
    from headwater.scheduler.tick_dispatch import Entry
    from headwater.scheduler.tick_state import UnitRun

LEASE = timedelta(seconds=10)
_SEPARATOR = "|"


@dataclass(frozen=True, slots=True)
class Pinned:
    """A tick that runs units.

    Attributes:
        tick: its number in the catalog.
        at: its instant.
        versions: the versions it pinned; None pins none.
        runtime: the hub's parts, with the change windows that its refreshes share.
        shared: gives back what they share, when all have ended.
    """

    tick: int
    at: datetime
    versions: Mapping[TableName, SourceVersion] | None
    runtime: Runtime
    shared: ExitStack


@dataclass(slots=True)
class _Running:
    entry: Entry
    job: Job
    label: str
    started: float = field(default_factory=time.monotonic)


def owner_name() -> str:
    """Who holds the jobs of one coordinator; tells whether its process still lives."""
    process = ProcessIdentity.current()
    parts = (process.host, str(process.pid), process.started, uuid.uuid4().hex[:8])
    return _SEPARATOR.join(parts)


def is_gone(owner: str) -> bool:
    """Whether the process of an owner is known to be dead."""
    parts = owner.split(_SEPARATOR)
    if len(parts) != 4 or not parts[1].isdigit():
        return False
    return ProcessIdentity(parts[0], int(parts[1]), parts[2]).is_alive() is False


class Dispatcher:
    """The jobs of one coordinator.

    Attributes:
        queue: what waits and what runs.
        owner: the name under which jobs are held.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._jobs: dict[str, Job] = {}
        self._pinned: dict[int, Pinned] = {}
        self._running: dict[str, _Running] = {}
        self._done: queue.SimpleQueue[tuple[Entry, UnitResult]] = queue.SimpleQueue()
        self._keeper: threading.Thread | None = None
        self._closing = threading.Event()
        self._keeping = threading.Lock()
        self.workers = Workers()
        self.queue = ReadyQueue()
        self.owner = owner_name()

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits and nothing runs."""
        return not self.queue.queued and not self.queue.running

    def budget(self, hubs: int = 1) -> Budget:
        """What the settings allow."""
        setting = self._runtime.setting
        return Budget(
            mode=str(setting("parallel_refresh_mode")),
            per_hub=int(setting("max_parallel_workers")),
            cap=int(setting("max_dynamic_refresh_workers")),
            quota=int(setting("per_hub_worker_quota")),
            hubs=hubs,
        )

    def add(self, runs: Sequence[UnitRun], shape: Shape, turn: int, pinned: Pinned) -> None:
        """Queue the units of a tick; one that another process runs is left to it."""
        fresh = [r for r in runs if r.unit.key not in self._jobs]
        new = [
            NewJob(
                unit_key=r.unit.key,
                unit_kind=r.unit.kind,
                members=tuple(map(str, r.members)),
                dag_version=shape.generation,
                attempt_no=r.attempt,
            )
            for r in fresh
        ]
        made = self._runtime.store.jobs.enqueue_all(new, self.owner, LEASE) if new else []
        for run, job in zip(fresh, made, strict=True):
            if job is not None:
                self._jobs[run.unit.key] = job
        self._pinned[turn] = pinned
        mine = [r for r in runs if r.unit.key in self._jobs]
        self.queue.add(mine, shape.graph, shape.units, turn)
        self._keep_alive()

    def keep(self, shape: Shape) -> None:
        """Forget what waits and is no unit any more."""
        before = set(self.queue.queued)
        self.queue.keep(shape.units)
        self._cancel(before - set(self.queue.queued), "its definition changed")

    def start(self) -> list[tuple[Entry, UnitResult]]:
        """Start what is ready, as far as the budget goes.

        Returns:
            Units that ran here and now, one after the other, when units run serially.
        """
        budget = self.budget()
        self.workers.keep(0 if budget.is_serial else int(self._runtime.setting("worker_pool_size")))
        here = len(self.queue.running)
        for entry in self.queue.start(max(0, budget.allowed(here) - here)):
            job = self._claim(entry)
            if job is None:
                continue
            label = f"headwater-{job.job_id}"
            self._running[entry.key] = _Running(entry, job, label)
            if budget.is_serial:
                try:
                    return [(entry, self._run(entry, label))]
                except BaseException:  # somebody interrupts the process: the unit did not end well
                    self.end(entry, _interrupted(entry))
                    raise
            self.workers.submit(partial(self._work, entry, label))
        return []

    def wait(self, seconds: float) -> list[tuple[Entry, UnitResult]]:
        """Units that ended; waits for the first for a while."""
        ended = []
        try:
            ended.append(self._done.get(timeout=max(0.0, seconds)))
            while True:
                ended.append(self._done.get_nowait())
        except queue.Empty:
            return ended

    def pinned(self, entry: Entry) -> Pinned:
        """The tick whose versions a unit reads."""
        return self._pinned[entry.tick]

    def end(self, entry: Entry, result: UnitResult) -> list[Entry]:
        """A unit ended: close its job; returns what is held back because it failed."""
        running = self._running.pop(entry.key, None)
        self._jobs.pop(entry.key, None)
        if running is not None:
            status, detail = _outcome(entry, result.error)
            self._runtime.store.jobs.finish(running.job, status, detail=detail)
        if result.error is None:
            self.queue.succeeded(entry.key)
            held = []
        else:
            held = self.queue.failed(entry.key)
        self._cancel([e.key for e in held], "something it reads failed")
        self._forget_ticks()
        return held

    def cancel_running(self) -> None:
        """Cancel the Spark jobs of everything that runs."""
        for running in list(self._running.values()):
            self._runtime.engine.cancel(running.label)

    def drop_queued(self, why: str) -> None:
        """Give up what waits."""
        self._cancel(list(self.queue.queued), why)
        self.queue.queued.clear()

    def close(self) -> None:
        """Give up what waits, and let the workers end."""
        self.drop_queued("the scheduler stopped")
        self._closing.set()
        self.workers.close()

    def _work(self, entry: Entry, label: str) -> None:
        """Run a unit in a worker; whatever happens, the coordinator learns that it ended."""
        result = _interrupted(entry)
        try:
            result = self._run(entry, label)
        finally:
            self._done.put((entry, result))

    def _run(self, entry: Entry, label: str) -> UnitResult:
        pinned = self._pinned[entry.tick]
        return run_unit(
            pinned.runtime,
            entry.run,
            fixed=pinned.versions,
            tick=pinned.tick,
            is_retried=entry.run.attempt < MAX_ATTEMPTS,
            label=label,
        )

    def _claim(self, entry: Entry) -> Job | None:
        """Take the job of a unit, if all hubs together leave room; else it waits again."""

        def leaves_room(load: Load) -> bool:
            return self.budget(load.hubs).free(load.here, load.elsewhere) > 0

        jobs = self._runtime.store.jobs
        queued = self._jobs[entry.key]
        job = jobs.claim(self.owner, LEASE, job_id=queued.job_id, within=leaves_room)
        if job is None:
            if jobs.is_queued(queued):
                self.queue.back(entry.key)
            else:  # another coordinator took it for lost
                self.queue.succeeded(entry.key)
                del self._jobs[entry.key]
        return job

    def _cancel(self, keys: Sequence[str] | set[str], why: str) -> None:
        gone = [self._jobs.pop(key).job_id for key in keys if key in self._jobs]
        if gone:
            self._runtime.store.jobs.cancel(gone, detail=why)

    def _forget_ticks(self) -> None:
        """Close the ticks of which nothing waits or runs."""
        entries = (*self.queue.queued.values(), *self.queue.running.values())
        used = {entry.tick for entry in entries}
        for turn in [t for t in self._pinned if t not in used]:
            pinned = self._pinned.pop(turn)
            pinned.shared.close()
            self._runtime.store.ticks.finish(pinned.tick)

    def _keep_alive(self) -> None:
        with self._keeping:
            if self._keeper is None:
                self._closing.clear()
                self._keeper = threading.Thread(
                    target=self._renew, name="headwater-leases", daemon=True
                )
                self._keeper.start()

    def _renew(self) -> None:
        """Until closed or idle: renew the leases, cancel what takes too long."""
        last = 0.0
        while not self._closing.wait(0.25):
            limit = int(self._runtime.setting("refresh_timeout"))
            now = time.monotonic()
            for running in list(self._running.values()):
                if limit and now - running.started > limit:
                    self._runtime.engine.cancel(running.label)
            if now - last > LEASE.total_seconds() / 3:
                last = now
                try:
                    self._runtime.store.jobs.renew_all(self.owner, LEASE)
                except HeadwaterError:
                    continue  # a busy catalog: there is time for two more attempts
            with self._keeping:
                if not self._jobs and not self._running:
                    self._keeper = None
                    return
        with self._keeping:
            self._keeper = None


def _interrupted(entry: Entry) -> UnitResult:
    lost = RunInterrupted(f"the worker of {entry.key} ended during the refresh")
    return UnitResult(failed=entry.run.members[0], error=lost)


def _outcome(entry: Entry, error: HeadwaterError | None) -> tuple[JobStatus, str | None]:
    if error is None:
        return JobStatus.SUCCEEDED, None
    again = error.is_transient and entry.run.attempt < MAX_ATTEMPTS
    status = JobStatus.RETRYABLE_FAILED if again else JobStatus.PERMANENT_FAILED
    return status, f"{error.code}: {error.what}"
