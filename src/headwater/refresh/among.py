"""Puts values of computed stages into the holes that `delta.among` left, so that files are skipped.

Pure: text and values in, text out. What cannot be listed exactly becomes TRUE; the join that the
predicate belongs to is still there.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from itertools import pairwise
from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.core.names import quote
from headwater.delta.among import AMONG

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    Values = Callable[[str, str], Collection[object] | None]
    """Stage and column to the values there; None when they are not known."""

MOST_LISTED = 200
LONGEST_TEXT = 200
MOST_RANGES = 16
"""Far below the number from which Spark no longer compiles the test."""

DENSE = 100
"""Neighbouring keys leave fewer than so many values between them."""

NARROWEST_GAP = 64
"""Ranges are parted at gaps of at least this part of the whole span."""

SPARSE = 8
"""Ranges that hold at least so many numbers for each value let too much through."""

_HOLE = re.compile(
    rf"{AMONG}\(\s*'(?P<stage>\w+)',\s*'(?P<key>(?:[^'\\]|\\.)*)',"
    r"\s*(?P<column>(?:`?\w+`?\.)?(?:`(?:[^`]|``)+`|\w+))\s*\)",
    re.IGNORECASE,
)


def stages_asked(text: str) -> dict[str, set[str]]:
    """The stages whose values a text asks for, with their columns."""
    asked: dict[str, set[str]] = {}
    for hole in _HOLE.finditer(text):
        asked.setdefault(hole["stage"], set()).add(_key(hole))
    return asked


def with_values(text: str, values: Values, joined: Collection[str] = ()) -> str:
    """The text with every hole filled.

    Args:
        text: with holes.
        values: tells the values of a column of a stage.
        joined: stages so small that rows can be looked up in them one by one, where ranges would
            let many through that have none of the values. Not in the step of a recursion, where
            Spark takes no subquery.

    >>> with_values("__hw_among('s', 'k', `c`)", lambda stage, key: [1, 2])
    '(`c` IN (1, 2))'
    """
    looks_up = "RECURSIVE" not in text

    def filled(hole: re.Match[str]) -> str:
        stage, key, column = hole["stage"], _key(hole), hole["column"]
        known = values(stage, key)
        found = predicate(column, known)
        if looks_up and stage in joined and known is not None and are_sparse(known):
            return f"({found} AND {column} IN (SELECT {quote(key)} FROM {quote(stage)}))"
        return found

    return _HOLE.sub(filled, text)


def as_subqueries(text: str) -> str:
    """The text as a person reads it: the values come from the stage."""

    def filled(hole: re.Match[str]) -> str:
        column = hole["column"]
        values = f"SELECT {quote(_key(hole))} FROM `{hole['stage']}`"
        return f"({column} IN ({values}) OR {column} IS NULL)"

    return _HOLE.sub(filled, text)


def _key(hole: re.Match[str]) -> str:
    """The column of the stage: any name, written as a literal."""
    return re.sub(r"\\(.)", r"\1", hole["key"])


def predicate(column: str, values: Collection[object] | None) -> str:
    """A test that lets through at least the rows whose column has one of the values."""
    if values is None:
        return "TRUE"
    known = {v for v in values if v is not None}
    parts = [f"{column} IS NULL"] if None in values else []
    literals = {v: _literal(v) for v in known}
    if any(text is None for text in literals.values()):
        return "TRUE"
    if known and len(known) <= MOST_LISTED:
        listed = ", ".join(sorted(str(text) for text in literals.values()))
        parts.append(f"{column} IN ({listed})")
    else:
        parts += [
            f"{column} BETWEEN {literals[first]} AND {literals[last]}"
            for first, last in ranges(known)
        ]
    return f"({' OR '.join(parts)})" if parts else "FALSE"


def ranges(values: Collection[object]) -> list[tuple[object, object]]:
    """Ranges that hold all values, parted where a wide gap lies between two neighbours.

    Keys often come in a few neighbourhoods: new ones at the end, deleted ones at the beginning.
    One range over all of them would skip nothing.

    >>> ranges([1, 2, 3, 900, 901])
    [(1, 3), (900, 901)]
    """
    if not values:
        return []
    ordered = sorted(values)  # type: ignore[type-var]
    places = [_place(value) for value in ordered]
    numbers = [p for p in places if p is not None]
    if len(numbers) < len(ordered):
        return [(ordered[0], ordered[-1])]
    least = max(2, (numbers[-1] - numbers[0]) // NARROWEST_GAP)
    gaps = [(numbers[i] - numbers[i - 1], i) for i in range(1, len(numbers))]
    wide = sorted((gap for gap in gaps if gap[0] >= least), reverse=True)[: MOST_RANGES - 1]
    cuts = [0, *sorted(i for _, i in wide), len(ordered)]
    return [(ordered[a], ordered[b - 1]) for a, b in pairwise(cuts)]


def is_dense(values: Collection[object]) -> bool:
    """Whether values lie close together: files that hold some of them are few.

    >>> is_dense([10, 11, 14]), is_dense(range(0, 10**6, 1000)), is_dense(["a", "b"])
    (True, False, False)
    """
    known = [v for v in values if v is not None]
    spans = [(_place(first), _place(last)) for first, last in ranges(known)]
    covered = sum(b - a + 1 for a, b in spans if a is not None and b is not None)
    is_line = all(a is not None for a, _ in spans)
    return is_line and 0 < covered <= DENSE * len(known)


def are_sparse(values: Collection[object]) -> bool:
    """Whether there are too many values for a list, too far apart for ranges, and none is NULL.

    >>> are_sparse(range(0, 10**6, 1000)), are_sparse(range(1000)), are_sparse([1, 10**6])
    (True, False, False)
    """
    if len(values) <= MOST_LISTED or None in values:
        return False
    spans = [(_place(first), _place(last)) for first, last in ranges(values)]
    covered = sum(b - a + 1 for a, b in spans if a is not None and b is not None)
    return covered >= SPARSE * len(values)


def _place(value: object) -> int | None:
    """Where a value stands on a line of whole numbers; None where there is no such line."""
    if isinstance(value, int):
        return value
    return value.toordinal() if isinstance(value, date) else None


def _literal(value: object) -> str | None:
    if isinstance(value, (bool, datetime)):
        return None
    if isinstance(value, int):
        return str(value)
    if isinstance(value, date):
        return f"DATE'{value.isoformat()}'"
    if isinstance(value, str) and _stays(value):
        return exp.Literal.string(value).sql(dialect="spark")
    return None


def _stays(text: str) -> bool:
    """Whether a text means itself in a statement: Spark replaces `${env:HOME}`."""
    return len(text) <= LONGEST_TEXT and text.isprintable() and "${" not in text
