"""The worker processes of one coordinator, and the Spark Connect server they share.

Nothing here waits: the server and the workers start in the background, and units stay queued until
a worker is ready. A worker or a server that was lost is started again for the next unit.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from headwater.core.errors import HeadwaterError
from headwater.scheduler.messages import Greeting, Task
from headwater.scheduler.worker_process import WorkerProcess
from headwater.storage import remote
from headwater.storage.connect_server import ConnectServer
from headwater.storage.spark import Engine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headwater.refresh.runtime import Runtime
    from headwater.scheduler.execute import UnitResult

IDLE_SECONDS = 60.0
"""How long a worker without work stays, unless it is one of those to be kept."""

REST_SECONDS = 10.0
"""How long after a failed start the next one is tried."""


class ProcessPool:
    """Workers of a hub; used from the coordinator's thread, except `run`."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._idle: list[WorkerProcess] = []
        self._busy: set[WorkerProcess] = set()
        self._given_up: list[WorkerProcess] = []
        self._kept = 0
        self._server: ConnectServer | None = None
        self._starting: threading.Thread | None = None
        self._failure: HeadwaterError | None = None
        self._failed_at = 0.0

    @property
    def idle(self) -> int:
        """Workers that wait for a unit."""
        return sum(worker.is_ready for worker in self._idle)

    @property
    def server(self) -> ConnectServer | None:
        """The server that was started here; None when there is none, or one was given."""
        return self._server

    def keep(self, count: int) -> None:
        """Let so many workers stay when idle, and start them; end others that idle for long."""
        self._kept = count
        self._sweep()
        if count and self._failure is None:
            self._have(count)
            with suppress(HeadwaterError):  # told when a unit wants to start
                self._url()
        for worker in list(self._idle):
            spare = len(self._idle) + len(self._busy) > self._kept
            if spare and time.monotonic() - worker.idle_since > IDLE_SECONDS:
                self._idle.remove(worker)
                worker.give_up()
                self._given_up.append(worker)

    def prepare(self, wanted: int) -> int:
        """Get ready for so many more units; returns how many can start now.

        Raises:
            HeadwaterError: no worker or no server can be started.
        """
        self._sweep()
        if self._failure is not None:
            if time.monotonic() - self._failed_at < REST_SECONDS:
                raise self._failure
            self._failure = None
        self._have(len(self._busy) + wanted)
        return min(wanted, self.idle) if self._url() is not None else 0

    def take(self) -> WorkerProcess | None:
        """A worker that is ready; None when those that were have died meanwhile."""
        worker = next((w for w in self._idle if w.is_ready), None)
        if worker is not None:
            self._idle.remove(worker)
            self._busy.add(worker)
        return worker

    def give_back(self, worker: WorkerProcess) -> None:
        """A worker has nothing to do any more, or is lost."""
        self._busy.discard(worker)
        (self._idle if worker.is_alive else self._given_up).append(worker)

    def address(self) -> tuple[str, bool] | None:
        """The server to use, and whether it has all jars of Headwater; None while it starts."""
        url = self._url()
        return None if url is None else (url, self._server is not None)

    def run(self, worker: WorkerProcess, task: Task) -> UnitResult:
        """Run a unit in a worker, to its end; called in a thread of its own."""
        return worker.run(task)

    @contextmanager
    def runtime(self) -> Iterator[Runtime | None]:
        """The hub's parts with sessions of the server; None while there is no server."""
        if self._server is None or not self._server.is_alive:
            yield None
            return
        engine = Engine(self._runtime.lake, given=remote.connect(self._server.url), has_jars=True)
        try:
            yield replace(self._runtime, engine=engine)
        finally:
            engine.close()

    def close(self) -> None:
        """End all workers, and the server that was started here."""
        everyone = (*self._idle, *self._busy, *self._given_up)
        for worker in everyone:
            worker.give_up()
        for worker in everyone:
            worker.kill()
        self._idle.clear()
        self._busy.clear()
        self._given_up.clear()
        if self._starting is not None:
            self._starting.join()
        if self._server is not None:
            self._server.close()
            self._server = None

    def _have(self, count: int) -> None:
        """Start workers until there are so many."""
        while len(self._idle) + len(self._busy) < count:
            self._idle.append(WorkerProcess(self._greeting(), self._runtime.events.emit))

    def _sweep(self) -> None:
        """Forget workers that are gone; remember why they could not begin."""
        for worker in [w for w in self._idle if not w.is_alive]:
            self._idle.remove(worker)
            if worker.broken is not None:
                self._fail(worker.broken)
        self._given_up = [w for w in self._given_up if not w.has_ended]

    def _url(self) -> str | None:
        """The address of the server; None while it starts."""
        given = str(self._runtime.setting("spark_connect_url"))
        if given:
            return given
        if self._starting is not None:
            if self._starting.is_alive():
                return None
            self._starting = None
            if self._failure is not None:
                raise self._failure
        if self._server is None:
            remote.check_installed()
            self._server = ConnectServer(self._runtime.lake)
        if self._server.is_alive:
            return self._server.url
        self._starting = threading.Thread(
            target=self._start, args=(self._server,), name="headwater-connect", daemon=True
        )
        self._starting.start()
        return None

    def _start(self, server: ConnectServer) -> None:
        try:
            server.ensure()
        except HeadwaterError as error:
            self._fail(error)

    def _fail(self, error: HeadwaterError) -> None:
        self._failure, self._failed_at = error, time.monotonic()

    def _greeting(self) -> Greeting:
        setting, runtime = self._runtime.setting, self._runtime
        project, call = getattr(setting, "project", {}), getattr(setting, "call", {})
        return Greeting.of(runtime.lake, runtime.store.hub, project, call)
