"""Worker threads: started when there is work, ended when idle, unless some are to stay."""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

IDLE_SECONDS = 10.0
"""How long a worker without work waits before it ends."""


class Workers:
    """A pool of threads.

    Args:
        name: how the threads are called.
    """

    def __init__(self, name: str = "headwater-worker") -> None:
        self._name = name
        self._tasks: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads: dict[int, threading.Thread] = {}
        self._started = 0
        self._active = 0
        self._kept = 0

    @property
    def active(self) -> int:
        """Workers that run something."""
        return self._active

    @property
    def idle(self) -> int:
        """Workers that wait."""
        return len(self._threads) - self._active

    def keep(self, count: int) -> None:
        """Let so many workers stay when idle, and start them."""
        with self._lock:
            self._kept = count
            while len(self._threads) < count:
                self._start()

    def submit(self, task: Callable[[], None]) -> None:
        """Run a task in a worker; one is started when none is idle."""
        with self._lock:  # a worker that gives up waiting must see the task
            if self._active + 1 > len(self._threads):
                self._start()
            self._active += 1
            self._tasks.put(task)

    def close(self) -> None:
        """Let every worker end after what it does now."""
        with self._lock:
            threads = list(self._threads.values())
            self._kept = 0
        for _ in threads:
            self._tasks.put(None)

    def _start(self) -> None:
        self._started += 1
        number = self._started
        thread = threading.Thread(
            target=self._run, args=(number,), name=f"{self._name}-{number}", daemon=True
        )
        thread.start()
        self._threads[number] = thread

    def _run(self, number: int) -> None:
        while True:
            try:
                task = self._tasks.get(timeout=IDLE_SECONDS)
            except queue.Empty:
                with self._lock:
                    if self._tasks.empty() and len(self._threads) > self._kept:
                        del self._threads[number]
                        return
                continue
            if task is None:
                with self._lock:
                    self._threads.pop(number, None)
                return
            try:
                task()
            except BaseException:
                with self._lock:
                    self._active -= 1
                    self._threads.pop(number, None)  # the next task starts another one
                raise
            with self._lock:
                self._active -= 1
