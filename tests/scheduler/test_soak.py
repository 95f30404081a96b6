"""Thirty tables, random changes, coordinators killed at random: exact in the end, memory flat.

`HW_SOAK_SECONDS` says how long; 20 minutes unless told otherwise.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import threading
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import text
from test_takeover import coordinator, read_until, wait_until

import headwater
from headwater.core.names import TableName
from headwater.refresh.maintain import READ_FOR, tidy_catalog
from headwater.scheduler.reaping import KEPT_JOBS, PRUNE_SECONDS
from headwater.storage.expire import KEPT_VERSIONS
from shared_spark import Place, check

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.long]

SECONDS = float(os.environ.get("HW_SOAK_SECONDS", "1200"))
SOURCES, TABLES = 5, 30
FLAT = 1.10
UPKEEP = 60


def prepare(hub: headwater.Hub, rng: random.Random) -> list[str]:
    for number in range(SOURCES):
        hub.sql(f"CREATE TABLE s{number} (id BIGINT, g INT, x INT) USING iceberg")
        hub.sql(f"INSERT INTO s{number} SELECT id, CAST(id % 5 AS INT), 1 FROM range(20)")
    names: list[str] = []
    for number in range(TABLES):
        source = f"s{rng.randrange(SOURCES)}"
        shapes = [
            f"SELECT g, SUM(x) AS x, COUNT(*) AS n FROM {source} GROUP BY g",
            f"SELECT id, g, x FROM {source} WHERE x > 0",
        ]
        if names:
            upper = rng.choice(names)
            shapes.append(f"SELECT u.g, COUNT(*) AS x FROM {upper} u JOIN {source} s "
                          "ON u.g = s.g GROUP BY u.g")  # fmt: skip
        hub.create_stream_table(f"t{number}", rng.choice(shapes))
        names.append(f"t{number}")
    return names


def change(hub: headwater.Hub, rng: random.Random) -> None:
    table, key = f"s{rng.randrange(SOURCES)}", rng.randrange(1000)
    hub.sql(
        rng.choice(
            [
                f"INSERT INTO {table} VALUES ({key}, {key % 5}, {rng.randrange(3)})",
                f"UPDATE {table} SET x = x + 1 WHERE g = {key % 5}",
                f"DELETE FROM {table} WHERE id = {key}",
            ]
        )
    )


def memory(process: subprocess.Popen[str]) -> int:
    """Resident memory in kilobytes."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])


def read_on(process: subprocess.Popen[str]) -> None:
    """Take what it says, so that it is never kept waiting."""
    assert process.stdout is not None
    threading.Thread(target=process.stdout.read, daemon=True).start()


def kill_worker(process: subprocess.Popen[str], rng: random.Random) -> bool:
    """Kill a worker process of a coordinator; whether there was one."""
    found = subprocess.run(
        ["ps", "-o", "pid=,args=", "--ppid", str(process.pid)], capture_output=True, text=True
    )
    workers = [line.split()[0] for line in found.stdout.splitlines() if "headwater.worker" in line]
    if workers:
        os.kill(int(rng.choice(workers)), signal.SIGKILL)
    return bool(workers)


def check_rows(hub: headwater.Hub) -> None:
    """What the scheduler writes down does not pile up: an hour of jobs, ticks, no intents."""
    runtime = hub._runtime
    now = runtime.store.now()
    jobs = runtime.store.jobs.all()
    ended = [j.finished_at for j in jobs if j.finished_at is not None]
    assert min(ended) > now - KEPT_JOBS - timedelta(seconds=2 * PRUNE_SECONDS)
    assert len(jobs) <= TABLES * SECONDS / 0.2, "no more than a job per table and tick"
    assert runtime.store.intents.pending() == ()
    with runtime.store.database.read() as connection:
        ticks = connection.execute(text("SELECT COUNT(*) FROM hw_ticks")).scalar_one()
    assert ticks <= SECONDS / 0.2


def check_bounds(hub: headwater.Hub, names: list[str]) -> None:
    """Old snapshots go with maintenance; old runs go when their time has come."""
    check_rows(hub)
    runtime = hub._runtime
    young = runtime.clock() - READ_FOR
    hub.maintain()
    for name in names:
        metadata = runtime.tables.metadata(TableName.parse(name))
        assert metadata is not None
        old = [s for s in metadata.snapshots if s.timestamp_ms < young.timestamp() * 1000]
        assert len(old) <= KEPT_VERSIONS, f"{name} has {len(old)} old snapshots"
    assert hub.history(limit=10)
    days = int(runtime.setting("history_retention_days")) + 1
    tidy_catalog(replace(runtime, clock=lambda: runtime.clock() + timedelta(days=days)))
    assert not hub.history(limit=10)


def watch(
    hub: headwater.Hub, process: subprocess.Popen[str], rng: random.Random, until: float
) -> tuple[int, bool]:
    """Change tables while a coordinator lives: worker kills, and whether its memory was judged."""
    measured: list[int] = []
    kills = 0
    while time.monotonic() < until:
        change(hub, rng)
        measured.append(memory(process))
        if rng.random() < 0.02:
            kills += kill_worker(process, rng)
        time.sleep(0.5)
    warm = measured[len(measured) // 2 :]
    if len(warm) <= 100:
        return kills, False
    first, last = median(warm[:20]), median(warm[-20:])
    assert last <= first * FLAT, f"memory grew from {first} to {last} kB"
    return kills, True


@pytest.mark.parametrize("kind", ["thread", "process"])
def test_soak(spark: SparkSession, place: Place, kind: str) -> None:
    rng = random.Random(7)
    seconds = SECONDS if kind == "thread" else SECONDS / 4
    with place.open(spark) as hub:
        hub.set("worker_kind", kind)
        names = prepare(hub, rng)
        until = time.monotonic() + seconds
        # One coordinator lives for so long that its memory can be judged; the others do not.
        longest = until - seconds / 2
        kills = judged = workers = 0
        while time.monotonic() < until:
            with coordinator(spark, place, HW_UPKEEP_SECONDS=str(UPKEEP)) as process:
                read_until(process, "leads")
                read_on(process)
                lives = time.monotonic() + rng.uniform(10, max(20, seconds / 4))
                if not kills:
                    lives = longest
                killed, is_judged = watch(hub, process, rng, min(lives, until))
                workers += killed
                judged += is_judged
            kills += 1
        hub.set("worker_kind", "thread")
        hub.start()
        wait_until(lambda: hub.tick().idle, 300)
        assert hub.stop()
        check(hub, *names)
        assert kills > 1 or seconds < 60
        assert judged or seconds < 600, "the memory of one coordinator was looked at for long"
        assert workers or kind == "thread" or seconds < 120, "worker processes were killed"
        check_bounds(hub, names)
        assert not [j for j in hub.parallel_job_status() if j.status in ("RUNNING", "QUEUED")]
        assert not [h for h in hub.history(limit=1000) if h.status == "RUNNING"]
