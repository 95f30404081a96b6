"""Telling scans the values of a stage: lists, ranges, NULL, and what cannot be listed."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from headwater.delta.among import among
from headwater.refresh.among import (
    MOST_LISTED,
    MOST_RANGES,
    SPARSE,
    as_subqueries,
    predicate,
    ranges,
    stages_asked,
    with_values,
)

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
        (["${env:HOME}"], "TRUE"),
        (range(MOST_LISTED + 1), f"(c BETWEEN 0 AND {MOST_LISTED})"),
        (
            [*range(MOST_LISTED), 10_000, 10_001, 70_000],
            f"(c BETWEEN 0 AND {MOST_LISTED - 1} OR c BETWEEN 10000 AND 10001"
            " OR c BETWEEN 70000 AND 70000)",
        ),
        (range(0, 100 * MOST_LISTED, 50), f"(c BETWEEN 0 AND {100 * MOST_LISTED - 50})"),
        (
            [date(2024, 1, 1), *(date(2030, 1, 1) + timedelta(days=i) for i in range(250))],
            "(c BETWEEN DATE'2024-01-01' AND DATE'2024-01-01'"
            " OR c BETWEEN DATE'2030-01-01' AND DATE'2030-09-07')",
        ),
        ([f"{i:04}" for i in range(300)], "(c BETWEEN '0000' AND '0299')"),
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


FAR_APART = range(0, 1000 * MOST_LISTED, 500)
LOOKED_UP = "IN (SELECT `__hw_f1` FROM `__hw_stage_1`)"


@pytest.mark.parametrize(
    ("values", "joined", "text", "looked_up"),
    [
        (FAR_APART, ["__hw_stage_1"], HOLE, True),
        (FAR_APART, [], HOLE, False),
        (FAR_APART, ["__hw_stage_2"], HOLE, False),
        (FAR_APART, ["__hw_stage_1"], f"WITH RECURSIVE r AS ({HOLE}) SELECT 1", False),
        ([None, *FAR_APART], ["__hw_stage_1"], HOLE, False),
        (range(0, SPARSE * MOST_LISTED, SPARSE - 2), ["__hw_stage_1"], HOLE, False),
        ([1, 10**9], ["__hw_stage_1"], HOLE, False),
        ([f"{i:04}" for i in range(300)], ["__hw_stage_1"], HOLE, False),
        (None, ["__hw_stage_1"], HOLE, False),
    ],
)
def test_values_far_apart_are_looked_up(
    values: list[object] | None, joined: list[str], text: str, looked_up: bool
) -> None:
    filled = with_values(text, lambda stage, key: values, joined)
    assert (LOOKED_UP in filled) is looked_up
    assert not looked_up or f"BETWEEN 0 AND {max(FAR_APART)}) AND" in filled


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


@given(st.sets(st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_ranges_hold_every_value_and_are_few(values: set[int]) -> None:
    found = ranges(values)
    assert len(found) <= MOST_RANGES
    assert all(any(low <= v <= high for low, high in found) for v in values)
    assert {low for low, _ in found} | {high for _, high in found} <= values
