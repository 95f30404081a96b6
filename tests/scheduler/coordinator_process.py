"""A process that runs the scheduler of a hub, and kills or stops itself at a given moment.

Usage: coordinator_process.py CATALOG WAREHOUSE STAGE MOMENT SIGNAL

The signal is sent at the first such moment; `none` as stage never sends it. Told on standard
output: `leads`, `reached`, and `refreshed NAME` for every refresh. Ends when its input ends.
`HW_UPKEEP_SECONDS` says how often it maintains tables, once an hour unless told otherwise.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from sqlalchemy import Connection

import headwater
from headwater.catalog.database import Database
from headwater.observe.events import Event, LeaderEvent, RefreshEvent, StageEvent
from headwater.scheduler import daemon, reaping
from headwater.sources.database import SqliteDatabase
from shared_spark import attach


class Doorman:
    """Lets threads write to the databases one at a time, and none while it is shut.

    SQLite lets nobody write while a process is stopped that does.
    """

    def __init__(self) -> None:
        self.door = threading.RLock()
        write = Database.write

        @contextmanager
        def one_at_a_time(database: Database, **how: Any) -> Iterator[Connection]:
            with self.door, write(database, **how) as connection:
                yield connection

        setattr(Database, "write", one_at_a_time)  # noqa: B010
        for name in ("update", "change"):
            setattr(SqliteDatabase, name, self.guarded(getattr(SqliteDatabase, name)))

    def guarded(self, change: Callable[..., Any]) -> Callable[..., Any]:
        def through(*arguments: Any) -> Any:
            with self.door:
                return change(*arguments)

        return through


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
        daemon._MAINTAIN_SECONDS = reaping.PRUNE_SECONDS = float(upkeep)
    once = threading.Lock()
    doorman = Doorman()

    def listen(event: Event) -> None:
        if isinstance(event, LeaderEvent):
            print("leads" if event.leads else "lost", flush=True)
        if isinstance(event, RefreshEvent):
            print(f"refreshed {event.table} {event.action} {event.reason_code}", flush=True)
        at = isinstance(event, StageEvent) and (event.stage, event.moment) == (stage, moment)
        if at and once.acquire(blocking=False):
            with doorman.door if signal_name == "SIGSTOP" else nullcontext():
                print("reached", flush=True)
                # To this thread, which goes no further; a signal to the process may hit another.
                signal.pthread_kill(threading.get_ident(), getattr(signal, signal_name))

    hub.subscribe(listen)
    hub.start()
    sys.stdin.read()
    hub.stop()
    print("stopped", flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
