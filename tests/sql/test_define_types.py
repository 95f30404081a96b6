"""Types of result columns, as Spark 4.1 reports them."""

from __future__ import annotations

import pytest
from sql_harness import defined

from headwater.sql.types import canonical, element_types, struct_fields


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("x", "int"),
        ("d", "decimal(10,2)"),
        ("x + 1", "int"),
        ("x / 2", "double"),
        ("x div 2", "bigint"),
        ("d * 2", "decimal(12,2)"),
        ("d + x", "decimal(13,2)"),
        ("d / 3", "decimal(14,6)"),
        ("-d", "decimal(10,2)"),
        ("d % 3", "decimal(3,2)"),
        ("d * d", "decimal(21,4)"),
        ("x + 2.5", "decimal(12,1)"),
        ("CAST(x AS BIGINT) * d", "decimal(31,2)"),
        ("CAST(x AS DECIMAL(38, 10)) * CAST(d AS DECIMAL(38, 10))", "decimal(38,6)"),
        ("1", "int"),
        ("3000000000", "bigint"),
        ("1.50", "decimal(3,2)"),
        ("0.05", "decimal(2,2)"),
        ("1e3", "double"),
        ("'a'", "string"),
        ("TRUE", "boolean"),
        ("x > 1", "boolean"),
        ("COALESCE(x, 0)", "int"),
        ("COALESCE(x, CAST(1 AS BIGINT))", "bigint"),
        ("COALESCE(x, 1.5)", "decimal(11,1)"),
        ("COALESCE(d, CAST(1 AS DECIMAL(38, 10)))", "decimal(38,10)"),
        ("COALESCE(d, CAST(1 AS DECIMAL(38, 0)))", None),
        ("CASE WHEN x > 1 THEN d ELSE 0 END", "decimal(12,2)"),
        ("CASE WHEN x > 1 THEN x END", "int"),
        ("CASE WHEN x > 1 THEN x ELSE s END", None),
        ("SUM(x)", "bigint"),
        ("SUM(d)", "decimal(20,2)"),
        ("SUM(CAST(x AS DOUBLE))", "double"),
        ("AVG(x)", "double"),
        ("AVG(d)", "decimal(14,6)"),
        ("MAX(s)", "string"),
        ("COUNT(DISTINCT x)", "bigint"),
        ("SUM(d * (1 - d))", "decimal(32,4)"),
        ("SUM(x) OVER (PARTITION BY g)", "bigint"),
        ("ROW_NUMBER() OVER (ORDER BY id)", "int"),
        ("LAG(x) OVER (ORDER BY id)", "int"),
        ("my_function(x)", None),
    ],
)
def test_type_of_an_expression(expression: str, expected: str | None) -> None:
    (column,) = [column for _, column in defined(f"SELECT {expression} AS v FROM t").output]
    assert column.type == expected


def test_types_go_through_unions_and_subqueries() -> None:
    text = "SELECT x, (SELECT MAX(z) FROM v) AS m FROM t UNION ALL SELECT y, 1 FROM u"
    assert [c.type for _, c in defined(text).output] == ["int", "bigint"]


def test_type_texts_have_one_form() -> None:
    assert canonical("DECIMAL(10, 2)") == "decimal(10,2)"
    assert canonical("integer") == "int"
    assert canonical("STRUCT<a: INT, b: ARRAY<STRING>>") == "struct<a:int,b:array<string>>"


def test_nested_types_are_taken_apart() -> None:
    assert struct_fields("struct<a:int,b:map<string,int>>") == [
        ("a", "int"),
        ("b", "map<string,int>"),
    ]
    assert struct_fields("int") is None
    assert element_types("map<string,array<int>>") == ["string", "array<int>"]
    assert element_types(None) == []
