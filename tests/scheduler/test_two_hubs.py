"""Two hubs of one catalog database, both at full speed: the cap holds and neither starves."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

import headwater
from shared_spark import Place, check

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.long]

TABLES = 6
CAP = 3


def prepare(hub: headwater.Hub, prefix: str) -> list[str]:
    hub.sql(f"CREATE TABLE {prefix}_src (id BIGINT, g INT) USING iceberg")
    names = [f"{prefix}_t{number}" for number in range(TABLES)]
    for number, name in enumerate(names):
        hub.create_stream_table(
            name, f"SELECT g, COUNT(*) + {number} AS n FROM {prefix}_src GROUP BY g"
        )
    return names


def test_quota_and_burst(spark: SparkSession, place: Place) -> None:
    settings = {"scheduler_interval_ms": 200, "max_dynamic_refresh_workers": CAP}
    with (
        place.open(spark, hub="one", settings=settings) as one,
        place.open(spark, hub="two", settings=settings) as two,
    ):
        names = {one: prepare(one, "one"), two: prepare(two, "two")}
        most: dict[str, int] = {"all": 0}
        done = threading.Event()

        def watch() -> None:
            while not done.wait(0.02):
                loads = one._runtime.store.jobs.loads()
                most["all"] = max(most["all"], sum(running for running, _ in loads.values()))
                for hub, (running, _) in loads.items():
                    most[hub] = max(most.get(hub, 0), running)

        watcher = threading.Thread(target=watch)
        watcher.start()
        for hub in names:
            hub.start()
        until = time.monotonic() + 30
        number = 0
        while time.monotonic() < until:
            for hub in names:
                hub.sql(f"INSERT INTO {hub.name}_src VALUES ({number}, {number % 3})")
            number += 1
            time.sleep(0.3)
        done.set()
        watcher.join()
        for hub in names:
            assert hub.stop()
            hub.tick()
            check(hub, *names[hub])
        assert 2 <= most["all"] <= CAP, most
        ran = {
            hub.name: sum(j.status == "SUCCEEDED" for j in hub.parallel_job_status())
            for hub in names
        }
        assert min(ran.values()) * 2 >= max(ran.values()), f"neither starves: {ran}"
        shares = {row.hub: row for row in one.worker_allocation_status()}
        assert shares["one"].cluster_max == shares["two"].cluster_max == CAP
