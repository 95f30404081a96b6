"""A worker process: runs units for a coordinator, through a Spark Connect server.

    python -m headwater.worker

Started by `scheduler.worker_process`; orders come on standard input, answers go to standard output.
It has no JVM. It renews the lease of its job while it works, and ends when it has lost it or when
its coordinator is gone: what it did not publish by then, another worker does again.
"""

from __future__ import annotations

import logging
import os
import queue
import signal
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from typing import IO, TYPE_CHECKING

from headwater.catalog.owners import owner_name
from headwater.core.errors import HeadwaterError, SparkLost, WorkersUnavailable
from headwater.opening import assemble
from headwater.scheduler.execute import UnitResult, note_failure, run_unit
from headwater.scheduler.keeper import LEASE, RENEW_SECONDS
from headwater.scheduler.messages import (
    Broken,
    Cancel,
    Ended,
    Failure,
    Greeting,
    Ready,
    Task,
    Told,
    decode_order,
    encode,
)
from headwater.storage import remote
from headwater.storage.lake import Lake
from headwater.storage.spark import Engine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headwater.observe.events import Event
    from headwater.refresh.runtime import Runtime
    from headwater.scheduler.messages import Answer

IDLE_SECONDS = 600.0
"""A session that was not used for so long is left to the server, which forgets it in an hour."""


class Worker:
    """Runs one unit after the other."""

    def __init__(self, greeting: Greeting, orders: IO[bytes], answers: IO[bytes]) -> None:
        self._orders, self._answers = orders, answers
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._saying = threading.Lock()
        self._connected: tuple[str, bool] | None = None
        self._used_at = 0.0
        self._is_busy = False
        lake = Lake(
            greeting.catalog_url,
            greeting.iceberg_url,
            greeting.warehouse,
            greeting.spark_conf,
            greeting.catalog,
        )
        self._runtime: Runtime = assemble(
            lake,
            hub=greeting.hub,
            project_settings=greeting.project,
            call_settings=greeting.call,
            engine=Engine(lake),
        )
        self._runtime.events.listeners.append(self._tell)

    def serve(self) -> None:
        """Run tasks until the coordinator goes away."""
        import pyspark.sql.connect.session  # noqa: F401 - loaded before the first task needs it

        _ = self._runtime.store.database.engine
        threading.Thread(target=self._read, daemon=True).start()
        self._say(Ready(owner_name()))
        while (task := self._tasks.get()) is not None:
            self._is_busy = True
            self._run(task)
            self._is_busy = False
        self._runtime.engine.close()

    def _run(self, task: Task) -> None:
        with self._lease(task):
            result = self._result(task)
        if isinstance(result.error, SparkLost):
            self._connected = None
        self._used_at = time.monotonic()
        self._say(Ended.of(task.job_id, result))

    def _result(self, task: Task) -> UnitResult:
        try:
            self._connect(task)
        except HeadwaterError as error:
            return self._not_connected(task, error)
        return run_unit(
            self._runtime,
            task.run(),
            fixed=task.pinned(),
            tick=task.tick,
            is_retried=task.is_retried,
            label=task.label,
        )

    def _not_connected(self, task: Task, error: HeadwaterError) -> UnitResult:
        told = WorkersUnavailable(
            f"worker process {os.getpid()} does not reach Spark: {error.what}", hint=error.hint
        )
        name = task.run().members[0]
        note_failure(self._runtime, name, told, tick=task.tick, is_retried=task.is_retried)
        return UnitResult(failed=name, error=told)

    def _connect(self, task: Task) -> None:
        """Use the server that the task names; sessions of a lost server are not used again."""
        wanted = (task.url, task.has_jars)
        if self._connected == wanted and time.monotonic() - self._used_at < IDLE_SECONDS:
            return
        runtime = self._runtime
        engine = Engine(runtime.lake, given=remote.connect(task.url), has_jars=task.has_jars)
        self._runtime = replace(runtime, engine=engine)
        self._connected = wanted

    @contextmanager
    def _lease(self, task: Task) -> Iterator[None]:
        """Inside, the job is kept; a process that has lost its job ends."""
        done = threading.Event()

        def keep() -> None:
            while not done.wait(RENEW_SECONDS):
                try:
                    held = self._runtime.store.jobs.keep(task.job_id, task.lease_token, LEASE)
                except Exception:  # a busy catalog: there is time for more attempts
                    logging.getLogger("headwater").warning("a lease was not renewed", exc_info=True)
                    continue
                if not held and not done.is_set():
                    os._exit(1)

        keeper = threading.Thread(target=keep, name="headwater-lease", daemon=True)
        keeper.start()
        try:
            yield
        finally:
            done.set()

    def _read(self) -> None:
        """Take orders; without a coordinator there is nobody to work for."""
        for line in self._orders:
            match decode_order(line):
                case Task() as task:
                    self._tasks.put(task)
                case Cancel(label):
                    self._runtime.engine.cancel(label)
                case _:
                    continue
        if self._is_busy:
            os._exit(0)
        self._tasks.put(None)

    def _tell(self, event: Event) -> None:
        told = Told.of(event)
        if told is not None:
            self._say(told)

    def _say(self, answer: Answer) -> None:
        with self._saying:
            self._answers.write(encode(answer))
            self._answers.flush()


def main() -> None:
    """Serve the coordinator that holds the other ends of standard input and output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a key press is for the coordinator
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints must not disturb the answers
    # PySpark writes every failed query as JSON to standard error; the caller gets it as an error.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    orders = sys.stdin.buffer
    greeting = decode_order(orders.readline())
    assert isinstance(greeting, Greeting)
    try:
        remote.check_installed()
        worker = Worker(greeting, orders, answers)
    except HeadwaterError as error:
        answers.write(encode(Broken(Failure.of(error))))
        answers.flush()
        return
    worker.serve()


if __name__ == "__main__":
    main()
