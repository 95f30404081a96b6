"""Takes units from the ready queue to workers: jobs with leases, shared budget, results, retries.

Used from one thread, the coordinator's; only `run_unit` runs in workers. A second thread renews the
leases of the jobs that wait or run here, and cancels refreshes that take too long. A job that runs
in a worker process is leased to that process, which renews it by itself.
"""

from __future__ import annotations

import os
import queue
import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from headwater.catalog.jobs import NewJob
from headwater.catalog.owners import owner_name
from headwater.core.errors import HeadwaterError, WorkersUnavailable
from headwater.scheduler.execute import UnitResult, note_failure, run_unit
from headwater.scheduler.in_flight import Running, interrupted, outcome
from headwater.scheduler.keeper import LEASE, LeaseKeeper
from headwater.scheduler.messages import Task
from headwater.scheduler.process_pool import ProcessPool
from headwater.scheduler.tick_budget import MAX_ATTEMPTS, Budget
from headwater.scheduler.tick_dispatch import ReadyQueue
from headwater.scheduler.workers import Workers
from headwater.scheduler.writes import Writes

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from headwater.catalog.job_loads import Load
    from headwater.catalog.jobs import Job
    from headwater.refresh.runtime import Runtime
    from headwater.scheduler.in_flight import Pinned
    from headwater.scheduler.ledger import Shape
    from headwater.scheduler.tick_dispatch import Entry
    from headwater.scheduler.tick_state import UnitRun
    from headwater.scheduler.worker_process import WorkerProcess


class Dispatcher:
    """The jobs of one coordinator.

    Attributes:
        queue: what waits and what runs.
        writes: what is still to be written of jobs and ticks.
        owner: the name under which jobs are held.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._jobs: dict[str, Job] = {}
        self._pinned: dict[int, Pinned] = {}
        self._running: dict[str, Running] = {}
        self._done: queue.SimpleQueue[tuple[Entry, UnitResult]] = queue.SimpleQueue()
        self._keeper = LeaseKeeper(
            look=self._stop_slow,
            renew=lambda: runtime.store.jobs.renew_all(self.owner, LEASE),
            is_needed=lambda: bool(self._jobs or self._running),
        )
        self.workers = Workers()
        self.processes = ProcessPool(runtime)
        self.queue = ReadyQueue()
        self.writes = Writes(runtime.store.database)
        self.owner = owner_name()

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits and nothing runs."""
        return not self.queue.queued and not self.queue.running

    @property
    def idle_workers(self) -> int:
        """Workers that wait for a unit."""
        return self.processes.idle if self.in_processes else self.workers.idle

    @property
    def in_processes(self) -> bool:
        """Whether units run in worker processes; functions that were registered are only here."""
        chosen = str(self._runtime.setting("worker_kind")) == "process"
        return chosen and not self.budget().is_serial and not self._runtime.functions

    @contextmanager
    def spark(self) -> Iterator[Runtime | None]:
        """The hub's parts with a Spark that runs; None when none runs."""
        if self.in_processes:
            with self.processes.runtime() as runtime:
                yield runtime
        else:
            yield self._runtime if self._runtime.engine.running else None

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
                root_id=shape.ids[r.members[0]],
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
        self._forget_ticks()
        self._keeper.start()

    def keep(self, shape: Shape) -> None:
        """Forget what waits and is no unit any more; its job is cancelled with the next writes."""
        before = set(self.queue.queued)
        self.queue.keep(shape.units)
        gone = before - set(self.queue.queued)
        self._cancel(gone, "its definition changed", write=self.writes.add)

    def start(self) -> list[tuple[Entry, UnitResult]]:
        """Start what is ready, as far as the budget goes.

        Returns:
            Units that ran here and now, one after the other, when units run serially.
        """
        budget = self.budget()
        here = len(self.queue.running)
        most = max(0, budget.allowed(here) - here)
        if self.in_processes:
            return self._start_processes(most)
        with self._starting(most) as chosen:
            for entry in chosen:
                job = self._claim(entry, self.owner, os.getpid())
                if job is None:
                    continue
                label = self._begin(entry, job)
                if budget.is_serial:
                    return [(entry, self._run_here(entry, label))]
                self._submit(entry, partial(self._work, entry, label))
        return []

    def rest(self) -> None:
        """Have as many idle workers as are to be kept, and no more for long."""
        kept = 0 if self.budget().is_serial else int(self._runtime.setting("worker_pool_size"))
        self.workers.keep(0 if self.in_processes else kept)
        self.processes.keep(kept if self.in_processes else 0)

    def _start_processes(self, most: int) -> list[tuple[Entry, UnitResult]]:
        """Start units in worker processes that are ready; those that cannot start fail."""
        wanted = min(most, len(self.queue.ready()))
        try:
            free = self.processes.prepare(wanted) if wanted else 0
            address = self.processes.address() if free else None
        except HeadwaterError as error:
            return self._not_started(wanted, error)
        with self._starting(free if address is not None else 0) as chosen:
            for entry in chosen:
                worker = self.processes.take()
                if worker is None or address is None:
                    break
                job = None
                try:
                    job = self._claim(entry, worker.owner, worker.pid)
                finally:
                    if job is None:
                        self.processes.give_back(worker)
                if job is not None:
                    label = self._begin(entry, job, worker)
                    task = self._task(entry, job, label, address)
                    self._submit(entry, partial(self._work_elsewhere, entry, worker, task))
        return []

    def _not_started(self, most: int, error: HeadwaterError) -> list[tuple[Entry, UnitResult]]:
        """Units that no worker could take, each with its job; they are tried again."""
        told = WorkersUnavailable(f"no worker could be started: {error.what}", hint=error.hint)
        ended = []
        with self._starting(most) as chosen:
            for entry in chosen:
                job = self._claim(entry, self.owner, None)
                if job is not None:
                    self._begin(entry, job)
                    name, tick = entry.run.members[0], self._pinned[entry.tick].tick
                    again = entry.run.attempt < MAX_ATTEMPTS
                    note_failure(self._runtime, name, told, tick=tick, is_retried=again)
                    ended.append((entry, UnitResult(failed=name, error=told)))
        return ended

    @contextmanager
    def _starting(self, most: int) -> Iterator[list[Entry]]:
        """The units to start now; those that nobody has in the end wait again."""
        chosen = self.queue.start(most)
        try:
            yield chosen
        finally:
            for entry in chosen:
                if entry.key in self.queue.running and entry.key not in self._running:
                    self.queue.back(entry.key)

    def _submit(self, entry: Entry, work: Callable[[], None]) -> None:
        try:
            self.workers.submit(work)
        except RuntimeError:  # the system has no more threads
            self._done.put((entry, interrupted(entry)))

    def _begin(self, entry: Entry, job: Job, worker: WorkerProcess | None = None) -> str:
        label = f"headwater-{job.job_id}"
        self._running[entry.key] = Running(entry, job, label, worker)
        return label

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

    def job_of(self, entry: Entry) -> Job | None:
        """The job of a unit that runs."""
        running = self._running.get(entry.key)
        return None if running is None else running.job

    def end(self, entry: Entry, result: UnitResult) -> list[Entry]:
        """A unit ended: close its job; returns what is held back because it failed."""
        running = self._running.pop(entry.key, None)
        self._jobs.pop(entry.key, None)
        if result.error is None:
            self.queue.succeeded(entry.key)
            held = []
        else:
            held = self.queue.failed(entry.key)
        if running is not None:
            if running.worker is not None:
                self.processes.give_back(running.worker)
            status, detail = outcome(entry, result.error)
            jobs = self._runtime.store.jobs
            self.writes.make(partial(jobs.finish, running.job, status, detail=detail))
        self._cancel([e.key for e in held], "something it reads failed")
        self._forget_ticks()
        return held

    def cancel_running(self) -> None:
        """Cancel the Spark jobs of everything that runs."""
        for running in list(self._running.values()):
            self._stop(running)

    def give_up(self, job_ids: Collection[int]) -> set[int]:
        """Expect nothing more of the workers of these jobs, whose leases ran out.

        Returns:
            Those of the jobs that run here.
        """
        lost = [r for r in self._running.values() if r.job.job_id in job_ids]
        for running in lost:
            if running.worker is not None:
                running.worker.give_up()
        return {running.job.job_id for running in lost}

    def drop_queued(self, why: str) -> None:
        """Give up what waits."""
        keys = list(self.queue.queued)
        self.queue.queued.clear()
        self._cancel(keys, why)
        self._forget_ticks()

    def take_back(self, unwritten: int | None) -> None:
        """Forget what waits, and the tick that could not be written; its jobs may not exist."""
        keys = list(self.queue.queued)
        self.queue.queued.clear()
        self._jobs = {key: job for key, job in self._jobs.items() if key not in keys}
        if keys:
            jobs, why = self._runtime.store.jobs, "its tick could not be written"
            self.writes.add(partial(jobs.withdraw, keys, self.owner, detail=why))
        if unwritten in self._pinned:
            self._pinned.pop(unwritten).let_go()

    def close(self) -> None:
        """Give up what waits, and let the workers end."""
        self.drop_queued("the scheduler stopped")
        self._keeper.stop()
        self.workers.close()
        self.processes.close()

    def _work(self, entry: Entry, label: str) -> None:
        """Run a unit in a worker; whatever happens, the coordinator learns that it ended."""
        result = interrupted(entry)
        try:
            result = self._run(entry, label)
        finally:
            self._done.put((entry, result))

    def _work_elsewhere(self, entry: Entry, worker: WorkerProcess, task: Task) -> None:
        """The same, in a worker process that this thread waits for."""
        result = interrupted(entry)
        try:
            result = self.processes.run(worker, task)
        finally:
            self._done.put((entry, result))

    def _task(self, entry: Entry, job: Job, label: str, address: tuple[str, bool]) -> Task:
        pinned = self._pinned[entry.tick]
        url, has_jars = address
        return Task.of(
            job,
            entry.run,
            pinned.versions,
            tick=pinned.tick,
            is_retried=entry.run.attempt < MAX_ATTEMPTS,
            label=label,
            url=url,
            has_jars=has_jars,
        )

    def _stop(self, running: Running) -> None:
        if running.worker is not None:
            running.worker.cancel(running.label)
        else:
            self._runtime.engine.cancel(running.label)

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

    def _run_here(self, entry: Entry, label: str) -> UnitResult:
        try:
            return self._run(entry, label)
        except BaseException:  # somebody interrupts the process: the unit did not end well
            self.end(entry, interrupted(entry))
            raise

    def _claim(self, entry: Entry, owner: str, pid: int | None) -> Job | None:
        """Take the job of a unit, if all hubs together leave room; else it waits again."""

        def leaves_room(load: Load) -> bool:
            return self.budget(load.hubs).free(load.here, load.elsewhere, load.waiting) > 0

        jobs = self._runtime.store.jobs
        queued = self._jobs[entry.key]
        job = jobs.claim(owner, LEASE, job_id=queued.job_id, pid=pid, within=leaves_room)
        if job is None and not jobs.is_queued(queued):
            # Another coordinator took it for lost, or a claim succeeded of which nobody heard.
            self.queue.succeeded(entry.key)
            self._cancel([entry.key], "it could not be started")
        return job

    def _cancel(
        self,
        keys: Iterable[str],
        why: str,
        write: Callable[[Callable[[], object]], None] | None = None,
    ) -> None:
        gone = [self._jobs.pop(key).job_id for key in keys if key in self._jobs]
        if gone:
            make = write or self.writes.make
            make(partial(self._runtime.store.jobs.cancel, gone, detail=why))

    def _stop_slow(self) -> None:
        """Cancel what takes too long."""
        limit = int(self._runtime.setting("refresh_timeout"))
        for running in list(self._running.values()):
            if limit and time.monotonic() - running.started > limit:
                self._stop(running)

    def _forget_ticks(self) -> None:
        """Close the ticks of which nothing waits or runs."""
        entries = (*self.queue.queued.values(), *self.queue.running.values())
        used = {entry.tick for entry in entries}
        for turn in [t for t in self._pinned if t not in used]:
            pinned = self._pinned.pop(turn)
            self.writes.make(partial(self._runtime.store.ticks.finish, pinned.tick))
            pinned.let_go()
