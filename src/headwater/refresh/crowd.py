"""What a refresh takes by itself, measured while others run beside it.

    own time = ∫ dt / max(1, refreshes that run / processors)

Refreshes that run at once share the processors of Spark. Times taken in a crowd, compared with
times taken alone, would make the crowded way look slow. Counted in this process.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Crowd:
    """The refreshes that run in this process, and a clock that slows down with their number."""

    wall: Callable[[], float] = time.perf_counter
    _running: int = 0
    _own: float = 0.0
    _looked: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def joined(self, processors: int) -> Iterator[Callable[[], float]]:
        """Inside, one more refresh runs; the result tells its own time so far, in seconds."""
        began = self._now(processors, 1)
        try:
            yield lambda: self._now(processors, 0) - began
        finally:
            self._now(processors, -1)

    def _now(self, processors: int, change: int) -> float:
        """The clock, after which the number of refreshes changes."""
        with self._lock:
            wall = self.wall()
            self._own += (wall - self._looked) / max(1.0, self._running / processors)
            self._looked = wall
            self._running += change
            return self._own
