"""The scheduler in the background: leads its hub, ticks, and lets another take over when it dies.

One coordinator leads a hub: it holds a lease in the catalog and renews it. Others wait for it. A
leader that was stopped for longer than its lease finds on waking that it leads no more; what it
still does is refused by compare-and-swap and by the tokens of its jobs.
"""

from __future__ import annotations

import logging
import threading
import time
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from headwater.catalog.owners import is_gone, process_of
from headwater.core.errors import HeadwaterError
from headwater.observe.events import LeaderEvent, WarningEvent
from headwater.refresh.maintain import maintain
from headwater.scheduler.keeper import RENEW_SECONDS

if TYPE_CHECKING:
    from headwater.catalog.leases import Lease
    from headwater.refresh.runtime import Runtime
    from headwater.scheduler.coordinator import Coordinator

LEADER = "scheduler"
LEADER_LEASE = timedelta(seconds=20)
_CANCEL_SECONDS = 10.0
"""How long refreshes that were cancelled may take to end."""

_DRAIN_SECONDS = 60.0
_POLL = 0.1
_log = logging.getLogger("headwater")
_MAINTAIN_SECONDS = 3600.0


class Daemon:
    """Ticks a hub until it is stopped.

    Args:
        runtime: the hub's parts.
        coordinator: what ticks; used under `lock` only.
        lock: shared with those who tick by hand.
    """

    def __init__(self, runtime: Runtime, coordinator: Coordinator, lock: threading.RLock) -> None:
        self._runtime = runtime
        self._coordinator = coordinator
        self._lock = lock
        self._stop = threading.Event()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._keeper: threading.Thread | None = None
        self._lease: Lease | None = None
        self._renewed = 0.0
        self._maintained = time.monotonic()

    @property
    def is_running(self) -> bool:
        """Whether the loop runs."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def leads(self) -> bool:
        """Whether this process leads the hub."""
        fresh = time.monotonic() - self._renewed < LEADER_LEASE.total_seconds()
        return self._lease is not None and fresh

    def start(self) -> None:
        """Start the loop, unless it runs."""
        if self.is_running:
            return
        self._stop.clear()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="headwater-scheduler", daemon=True)
        self._keeper = threading.Thread(
            target=self._keep, args=(self._stopped,), name="headwater-leader", daemon=True
        )
        self._thread.start()
        self._keeper.start()

    def stop(self, *, drain: bool) -> bool:
        """End the loop.

        Args:
            drain: wait for running refreshes, as long as the setting allows; otherwise cancel them.

        Returns:
            Whether everything that ran has ended.
        """
        self._stop.set()
        try:
            return self._drained(time.monotonic() + self._drain_seconds() if drain else 0.0)
        finally:
            self._stopped.set()
            lease, self._lease = self._lease, None
            if lease is not None:
                with suppress(HeadwaterError):  # it runs out by itself
                    self._runtime.store.leases.release(lease)

    def _drained(self, until: float) -> bool:
        """Wait for what runs, up to an instant; then cancel it. Whether all of it has ended."""
        dispatcher = self._coordinator.dispatcher
        most = max(until, time.monotonic()) + _CANCEL_SECONDS
        while not self._lock.acquire(timeout=_POLL):  # a refresh runs in the loop itself
            if time.monotonic() > until:
                dispatcher.cancel_running()
            if time.monotonic() > most:
                return False
        try:
            dispatcher.drop_queued("the scheduler stopped")
            while not self._coordinator.is_idle:
                if time.monotonic() > until:
                    dispatcher.cancel_running()
                if time.monotonic() > most:
                    return False
                self._pump(_POLL)
        finally:
            self._lock.release()
        if self._thread is not None:
            self._thread.join(timeout=_CANCEL_SECONDS)
        return True

    def _drain_seconds(self) -> float:
        """The setting; its default when the catalog cannot be asked."""
        try:
            return float(self._runtime.setting("drain_timeout"))
        except HeadwaterError:
            return _DRAIN_SECONDS

    def _pump(self, seconds: float) -> None:
        """Start what is ready and take over what ended; what goes wrong is told."""
        try:
            self._coordinator.pump(seconds)
        except Exception as error:
            self._tell_failure(error)
            time.sleep(_POLL)

    def _loop(self) -> None:
        interval = 1.0
        while not self._stop.is_set():
            started = time.monotonic()
            try:
                interval = int(self._runtime.setting("scheduler_interval_ms")) / 1000
                if self._take_lead():
                    with self._lock:
                        self._coordinator.begin()
                    self._maintain_hourly()
            except Exception as error:
                self._tell_failure(error)
            self._until(started + interval)

    def _until(self, next_tick: float) -> None:
        """Start what is ready and take over what ends, until the next tick."""
        while not self._stop.is_set():
            left = next_tick - time.monotonic()
            if left <= 0:
                return
            if self._coordinator.is_idle:
                self._stop.wait(min(left, 1.0))
                continue
            with self._lock:
                self._pump(min(left, _POLL))

    def _take_lead(self) -> bool:
        if self.leads:
            return True
        owner = self._coordinator.dispatcher.owner
        had = self._lease is not None
        if had:
            with self._lock:
                self._coordinator.dispatcher.drop_queued("another scheduler leads now")
            self._lease = None
            self._runtime.events.emit(LeaderEvent("*", owner, False))
        before = time.monotonic()
        self._lease = self._runtime.store.leases.acquire(LEADER, owner, LEADER_LEASE)
        if self._lease is None:
            return False
        self._renewed = before
        with self._lock:
            self._coordinator.look_again()
        self._runtime.events.emit(LeaderEvent("*", owner, True))
        return True

    def _keep(self, stopped: threading.Event) -> None:
        """Renew the lead until the scheduler has stopped, also while it waits for refreshes."""
        while not stopped.wait(RENEW_SECONDS):
            lease = self._lease
            if lease is None or not (self.is_running or self._stop.is_set()):
                continue  # a loop that is gone leads nothing: another may take over
            before = time.monotonic()
            try:
                if self._runtime.store.leases.renew(lease, LEADER_LEASE) is not None:
                    self._renewed = before
                else:
                    self._renewed = -LEADER_LEASE.total_seconds()
            except Exception:  # a busy catalog: there is time for more attempts
                _log.warning("the lead was not renewed, it is tried again", exc_info=True)

    def _maintain_hourly(self) -> None:
        """Once in an hour: maintain tables, in a thread beside the ticks."""
        if time.monotonic() - self._maintained < _MAINTAIN_SECONDS:
            return
        self._maintained = time.monotonic()
        self._coordinator.dispatcher.workers.submit(self._maintain)

    def _maintain(self) -> None:
        """Compact and expire stream tables, in a thread beside the ticks."""
        try:
            with self._coordinator.dispatcher.spark() as runtime:
                if runtime is not None:
                    maintain(runtime)
        except HeadwaterError as error:
            self._tell_failure(error)

    def _tell_failure(self, error: Exception) -> None:
        what = (
            error.what if isinstance(error, HeadwaterError) else f"{type(error).__name__}: {error}"
        )
        self._runtime.events.emit(WarningEvent("*", "TICK_FAILED", what))


def leader_of(runtime: Runtime) -> tuple[int | None, bool]:
    """The process that leads the hub, and whether it does so now."""
    return leads_now(runtime.store.leases.holder(LEADER))


def leads_now(lease: Lease | None) -> tuple[int | None, bool]:
    """The process that holds the lease of a leader, and whether it lives."""
    if lease is None:
        return None, False
    process = process_of(lease.owner)
    return None if process is None else process.pid, not is_gone(lease.owner)
