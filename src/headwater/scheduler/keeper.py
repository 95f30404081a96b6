"""A thread that keeps the leases of jobs alive, as long as there are jobs."""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from typing import TYPE_CHECKING

from headwater.core.errors import HeadwaterError

if TYPE_CHECKING:
    from collections.abc import Callable

LEASE = timedelta(seconds=10)
"""How long a job may run before whoever runs it shows that it lives."""

_POLL_SECONDS = 0.25


class LeaseKeeper:
    """Runs until there are no jobs, or until it is stopped.

    Args:
        look: called in short intervals.
        renew: renews the leases; called three times in the time of a lease.
        is_needed: whether there are jobs.
    """

    def __init__(
        self,
        look: Callable[[], None],
        renew: Callable[[], object],
        is_needed: Callable[[], bool],
    ) -> None:
        self._look, self._renew, self._is_needed = look, renew, is_needed
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()
        self._lock = threading.Lock()

    def start(self) -> None:
        """Begin, unless it goes on already."""
        with self._lock:
            if self._thread is None:
                self._stopped.clear()
                self._thread = threading.Thread(
                    target=self._run, name="headwater-leases", daemon=True
                )
                self._thread.start()

    def stop(self) -> None:
        """End soon."""
        self._stopped.set()

    def _run(self) -> None:
        last = 0.0
        while not self._stopped.wait(_POLL_SECONDS):
            try:
                self._look()
                if time.monotonic() - last > LEASE.total_seconds() / 3:
                    last = time.monotonic()
                    self._renew()
            except HeadwaterError:
                continue  # a busy catalog: there is time for two more attempts
            with self._lock:
                if not self._is_needed():
                    self._thread = None
                    return
        with self._lock:
            self._thread = None
