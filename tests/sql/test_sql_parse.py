"""Parsing: one query, errors with places, functions that stay as written."""

from __future__ import annotations

import pytest
from sqlglot import exp

from headwater.core.errors import InvalidQuery, Place, SqlSyntaxError
from headwater.sql.parse import parse_query, place_at


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("SELECT a frm t where", Place(1, 14)),
        ("SELECT a\nFROM t\nWHERE a = = 3", Place(3, 11)),
        ("SELECT 'abc", Place(1, 8)),
        ("", Place(1, 1)),
        ("SELECT (1", Place(1, 9)),
    ],
)
def test_syntax_errors_have_a_place(text: str, place: Place) -> None:
    with pytest.raises(SqlSyntaxError) as caught:
        parse_query(text)
    assert caught.value.place == place
    assert "^" in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO t SELECT 1",
        "CREATE TABLE t (a INT)",
        "SHOW TABLES",
        "DROP TABLE t",
        "SELECT 1; SELECT 2",
        "SET x = 1",
        "EXPLAIN SELECT 1",
        "WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a",
        "SELECT a FROM t FETCH FIRST 3 ROWS ONLY",
        "SELECT a FROM t FOR UPDATE",
        "SELECT a INTO x FROM t",
        "SELECT :p FROM t",
        "SELECT TRANSFORM(a) USING 'cat' FROM t",
    ],
)
def test_other_statements_are_refused(text: str) -> None:
    with pytest.raises(InvalidQuery):
        parse_query(text)


@pytest.mark.parametrize(
    "text", ["SELECT 1;", "VALUES (1), (2)", "FROM t", "(SELECT 1) UNION ALL (SELECT 2)"]
)
def test_select_like_statements_are_queries(text: str) -> None:
    assert isinstance(parse_query(text), exp.Query)


@pytest.mark.parametrize(
    "call",
    [
        "TO_CHAR(x, '999')",
        "LOG10(x)",
        "DATE_FORMAT(d, 'y')",
        "UNIX_TIMESTAMP(s, 'yyyy-MM-dd HH:mm:ss')",
        "LISTAGG(s)",
        "PERCENTILE(x, 0.5, n)",
        "PARSE_JSON(s)",
        "ARRAY_SORT(a)",
        "SORT_ARRAY(a)",
        "DATE_TRUNC('MONTH', ts)",
        "WINDOW(ts, '5 minutes')",
    ],
)
def test_functions_come_out_as_they_went_in(call: str) -> None:
    assert parse_query(f"SELECT {call} FROM t").sql("spark") == f"SELECT {call} FROM t"


def test_a_doubled_quote_is_a_quote() -> None:
    literal = parse_query("SELECT 'it''s'").find(exp.Literal)
    assert literal is not None
    assert literal.this == "it's"


def test_window_function_can_be_grouped_by() -> None:
    query = parse_query("SELECT 1 FROM t GROUP BY window(ts, '1 day') HAVING 1 = 1")
    assert query.args["group"].expressions[0].name == "window"


def test_places_count_from_one() -> None:
    assert place_at("ab\ncd", 0) == Place(1, 1)
    assert place_at("ab\ncd", 4) == Place(2, 2)
