"""Operators bind as in Spark, and an interval of several units is one value."""

from __future__ import annotations

import pytest
from sqlglot import exp, parse_one

from headwater.sql.dialect import HeadwaterSpark

GROUPED = [
    ("x & k << 1", "x & SHIFTLEFT(k, 1)"),
    ("x | k >> 1", "x | SHIFTRIGHT(k, 1)"),
    ("x ^ 1 << 2", "x ^ SHIFTLEFT(1, 2)"),
    ("x << 1 + 1", "SHIFTLEFT(x, 1 + 1)"),
    ("x >>> 2 & 1", "SHIFTRIGHTUNSIGNED(x, 2) & 1"),
    ("-128Y", "CAST(-128 AS TINYINT)"),
    ("-9223372036854775808L", "CAST(-9223372036854775808 AS BIGINT)"),
    ("-CAST(3 AS INT)", "-CAST(3 AS INT)"),
    ("-1.0BD", "-CAST('1.0' AS DECIMAL(2, 1))"),
    ("ts - INTERVAL 2 HOURS 30 MINUTES", "ts - INTERVAL '2 hours 30 minutes'"),
    ("INTERVAL -1 DAY 2 HOURS", "INTERVAL '-1 day 2 hours'"),
    ("INTERVAL '1' DAY '2' HOUR", "INTERVAL '1 day 2 hour'"),
    ("INTERVAL 1 DAY * 2", "INTERVAL '1' DAY * 2"),
    ("d - INTERVAL 1 DAY + 1", "d - INTERVAL '1' DAY + 1"),
    ("d + INTERVAL 1 DAY + 2 * x", "d + INTERVAL '1' DAY + 2 * x"),
    ("INTERVAL '1-2' YEAR TO MONTH", "INTERVAL '1-2' YEAR TO MONTH"),
    ("INTERVAL '1 day 2 hours'", "INTERVAL '1 day 2 hours'"),
    ("interval + 1", "interval + 1"),
    ("t.interval - 1", "t.interval - 1"),
    ("a || b COLLATE UTF8_LCASE", "a || b COLLATE UTF8_LCASE"),
    ("current_catalog()", "CURRENT_CATALOG()"),
    ("a = b IN (TRUE)", "(a = b) IN (TRUE)"),
    ("a < b BETWEEN p AND q", "(a < b) BETWEEN p AND q"),
    ("a = b IS NULL", "(a = b) IS NULL"),
    ("a IS NULL AND b = c", "a IS NULL AND b = c"),
    ("NOT a = b", "NOT a = b"),
    ("NOT a IN (1)", "NOT a IN (1)"),
    ("a NOT IN (1) OR b NOT LIKE 'x'", "NOT a IN (1) OR b NOT LIKE 'x'"),
    ("a IS DISTINCT FROM b = c", "a IS DISTINCT FROM (b = c)"),
]


def read(text: str) -> exp.Expr:
    (value,) = parse_one(f"SELECT {text} FROM t", read=HeadwaterSpark).expressions
    return value


@pytest.mark.parametrize(("text", "expected"), GROUPED)
def test_written_as_read(text: str, expected: str) -> None:
    written = read(text).sql(HeadwaterSpark)
    assert written == expected
    assert read(written).sql(HeadwaterSpark) == expected, "it is read again in the same way"


@pytest.mark.parametrize(
    ("text", "outer", "inner"),
    [
        ("a || b + c", exp.Add, exp.DPipe),
        ("a + b || c", exp.DPipe, exp.Add),
        ("a | b & c", exp.BitwiseOr, exp.Column),
        ("a & b | c", exp.BitwiseOr, exp.BitwiseAnd),
        ("a ^ b | c", exp.BitwiseOr, exp.BitwiseXor),
        ("a & b ^ c", exp.BitwiseXor, exp.BitwiseAnd),
        ("a << 1 + b", exp.BitwiseLeftShift, exp.Column),
        ("a = b < c", exp.LT, exp.EQ),
        ("a < b = c", exp.EQ, exp.LT),
        ("a | b = c", exp.EQ, exp.BitwiseOr),
        ("a || b COLLATE UTF8_LCASE", exp.DPipe, exp.Column),
    ],
)
def test_levels(text: str, outer: type[exp.Expr], inner: type[exp.Expr]) -> None:
    value = read(text)
    assert isinstance(value, outer)
    assert isinstance(value.this, inner)
