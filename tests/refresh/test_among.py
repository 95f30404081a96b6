"""Telling scans the values of a stage: lists, ranges, NULL, and what cannot be listed."""

from __future__ import annotations

from datetime import date, datetime

import pytest
import sqlglot
from sqlglot import exp

from headwater.delta.among import among
from headwater.refresh.among import MOST_LISTED, as_subqueries, predicate, stages_asked, with_values

HOLE = "SELECT 1 FROM t WHERE __HW_AMONG('__hw_stage_1', '__hw_f1', `a``b`) AND x"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (None, "TRUE"),
        ([], "FALSE"),
        ([None], "(c IS NULL)"),
        ([2, 1, 1], "(c IN (1, 2))"),
        ([1, None], "(c IS NULL OR c IN (1))"),
        (["it's", "b\\c"], "(c IN ('b\\\\c', 'it\\'s'))"),
        ([date(2024, 2, 29)], "(c IN (DATE'2024-02-29'))"),
        ([1.5], "TRUE"),
        ([True], "TRUE"),
        ([datetime(2024, 1, 1)], "TRUE"),
        (["x" * 300], "TRUE"),
        (["new\nline"], "TRUE"),
        (range(MOST_LISTED + 1), f"(c BETWEEN 0 AND {MOST_LISTED})"),
        ([None, *range(MOST_LISTED + 1)], f"(c IS NULL OR c BETWEEN 0 AND {MOST_LISTED})"),
    ],
)
def test_predicate(values: list[object] | None, expected: str) -> None:
    assert predicate("c", values) == expected


def test_holes_are_found_and_filled() -> None:
    assert stages_asked(HOLE) == {"__hw_stage_1": {"__hw_f1"}}
    assert with_values(HOLE, lambda stage, key: [7]) == (
        "SELECT 1 FROM t WHERE (`a``b` IN (7)) AND x"
    )
    merge = "ON t.`k` <=> s.`k` AND __HW_AMONG(\n  '__hw_stage_2',\n  'k',\n  t.`k`\n)"
    assert with_values(merge, lambda stage, key: ["x"]) == (
        "ON t.`k` <=> s.`k` AND (t.`k` IN ('x'))"
    )


def test_text_for_people_parses() -> None:
    text = as_subqueries(HOLE)
    assert "__HW_AMONG" not in text
    sqlglot.parse_one(text, read="spark")


@pytest.mark.parametrize(
    "key", ["two words", "(x + (g * 2))", "it's", "back\\slash", "a`b", "größe"]
)
def test_columns_of_any_name_are_asked_for(key: str) -> None:
    text = among("__hw_stage_1", key, exp.column(key, quoted=True)).sql("spark")
    assert stages_asked(text) == {"__hw_stage_1": {key}}
    assert (
        "among" not in with_values(text, lambda stage, name: [1] if name == key else None).lower()
    )
    assert sqlglot.parse_one(as_subqueries(text), read="spark").find(exp.Column).name == key
