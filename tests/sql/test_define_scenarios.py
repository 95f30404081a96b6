"""Every delta scenario can be defined, and its tree means what its query means."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sql_harness import Duck, Tables, assert_round_trip, defined

from headwater.sql.operators import Scan

DATA = Path(__file__).parent / "data" / "scenarios.txt"
SCENARIOS = [tuple(line.split(" | ", 2)) for line in DATA.read_text().splitlines()]
ROWS = {
    "int": ["1", "NULL", "2", "1", "9"],
    "double": ["1.5", "NULL", "2.0", "1.5", "0.0"],
    "string": ["'a'", "'b'", "NULL", "'a'", "'c'"],
    "boolean": ["TRUE", "FALSE", "NULL", "TRUE", "TRUE"],
    "decimal(10,2)": ["0.01", "0.02", "NULL", "0.01", "7.00"],
    "array<int>": ["[1, 1]", "[]", "NULL", "[2]", "[3, NULL]"],
}
TWO_VALUED_IN = "E30"


def rows_of(schema: str) -> list[str]:
    """Five rows with NULLs and duplicates; columns drift apart so that joins match in part."""
    types = [column.split(" ", 1)[1] for column in schema.split(", ")]
    values = [ROWS[t] for t in types]
    rows = [
        "(" + ", ".join(v[(i + j // 2) % 5] for j, v in enumerate(values)) + ")" for i in range(5)
    ]
    return [*rows, rows[0]]


def tables_of(text: str) -> dict[str, str]:
    found = (re.fullmatch(r"(\w+)\((.*)\)", part) for part in text.split("; "))
    return {match[1]: match[2] for match in found if match}


@pytest.mark.parametrize(("name", "declared", "query"), SCENARIOS, ids=[s[0] for s in SCENARIOS])
def test_every_scenario_means_the_same(name: str, declared: str, query: str) -> None:
    tables = tables_of(declared)
    lookup = Tables(tables)
    definition = defined(query, lookup)
    names = [n for node in definition.tree.walk() if isinstance(node, Scan) for n in node.names]
    assert len(names) == len(set(names))
    if name == TWO_VALUED_IN:
        return
    duck = Duck(tables, {table: rows_of(schema) for table, schema in tables.items()})
    assert_round_trip(duck, query, lookup)
