"""Errors of definition: the class, what it says, and where in the query."""

from __future__ import annotations

import pytest
from sql_harness import SCHEMAS, Tables, defined

from headwater.core.errors import (
    DuplicateColumn,
    HeadwaterError,
    InvalidQuery,
    UnknownColumn,
    UnknownTable,
)


@pytest.mark.parametrize(
    ("text", "kind", "marked", "says"),
    [
        ("SELECT id FROM nowhere", UnknownTable, "nowhere", "nowhere"),
        ("SELECT a FROM t", UnknownColumn, "a FROM", "'a'"),
        ("SELECT id, t.nope FROM t", UnknownColumn, "t.nope", "t.nope"),
        ("SELECT z.id FROM t", UnknownColumn, "z.id", "z.id"),
        ("SELECT id FROM t JOIN u ON t.id = u.id", UnknownColumn, "id FROM", "ambiguous"),
        ("SELECT t.id FROM t JOIN v USING (id)", UnknownColumn, None, "not on both sides"),
        ("SELECT * EXCEPT (nope) FROM t", UnknownColumn, "nope", "nope"),
        ("SELECT id, x AS ID FROM t", DuplicateColumn, "x AS ID", "'ID'"),
        ("SELECT id AS __hw_w FROM t", DuplicateColumn, "id AS", "reserved"),
        ("SELECT t.*, u.id FROM t JOIN u ON t.id = u.id", DuplicateColumn, None, "'id'"),
        ("SELECT g, x FROM t GROUP BY g", InvalidQuery, "x FROM", "'x'"),
        ("SELECT g, SUM(SUM(x)) AS s FROM t GROUP BY g", InvalidQuery, "SUM(SUM", "aggregate"),
        ("SELECT g FROM t GROUP BY SUM(x)", InvalidQuery, "SUM(x)", "aggregate"),
        ("SELECT id FROM t GROUP BY 3", InvalidQuery, "3", "GROUP BY 3"),
        ("SELECT id FROM t ORDER BY 2", InvalidQuery, "2", "ORDER BY 2"),
        ("SELECT DISTINCT g FROM t ORDER BY x LIMIT 1", InvalidQuery, "x LIMIT", "DISTINCT"),
        ("SELECT id FROM t UNION ALL SELECT id, k FROM u", InvalidQuery, "id, k", "1 and 2"),
        ("SELECT id FROM t WHERE x IN (SELECT id, k FROM u)", InvalidQuery, "x IN", "IN compares"),
        ("SELECT (SELECT id, k FROM u) AS z FROM t", InvalidQuery, "id, k", "one column"),
        ("SELECT id FROM t WHERE x > ALL (SELECT y FROM u)", InvalidQuery, "y FROM", "Spark SQL"),
        ("SELECT id FROM t WHERE SUM(x) > 1", InvalidQuery, "SUM(x)", "one row at a time"),
        (
            "SELECT id FROM t WHERE RANK() OVER (ORDER BY x) = 1",
            InvalidQuery,
            "RANK()",
            "one row at a time",
        ),
        ("SELECT DISTINCT ON (g) id FROM t", InvalidQuery, "g)", "DISTINCT ON"),
        ("SELECT q.a FROM (SELECT id, x FROM t) q(a)", InvalidQuery, "q(a)", "1 columns"),
        ("SELECT grouping(g) AS a FROM t GROUP BY g", InvalidQuery, "grouping", "ROLLUP"),
        ("SELECT id FROM t VERSION AS OF 3", InvalidQuery, "t VERSION", "fixed version"),
        ("SELECT SUM(x) OVER w AS s FROM t", InvalidQuery, "w AS", "window 'w'"),
        ("WITH q(a) AS (SELECT id, x FROM t) SELECT a FROM q", InvalidQuery, "q(a)", "1 columns"),
        (
            "SELECT v FROM t UNPIVOT (v FOR n IN (id, x)) LEFT JOIN u ON v = k",
            InvalidQuery,
            None,
            "takes LEFT for the name",
        ),
        (
            "SELECT v FROM t UNPIVOT (v FOR n IN (id, x)) NATURAL JOIN u",
            InvalidQuery,
            None,
            "takes NATURAL for the name",
        ),
        (
            "SELECT v FROM u JOIN t UNPIVOT (v FOR n IN (id, x))",
            InvalidQuery,
            None,
            "to the whole join",
        ),
    ],
)
def test_errors_say_what_and_where(
    text: str, kind: type[HeadwaterError], marked: str | None, says: str
) -> None:
    with pytest.raises(kind) as caught:
        defined(text)
    error = caught.value
    assert says in str(error)
    assert error.sql == text
    if marked is not None:
        assert error.place is not None
        assert (error.place.line, error.place.column) == (1, text.rindex(marked) + 1)


def test_place_is_in_its_line() -> None:
    with pytest.raises(UnknownColumn) as caught:
        defined("SELECT id\nFROM t\nWHERE\n  nope > 1")
    assert caught.value.place is not None
    assert (caught.value.place.line, caught.value.place.column) == (4, 3)
    assert "  nope > 1\n  ^" in str(caught.value)


def test_near_names_are_offered() -> None:
    with pytest.raises(UnknownTable) as table:
        defined("SELECT id FROM orderz", Tables({"orders": "id int"}))
    assert "default.orders" in table.value.hint
    with pytest.raises(UnknownColumn) as column:
        defined("SELECT amuont FROM ev")
    assert "amount" in column.value.hint


def test_errors_inside_a_view_point_at_its_reference() -> None:
    lookup = Tables(SCHEMAS, views={"w": "SELECT nope FROM t"})
    with pytest.raises(UnknownColumn) as caught:
        defined("SELECT *\nFROM w", lookup)
    assert caught.value.place is not None
    assert (caught.value.place.line, caught.value.place.column) == (2, 6)


def test_a_view_that_reads_itself_is_refused() -> None:
    lookup = Tables(SCHEMAS, views={"a": "SELECT * FROM b", "b": "SELECT * FROM a"})
    with pytest.raises(InvalidQuery, match="reads itself"):
        defined("SELECT * FROM a", lookup)
