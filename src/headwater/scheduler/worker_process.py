"""One worker process, seen from its coordinator: started, given tasks, lost or ended.

A worker that dies is noticed at once, because the pipe from it ends. One that is only stopped is
noticed by its lease, and given up: its pipe is closed, so that it ends by itself when it wakes.
"""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from headwater.core.errors import RunInterrupted, SparkUnavailable
from headwater.scheduler.execute import UnitResult
from headwater.scheduler.messages import Broken, Cancel, Ended, Ready, Told, decode_answer, encode

if TYPE_CHECKING:
    from collections.abc import Callable

    from headwater.core.errors import HeadwaterError
    from headwater.observe.events import Event
    from headwater.scheduler.messages import Answer, Greeting, Order, Task

_PROGRAM = "headwater.worker"


class WorkerProcess:
    """A process that runs units one by one.

    Attributes:
        pid: its number.
        owner: the name under which it holds jobs; empty until it is ready.
        idle_since: when it last had nothing to do, by the monotonic clock.
    """

    def __init__(self, greeting: Greeting, on_event: Callable[[Event], None]) -> None:
        self._on_event = on_event
        self._ended: queue.SimpleQueue[Ended | None] = queue.SimpleQueue()
        self._sending = threading.Lock()
        self._broken: HeadwaterError | None = None
        self._process = subprocess.Popen(  # noqa: S603 - this Python, a module of this package
            [sys.executable, "-m", _PROGRAM],
            env=_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.pid = self._process.pid
        self.owner = ""
        self.idle_since = time.monotonic()
        threading.Thread(target=self._listen, name=f"headwater-{self.pid}", daemon=True).start()
        self._send(greeting)

    @property
    def is_alive(self) -> bool:
        """Whether its process runs, as far as it was not given up."""
        return self._process.poll() is None and not self._is_closed

    @property
    def has_ended(self) -> bool:
        """Whether its process is gone."""
        return self._process.poll() is not None

    @property
    def is_ready(self) -> bool:
        """Whether it can be given a task."""
        return bool(self.owner) and self.is_alive

    @property
    def broken(self) -> HeadwaterError | None:
        """Why it could not even begin; None when it could, or may yet."""
        if self._broken is None and not self.owner and self._process.poll() is not None:
            return SparkUnavailable(
                f"a worker process ended while it started, with code {self._process.returncode}",
                hint="see what it wrote to standard error, or set worker_kind to thread",
            )
        return self._broken

    def run(self, task: Task) -> UnitResult:
        """Run a unit to its end; a worker that is lost meanwhile gives an interrupted one."""
        self._send(task)
        while True:
            ended = self._ended.get()
            if ended is None:
                self._ended.put(None)
                lost = RunInterrupted(f"worker process {self.pid} was lost during the refresh")
                return UnitResult(failed=task.run().members[0], error=lost)
            if ended.job_id == task.job_id:
                self.idle_since = time.monotonic()
                return ended.result()

    def cancel(self, label: str) -> None:
        """Let it stop what runs under a label."""
        self._send(Cancel(label))

    def give_up(self) -> None:
        """Expect nothing of it any more; it ends when it notices."""
        with suppress(OSError), self._sending:
            self._stdin.close()
        self._ended.put(None)

    def kill(self) -> None:
        """End it now, also when it is stopped."""
        self.give_up()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=2)
            return
        self._process.kill()
        self._process.wait()

    @property
    def _stdin(self) -> IO[bytes]:
        assert self._process.stdin is not None
        return self._process.stdin

    @property
    def _is_closed(self) -> bool:
        return bool(self._stdin.closed)

    def _send(self, order: Order) -> None:
        """Write an order; a worker that is gone is noticed by its reader."""
        with suppress(OSError, ValueError), self._sending:
            self._stdin.write(encode(order))
            self._stdin.flush()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        try:
            with self._process.stdout as lines:
                for line in lines:
                    self._hear(decode_answer(line))
            self._process.wait()
        finally:
            self._ended.put(None)

    def _hear(self, answer: Answer) -> None:
        match answer:
            case Ready(owner):
                self.owner = owner
            case Broken(failure):
                self._broken = failure.error()
            case Told() as told:
                with suppress(Exception):  # a listener that fails must not cost the worker
                    self._on_event(told.event())
            case Ended() as ended:
                self._ended.put(ended)


def _environment() -> dict[str, str]:
    """The environment of this process, with the place of this package."""
    here = str(Path(__file__).resolve().parents[2])
    paths = [here, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths))}
