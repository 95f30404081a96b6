"""A refresh killed between any two of its steps: nothing twice, nothing lost, history tells it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import headwater
from shared_spark import Place, check, environment, gateway_environment, place_in, rows

pytestmark = pytest.mark.spark

WORKER = Path(__file__).with_name("crash_worker.py")
BOUNDARIES = (
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


@pytest.fixture(scope="module")
def crash_place(tmp_path_factory: pytest.TempPathFactory, spark: object) -> Place:
    place = place_in(tmp_path_factory.mktemp("crash"))
    with place.open(spark) as hub:  # type: ignore[arg-type]
        prepare(hub)
    return place


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
        assert [r.status for r in dead] == (
            ["COMPLETED"] if (stage, moment) in PUBLISHED else ["FAILED"]
        )
        if (stage, moment) not in PUBLISHED:
            assert dead[0].error_code is not None
        refs = hub.sql(f"SELECT name FROM hw.default.{table}.refs").collect()
        assert [r.name for r in refs] == ["main"]


@pytest.mark.parametrize("kind", QUERIES)
@pytest.mark.parametrize(("stage", "moment"), BOUNDARIES)
def test_kill_at_a_boundary(
    crash_place: Place, spark: object, kind: str, stage: str, moment: str
) -> None:
    environment = gateway_environment(spark)  # type: ignore[arg-type]
    killed_and_recovered(crash_place, spark, kind, stage, moment, environment)


@pytest.mark.long
@pytest.mark.parametrize("repetition", range(5))
@pytest.mark.parametrize("kind", QUERIES)
@pytest.mark.parametrize(("stage", "moment"), BOUNDARIES)
def test_kill_at_a_boundary_again(
    crash_place: Place, spark: object, kind: str, stage: str, moment: str, repetition: int
) -> None:
    """Twice the worker has a JVM of its own that dies with it; else it borrows that of the test."""
    own = repetition < 2
    worker = environment() if own else gateway_environment(spark)  # type: ignore[arg-type]
    killed_and_recovered(crash_place, spark, kind, stage, moment, worker)


@pytest.mark.parametrize(("stage", "moment"), [("apply.write", "start"), ("apply.staged", "start")])
def test_kill_while_the_columns_change(
    crash_place: Place, spark: object, stage: str, moment: str
) -> None:
    """Until the new content is there, readers of the hub see the old one with its columns."""
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


def kill_when_files_appear(place: Place, table: str) -> bool:
    """Kill the worker and its JVM when new data files are there; True if it was before a commit."""
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
    worker.wait()
    return b"done" not in (worker.stdout.read() if worker.stdout else b"")


def killed_inside_the_write(place: Place, spark: object, kind: str) -> None:
    table = f"t_{kind}"
    with place.open(spark) as hub:  # type: ignore[arg-type]
        hub.refresh_stream_table(table)
        hub.sql("INSERT INTO src SELECT 1000 + count(*), 1, 5 FROM src")
    assert kill_when_files_appear(place, table)
    with place.open(spark) as hub:  # type: ignore[arg-type]
        result = hub.refresh_stream_table(table)
        check(hub, table)
        assert result.action in ("INCREMENTAL", "FULL", "NO_DATA")
        assert hub.history(table, limit=10)[0].status == "COMPLETED"
        assert not [r for r in hub.history(table) if r.status == "RUNNING"]


@pytest.mark.parametrize("kind", QUERIES)
def test_kill_after_data_files(crash_place: Place, spark: object, kind: str) -> None:
    killed_inside_the_write(crash_place, spark, kind)


@pytest.mark.long
@pytest.mark.parametrize("repetition", range(5))
@pytest.mark.parametrize("kind", QUERIES)
def test_kill_after_data_files_again(
    crash_place: Place, spark: object, kind: str, repetition: int
) -> None:
    killed_inside_the_write(crash_place, spark, kind)
