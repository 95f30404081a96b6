"""Which queries are monotone: more rows in a source never take a row away."""

from __future__ import annotations

import pytest
from sql_harness import SCHEMAS, Tables, defined

from headwater.sql.monotone import obstacle


def told(text: str) -> str | None:
    found = obstacle(defined(text, Tables(SCHEMAS)))
    return None if found is None else found.what


@pytest.mark.parametrize(
    "text",
    [
        "SELECT id, x + 1 AS y FROM t WHERE x > 3",
        "SELECT t.id, u.y FROM t JOIN u ON t.id = u.id",
        "SELECT t.id FROM t CROSS JOIN u",
        "SELECT id FROM t LEFT SEMI JOIN u ON t.id = u.id",
        "SELECT id FROM t UNION SELECT id FROM u",
        "SELECT id FROM t UNION ALL SELECT id FROM u",
        "SELECT DISTINCT g FROM t",
        "SELECT id, q FROM e LATERAL VIEW explode(a) AS q",
    ],
)
def test_monotone(text: str) -> None:
    assert told(text) is None


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("SELECT g, COUNT(*) AS n FROM t GROUP BY g", "Aggregate can take rows away"),
        ("SELECT t.id, u.y FROM t LEFT JOIN u ON t.id = u.id", "Join can take rows away"),
        ("SELECT id FROM t LEFT ANTI JOIN u ON t.id = u.id", "Join can take rows away"),
        ("SELECT id FROM t EXCEPT SELECT id FROM u", "SetOperation can take rows away"),
        ("SELECT id, ROW_NUMBER() OVER (ORDER BY x) AS n FROM t", "Window can take rows away"),
        ("SELECT id FROM t ORDER BY id LIMIT 3", "Limit can take rows away"),
        (
            "SELECT id FROM ev WHERE ts > current_timestamp() - INTERVAL 7 DAYS",
            "rows leave its result as time goes on",
        ),
    ],
)
def test_not_monotone(text: str, what: str) -> None:
    assert told(text) == what
