"""A process that runs the scheduler of a hub, and kills or stops itself at a given moment.

Usage: coordinator_process.py CATALOG WAREHOUSE STAGE MOMENT SIGNAL

The signal is sent at the first such moment; `none` as stage never sends it. Told on standard
output: `leads`, `reached`, and `refreshed NAME` for every refresh. Ends when its input ends.
`HW_UPKEEP_SECONDS` says how often it maintains tables, once an hour unless told otherwise.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from typing import Any

import headwater
from headwater.catalog import turnstile
from headwater.observe.events import Event, LeaderEvent, RefreshEvent, StageEvent
from headwater.scheduler import coordinator, daemon
from headwater.sources.database import SqliteDatabase
from shared_spark import attach


class Doorman:
    """Lets threads write to the table catalog one at a time, and none while it is shut."""

    def __init__(self) -> None:
        self.door = threading.Lock()
        for name in ("update", "change"):
            setattr(SqliteDatabase, name, self.guarded(getattr(SqliteDatabase, name)))

    def guarded(self, write: Callable[..., Any]) -> Callable[..., Any]:
        def through(*arguments: Any) -> Any:
            with self.door:
                return write(*arguments)

        return through

    @contextmanager
    def shut(self, hub: headwater.Hub) -> Iterator[None]:
        """Inside, no thread writes: SQLite lets nobody write while a stopped process does.

        Whoever wants to write waits in the queue, which other processes soon do without.
        """
        database = hub._runtime.store.database.engine.url.database
        assert database is not None
        with (
            self.door,
            turnstile.passing(database),
            closing(sqlite3.connect(database, timeout=30)) as connection,
        ):
            connection.execute("BEGIN IMMEDIATE")
            connection.rollback()
            yield


def main() -> None:
    catalog, warehouse, stage, moment, signal_name = sys.argv[1:]
    hub = headwater.connect(
        spark=attach(),
        catalog=catalog,
        warehouse=warehouse,
        settings={"scheduler_interval_ms": 200},
    )
    upkeep = os.environ.get("HW_UPKEEP_SECONDS")
    if upkeep is not None:
        daemon._MAINTAIN_SECONDS = coordinator.PRUNE_SECONDS = float(upkeep)
    once = threading.Lock()
    doorman = Doorman()

    def listen(event: Event) -> None:
        if isinstance(event, LeaderEvent):
            print("leads" if event.leads else "lost", flush=True)
        if isinstance(event, RefreshEvent):
            print(f"refreshed {event.table} {event.action} {event.reason_code}", flush=True)
        at = isinstance(event, StageEvent) and (event.stage, event.moment) == (stage, moment)
        if at and once.acquire(blocking=False):
            with doorman.shut(hub) if signal_name == "SIGSTOP" else nullcontext():
                print("reached", flush=True)
                os.kill(os.getpid(), getattr(signal, signal_name))

    hub.subscribe(listen)
    hub.start()
    sys.stdin.read()
    hub.stop()
    print("stopped", flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
