"""A process with a Spark of its own whose JVM is killed in the middle of a refresh.

Usage: lost_spark_process.py FOLDER

Ends with code 0 when everything was exact again afterwards.
"""

from __future__ import annotations

import os
import signal
import sys

from recovery import TABLES, has_all, orphans, prepare, wait_until

import headwater
from headwater.observe.events import Event, StageEvent
from headwater.storage.jvm import current_jvm
from shared_spark import check


def main() -> None:
    hub = headwater.connect(sys.argv[1], settings={"scheduler_interval_ms": 200})
    prepare(hub)
    killed: list[int] = []

    def kill(event: Event) -> None:
        if isinstance(event, StageEvent) and event.stage == "apply.write" and not killed:
            killed.append(current_jvm().proc.pid)
            os.kill(killed[0], signal.SIGKILL)

    hub.sql("INSERT INTO src VALUES (100, 7, 5)")
    hub.subscribe(kill)
    hub.start()
    wait_until(lambda: killed)
    wait_until(lambda: has_all(hub) and not orphans(hub), 180)
    hub.stop()
    assert current_jvm().proc.pid != killed[0], "another JVM took its place"
    check(hub, *TABLES)
    assert [h for h in hub.history(limit=100) if h.error_code == "HW5009"]
    print("exact", flush=True)
    hub.close()


if __name__ == "__main__":
    main()
