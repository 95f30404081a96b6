"""A thread that keeps the leases of jobs alive, as long as there are jobs."""

from __future__ import annotations

import logging
import threading
import time
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

LEASE = timedelta(seconds=20)
"""How long a job may run before whoever runs it shows that it lives."""

RENEW_SECONDS = 2.5
"""How often it shows that: a catalog that is busy for long must not make it look dead."""

_POLL_SECONDS = 0.25
_log = logging.getLogger("headwater")


class LeaseKeeper:
    """Runs until there are no jobs, or until it is stopped.

    Args:
        look: called in short intervals.
        renew: renews the leases; called several times in the time of a lease.
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
            self._stopped.clear()
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="headwater-leases", daemon=True
                )
                self._thread.start()

    def stop(self) -> None:
        """End soon."""
        self._stopped.set()

    def _run(self) -> None:
        last = 0.0
        while not self._is_over():
            try:
                if time.monotonic() - last > RENEW_SECONDS:
                    self._renew()
                    last = time.monotonic()
                self._look()
            except Exception:  # a busy catalog: there is time for more attempts
                _log.warning(
                    "leases of jobs were not looked after, it is tried again", exc_info=True
                )
                continue
            with self._lock:
                if not self._is_needed():
                    self._thread = None
                    return

    def _is_over(self) -> bool:
        """Wait a little; whether this was to stop and nobody started it again meanwhile."""
        self._stopped.wait(_POLL_SECONDS)
        with self._lock:
            if self._stopped.is_set():
                self._thread = None
            return self._thread is None
