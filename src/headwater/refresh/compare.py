"""Compares two relations as bags, in Spark: how often each row stands in one and in the other.

Rows are equal when all columns are (NULL equals NULL). Doubles and floats may differ in the last
digits, because a sum depends on the order of its terms: rows that differ exactly are paired again
on their other columns, with a relative tolerance for the floating ones.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headwater.core.names import quote
from headwater.storage.spark import settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Row, SparkSession

    from headwater.storage.spark import Engine

RELATIVE = 1e-9
ABSOLUTE = 1e-12
SAMPLE = 5
PAIRING_LIMIT = 100_000
_WITHOUT_CONSTRAINTS = {"spark.sql.constraintPropagation.enabled": "false"}
"""Spark fails to carry those of a correlated subquery through UNION ALL."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Rows too few and too many, with a few of them as text."""

    missing: int
    unexpected: int
    sample: tuple[str, ...] = ()

    @property
    def equal(self) -> bool:
        """Whether the two are the same bag."""
        return self.missing == 0 and self.unexpected == 0


def compare(
    engine: Engine,
    session: SparkSession,
    columns: Sequence[tuple[str, str]],
    expected: str,
    actual: str,
) -> Difference:
    """How `actual` differs from `expected`; both are queries with these columns (name, type).

    Each is grouped by itself first: Spark cannot plan every correlated value below UNION ALL.
    """
    names = ", ".join(quote(name) for name, _ in columns)
    keys = ", ".join(f"{_groupable(name, kind)} AS {quote(name)}" for name, kind in columns)
    sides = " UNION ALL ".join(
        f"SELECT {names}, {sign}COUNT(*) AS __hw_w FROM (SELECT {keys} FROM ({side})) "
        f"GROUP BY {names}"
        for sign, side in (("", expected), ("-", actual))
    )
    differing = (
        f"SELECT {names}, SUM(__hw_w) AS __hw_w FROM ({sides}) GROUP BY {names} "
        "HAVING SUM(__hw_w) <> 0"
    )
    with settings(session, _WITHOUT_CONSTRAINTS):
        rows = engine.collect(session, f"{differing} LIMIT {PAIRING_LIMIT + 1}")
        if len(rows) > PAIRING_LIMIT:
            return _beyond_pairing(engine, session, differing, rows)
    floating = [i for i, (_, kind) in enumerate(columns) if _has_floats(kind)]
    if floating and rows:
        rows = _pair_floats(rows, floating)
    missing = sum(r[-1] for r in rows if r[-1] > 0)
    unexpected = -sum(r[-1] for r in rows if r[-1] < 0)
    return Difference(missing, unexpected, _sample(rows))


def _beyond_pairing(
    engine: Engine, session: SparkSession, differing: str, rows: Sequence[Row]
) -> Difference:
    """So many rows differ that none is forgiven for its last digits: never equal."""
    (counts,) = engine.collect(
        session,
        "SELECT SUM(greatest(__hw_w, 0L)) AS missing, SUM(greatest(-__hw_w, 0L)) AS unexpected "
        f"FROM ({differing})",
    )
    told = f"more than {PAIRING_LIMIT:,} rows differ: rounding was not looked at"
    return Difference(counts[0], counts[1], (told, *_sample(rows)))


def _sample(rows: Sequence[Any]) -> tuple[str, ...]:
    return tuple(
        f"{'missing' if r[-1] > 0 else 'unexpected'} x{abs(r[-1])}: {tuple(r[:-1])}"
        for r in rows[:SAMPLE]
    )


def _groupable(name: str, kind: str) -> str:
    if kind.startswith("map<"):
        return f"array_sort(map_entries({quote(name)}))"
    if kind == "variant":
        return f"to_json({quote(name)})"
    if kind.startswith("string"):
        return f"CAST({quote(name)} AS STRING)"  # A query may give it a collation.
    return quote(name)


def _has_floats(kind: str) -> bool:
    return "double" in kind or "float" in kind


def _pair_floats(rows: Sequence[Row], floating: Sequence[int]) -> list[Any]:
    """Cancel rows that agree within the tolerance; what is left really differs."""
    groups: dict[tuple[Any, ...], list[list[Any]]] = defaultdict(list)
    for row in rows:
        values = list(row)
        key = tuple(repr(v) for i, v in enumerate(values[:-1]) if i not in floating)
        groups[key].append(values)
    left: list[Any] = []
    for members in groups.values():
        plus = [m for m in members for _ in range(max(m[-1], 0))]
        minus = [m for m in members for _ in range(max(-m[-1], 0))]
        for row in plus:
            partner = next((m for m in minus if _close_rows(row, m, floating)), None)
            if partner is None:
                left.append([*row[:-1], 1])
            else:
                minus.remove(partner)
        left.extend([*row[:-1], -1] for row in minus)
    return left


def _close_rows(one: Sequence[Any], other: Sequence[Any], floating: Sequence[int]) -> bool:
    return all(_close(one[i], other[i]) for i in floating)


def _close(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        return math.isclose(a, b, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(_close(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b)
