"""Known traps of incremental maintenance, one each: tables, a query, changes, the rows after.

The expected rows are what Spark gives for the query on the changed tables.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import duckdb
import pytest
from delta_harness import World, explain, run, to_duckdb

SCENARIOS = json.loads((Path(__file__).parent / "scenarios.json").read_text())

# Full recomputation by nature: an unpartitioned window.
FULL = {"E63": "NO_PARTITION"}
# The result depends on Spark's own semantics; the Spark suite runs these.
SPARK_ONLY = {
    "E30": "IN in a projection is two-valued in Spark",
    "E50": "decimal average",
    "E66": "LATERAL VIEW OUTER",
}


def test_all_scenarios_are_here() -> None:
    assert [s["id"] for s in SCENARIOS] == [f"E{i:02}" for i in range(1, 73)]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s["id"])
def test_scenario(scenario: dict[str, str]) -> None:
    if scenario["id"] in SPARK_ONLY:
        pytest.skip(SPARK_ONLY[scenario["id"]])
    check_scenario(scenario)


def check_scenario(scenario: dict[str, str]) -> None:
    for noise in (False, True):
        outcome = run(scenario["query"], scenario_world(scenario, noise=noise))
        if scenario["id"] in FULL:
            reasons = [n.reason_code for n in outcome.program.strategy if n.strategy == "X"]
            assert reasons == [FULL[scenario["id"]]]
            continue
        assert outcome.program.incremental, outcome.program.strategy
        assert texts(outcome.rows) == expected_rows(scenario["after"]), explain(outcome)


def scenario_world(scenario: dict[str, str], *, noise: bool) -> World:
    con = duckdb.connect()
    schemas: dict[str, str] = {}
    for name, columns, body in typed_columns(scenario):
        schemas[name] = columns
        listed = ", ".join(_duck(part) for part in schemas[name].split(", "))
        con.execute(f"CREATE TABLE {name} ({listed})")
        if body:
            con.execute(f"INSERT INTO {name} {_duck_values(body)}")
    old = {name: con.execute(f"FROM {name}").fetchall() for name in schemas}
    for statement in scenario["changes"].split(";"):
        con.execute(to_duckdb(statement))
    new = {name: con.execute(f"FROM {name}").fetchall() for name in schemas}
    return World(schemas, _hashable(old), _hashable(new), noise=noise)


def typed_columns(scenario: dict[str, str]) -> list[tuple[str, str, str]]:
    """Name, columns with their types and rows of each table."""
    found = []
    for name, columns, body in re.findall(r"(\w+)\((.*?)\)=\{(.*?)\}(?:; |$)", scenario["tables"]):
        fields = [part.strip() for part in re.split(r",(?![^(]*\))", columns)]
        found.append((name, ", ".join(_typed(f, i, body) for i, f in enumerate(fields)), body))
    return found


def _hashable(tables: dict) -> dict:
    return {
        name: [tuple(tuple(v) if isinstance(v, list) else v for v in row) for row in rows]
        for name, rows in tables.items()
    }


def _typed(field: str, position: int, body: str) -> str:
    """A column with its declared type, or the one its first value shows."""
    if " " in field:
        name, kind = field.split(" ", 1)
        return f"{name} {kind.lower()}"
    rows = re.findall(r"\(((?:[^()]|\([^()]*\))*)\)", body)
    values = [re.split(r",(?![^(]*\))", row)[position].strip() for row in rows]
    known = [v for v in values if v != "NULL"]
    first = known[0] if known else "1"
    if first.startswith("'"):
        return f"{field} string"
    if first.startswith("double") or "." in first or ("e" in first and first[0].isdigit()):
        return f"{field} double"
    return f"{field} {'boolean' if first in ('true', 'false') else 'int'}"


def _duck(column: str) -> str:
    name, kind = column.split(" ", 1)
    kinds = {"string": "varchar", "array<int>": "int[]"}
    return f"{name} {kinds.get(kind, kind)}"


def _duck_values(body: str) -> str:
    text = re.sub(r"double\('NaN'\)", "'NaN'::double", body)
    return "VALUES " + re.sub(r"array\(([^)]*)\)", r"[\1]", text)


def texts(rows: Counter) -> Counter:
    return Counter({tuple(map(_text, row)): n for row, n in rows.items()})


def _text(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return f"{float(value) + 0.0:.12g}"
    return str(value)


def expected_rows(text: str) -> Counter:
    rows: Counter = Counter()
    for body, times in re.findall(r"\(([^)]*)\)(?:×(\d+))?", text):
        row = []
        for part in body.split(","):
            try:
                number = float(part)
            except ValueError:
                row.append(part)
            else:
                row.append("NaN" if number != number else f"{number + 0.0:.12g}")
        rows[tuple(row)] += int(times or 1)
    return rows
