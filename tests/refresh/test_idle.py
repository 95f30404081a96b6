"""Refreshes without work: no JVM, no job, no commit."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from shared_spark import Place, check, environment, rows

if TYPE_CHECKING:
    import headwater

pytestmark = pytest.mark.spark

IDLE = """
import json, statistics, sys, time
import headwater
hub = headwater.connect(catalog=sys.argv[1], warehouse=sys.argv[2])
times, last = [], None
for _ in range(60):
    started = time.perf_counter()
    last = hub.refresh_stream_table("t")
    times.append((time.perf_counter() - started) * 1000)
print(json.dumps({
    "median_ms": statistics.median(times[5:]), "action": last.action, "jobs": last.spark_jobs,
    "jvm": hub._runtime.engine.running, "pyspark": "pyspark" in sys.modules,
}))
"""


def test_no_data_needs_no_jvm_and_under_10_ms(spark: object, place: Place) -> None:
    with place.open(spark) as hub:  # type: ignore[arg-type]
        hub.sql("CREATE TABLE src (g INT, x INT) USING iceberg")
        hub.sql("INSERT INTO src VALUES (1, 1)")
        hub.create_stream_table("t", "SELECT g, SUM(x) AS s FROM src GROUP BY g")
    best = None
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", IDLE, place.catalog, place.warehouse],
            env=environment(),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        seen = json.loads(done.stdout)
        assert (seen["action"], seen["jobs"]) == ("NO_DATA", 0)
        assert not seen["jvm"]
        assert not seen["pyspark"]
        best = min(best or 1e9, seen["median_ms"])
    print(f"NO_DATA refresh: median {best:.2f} ms")
    assert best is not None
    assert best < 10


def test_idle_refreshes_share_one_history_row(hub: headwater.Hub) -> None:
    hub.sql("CREATE TABLE src (g INT) USING iceberg")
    hub.create_stream_table("t", "SELECT g FROM src WHERE g > 0")
    for _ in range(5):
        assert hub.refresh_stream_table("t").action == "NO_DATA"
    assert [r.action for r in hub.history("t")] == ["NO_DATA", "FULL"]


def test_empty_delta_advances_the_frontier_without_a_commit(spark: object, place: Place) -> None:
    with place.open(spark) as hub:  # type: ignore[arg-type]
        hub.sql("CREATE TABLE src (g INT, x INT) USING iceberg")
        hub.sql("INSERT INTO src VALUES (1, 1), (2, -1)")
        hub.create_stream_table("t", "SELECT g FROM src WHERE x > 0")
        version = hub.status("t")[0].version
        hub.sql("INSERT INTO src VALUES (3, -5)")
        result = hub.refresh_stream_table("t")
        assert (result.action, result.reason_code, result.apply) == (
            "INCREMENTAL",
            "EMPTY_DELTA",
            "none",
        )
        assert result.version == version
        assert hub.status("t")[0].version == version
        newest = hub.sql("SELECT snapshot_id FROM hw.default.src.refs").collect()[0][0]
        assert result.frontier == {"default.src": newest}
        assert hub.refresh_stream_table("t").action == "NO_DATA"
    with place.open(spark) as hub:  # type: ignore[arg-type]
        assert hub.refresh_stream_table("t").action == "NO_DATA", "survives a restart"
        check(hub, "t")
        # When the head moves, the advanced frontier no longer holds.
        hub.sql("INSERT INTO t VALUES (99, 'x')")
        result = hub.refresh_stream_table("t")
        assert (result.action, result.reason_code) == ("FULL", "FOREIGN_WRITE")
        check(hub, "t")
        assert rows(hub, "t") == [(1,)]


def test_empty_append_and_compaction_are_no_change(hub: headwater.Hub) -> None:
    hub.sql("CREATE TABLE src (g INT, x INT) USING iceberg")
    for i in range(6):
        hub.sql(f"INSERT INTO src VALUES ({i}, {i})")
    hub.create_stream_table("t", "SELECT g, SUM(x) AS s FROM src GROUP BY g")
    hub.sql("INSERT INTO src SELECT * FROM src WHERE false")
    assert hub.refresh_stream_table("t").action == "NO_DATA"
    hub.sql(
        "CALL hw.system.rewrite_data_files(table => 'default.src', "
        "options => map('min-input-files','2'))"
    )
    result = hub.refresh_stream_table("t")
    assert (result.action, result.reason_code) == ("NO_DATA", "COMPACTION_ONLY")
    for i in range(6):
        hub.sql(f"INSERT INTO src VALUES ({i}, 1)")
        hub.refresh_stream_table("t")
    hub.sql("CREATE TABLE more (g INT) USING iceberg")
    hub.create_stream_table("bagged", "SELECT g FROM more")
    for i in range(4):
        hub.sql(f"INSERT INTO more VALUES ({i})")
        hub.refresh_stream_table("bagged")
    hub.sql(
        "CALL hw.system.rewrite_data_files(table => 'default.bagged', "
        "options => map('min-input-files','2'))"
    )
    assert hub.refresh_stream_table("bagged").action == "NO_DATA"
    hub.sql("INSERT INTO more VALUES (7)")
    result = hub.refresh_stream_table("bagged")
    assert (result.action, result.apply) == ("INCREMENTAL", "append")
    check(hub, "bagged", "t")
