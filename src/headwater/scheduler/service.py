"""The scheduler of one hub in this process: ticks by hand, or in the background."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from headwater.core.errors import InvalidOption
from headwater.scheduler.coordinator import Coordinator
from headwater.scheduler.daemon import Daemon
from headwater.scheduler.endpoint import Endpoint

if TYPE_CHECKING:
    from datetime import datetime

    from headwater.core.reports import TickReport
    from headwater.refresh.runtime import Runtime


class Scheduler:
    """What `hub.tick`, `hub.start` and `hub.stop` use."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._endpoint: Endpoint | None = None
        self._lock = threading.RLock()
        self.coordinator = Coordinator(runtime)
        self.daemon = Daemon(runtime, self.coordinator, self._lock)

    def tick(self, now: datetime | None = None) -> TickReport:
        """One round, until its refreshes are done."""
        with self._lock:
            return self.coordinator.tick(now)

    def start(self) -> None:
        """Tick in the background until stopped; serve metrics when a port is set."""
        port = int(self._runtime.setting("metrics_port"))
        if port and self._endpoint is None:
            try:
                self._endpoint = Endpoint(self.coordinator.metrics, port)
            except OSError as error:
                raise InvalidOption(
                    f"metrics_port {port} cannot be opened: {error.strerror}",
                    hint="set metrics_port to a free port, or to 0",
                ) from error
        self.daemon.start()

    def stop(self, *, drain: bool = True) -> bool:
        """Stop ticking; whether everything that ran has ended."""
        if self._endpoint is not None:
            self._endpoint.close()
            self._endpoint = None
        return self.daemon.stop(drain=drain)

    def close(self) -> None:
        """Stop, and give up what waits."""
        if self.daemon.is_running:
            self.stop(drain=True)
        self.coordinator.close()
