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
CAP, QUOTA, BURST = 4, 2, 3
PATIENCE = 15.0
"""No hub waits without any worker for longer; a refresh takes less than a second."""


def prepare(hub: headwater.Hub, prefix: str) -> list[str]:
    hub.sql(f"CREATE TABLE {prefix}_src (id BIGINT, g INT) USING iceberg")
    names = [f"{prefix}_t{number}" for number in range(TABLES)]
    for number, name in enumerate(names):
        hub.create_stream_table(
            name, f"SELECT g, COUNT(*) + {number} AS n FROM {prefix}_src GROUP BY g"
        )
    return names


class Watcher(threading.Thread):
    """Counts what runs, and how long each hub waits without any worker."""

    def __init__(self, hubs: list[headwater.Hub]) -> None:
        super().__init__()
        self._jobs = hubs[0]._runtime.store.jobs
        self._served = {hub.name: time.monotonic() for hub in hubs}
        self.done = threading.Event()
        self.most = {"all": 0, **dict.fromkeys(self._served, 0)}
        self.waited = dict.fromkeys(self._served, 0.0)

    def run(self) -> None:
        while not self.done.wait(0.02):
            loads = self._jobs.loads()
            self.most["all"] = max(self.most["all"], sum(running for running, _ in loads.values()))
            for hub in self._served:
                running, queued = loads.get(hub, (0, 0))
                self.most[hub] = max(self.most[hub], running)
                if running or not queued:
                    self._served[hub] = time.monotonic()
                self.waited[hub] = max(self.waited[hub], time.monotonic() - self._served[hub])


def test_quota_and_burst(spark: SparkSession, place: Place) -> None:
    settings = {"scheduler_interval_ms": 200, "max_dynamic_refresh_workers": CAP}
    with (
        place.open(spark, hub="one", settings=settings) as one,
        place.open(spark, hub="two", settings=settings) as two,
    ):
        names = {one: prepare(one, "one"), two: prepare(two, "two")}
        watcher = Watcher(list(names))
        for hub in names:
            hub.set("per_hub_worker_quota", QUOTA)
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
        watcher.done.set()
        watcher.join()
        for hub in names:
            assert hub.stop()
            hub.tick()
            check(hub, *names[hub])
            assert QUOTA <= watcher.most[hub.name] <= BURST, watcher.most
            assert watcher.waited[hub.name] < PATIENCE, f"neither starves: {watcher.waited}"
        assert QUOTA <= watcher.most["all"] <= CAP, watcher.most
        ran = {
            hub.name: sum(j.status == "SUCCEEDED" for j in hub.parallel_job_status())
            for hub in names
        }
        assert min(ran.values()) * 2 >= max(ran.values()), f"neither starves: {ran}"
        shares = {row.hub: row for row in one.worker_allocation_status()}
        assert shares["one"].cluster_max == shares["two"].cluster_max == CAP
        assert [shares[h].workers_quota for h in ("one", "two")] == [BURST, BURST], "at rest"
