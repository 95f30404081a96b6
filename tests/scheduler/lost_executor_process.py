"""A process that refreshes on a cluster, whose executors are killed in the middle of refreshes.

Usage: lost_executor_process.py FOLDER TIMES

The master comes from HEADWATER_SPARK_MASTER. Says `exact` after each time.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

from recovery import TABLES, has_all, orphans, prepare, wait_until

import headwater
from headwater.observe.events import Event, StageEvent
from shared_spark import check

BACKEND = "org.apache.spark.executor.CoarseGrainedExecutorBackend"


def executors(application: str) -> list[int]:
    """The processes of the executors of an application."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue
            if BACKEND in words and application in words:
                found.append(int(folder.name))
    return found


def main() -> None:
    hub = headwater.connect(sys.argv[1], settings={"scheduler_interval_ms": 200})
    prepare(hub)
    hub.start()
    application = hub.spark.sparkContext.applicationId
    for number in range(int(sys.argv[2])):
        reached = threading.Event()

        def listen(event: Event, reached: threading.Event = reached) -> None:
            if isinstance(event, StageEvent) and event.stage == "apply.write":
                reached.set()

        end = hub.subscribe(listen)
        hub.sql(f"INSERT INTO src VALUES ({100 + number}, 7, 5)")
        assert reached.wait(120)
        running = executors(application)
        assert running, "there are executors"
        for pid in running[: 1 + number % 2]:  # one of them, then both
            os.kill(pid, signal.SIGKILL)
        end()
        wait_until(lambda: has_all(hub) and not orphans(hub), 180)
        check(hub, *TABLES)
        print("exact", flush=True)
    hub.stop()
    hub.close()


if __name__ == "__main__":
    main()
