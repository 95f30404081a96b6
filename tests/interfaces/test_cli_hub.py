"""The command line on a real hub: one lake is made by commands, then read, changed and verified.

Commands that need Spark run in their own process, as users run them. Commands that only read run
with no Java at hand: one that tried to start Spark would fail.
"""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from process_time import is_within

READ_BUDGET_SECONDS = 0.8
HEAVY = {
    *("pyspark", "pyiceberg", "sqlglot", "pydantic", "alembic", "rich", "psycopg"),
    "sqlalchemy.dialects.postgresql",
}

SETUP = """-- sources
CREATE TABLE orders (id BIGINT, customer BIGINT, price INT) USING iceberg;
CREATE TABLE customers (id BIGINT, region STRING) USING iceberg;
INSERT INTO customers VALUES (1, 'north'), (2, 'south');
INSERT INTO orders VALUES (1, 1, 10), (2, 2, 20), (3, 1, 30);
CREATE STREAM TABLE details SCHEDULE '1s' TAGS ('shop') AS
  SELECT o.id, c.region, o.price FROM orders o JOIN customers c ON o.customer = c.id;
CREATE STREAM TABLE totals COMMENT 'by region' AS
  SELECT region, count(*) AS n, sum(price) AS price FROM details GROUP BY region;
"""
CHANGES = """
INSERT INTO orders VALUES (4, 2, 40);
UPDATE orders SET price = 11 WHERE id = 1;
DELETE FROM orders WHERE id = 3;
UPDATE customers SET region = 'east' WHERE id = 2;
"""

OURS = ("warning: ", "next: ", "only the first ", "dropped ", "big is not there")
"""How lines begin that the command itself writes to standard error."""

pytestmark = pytest.mark.spark


def environment_of(*, java: bool, **more: str) -> dict[str, str]:
    environment = {k: v for k, v in os.environ.items() if k != "HEADWATER_HUB"} | more
    if not java:
        environment |= {"JAVA_HOME": "/nowhere", "PATH": "/nowhere"}
    return environment


def headwater(
    *args: str, java: bool = True, stdin: str = "", **more: str
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from headwater.cli.main import main; main()", *args]
    environment = environment_of(java=java, **more)
    return subprocess.run(
        command, capture_output=True, text=True, input=stdin, env=environment, timeout=300
    )


def loaded(*args: str) -> set[str]:
    """The modules a command has loaded when it ends."""
    code = (
        "import sys\n"
        "from headwater.cli.main import app\n"
        f"try: app({list(args)!r})\n"
        "except SystemExit as done: assert not done.code, done.code\n"
        "sys.stderr.write(' '.join(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment_of(java=False)
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


def ok(*args: str, java: bool = True, code: int = 0) -> str:
    done = headwater(*args, java=java)
    assert done.returncode == code, f"{args}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    told = [line for line in done.stderr.splitlines() if not line.startswith(OURS)]
    assert code != 0 or told == [], f"{args}: {done.stderr}"
    return done.stdout


def rows(*args: str, java: bool = True, code: int = 0) -> list[dict[str, Any]]:
    found = json.loads(ok(*args, "--format", "json", java=java, code=code))
    assert isinstance(found, list)
    return found


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("cli") / "lake"
    script = folder.parent / "setup.sql"
    script.write_text(SETUP)
    ok("--hub", str(folder), "sql", "-f", str(script))
    return str(folder)


class TestReading:
    """Nothing here may start a JVM."""

    def test_list(self, lake: str) -> None:
        found = rows("--hub", lake, "list", java=False)
        assert [(r["name"], r["status"], r["tags"]) for r in found] == [
            ("default.details", "ACTIVE", ["shop"]),
            ("default.totals", "ACTIVE", []),
        ]

    def test_list_formats(self, lake: str) -> None:
        table = ok("list", "--hub", lake, java=False).splitlines()
        assert table[0].split()[:2] == ["name", "status"]
        assert table[2].startswith("default.details  ACTIVE")
        parsed = list(csv.DictReader(io.StringIO(ok("--hub", lake, "--format", "csv", "list"))))
        assert [r["name"] for r in parsed] == ["default.details", "default.totals"]
        assert parsed[0]["is_populated"] == "true"

    def test_status(self, lake: str) -> None:
        assert len(rows("--hub", lake, "status", java=False)) == 2
        shown = ok("--hub", lake, "status", "totals", java=False)
        assert "by region" in shown
        assert "default.details" in shown

    def test_graph(self, lake: str) -> None:
        found = rows("--hub", lake, "graph", java=False)
        assert [(r["name"], r["source"]) for r in found] == [
            ("default.details", "default.customers"),
            ("default.details", "default.orders"),
            ("default.totals", "default.details"),
        ]
        assert sorted(found[2]["columns_used"]) == ["price", "region"]
        assert len(rows("--hub", lake, "graph", "totals", java=False)) == 1
        (unit, other) = rows("--hub", lake, "graph", "--as", "units", java=False)
        assert (unit["kind"], unit["members"]) == ("singleton", ["default.details"])
        assert other["upstream"] == [unit["key"]]

    def test_unknown_table(self, lake: str) -> None:
        done = headwater("--hub", lake, "status", "total", java=False)
        assert done.returncode == 1
        assert done.stderr.startswith("HW2002: ")
        assert "\nDo: " in done.stderr

    def test_history(self, lake: str) -> None:
        found = rows("--hub", lake, "history", "totals", java=False)
        assert {r["name"] for r in found} == {"default.totals"}
        assert len(rows("--hub", lake, "history", "--limit", "1", java=False)) == 1

    @pytest.mark.parametrize("what", ["plan", "delta", "sql", "cost", "refresh"])
    def test_explain_stored_table(self, lake: str, what: str) -> None:
        assert ok("--hub", lake, "explain", "totals", "--what", what, java=False).strip()
        found = json.loads(
            ok("--hub", lake, "explain", "totals", "-w", what, "--format", "json", java=False)
        )
        assert (found["subject"], found["what"]) == ("default.totals", what)

    def test_validate(self, lake: str, tmp_path: Path) -> None:
        good = tmp_path / "good.sql"
        good.write_text(
            "INSERT INTO x SELECT 1;\n"
            "CREATE STREAM TABLE a AS\nSELECT region, max(price) AS m FROM details GROUP BY region;"
        )
        shown = ok("--hub", lake, "validate", str(good), "--strict", java=False)
        assert shown.startswith(f"{good}:2 default.a: incremental\n")

    def test_validate_error_has_the_place_in_the_file(self, lake: str, tmp_path: Path) -> None:
        bad = tmp_path / "bad.sql"
        bad.write_text("SELECT 1;\n\nCREATE STREAM TABLE a AS\n  SELECT nothing FROM orders;\n")
        done = headwater("--hub", lake, "validate", str(bad), java=False)
        assert done.returncode == 1
        lines = done.stderr.splitlines()
        assert lines[0].startswith("HW1004: ")
        assert lines[1] == "at line 4, column 10"
        assert lines[2] == "  SELECT nothing FROM orders;"
        assert lines[3] == "         ^"

    def test_validate_takes_the_option_for_a_query(self, lake: str) -> None:
        done = headwater("--hub", lake, "validate", "-q", "SELEC id FROM orders", java=False)
        assert done.returncode == 1
        assert done.stderr.startswith("HW1002: ")

    def test_validate_strict(self, lake: str) -> None:
        query = "SELECT id, percentile(price, 0.5) OVER () AS p FROM orders LIMIT 3"
        assert headwater("--hub", lake, "validate", "-q", query, java=False).returncode == 0
        done = headwater("--hub", lake, "validate", "-q", query, "--strict", java=False)
        assert done.returncode == 1
        assert "full refresh only" in done.stdout

    def test_settings(self, lake: str) -> None:
        assert ok("--hub", lake, "settings", "max_parallel_workers", "7", java=False)
        (found,) = rows("--hub", lake, "settings", "max_parallel_workers", java=False)
        assert (found["value"], found["source"]) == (7, "stored")
        done = headwater("--hub", lake, "settings", "max_paralel_workers", "7", java=False)
        assert done.returncode == 1
        assert "did you mean max_parallel_workers?" in done.stderr
        assert headwater("--hub", lake, "settings", "nothing", java=False).returncode == 1

    def test_doctor(self, lake: str) -> None:
        found = {r["what"]: r["level"] for r in rows("--hub", lake, "doctor")}
        assert {found[w] for w in ("catalog", "warehouse", "iceberg catalog")} == {"OK"}

    def test_project_file_is_found(self, lake: str, tmp_path: Path) -> None:
        ok("init", lake)
        assert rows("--hub", f"{lake}/headwater.toml", "list") == rows("--hub", lake, "list")

    @pytest.mark.timed
    @pytest.mark.parametrize("args", [["list"], ["status"], ["history"], ["settings"]])
    def test_reading_is_quick(self, lake: str, args: list[str]) -> None:
        assert is_within(lambda: ok("--hub", lake, *args, java=False), READ_BUDGET_SECONDS)

    @pytest.mark.parametrize("args", [["list"], ["status"], ["history"], ["settings"]])
    def test_reading_loads_no_compiler(self, lake: str, args: list[str]) -> None:
        heavy = HEAVY - {"pydantic"} if args == ["settings"] else HEAVY
        assert loaded("--hub", lake, *args) & heavy == set()

    def test_a_wrong_setting_is_told_by_every_command(self, lake: str) -> None:
        wrong = {"HEADWATER_MAX_PARALEL_WORKERS": "3"}
        for command in ("list", "settings"):
            done = headwater("--hub", lake, command, java=False, **wrong)
            assert done.returncode == 1
            assert "did you mean max_parallel_workers?" in done.stderr


class TestWorking:
    def test_refresh_without_changes_needs_no_java(self, lake: str) -> None:
        ok("--hub", lake, "refresh")
        found = rows("--hub", lake, "refresh", java=False)
        assert [(r["name"], r["action"]) for r in found] == [
            ("default.details", "NO_DATA"),
            ("default.totals", "NO_DATA"),
        ]
        assert loaded("--hub", lake, "refresh") & {"pyspark", "pyiceberg"} == set()

    def test_one_failure_is_exit_code_1_and_the_others_are_shown(self, lake: str) -> None:
        (metadata, *_) = sorted(Path(lake, "warehouse/default/orders/metadata").glob("*.json"))[
            ::-1
        ]
        aside = metadata.rename(metadata.with_suffix(".aside"))
        try:
            done = headwater("--hub", lake, "refresh", "--format", "json", java=False)
        finally:
            aside.rename(metadata)
        assert done.returncode == 1
        assert [(r["name"], r["reason_code"]) for r in json.loads(done.stdout)] == [
            ("default.totals", "UPSTREAM_FAILED")
        ]
        assert done.stderr.startswith(
            "HW3005: 1 of 2 stream tables failed: default.details: HW4003"
        )
        assert "\nDo: " in done.stderr

    @pytest.mark.long
    def test_change_refresh_verify(self, lake: str) -> None:
        read = "SELECT id, price FROM orders WHERE price < 15 ORDER BY id;"
        done = headwater("--hub", lake, "sql", "--format", "json", stdin=CHANGES + read)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == [{"id": 1, "price": 11}]
        time.sleep(2)
        late = headwater("--hub", lake, "status", java=False)
        assert (late.returncode, late.stderr.split(":")[0]) == (3, "default.details is stale")
        found = rows("--hub", lake, "refresh", "+totals")
        assert [r["name"] for r in found] == ["default.details", "default.totals"]
        assert all(r["action"] in ("INCREMENTAL", "FULL") and r["reason_code"] for r in found)
        reports = rows("--hub", lake, "verify")
        assert [(r["name"], r["equal"]) for r in reports] == [
            ("default.details", True),
            ("default.totals", True),
        ]
        ok("--hub", lake, "status", java=False)

    @pytest.mark.long
    def test_create_and_drop(self, lake: str, tmp_path: Path) -> None:
        file = tmp_path / "big.sql"
        file.write_text("CREATE STREAM TABLE big SCHEDULE '5m' AS SELECT id FROM orders;\n")
        (made,) = rows("--hub", lake, "create", "-f", str(file), "--no-data", "--tag", "x")
        assert (made["schedule"], made["tags"], made["is_populated"]) == ("5m", ["x"], False)
        again = headwater("--hub", lake, "create", "-f", str(file))
        assert again.returncode == 1
        assert again.stderr.startswith("HW2001: ")
        ok("--hub", lake, "drop", "big")
        assert headwater("--hub", lake, "drop", "big").returncode == 1
        ok("--hub", lake, "drop", "big", "--if-exists")

    def test_alter_suspend_resume(self, lake: str) -> None:
        (changed,) = rows("--hub", lake, "alter", "totals", "--schedule", "1h", "--tier", "cold")
        assert (changed["schedule"], changed["tier"]) == ("1h", "cold")
        (stopped,) = rows("--hub", lake, "alter", "totals", "--suspend")
        assert stopped["status"] == "SUSPENDED"
        ok("--hub", lake, "status", "totals", java=False, code=3)
        (resumed,) = rows("--hub", lake, "alter", "totals", "--resume")
        assert resumed["status"] == "ACTIVE"

    def test_drop_names_the_readers(self, lake: str) -> None:
        done = headwater("--hub", lake, "drop", "details")
        assert done.returncode == 1
        assert done.stderr.startswith("HW2003: ")
        assert "totals" in done.stderr

    def test_create_error_has_the_place_in_the_file(self, lake: str, tmp_path: Path) -> None:
        file = tmp_path / "bad.sql"
        file.write_text("\n\nCREATE STREAM TABLE bad\nAS SELECT x FROM orders;\n")
        done = headwater("--hub", lake, "create", "-f", str(file))
        assert done.returncode == 1
        assert "\nat line 4, column 11\nAS SELECT x FROM orders;\n          ^\n" in done.stderr
