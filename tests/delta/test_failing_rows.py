"""Expressions that fail on some rows: a refresh fails only where the query itself would.

Rows that came and went within one window, and pairs of a new row with an old one, are in no version
of the query. Casts of text to numbers fail on DuckDB as they do on Spark.
"""

from __future__ import annotations

import duckdb
import pytest
import sqlglot
from delta_harness import World, check, compiled

from headwater.core.names import TableName
from headwater.delta.change import Change
from headwater.sql.totality import can_fail

SCHEMAS = {"t": "id int, k int, s string", "r": "k int, y string"}
OLD = {"t": [(1, 1, "1"), (2, 2, "2"), (3, 2, "2")], "r": [(1, "5"), (2, "6")]}
NEW = {"t": [(1, 1, "1"), (2, 2, "7"), (4, 1, "4")], "r": [(1, "5"), (2, "8"), (3, "9")]}
# Rows that only existed between the two versions.
PASSING = {"t": [(9, 1, "bad"), (8, 2, "bad")], "r": [(1, "bad"), (2, "bad")]}

QUERIES = {
    "project": "SELECT id, CAST(s AS INT) AS n FROM t",
    "filter": "SELECT id FROM t WHERE CAST(s AS INT) > 1",
    "filter_below_project": "SELECT id, CAST(s AS INT) AS n FROM t WHERE CAST(s AS INT) > 1",
    "generate": "SELECT id, e FROM t LATERAL VIEW explode(array(CAST(s AS INT))) x AS e",
    "group_key": "SELECT CAST(s AS INT) AS n, COUNT(*) AS c FROM t GROUP BY CAST(s AS INT)",
    "group_sum": "SELECT k, SUM(CAST(s AS INT)) AS n FROM t GROUP BY k",
    "group_median": "SELECT k, COUNT(DISTINCT CAST(s AS INT)) AS n FROM t GROUP BY k",
    "join_above": "SELECT id, CAST(s AS INT) + CAST(y AS INT) AS n FROM t JOIN r ON t.k = r.k",
    "join_condition": "SELECT id FROM t JOIN r ON t.k = r.k AND CAST(s AS INT) < CAST(y AS INT)",
    "join_key": "SELECT id, r.k FROM t JOIN r ON CAST(s AS INT) = r.k",
    "left": "SELECT id, y FROM t LEFT JOIN r ON t.k = r.k AND CAST(s AS INT) < CAST(y AS INT)",
    "full": "SELECT id, y FROM t FULL JOIN r ON t.k = r.k AND CAST(y AS INT) > 5",
    "semi": "SELECT id FROM t LEFT SEMI JOIN r ON t.k = r.k AND CAST(s AS INT) < CAST(y AS INT)",
    "anti": "SELECT id FROM t LEFT ANTI JOIN r ON t.k = r.k AND CAST(s AS INT) > CAST(y AS INT)",
    "in": "SELECT id FROM t WHERE k IN (SELECT CAST(y AS INT) FROM r)",
    "exists": "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM r WHERE CAST(y AS INT) = t.k)",
    "scalar": "SELECT id, (SELECT MAX(CAST(y AS INT)) FROM r WHERE r.k = t.k) AS n FROM t",
    "scalar_key": "SELECT id, (SELECT COUNT(*) FROM r WHERE CAST(y AS INT) = t.k) AS n FROM t",
    "union": "SELECT CAST(s AS INT) AS n FROM t UNION ALL SELECT CAST(y AS INT) FROM r",
    "except": "SELECT CAST(s AS INT) AS n FROM t EXCEPT SELECT CAST(y AS INT) FROM r",
    "window": "SELECT id, SUM(CAST(s AS INT)) OVER (PARTITION BY k) AS n FROM t",
}


@pytest.mark.parametrize("name", QUERIES)
def test_rows_of_no_version_do_not_fail(name: str) -> None:
    check(QUERIES[name], of_no_version())


def of_no_version() -> World:
    return World(SCHEMAS, OLD, NEW, noise=True, passing=PASSING)


PAIRS = {
    "project": "SELECT id, CAST(concat(s, y) AS INT) AS n FROM t JOIN r ON t.k = r.k",
    "inner": "SELECT id FROM t JOIN r ON t.k = r.k AND CAST(concat(s, y) AS INT) > 5",
    "left": "SELECT id, y FROM t LEFT JOIN r ON t.k = r.k AND CAST(concat(s, y) AS INT) > 5",
    "right": "SELECT id, y FROM t RIGHT JOIN r ON t.k = r.k AND CAST(concat(s, y) AS INT) > 5",
    "full": "SELECT id, y FROM t FULL JOIN r ON t.k = r.k AND CAST(concat(s, y) AS INT) > 5",
    "semi": "SELECT id FROM t LEFT SEMI JOIN r ON t.k = r.k AND CAST(concat(s, y) AS INT) > 5",
    "anti": "SELECT id FROM t LEFT ANTI JOIN r ON t.k = r.k AND CAST(concat(s, y) AS INT) > 5",
    "scalar": (
        "SELECT id, (SELECT MAX(CAST(concat(s, y) AS INT)) FROM r WHERE r.k = t.k) AS n FROM t"
    ),
    "scalar_of_one_row": "SELECT id, (SELECT y FROM r WHERE r.k = t.k) AS n FROM t",
    "lateral": (
        "SELECT id, n FROM t, "
        "LATERAL (SELECT CAST(concat(s, y) AS INT) AS n FROM r WHERE r.k = t.k)"
    ),
}


@pytest.mark.parametrize("back", [False, True], ids=["there", "back"])
@pytest.mark.parametrize("name", PAIRS)
def test_pairs_of_an_old_and_a_new_row_do_not_fail(name: str, back: bool) -> None:
    check(PAIRS[name], never_side_by_side(name, back=back and name != "scalar_of_one_row"))


def never_side_by_side(name: str, *, back: bool = False) -> World:
    """`1` and `-1` make numbers with what they stood beside, and none with each other."""
    old = {"t": [(1, 1, "1"), (2, 2, "3")], "r": [(1, "2"), (2, "4")]}
    new = {"t": [(1, 1, ""), (2, 2, "3")], "r": [(1, "-1"), (2, "4")]}
    if name == "scalar_of_one_row":
        new["t"], new["r"] = [(1, 3, "1"), (2, 2, "3")], [(1, "2"), (1, "5"), (2, "4")]
    return World(SCHEMAS, new, old, noise=False) if back else World(SCHEMAS, old, new, noise=False)


@pytest.mark.parametrize("name", ["project", "filter", "join_condition", "group_sum"])
def test_rows_of_the_new_version_do_fail(name: str) -> None:
    """The rules do not hide what the query itself would tell."""
    new = {**NEW, "t": [*NEW["t"], (5, 1, "bad")]}
    with pytest.raises(duckdb.ConversionException):
        check(QUERIES[name], World(SCHEMAS, OLD, new, noise=True))


GUARDED = {
    "where": "SELECT id, CAST(s AS INT) AS n FROM t WHERE s <> 'bad'",
    "join": "SELECT id FROM t JOIN r ON t.k = r.k WHERE CAST(s AS INT) > 0",
    "group": (
        "SELECT n, COUNT(DISTINCT id) AS c FROM (SELECT id, CAST(s AS INT) AS n "
        "FROM t JOIN r ON t.k = r.k WHERE s <> 'bad') q GROUP BY n"
    ),
}


@pytest.mark.parametrize("name", GUARDED)
def test_rows_the_query_drops_first_do_not_fail(name: str) -> None:
    key = 7 if name == "join" else 1
    old = {**OLD, "t": [*OLD["t"], (5, key, "bad")]}
    new = {**NEW, "t": [*NEW["t"], (6, key, "bad")]}
    check(GUARDED[name], World(SCHEMAS, old, new, noise=True))


TYPES = {
    "i": "int", "b": "bigint", "f": "double", "c": "decimal(10,2)", "w": "decimal(38,2)",
    "s": "string", "o": "boolean", "d": "date", "a": "array<int>",
}  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "i", "i > 1", "i = b", "c < f", "s = 'x'", "d >= DATE '2020-01-01'", "d >= '2020-01-01'",
        "s LIKE 'a%'", "i IN (1, 2)", "i BETWEEN 1 AND b", "CASE WHEN o THEN i ELSE b END",
        "COALESCE(s, 'x')", "f / NULLIF(f, 0)", "i / 2", "i % 7", "f * f + f", "c * (1 - c)",
        "CAST(i AS BIGINT)", "CAST(i AS STRING)", "CAST(c AS DOUBLE)", "TRY_CAST(s AS INT)",
        "upper(substring(s, 1, 2))", "year(d)", "SUM(c * c)", "COUNT(DISTINCT i)", "NOT o AND o",
        "date_trunc('month', d)",
        "xxhash64(i, s)", "sqrt(f)", "1 + 1", "d > DATE '2020-01-01' - INTERVAL 1 DAY",
        "i IS NULL OR s IS NULL",
    ],
)  # fmt: skip
def test_total(text: str) -> None:
    assert not can_fail(sqlglot.parse_one(text, read="spark"), TYPES.get)


@pytest.mark.parametrize(
    "text",
    [
        "i + 1", "b * 2", "-i", "i / b", "f / f", "i % b", "i DIV 2 + b", "CAST(s AS INT)",
        "CAST(b AS INT)", "CAST(f AS BIGINT)", "CAST(c AS DECIMAL(5,2))", "s = 1", "s > i", "a[0]",
        "element_at(a, 1)", "w * w", "year(s)", "to_date(s)", "s LIKE s", "my_function(i)",
        "COALESCE(s, i)", "CASE i WHEN 1 THEN 2 END", "SUM(i / b)", "d + INTERVAL 1 DAY",
        "CASE WHEN CAST(s AS INT) > 1 THEN 1 END", "unknown > 1", "abs(i)", "s IN (1, 2)",
    ],
)  # fmt: skip
def test_not_total(text: str) -> None:
    assert can_fail(sqlglot.parse_one(text, read="spark"), TYPES.get)


def test_total_expressions_read_the_window_as_it_is() -> None:
    """No grouping is paid for where nothing can fail."""
    schemas = (("t", "id int, k int, s string"),)
    changes = ((TableName.parse("t"), Change.MIXED),)
    cheap = "SELECT k, COUNT(*) AS c, SUM(id) AS n FROM t WHERE s LIKE 'a%' AND id > 3 GROUP BY k"
    costly = "SELECT k, SUM(id + 1) AS n FROM t GROUP BY k"
    assert compiled(cheap, schemas, (), changes).statement.count("GROUP BY") == 1
    assert compiled(costly, schemas, (), changes).statement.count("GROUP BY") == 2
