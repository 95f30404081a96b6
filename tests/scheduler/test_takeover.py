"""Coordinators that die or are stopped in the middle of their work: another one goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from recovery import TABLES, has_all, prepare, wait_until

from headwater.catalog.processes import _started
from shared_spark import Place, check, gateway_environment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PROCESS = Path(__file__).with_name("coordinator_process.py")
MOMENTS = [
    ("apply", "start"),
    ("apply.staged", "start"),
    ("publish", "start"),
    ("publish", "end"),
    ("record", "start"),
]


@contextmanager
def coordinator(
    spark: SparkSession,
    place: Place,
    stage: str = "none",
    moment: str = "",
    sent: str = "SIGKILL",
    **settings: str,
) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, PROCESS, place.catalog, place.warehouse, stage, moment, sent],
        env={**gateway_environment(spark), **settings},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait(timeout=60)


def read_until(process: subprocess.Popen[str], word: str) -> list[str]:
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line.strip())
        if word in line:
            return said
    raise AssertionError(f"{word!r} was never said: {said}")


def killed_and_taken_over(
    spark: SparkSession, place: Place, stage: str, moment: str, **settings: str
) -> None:
    with place.open(spark, settings={"scheduler_interval_ms": 200}) as hub:
        prepare(hub)
        with coordinator(spark, place, stage, moment, **settings) as first:
            read_until(first, "leads")
            hub.sql("INSERT INTO src VALUES (100, 7, 5)")
            read_until(first, "reached")
            first.wait(timeout=60)
            assert first.returncode == -signal.SIGKILL
        lost = hub.parallel_job_status()
        assert any(job.status == "RUNNING" for job in lost), "the job of the dead is still open"
        workers = {job.worker_pid for job in lost if job.worker_pid is not None}
        wait_until(lambda: not any(_started(pid) for pid in workers), 30)
        hub.start()
        wait_until(lambda: has_all(hub))
        hub.sql("INSERT INTO src VALUES (101, 8, 6)")
        wait_until(lambda: has_all(hub))
        assert hub.stop()
        check(hub, *TABLES)
        jobs = hub.parallel_job_status()
        assert not [j for j in jobs if j.status in ("RUNNING", "QUEUED")], "orphans are closed"
        assert [
            j
            for j in jobs
            if j.status == "RETRYABLE_FAILED" and "lease" in (j.outcome_detail or "")
        ]
        history = hub.history(limit=200)
        assert not [h for h in history if h.status == "RUNNING"]
        interrupted = [h for h in history if h.error_code == "HW5007"]
        recovered = [h for h in history if "recorded after a crash" in (h.reason or "")]
        assert interrupted or recovered, "the history tells what happened"
        assert hub._runtime.store.intents.pending() == ()


def test_a_second_coordinator_takes_over_from_one_that_was_killed(
    spark: SparkSession, place: Place
) -> None:
    killed_and_taken_over(spark, place, "apply.staged", "start")


@pytest.mark.long
@pytest.mark.parametrize(("stage", "moment"), MOMENTS)
def test_killed_at_every_step(spark: SparkSession, place: Place, stage: str, moment: str) -> None:
    killed_and_taken_over(spark, place, stage, moment)


@pytest.mark.long
@pytest.mark.parametrize("number", range(5))
def test_killed_with_worker_processes(spark: SparkSession, place: Place, number: int) -> None:
    """Its workers and its Spark Connect server end with it."""
    stage = ("apply.write", "compile")[number % 2]
    killed_and_taken_over(spark, place, stage, "start", HEADWATER_WORKER_KIND="process")


def stopped_and_woken(spark: SparkSession, place: Place) -> None:
    with place.open(spark, settings={"scheduler_interval_ms": 200}) as hub:
        prepare(hub)
        with coordinator(spark, place, "publish", "start", "SIGSTOP") as first:
            read_until(first, "leads")
            hub.sql("INSERT INTO src VALUES (100, 7, 5)")
            read_until(first, "reached")
            hub.start()
            wait_until(lambda: has_all(hub))
            versions = {t: hub.status(t)[0].version for t in TABLES}
            os.kill(first.pid, signal.SIGCONT)
            said = read_until(first, "lost")
            assert said
            time.sleep(2)
            assert {t: hub.status(t)[0].version for t in TABLES} == versions, "nothing twice"
            hub.sql("INSERT INTO src VALUES (101, 8, 6)")
            wait_until(lambda: has_all(hub))
        assert hub.stop()
        check(hub, *TABLES)
        assert not [j for j in hub.parallel_job_status() if j.status in ("RUNNING", "QUEUED")]


@pytest.mark.long
def test_a_coordinator_that_was_stopped_past_its_lease_is_refused(
    spark: SparkSession, place: Place
) -> None:
    stopped_and_woken(spark, place)


@pytest.mark.long
@pytest.mark.parametrize("number", range(4))
def test_stopped_past_its_lease_again(spark: SparkSession, place: Place, number: int) -> None:
    stopped_and_woken(spark, place)
