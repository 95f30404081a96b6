"""Refreshes without work: no JVM, no job, no commit."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from shared_spark import Place, check, environment, rows

if TYPE_CHECKING:
    import headwater

pytestmark = pytest.mark.spark

IDLE = """
import json, sys, time
import headwater
hub = headwater.connect(catalog=sys.argv[1], warehouse=sys.argv[2])
times, last = [], None
for _ in range(60):
    started = time.perf_counter()
    last = hub.refresh_stream_table("t")
    times.append((time.perf_counter() - started) * 1000)
print(json.dumps({
    "times_ms": times[5:], "action": last.action, "jobs": last.spark_jobs,
    "jvm": hub._runtime.engine.running, "pyspark": "pyspark" in sys.modules,
}))
"""


@pytest.mark.timed
def test_no_data_needs_no_jvm_and_under_10_ms(
    spark: object, place: Place, report: list[str]
) -> None:
    with place.open(spark) as hub:  # type: ignore[arg-type]
        hub.sql("CREATE TABLE src (g INT, x INT) USING iceberg")
        hub.sql("INSERT INTO src VALUES (1, 1)")
        hub.create_stream_table("t", "SELECT g, SUM(x) AS s FROM src GROUP BY g")
    times: list[float] = []
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
        times += seen["times_ms"]
    median = statistics.median(times)
    report.append(f"NO_DATA refresh: median {median:.2f} ms of {len(times)}, 0 Spark jobs, no JVM")
    assert median < 10


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
        hub.sql("INSERT INTO t VALUES (99, 'x')")
        result = hub.refresh_stream_table("t")
        assert (result.action, result.reason_code) == ("FULL", "FOREIGN_WRITE")
        check(hub, "t")
        assert rows(hub, "t") == [(1,)]


def test_advanced_frontier_is_dropped_when_the_head_moves(hub: headwater.Hub) -> None:
    """The head moves back to an older commit of our own: only its own frontier holds there."""
    hub.sql("CREATE TABLE src (g INT, x INT) USING iceberg")
    hub.sql("INSERT INTO src VALUES (1, 1)")
    hub.create_stream_table("t", "SELECT g FROM src WHERE x > 0")
    first = hub.status("t")[0].version
    hub.sql("INSERT INTO src VALUES (2, 2)")
    assert hub.refresh_stream_table("t").rows_inserted == 1
    hub.sql("INSERT INTO src VALUES (3, -3)")
    assert hub.refresh_stream_table("t").reason_code == "EMPTY_DELTA"
    assert hub.refresh_stream_table("t").action == "NO_DATA"
    hub.sql(f"CALL hw.system.rollback_to_snapshot('default.t', {first})")
    assert rows(hub, "t") == [(1,)]
    result = hub.refresh_stream_table("t")
    assert (result.action, result.rows_inserted) == ("INCREMENTAL", 1)
    assert rows(hub, "t") == [(1,), (2,)]
    check(hub, "t")


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
