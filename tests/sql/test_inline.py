"""Functions in SQL are put in place of their calls."""

from __future__ import annotations

import pytest
from sql_harness import SCHEMAS, Tables

from headwater.core.errors import InvalidOption, InvalidQuery
from headwater.sql.define import define
from headwater.sql.inline import inlined, read_function
from headwater.sql.lookup import FunctionFact
from headwater.sql.parse import parse_query


def lookup(**functions: str) -> Tables:
    facts = {name: FunctionFact(body=read_function(name, text)) for name, text in functions.items()}
    return Tables(SCHEMAS, functions=facts)


def text_of(query: str, **functions: str) -> str:
    tree = parse_query(query)
    assert inlined(tree, lookup(**functions), query)
    return tree.sql("spark")


def test_arguments_take_the_place_of_parameters_with_their_types() -> None:
    text = text_of("SELECT f(a, 1) FROM t", f="(x INT, Y bigint) RETURNS DOUBLE RETURN x + y * X")
    assert text == (
        "SELECT CAST(CAST(a AS INT) + CAST(1 AS BIGINT) * CAST(a AS INT) AS DOUBLE) FROM t"
    )


def test_calls_inside_calls_and_functions_of_functions() -> None:
    text = text_of("SELECT F(g(a)) FROM t", f="(x INT) RETURN g(x) + 1", g="(x INT) RETURN -x")
    assert "f(" not in text.lower() and "g(" not in text.lower()
    assert text.count("-") == 2, text


@pytest.mark.parametrize(
    "text",
    [
        "x + 1",
        "(x INT) RETURNS INT",
        "(x INT) RETURNS INT RETURN y",
        "(x INT) RETURN x; DROP TABLE t",
        "(x INT) RETURN x FROM t",
        "(x INT) RETURN x, x",
        "(x INT) RETURN (SELECT max(a) FROM t)",
        "(x nonsense type) RETURN x",
        "(x INT RETURN x",
        "(x INT) RETURN 'open",
        "",
    ],
)
def test_what_is_no_function_is_refused(text: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        read_function("f", text)
    assert "f" in str(caught.value) and caught.value.hint


def test_a_wrong_number_of_arguments_is_told_with_its_place() -> None:
    query = "SELECT x,\n  f(x, x) AS b FROM t"
    with pytest.raises(InvalidQuery) as caught:
        define(query, lookup(f="(x INT) RETURN x"))
    assert caught.value.place is not None and caught.value.place.line == 2


def test_functions_without_end_are_refused() -> None:
    with pytest.raises(InvalidQuery):
        define("SELECT f(1) AS x FROM t", lookup(f="(x INT) RETURN f(x)"))


def test_a_query_that_spark_cannot_read_itself_says_so() -> None:
    told = lookup(f="(x INT) RETURN x + 1")
    assert define("SELECT f(x) AS a FROM t", told).beyond_spark
    assert not define("SELECT x FROM t", told).beyond_spark
    ranked = "SELECT x FROM t QUALIFY row_number() OVER (PARTITION BY x ORDER BY x) = 1"
    assert define(ranked, told).beyond_spark
