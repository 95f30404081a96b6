"""Two processes, one stream table: a late publish is refused, all refreshes stay exact."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from shared_spark import Place, check, gateway_environment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    import headwater

pytestmark = pytest.mark.spark

HERE = Path(__file__).parent
BOTH = ("sqlite", pytest.param("postgresql", marks=pytest.mark.postgres))
ON_POSTGRESQL = (pytest.mark.postgres, pytest.mark.long)
VERSIONS_AT_ONCE = 20
Source = list[tuple[int, int, int]]
Content = Counter[tuple[int, ...]]


def totals(source: Source) -> Content:
    groups = {g for _, g, _ in source}
    values = {g: [x for _, group, x in source if group == g] for g in groups}
    return Counter((g, len(xs), sum(xs)) for g, xs in values.items())


def kept(source: Source) -> Content:
    return Counter((i, x) for i, _, x in source)


MERGE = ("SELECT g, COUNT(*) AS n, SUM(x) AS s FROM src GROUP BY g", totals)
BAG = ("SELECT id, x FROM src WHERE x >= 0", kept)


@pytest.mark.parametrize("place", BOTH, indirect=True)
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
    ("place", "query", "expected"),
    [
        pytest.param("sqlite", *MERGE, id="sqlite-merge"),
        pytest.param("sqlite", *BAG, id="sqlite-bag", marks=pytest.mark.long),
        pytest.param("postgresql", *MERGE, id="postgresql-merge", marks=ON_POSTGRESQL),
        pytest.param("postgresql", *BAG, id="postgresql-bag", marks=ON_POSTGRESQL),
    ],
    indirect=["place"],
)
def test_two_processes_refresh_while_a_third_writes(
    spark: SparkSession,
    place: Place,
    query: str,
    expected: Callable[[Source], Content],
) -> None:
    rounds = 50
    with place.open(spark) as hub:
        hub.sql("CREATE TABLE src (id BIGINT, g INT, x INT) USING iceberg")
        hub.sql("INSERT INTO src VALUES (0, 1, 1)")
        hub.create_stream_table("t", query)
        stop = threading.Event()
        written: list[Source] = [[(0, 1, 1)]]

        def write() -> None:
            session = spark.newSession()
            for key, value in hub.lake.catalog_conf().items():
                session.conf.set(key, value)
            session.sql("USE hw.default")
            for i in itertools.count(1):
                if stop.is_set():
                    return
                session.sql(f"INSERT INTO src VALUES ({i}, {i % 4}, {i})")
                written.append([*written[-1], (i, i % 4, i)])
                if i % 5 == 0:
                    session.sql(f"DELETE FROM src WHERE id = {i - 2}")
                    written.append([row for row in written[-1] if row[0] != i - 2])
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
        states = states_of(hub, written)
        versions = versions_of(hub)
        assert len(states) > 10
        assert len(versions) > 10
        found = contents_of(hub, list(versions))
        wrong = {v for v, source in versions.items() if found[v] != expected(states[source])}
        assert not wrong, f"{len(wrong)} of {len(versions)} versions are wrong"


def states_of(hub: headwater.Hub, written: list[Source]) -> dict[int, Source]:
    """What the source holds at each of its versions: each write made one."""
    made = hub.sql("SELECT snapshot_id FROM hw.default.src.snapshots ORDER BY committed_at")
    return dict(zip((row.snapshot_id for row in made.collect()), written, strict=True))


def versions_of(hub: headwater.Hub) -> dict[int, int]:
    """The version of the source that each published version of the stream table is of."""
    published = hub.sql(
        "SELECT s.snapshot_id, s.summary['hw.frontier'] AS frontier "
        "FROM hw.default.t.snapshots s JOIN hw.default.t.history h "
        "ON s.snapshot_id = h.snapshot_id"
    )
    return {
        row.snapshot_id: json.loads(row.frontier)["sources"]["default.src"][1]
        for row in published.collect()
    }


def contents_of(hub: headwater.Hub, versions: list[int]) -> dict[int, Content]:
    """The rows of each version of the stream table, many versions in one statement."""
    columns = ", ".join(hub.table("t").columns)
    found: dict[int, Content] = {version: Counter() for version in versions}
    for first in range(0, len(versions), VERSIONS_AT_ONCE):
        texts = [
            f"SELECT {version}L AS version, {columns} FROM hw.default.t VERSION AS OF {version}"
            for version in versions[first : first + VERSIONS_AT_ONCE]
        ]
        for version, *row in hub.sql(" UNION ALL ".join(texts)).collect():
            found[version][tuple(row)] += 1
    return found
