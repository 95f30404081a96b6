"""One coordinator of a hub: looks, decides with the pure tick, dispatches, records.

Used from one thread at a time. `tick` is one whole round, until its refreshes are done; the daemon
calls `begin` and `pump` instead, so that a slow refresh does not delay the ticks after it.
"""

from __future__ import annotations

import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from headwater.catalog.schedule_states import FuseState
from headwater.core.errors import HeadwaterError, RunInterrupted
from headwater.core.names import TableName
from headwater.core.reports import TickChoice, TickReport
from headwater.core.schedule import Every
from headwater.observe.events import TickEvent, WarningEvent
from headwater.observe.metrics import Metrics
from headwater.refresh.scans import sharing
from headwater.scheduler.dispatcher import Dispatcher
from headwater.scheduler.in_flight import Pinned
from headwater.scheduler.ledger import Ledger
from headwater.scheduler.lost_jobs import recover_job
from headwater.scheduler.reaping import Reaper
from headwater.scheduler.recording import Recorder
from headwater.scheduler.tick import tick
from headwater.scheduler.tick_budget import retry_after
from headwater.scheduler.tick_state import Choice, Decisions, Limits, Retry
from headwater.scheduler.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from headwater.core.frontier import SourceVersion
    from headwater.core.results import RefreshResult
    from headwater.refresh.runtime import Runtime
    from headwater.scheduler.execute import UnitResult
    from headwater.scheduler.tick_dispatch import Entry

SLOW, SLOWEST = 0.95, 8
"""A refresh that takes this share of its schedule doubles the distance, up to so many times."""


@dataclass
class Round:
    """A tick that has begun, and what came of it so far."""

    now: datetime
    tick: int | None
    made: Decisions
    versions: Mapping[TableName, SourceVersion] = field(default_factory=dict)
    results: list[RefreshResult] = field(default_factory=list)
    errors: dict[str, str] = field(default_factory=dict)
    held: dict[TableName, Choice] = field(default_factory=dict)


class Coordinator:
    """Ticks of one hub in this process."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._watch = Watch(runtime)
        self._ledger = Ledger(runtime.store, self._watch)
        self._recorder = Recorder(runtime, self._ledger)
        self._dispatcher = Dispatcher(runtime)
        self._retries: dict[str, Retry] = {}
        self._chosen: dict[TableName, datetime | None] = {}
        self._pressure: Mapping[TableName, int] = {}
        self._source_rows: Mapping[TableName, int] = {}
        self._mean = timedelta(0)
        self._turn = 0
        self._reaper = Reaper(runtime, self._dispatcher)
        self._unreadable: dict[str, str] = {}
        self._unwritten: int | None = None
        self._round: Round | None = None
        self.metrics = Metrics(runtime.store.hub)

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits and nothing runs."""
        return self._dispatcher.is_idle

    @property
    def dispatcher(self) -> Dispatcher:
        """The jobs of this coordinator."""
        return self._dispatcher

    def tick(self, now: datetime | None = None) -> TickReport:
        """One round, until everything it started is done."""
        started = time.perf_counter()
        begun = self.begin(now)
        while not self._dispatcher.is_idle:
            self.pump(0.2)
        return self._report(begun, started)

    def begin(self, now: datetime | None = None) -> Round:
        """Look, decide and queue; nothing is started yet.

        A round that fails leaves nothing behind: the catalog takes back what it wrote, and what
        this process had read by then is read again by the next one.
        """
        try:
            return self._begun(now or self._runtime.clock())
        except BaseException:
            self._start_over()
            raise

    def _begun(self, at: datetime) -> Round:
        started = time.perf_counter()
        self._read_settings()
        self._dispatcher.writes.catch_up()
        self._dispatcher.rest()
        self._reap()
        self._reaper.prune()
        limits = self._limits()
        self._forget_choices(limits)
        made = self._decide(at, limits)
        self._round = Round(at, None, made, self._vector(made))
        with self._runtime.events.held(), ExitStack() as unused:
            runtime = unused.enter_context(self._sharing(made))
            with self._dispatcher.writes.together():
                self._write(self._round, limits, started)
                if made.runs:
                    self._queue(self._round, runtime, unused)
        self._unwritten = None
        self._pressure = made.pressure
        self._recorder.kept()
        self._measure(time.perf_counter() - started)
        return self._round

    def _start_over(self) -> None:
        """Forget what was read and what waits: memory and catalog may differ."""
        self._dispatcher.take_back(self._unwritten)
        self._unwritten = None
        self.look_again()

    def look_again(self) -> None:
        """Read everything with the next tick, as after a start: others may have led meanwhile."""
        previous, self._watch = self._ledger.previous, Watch(self._runtime)
        self._ledger = Ledger(self._runtime.store, self._watch)
        self._ledger.previous = previous
        self._recorder = self._recorder.over(self._ledger)
        self._chosen.clear()

    def _write(self, begun: Round, limits: Limits, started: float) -> None:
        """Keep what was decided; a change of a declaration comes first, as everywhere."""
        made = begun.made
        self._dispatcher.writes.catch_up()
        self._recorder.decided(made, begun.now, limits)
        self._remember(made, begun.now, limits)
        self._ledger.previous = begun.now
        self._turn += 1
        if not made.runs and self._dispatcher.is_idle:
            took = (time.perf_counter() - started) * 1000
            self._runtime.store.ticks.idle(begun.now, took, len(self._ledger.tables))

    def _read_settings(self) -> None:
        """A tick sees what was stored before it, in whatever process."""
        again = getattr(self._runtime.setting, "resolved", None)
        if again is not None:
            again(fresh=True)

    def _measure(self, seconds: float) -> None:
        """What Prometheus is told of a tick."""
        metrics, queue = self.metrics, self._dispatcher.queue
        metrics.count("headwater_ticks_total")
        metrics.set("headwater_tick_seconds", seconds)
        metrics.set("headwater_stream_tables", len(self._ledger.tables))
        metrics.set("headwater_queued_units", len(queue.queued))
        metrics.set("headwater_running_units", len(queue.running))
        rows = {str(source): float(n) for source, n in self._source_rows.items()}
        metrics.replace("headwater_source_pending_rows", rows, "source")
        ticks = {str(source): float(n) for source, n in self._pressure.items()}
        metrics.replace("headwater_source_pressure_ticks", ticks, "source")

    def pump(self, seconds: float) -> None:
        """Start what is ready and take over what ended; waits for an end for a while."""
        self._reap()
        ended = self._dispatcher.start()
        ended += self._dispatcher.wait(0.0 if ended else seconds)
        failed: Exception | None = None
        for entry, result in ended:
            try:
                self._end(entry, result)
            except Exception as error:  # the others have ended all the same
                failed = failed or error
                self.look_again()
        if failed is not None:
            raise failed

    def close(self) -> None:
        """Give up what waits; what runs goes on to its end."""
        self._dispatcher.close()

    def _decide(self, now: datetime, limits: Limits) -> Decisions:
        moved, first = self._watch.look(), not self._ledger.outlines
        if self._ledger.reload(limits, int(self._runtime.setting("fuse_default_ceiling"))):
            self._dispatcher.keep(self._ledger.shape)
            self._tell_unreadable()
        if moved and not first:
            self._ledger.sources_moved(moved, limits)
        self._retries = {k: r for k, r in self._retries.items() if self._has_work(k)}
        state = self._ledger.state(
            limits,
            now,
            busy=self._dispatcher.queue.busy,
            retries=self._retries,
            pressure=self._pressure,
        )
        self._source_rows = state.source_rows
        return tick(state, now)

    def _tell_unreadable(self) -> None:
        """Tell of each stream table whose row cannot be read, once; the others go on."""
        ids = self._ledger.unreadable
        damaged = self._runtime.store.outlines.unreadable(ids) if ids else {}
        for name in damaged.keys() - self._unreadable.keys():
            self._runtime.events.emit(WarningEvent(name, "UNREADABLE", damaged[name]))
        self._unreadable = damaged

    def _has_work(self, key: str) -> bool:
        """Whether there is something to do for a unit; else somebody else has done it."""
        unit = self._ledger.shape.units.by_key.get(key)
        return unit is not None and not self._ledger.awake.isdisjoint(unit.members)

    def _remember(self, made: Decisions, now: datetime, limits: Limits) -> None:
        """What the next tick must know of this one."""
        for name, choice in made.choices.items():
            if choice.refresh and name not in self._chosen:  # one that waits was chosen before
                self._chosen[name] = self._ledger.tables[name].last_at
                self._ledger.change(name, limits, last_at=now)
        for name in made.looked:
            self._ledger.change(name, limits, last_at=now)
        if made.looked:
            looked = [self._ledger.outlines[name].id for name in made.looked]
            self._runtime.store.tables.looked(looked, now)

    def _forget_choices(self, limits: Limits) -> None:
        """What was chosen and did not run is as due as it was before."""
        at_work = self._dispatcher.queue.members
        for name in self._chosen.keys() - at_work:
            self._ledger.change(name, limits, last_at=self._chosen.pop(name))

    def _queue(self, begun: Round, runtime: Runtime, shared: ExitStack) -> None:
        """Queue the units of a tick; what they share is given back when all have ended."""
        versions = begun.versions
        shown = {str(name): v.snapshot_id for name, v in sorted(versions.items())}
        begun.tick = self._runtime.store.ticks.begin(shown, len(begun.made.runs))
        pins = bool(self._runtime.setting("tick_watermark_enabled"))
        kept, self._unwritten = shared.pop_all(), self._turn
        pinned = Pinned(begun.tick, begun.now, versions if pins else None, runtime, kept)
        try:
            self._dispatcher.add(begun.made.runs, self._ledger.shape, self._turn, pinned)
        except BaseException:
            kept.close()
            raise
        waiting = self._dispatcher.queue.order()
        keys = tuple(entry.key for entry in waiting if entry.turn == self._turn)
        if keys:  # others were told by the tick that queued them
            mode = str(self._runtime.setting("parallel_refresh_mode"))
            self._runtime.events.emit(TickEvent("*", begun.tick, keys, mode))

    @contextmanager
    def _sharing(self, made: Decisions) -> Iterator[Runtime]:
        """The hub's parts, in which refreshes that read one change window read it once."""
        chosen = {member for run in made.runs for member in run.members}
        outlines = [self._ledger.outlines[name] for name in chosen]
        read = Counter((s, o.sources.get(s)) for o in outlines for s in o.reads)
        pays = (
            self._runtime.setting("adaptive_batch_coalescing") and max(read.values(), default=0) > 1
        )
        if not pays or self._dispatcher.in_processes:
            yield self._runtime
            return
        rows = self._runtime.store.tables.readable({outline.id for outline in outlines})
        with sharing(self._runtime, rows) as together:
            yield together

    def _vector(self, made: Decisions) -> dict[TableName, SourceVersion]:
        """One version of each base table below what this tick refreshes; empty if it pins none."""
        if not self._runtime.setting("tick_watermark_enabled"):
            return {}
        chosen = {member for run in made.runs for member in run.members}
        bases = self._ledger.shape.graph.base_of(*chosen)
        found = {base: self._watch.version(base) for base in bases}
        return {base: version for base, version in found.items() if version is not None}

    def _end(self, entry: Entry, result: UnitResult) -> None:
        now, pinned = self._runtime.clock(), self._dispatcher.pinned(entry)
        job = self._dispatcher.job_of(entry)
        was_reaped = job is not None and job.job_id in self._reaper.reaped
        held = self._dispatcher.end(entry, result)
        self._retry(entry, result.error, now)
        self._reaper.reaped -= {job.job_id} if job is not None else set()
        for name in entry.run.members:
            self._chosen.pop(name, None)
        if result.error is not None:
            self.metrics.count("headwater_refresh_failures_total")
        lost = f"{result.failed} failed in this tick, and it reads from it"
        choice = Choice(False, "UPSTREAM_FAILED", lost)
        choices = {name: choice for e in held for name in e.run.members}
        if self._round is not None:
            self._round.results += result.results
            self._round.held |= choices
            if result.error is not None:
                self._round.errors[str(result.failed)] = str(result.error)
        if isinstance(result.error, RunInterrupted) and job is not None and not was_reaped:
            recover_job(self._runtime, job)
        limits = self._limits()
        done = {TableName.parse(r.name) for r in result.results if r.action != "SKIPPED"}
        self._ledger.refreshed(entry.run.members, done, pinned.at, limits)
        for each in result.results:
            name = TableName.parse(each.name)
            self.metrics.count("headwater_refreshes_total", action=each.action)
            self._timed(name, each, limits)
            table = self._ledger.tables.get(name)
            if name in done and table is not None and table.fuse_passes:
                identifier = self._ledger.outlines[name].id
                self._runtime.store.schedule.set_fuse(identifier, FuseState.ARMED)
        if choices:
            self._recorder.held_back(choices, now)

    def _retry(self, entry: Entry, error: HeadwaterError | None, now: datetime) -> None:
        retry = None
        if error is not None and error.is_transient:
            retry = retry_after(entry.key, entry.run.attempt, now)
        self._note_retry(entry.key, retry)

    def _note_retry(self, key: str, retry: Retry | None) -> None:
        if retry is None:
            self._retries.pop(key, None)
        else:
            self._retries[key] = retry

    def _timed(self, name: TableName, result: RefreshResult, limits: Limits) -> None:
        """Learn how long refreshes take; one slower than its schedule is asked less often."""
        if result.action == "SKIPPED" or name not in self._ledger.tables:
            return
        took = timedelta(milliseconds=result.duration_ms)
        self._mean = took if not self._mean else self._mean * 0.9 + took * 0.1
        self._recorder.took(name, took, self._runtime.clock())
        table = self._ledger.tables[name]
        if not isinstance(table.schedule, Every) or not self._runtime.setting("auto_backoff"):
            return
        slow = took >= table.schedule.interval * SLOW
        factor = min(SLOWEST, table.slow_factor * 2) if slow else 1
        if factor != table.slow_factor:
            self._ledger.change(name, limits, slow_factor=factor)

    def _limits(self) -> Limits:
        setting = self._runtime.setting
        return Limits(
            enabled=bool(setting("enabled")),
            interval=timedelta(milliseconds=int(setting("scheduler_interval_ms"))),
            tiered=bool(setting("tiered_scheduling")),
            workers=max(1, int(setting("max_parallel_workers"))),
            mean=self._mean,
            pressure_rows=int(setting("buffer_alert_threshold")),
            pressure_ticks=int(setting("backpressure_consecutive_limit")),
            circular=bool(setting("allow_circular")),
        )

    def _reap(self) -> None:
        """Close the jobs of dead processes; what they did is tried again."""
        for key, retry in self._reaper.reap().items():
            self._note_retry(key, retry)

    def _report(self, begun: Round, started: float) -> TickReport:
        choices = {**begun.made.choices, **begun.held}
        return TickReport(
            now=begun.now,
            tick=begun.tick,
            choices=tuple(
                TickChoice(str(name), choice.refresh, choice.code, choice.reason)
                for name, choice in sorted(choices.items())
            ),
            units=tuple(run.unit.key for run in begun.made.runs),
            results=tuple(begun.results),
            errors=begun.errors,
            versions={str(n): v.snapshot_id for n, v in sorted(begun.versions.items())},
            duration_ms=(time.perf_counter() - started) * 1000,
            mode=str(self._runtime.setting("parallel_refresh_mode")),
        )
