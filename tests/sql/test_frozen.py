"""A query text at an instant: clocks become literals, all else stays to the letter."""

from __future__ import annotations

import pytest

from headwater.sql.frozen import frozen

NOW = "2024-03-01 12:00:00.000001"
INSTANT = f"TIMESTAMP'{NOW}'"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT now()", f"SELECT {INSTANT}"),
        ("SELECT NOW ( ) -- now()", f"SELECT {INSTANT} -- now()"),
        ("d > current_date", f"d > CAST({INSTANT} AS date)"),
        ("d > current_date() - 1", f"d > CAST({INSTANT} AS date) - 1"),
        ("curdate()", f"CAST({INSTANT} AS date)"),
        ("localtimestamp", f"CAST({INSTANT} AS timestamp_ntz)"),
        (
            "unix_timestamp() > unix_timestamp(ts)",
            f"unix_timestamp({INSTANT}) > unix_timestamp(ts)",
        ),
        ("ts > current_timestamp() - INTERVAL 1 DAY", f"ts > {INSTANT} - INTERVAL 1 DAY"),
    ],
)
def test_clocks_stand_still(text: str, expected: str) -> None:
    assert frozen(text, NOW) == expected


@pytest.mark.parametrize(
    "text",
    ["SELECT 'now()'", "SELECT now", "SELECT t.current_date", "SELECT `current_date`", "SELECT x"],
)
def test_all_else_stays(text: str) -> None:
    assert frozen(text, NOW) == text
