"""Commands that work on Spark, through the whole command line, on the Spark of the test run."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import Result
from test_cli_hub import CHANGES, SETUP
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

    def invoke(*args: str, stdin: str = "") -> Result:
        return CliRunner().invoke(app, ["--hub", str(place.folder), *args], input=stdin)

    return invoke


def test_create_and_drop(run: Run, spark: SparkSession, place: Place) -> None:
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
    again = run("create", "-f", str(file))
    assert again.exit_code == 1
    dropped = run("drop", "big")
    assert dropped.exit_code == 0, dropped.output
    assert json.loads(run("list", "--format", "json").stdout) == []
    assert run("drop", "big").exit_code == 1
    assert run("drop", "big", "--if-exists").exit_code == 0


def test_change_refresh_verify(run: Run, spark: SparkSession, place: Place) -> None:
    assert run("sql", stdin=SETUP).exit_code == 0
    read = "SELECT id, price FROM orders WHERE price < 15 ORDER BY id;"
    changed = run("sql", "--format", "json", stdin=CHANGES + read)
    assert changed.exit_code == 0, changed.output
    assert json.loads(changed.stdout) == [{"id": 1, "price": 11}]
    time.sleep(2)
    late = run("status")
    assert (late.exit_code, late.stderr.split(":")[0]) == (3, "default.details is stale")
    found = json.loads(run("refresh", "+totals", "--format", "json").stdout)
    assert [r["name"] for r in found] == ["default.details", "default.totals"]
    assert all(r["action"] in ("INCREMENTAL", "FULL") and r["reason_code"] for r in found)
    reports = json.loads(run("verify", "--format", "json").stdout)
    assert [(r["name"], r["equal"]) for r in reports] == [
        ("default.details", True),
        ("default.totals", True),
    ]
    assert run("status").exit_code == 0


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
