"""Two processes, one stream table: a late publish is refused, all refreshes stay exact."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from shared_spark import Place, check, gateway_environment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

HERE = Path(__file__).parent


def test_stopped_worker_is_refused_when_it_goes_on(spark: SparkSession, place: Place) -> None:
    with place.open(spark) as hub:
        hub.sql("CREATE TABLE src (g INT, x INT) USING iceberg")
        hub.sql("INSERT INTO src VALUES (1, 1), (2, 2)")
        hub.create_stream_table("t", "SELECT g, SUM(x) AS s, COUNT(*) AS n FROM src GROUP BY g")
        hub.sql("INSERT INTO src VALUES (1, 10)")
        worker = subprocess.Popen(
            [
                sys.executable,
                HERE / "crash_worker.py",
                place.catalog,
                place.warehouse,
                "t",
                "publish",
                "start",
                "SIGSTOP",
            ],
            env=gateway_environment(spark),
            stdout=subprocess.PIPE,
            text=True,
        )
        assert worker.stdout is not None
        for line in worker.stdout:
            if "reached" in line:
                break
        hub.sql("INSERT INTO src VALUES (2, 20)")
        result = hub.refresh_stream_table("t")
        assert result.action == "INCREMENTAL"
        version = hub.status("t")[0].version
        os.kill(worker.pid, signal.SIGCONT)
        said = worker.stdout.read()
        worker.wait(timeout=120)
        # The stopped run is refused; its retry finds nothing left to do.
        assert "done NO_DATA" in said, said
        refused = [r for r in hub.history("t") if r.reason_code == "CONFLICT"]
        assert [r.status for r in refused] == ["SKIPPED"]
        assert hub.status("t")[0].version == version
        check(hub, "t")


@pytest.mark.parametrize(
    "query",
    [
        pytest.param("SELECT g, COUNT(*) AS n, SUM(x) AS s FROM src GROUP BY g", id="merge"),
        pytest.param("SELECT id, x FROM src WHERE x >= 0", id="bag", marks=pytest.mark.long),
    ],
)
def test_two_processes_refresh_while_a_third_writes(
    spark: SparkSession, place: Place, query: str
) -> None:
    rounds = 50
    with place.open(spark) as hub:
        hub.sql("CREATE TABLE src (id BIGINT, g INT, x INT) USING iceberg")
        hub.sql("INSERT INTO src VALUES (0, 1, 1)")
        hub.create_stream_table("t", query)
        stop = threading.Event()
        wrote = [0]

        def write() -> None:
            session = spark.newSession()
            for key, value in hub.lake.catalog_conf().items():
                session.conf.set(key, value)
            session.sql("USE hw.default")
            while not stop.is_set():
                i = wrote[0] = wrote[0] + 1
                session.sql(f"INSERT INTO src VALUES ({i}, {i % 4}, {i})")
                if i % 5 == 0:
                    session.sql(f"DELETE FROM src WHERE id = {i - 2}")
                time.sleep(0.05)

        writer = threading.Thread(target=write)
        writer.start()
        workers = [
            subprocess.Popen(
                [
                    sys.executable,
                    HERE / "refresh_loop.py",
                    place.catalog,
                    place.warehouse,
                    "t",
                    str(rounds),
                ],
                env=gateway_environment(spark),
                stdout=subprocess.PIPE,
                text=True,
            )
            for _ in range(2)
        ]
        said = [w.communicate(timeout=540)[0] for w in workers]
        stop.set()
        writer.join()
        assert [w.returncode for w in workers] == [0, 0], said
        for text in said:
            assert text.count("refreshed") == rounds
        hub.refresh_stream_table("t")
        check(hub, "t")
        snapshots = hub.sql("SELECT snapshot_id FROM hw.default.t.snapshots").collect()
        for row in snapshots[-20:]:
            assert hub.verify("t", version=row.snapshot_id).equal
        assert wrote[0] > 10
