"""Refreshes that take too long, or that a stop does not wait for: their Spark jobs really end."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from recovery import wait_until

import headwater
from shared_spark import Place, check

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SLOW = "SELECT COUNT(*) AS n FROM big a CROSS JOIN big b CROSS JOIN big c WHERE a.id + b.id <> c.id"


def prepare(hub: headwater.Hub) -> None:
    hub.sql("CREATE TABLE big (id BIGINT) USING iceberg")
    # One file, so one task: the slow refresh leaves a core to the quick one.
    hub.sql("INSERT INTO big SELECT /*+ COALESCE(1) */ id FROM range(10000)")
    # The first refresh waits for the executors of a new cluster to load their code.
    hub.create_stream_table("quick", "SELECT MAX(id) AS m FROM big")
    hub.sql("INSERT INTO big VALUES (10000)")
    hub.create_stream_table("slow", SLOW, initialize=False)


def no_jobs(spark: SparkSession) -> bool:
    return not spark.sparkContext.statusTracker().getActiveJobsIds()


def test_a_refresh_that_takes_too_long_is_stopped(spark: SparkSession, place: Place) -> None:
    with place.open(spark, settings={"refresh_timeout": 10}) as hub:
        prepare(hub)
        started = time.monotonic()
        report = hub.tick()
        assert time.monotonic() - started < 60
        assert "HW5008" in report.errors["default.slow"]
        wait_until(lambda: no_jobs(spark), 10)
        check(hub, "quick")
        assert hub.table("quick").collect()[0].m == 10_000
        (run,) = hub.history("slow")
        assert (run.status, run.error_code) == ("FAILED", "HW5008")
        (job,) = (j for j in hub.parallel_job_status() if "slow" in j.unit_key)
        assert job.status == "RETRYABLE_FAILED"
        assert hub.status("slow")[0].consecutive_errors == 0, "it is tried again"


@pytest.mark.long
def test_a_stop_that_does_not_drain_stops_spark(spark: SparkSession, place: Place) -> None:
    with place.open(spark, settings={"scheduler_interval_ms": 200}) as hub:
        prepare(hub)
        hub.start()
        wait_until(
            lambda: any(
                j.status == "RUNNING" and "slow" in j.unit_key for j in hub.parallel_job_status()
            )
        )
        wait_until(lambda: not no_jobs(spark))
        started = time.monotonic()
        assert hub.stop(drain=False)
        assert time.monotonic() - started < 30
        wait_until(lambda: no_jobs(spark), 10)
        assert not [j for j in hub.parallel_job_status() if j.status in ("RUNNING", "QUEUED")]
