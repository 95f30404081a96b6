"""A refresh killed between any two of its steps: nothing twice, nothing lost, history tells it."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headwater
from shared_spark import Place, check, environment, gateway_environment, rows

pytestmark = pytest.mark.spark

Places = Callable[[str], Place]
CATALOGS = ("sqlite", "postgresql")
WORKER = Path(__file__).with_name("crash_worker.py")
PLANNING = (("pin", "end"), ("window", "end"), ("decide", "end"))
"""Nothing is written yet, not even that a run began."""
BOUNDARIES = (
    *PLANNING,
    ("compile", "start"),
    ("compile", "end"),
    ("apply", "start"),
    ("apply.write", "start"),
    ("apply.staged", "start"),
    ("apply", "end"),
    ("publish", "start"),
    ("publish", "end"),
    ("record", "start"),
    ("record", "end"),
)
PUBLISHED = {("publish", "end"), ("record", "start"), ("record", "end")}
QUERIES = {
    "append": "SELECT id, x * 2 AS y FROM src WHERE x > 0",
    "merge": "SELECT g, COUNT(*) AS n, SUM(x) AS s FROM src GROUP BY g",
    "overwrite": "SELECT g, x FROM src",
}
QUICK_ON_POSTGRESQL = {
    "append": {("apply.staged", "start"), ("publish", "start"), ("publish", "end")},
    "merge": {("decide", "end"), ("publish", "start"), ("record", "start")},
    "overwrite": {("apply.write", "start"), ("publish", "start"), ("publish", "end")},
}


def boundaries(*, is_long: bool) -> list[Any]:
    """Catalog, apply kind, stage and moment of each kill."""
    return [
        pytest.param(catalog, kind, *at, marks=marks_of(catalog))
        for catalog, kind, at in itertools.product(CATALOGS, QUERIES, BOUNDARIES)
        if is_long or catalog == "sqlite" or at in QUICK_ON_POSTGRESQL[kind]
    ]


def marks_of(catalog: str) -> list[pytest.MarkDecorator]:
    return [pytest.mark.postgres] if catalog == "postgresql" else []


def kinds_on(*catalogs: str) -> list[Any]:
    """Catalog and apply kind."""
    return [
        pytest.param(catalog, kind, marks=marks_of(catalog))
        for catalog in catalogs
        for kind in QUERIES
    ]


def prepare(hub: headwater.Hub) -> None:
    hub.sql("CREATE TABLE src (id BIGINT, g INT, x INT) USING iceberg")
    hub.sql("INSERT INTO src SELECT id, id % 3, id FROM range(1, 20)")
    for kind, query in QUERIES.items():
        mode = "FULL" if kind == "overwrite" else "AUTO"
        hub.create_stream_table(f"t_{kind}", query, refresh_mode=mode)


def run_worker(
    place: Place, table: str, stage: str, moment: str, environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, WORKER, place.catalog, place.warehouse, table, stage, moment, "SIGKILL"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def killed_and_recovered(
    place: Place, spark: object, kind: str, stage: str, moment: str, environment: dict[str, str]
) -> None:
    table = f"t_{kind}"
    with place.open(spark) as hub:  # type: ignore[arg-type]
        hub.refresh_stream_table(table)
        before = rows(hub, table)
        last = hub.history(table, limit=1)[0].run_id
        hub.sql("INSERT INTO src SELECT 1000 + count(*), 1, 5 FROM src")
    worker = run_worker(place, table, stage, moment, environment)
    assert worker.returncode == -signal.SIGKILL, worker.stdout + worker.stderr
    assert "reached" in worker.stdout

    with place.open(spark) as hub:  # type: ignore[arg-type]
        now = rows(hub, table)
        if (stage, moment) in PUBLISHED:
            assert now != before, "published before the kill, so readers see it"
        else:
            assert now == before, "killed before publishing, so readers see nothing of it"
        result = hub.refresh_stream_table(table)
        check(hub, table)
        expected = "NO_DATA" if (stage, moment) in PUBLISHED else ("INCREMENTAL", "FULL")
        assert result.action in expected
        runs = [r for r in hub.history(table) if r.run_id > last]
        dead = [r for r in runs if r.run_id != result.run_id]
        if (stage, moment) in PUBLISHED:
            assert [r.status for r in dead] == ["COMPLETED"]
        elif (stage, moment) in PLANNING:
            assert dead == [], "it died before it had begun"
        else:
            assert [r.status for r in dead] == ["FAILED"]
            assert dead[0].error_code is not None
        refs = hub.sql(f"SELECT name FROM hw.default.{table}.refs").collect()
        assert [r.name for r in refs] == ["main"]


@pytest.mark.parametrize(("catalog", "kind", "stage", "moment"), boundaries(is_long=False))
def test_kill_at_a_boundary(
    crash_places: Places, spark: object, catalog: str, kind: str, stage: str, moment: str
) -> None:
    environment = gateway_environment(spark)  # type: ignore[arg-type]
    killed_and_recovered(crash_places(catalog), spark, kind, stage, moment, environment)


@pytest.mark.long
@pytest.mark.parametrize("repetition", range(5))
@pytest.mark.parametrize(("catalog", "kind", "stage", "moment"), boundaries(is_long=True))
def test_kill_at_a_boundary_again(
    crash_places: Places,
    spark: object,
    catalog: str,
    kind: str,
    stage: str,
    moment: str,
    repetition: int,
) -> None:
    """Twice the worker has a JVM of its own that dies with it; else it borrows that of the test."""
    own = repetition < 2
    worker = environment() if own else gateway_environment(spark)  # type: ignore[arg-type]
    killed_and_recovered(crash_places(catalog), spark, kind, stage, moment, worker)


@pytest.mark.parametrize(("stage", "moment"), [("apply.write", "start"), ("apply.staged", "start")])
def test_kill_while_the_columns_change(
    crash_places: Places, spark: object, stage: str, moment: str
) -> None:
    """Until the new content is there, readers of the hub see the old one with its columns."""
    crash_place = crash_places("sqlite")
    table = f"t_columns_{stage[6:]}"
    with crash_place.open(spark) as hub:  # type: ignore[arg-type]
        hub.create_stream_table(table, "SELECT g, COUNT(*) AS n FROM src GROUP BY g")
        before = rows(hub, table)
        with pytest.warns(headwater.HeadwaterWarning):
            hub.alter_stream_table(table, query="SELECT CAST(g AS STRING) AS g, x FROM src")
    environment = gateway_environment(spark)  # type: ignore[arg-type]
    worker = run_worker(crash_place, table, stage, moment, environment)
    assert worker.returncode == -signal.SIGKILL, worker.stdout + worker.stderr
    with crash_place.open(spark) as hub:  # type: ignore[arg-type]
        assert hub.table(table).columns == ["g", "n"]
        assert rows(hub, table) == before
        assert hub.refresh_stream_table(table).action == "REINITIALIZE"
        check(hub, table)
        assert hub.table(table).columns == ["g", "x"]


def kill_when_files_appear(place: Place, table: str) -> None:
    """Kill a worker and its JVM as soon as it has written a data file."""
    data = Path(place.warehouse) / "default" / table / "data"
    before = set(data.glob("*.parquet"))
    worker = subprocess.Popen(
        [
            sys.executable,
            WORKER,
            place.catalog,
            place.warehouse,
            table,
            "never",
            "start",
            "SIGKILL",
        ],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + 240
    while set(data.glob("*.parquet")) == before and time.monotonic() < deadline:
        if worker.poll() is not None:
            break
        time.sleep(0.0005)
    os.killpg(worker.pid, signal.SIGKILL)
    worker.communicate()
    assert set(data.glob("*.parquet")) > before, "no data file was seen"


def killed_inside_the_write(place: Place, spark: object, kind: str) -> None:
    """A kill that came too late to be inside the write is tried again."""
    for _ in range(5):
        if killed_before_the_commit(place, spark, f"t_{kind}"):
            return
    pytest.fail("every kill came after the commit")


def killed_before_the_commit(place: Place, spark: object, table: str) -> bool:
    with place.open(spark) as hub:  # type: ignore[arg-type]
        hub.refresh_stream_table(table)
        before = rows(hub, table)
        last = hub.history(table, limit=1)[0].run_id
        hub.sql("INSERT INTO src SELECT 1000 + count(*), 1, 5 FROM src")
    kill_when_files_appear(place, table)
    with place.open(spark) as hub:  # type: ignore[arg-type]
        snapshots = hub.sql(f"SELECT summary FROM hw.default.{table}.snapshots").collect()
        (dead,) = [r.run_id for r in hub.history(table) if r.run_id > last]
        is_early = dead not in {row.summary.get("hw.run") for row in snapshots}
        if is_early:
            assert rows(hub, table) == before, "readers see nothing of it"
        result = hub.refresh_stream_table(table)
        check(hub, table)
        told = {r.run_id: r.status for r in hub.history(table)}
        assert "RUNNING" not in told.values()
        if is_early:
            assert result.action in ("INCREMENTAL", "FULL")
            assert (told[dead], told[result.run_id]) == ("FAILED", "COMPLETED")
    return is_early


@pytest.mark.parametrize(("catalog", "kind"), kinds_on("sqlite"))
def test_kill_after_data_files(
    crash_places: Places, spark: object, catalog: str, kind: str
) -> None:
    killed_inside_the_write(crash_places(catalog), spark, kind)


@pytest.mark.long
@pytest.mark.parametrize("repetition", range(5))
@pytest.mark.parametrize(("catalog", "kind"), kinds_on(*CATALOGS))
def test_kill_after_data_files_again(
    crash_places: Places, spark: object, catalog: str, kind: str, repetition: int
) -> None:
    killed_inside_the_write(crash_places(catalog), spark, kind)
