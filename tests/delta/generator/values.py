"""Types and their tiny domains: few values, many NULLs, so that keys meet and rows repeat."""

from __future__ import annotations

import datetime
import math
import random
from decimal import Decimal

INT, BIGINT, STRING, BOOLEAN = "int", "bigint", "string", "boolean"
DATE, DECIMAL, DOUBLE, TIMESTAMP = "date", "decimal(10,2)", "double", "timestamp"
TYPES = (INT, BIGINT, STRING, BOOLEAN, DATE, DECIMAL, DOUBLE, TIMESTAMP)
# Result types that only pass through a query: averages differ in the last digit, lists in order.
APPROXIMATE, LIST, STRUCT = "approximate", "list", "struct"

NULLS = 0.25
DOMAINS: dict[str, tuple] = {
    INT: (0, 1, 2, 3, -1),
    BIGINT: (0, 1, 2, 3, 10_000_000_000),
    STRING: ("a", "b", "ab", "c"),
    BOOLEAN: (True, False),
    DATE: tuple(datetime.date(2024, month, 1) for month in (1, 2, 3)),
    DECIMAL: (Decimal("0.50"), Decimal("1.25"), Decimal("2.00"), Decimal("-1.25")),
    DOUBLE: (0.5, 1.5, 2.0, -0.25, math.nan),
    TIMESTAMP: tuple(
        datetime.datetime(2024, 1, 1, hour, minute)
        for hour, minute in ((0, 0), (0, 50), (1, 10), (2, 0), (5, 30))
    ),
}


def is_key(kind: str) -> bool:
    """Whether values can be compared exactly."""
    return kind in DOMAINS


def some_value(rng: random.Random, kind: str) -> object:
    """A value of the domain, or NULL."""
    return None if rng.random() < NULLS else known_value(rng, kind)


def known_value(rng: random.Random, kind: str) -> object:
    """A value of the domain."""
    domain = DOMAINS[kind]
    if kind == DOUBLE and rng.random() < 0.8:
        domain = domain[:-1]
    return rng.choice(domain)


def literal(value: object, kind: str) -> str:
    """A value in Spark SQL."""
    if value is None:
        return f"CAST(NULL AS {kind.upper()})"
    if kind == STRING:
        return f"'{value}'"
    if kind in (DATE, TIMESTAMP):
        return f"{kind.upper()} '{value}'"
    if kind == BOOLEAN:
        return str(value).upper()
    if kind == INT:
        return str(value)
    text = f"'{value}'" if kind == DOUBLE and math.isnan(value) else str(value)
    return f"CAST({text} AS {kind.upper()})"


def to_json(value: object) -> object:
    """A value as JSON holds it."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return str(value)


def from_json(value: object, kind: str) -> object:
    """The value of a column that JSON holds."""
    if value is None:
        return None
    if kind == DATE:
        return datetime.date.fromisoformat(value)
    if kind == TIMESTAMP:
        return datetime.datetime.fromisoformat(value)
    if kind.startswith("decimal"):
        return Decimal(value)
    if kind == DOUBLE:
        # One object for NaN: rows are compared by identity first.
        return math.nan if value == "nan" else float(value)
    return value
