"""Commands that work on Spark, through the whole command line, on the Spark of the test run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import Result
from typer.testing import CliRunner

import headwater
from headwater.cli import reach
from headwater.cli.commands import demo_data
from headwater.cli.main import app
from shared_spark import Place, check

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

Run = Callable[..., Result]
FEW_ORDERS = 20_000


@pytest.fixture
def run(spark: SparkSession, place: Place, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command on a hub in `place`; only how the hub is opened differs from a process."""

    @contextmanager
    def opened(path: str) -> Iterator[headwater.Hub]:
        assert Path(path) == place.folder
        with place.open(spark) as hub:
            yield hub

    monkeypatch.setattr(reach, "_connect", opened)
    return lambda *args: CliRunner().invoke(app, ["--hub", str(place.folder), *args])


def test_create_refresh_verify_and_drop(run: Run, spark: SparkSession, place: Place) -> None:
    with place.open(spark) as hub:
        hub.sql("CREATE TABLE orders (id BIGINT) USING iceberg")
        hub.sql("INSERT INTO orders VALUES (1), (2)")
    file = place.folder / "big.sql"
    file.write_text("CREATE STREAM TABLE big SCHEDULE '5m' AS SELECT id FROM orders;\n")
    made = run("create", "-f", str(file), "--tag", "x", "--format", "json")
    assert made.exit_code == 0, made.output
    (row,) = json.loads(made.stdout)
    assert (row["name"], row["schedule"], row["tags"]) == ("default.big", "5m", ["x"])
    assert row["is_populated"]
    with place.open(spark) as hub:
        check(hub, "big")
        hub.sql("INSERT INTO orders VALUES (3)")
    (done,) = json.loads(run("refresh", "big", "--format", "json").stdout)
    assert (done["action"], done["rows_inserted"], done["rows_deleted"]) == ("INCREMENTAL", 1, 0)
    (report,) = json.loads(run("verify", "--format", "json").stdout)
    assert (report["name"], report["equal"]) == ("default.big", True)
    again = run("create", "-f", str(file))
    assert again.exit_code == 1
    dropped = run("drop", "big")
    assert dropped.exit_code == 0, dropped.output
    assert json.loads(run("list", "--format", "json").stdout) == []
    assert run("drop", "big").exit_code == 1
    assert run("drop", "big", "--if-exists").exit_code == 0


def test_demo_with_few_orders(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    *rest, fill = demo_data.SOURCES["orders"]
    last = f"range({demo_data.ORDERS - FEW_ORDERS}, {demo_data.ORDERS})"
    few = fill.replace(f"range({demo_data.ORDERS})", last)
    assert few != fill
    monkeypatch.setitem(demo_data.SOURCES, "orders", (*rest, few))
    done = run("demo")
    assert done.exit_code == 0, done.output
    assert done.stdout.count("INCREMENTAL") >= 16
    assert "4 stream tables in" in done.stdout
    assert ", 0 Spark jobs" in done.stdout
    verified = done.stdout.partition("Verify")[2]
    assert verified.count("OK   ") == 4
    assert "All four are exact." in verified
