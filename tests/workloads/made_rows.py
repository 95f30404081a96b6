"""Makes the rows of a workload: small tables with true keys, in which every query finds something.

Each row is made for one query: its values satisfy what that query asks, and most of its foreign
keys lead to rows made for the same query.
"""

from __future__ import annotations

import datetime
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from delta_harness import columns_of
from filters import Filters, Wish, Wishes

Row = tuple
MIDNIGHT = datetime.datetime(2026, 1, 1)
DAY_ZERO = datetime.date(1900, 1, 1)
ANYWHERE, NULLS, MISFIT = 0.07, 0.02, 0.07


@dataclass(frozen=True)
class Keys:
    """How the tables of a workload hang together.

    Attributes:
        primary: the key columns of each table; tables come after those that they refer to.
        foreign: which table a column refers to, by the ending of its name.
        copied: tables whose rows take the columns with these endings from a row of another table.
        amounts: rows for each query that reads the table; 3 unless told.
        values: the values of columns for which no query asks in particular.
    """

    primary: Mapping[str, tuple[str, ...]]
    foreign: Mapping[str, str]
    copied: Mapping[str, tuple[str, tuple[str, ...]]]
    amounts: Mapping[str, int]
    values: Mapping[str, Sequence[object]] = field(default_factory=dict)

    def target(self, table: str, column: str) -> str | None:
        """The table that a column refers to."""
        if self.primary[table] == (column,):
            return None
        return next((t for ending, t in self.foreign.items() if column.endswith(ending)), None)


class Maker:
    """Makes rows, at first and in later rounds."""

    def __init__(
        self, schemas: Mapping[str, str], keys: Keys, queries: Mapping[str, str], seed: int
    ) -> None:
        self.random = random.Random(seed)
        self.columns = {table: columns_of(text) for table, text in schemas.items()}
        self.keys = keys
        table_of = {c: t for t, columns in self.columns.items() for c, _ in columns}
        self.filters = {name: Filters(text, table_of) for name, text in queries.items()}
        self._known: dict[tuple[str, str], list[tuple]] = {}
        self._used: dict[str, set[tuple]] = {table: set() for table in schemas}
        self._made = dict.fromkeys(schemas, 0)
        self._targets = {(t, c): keys.target(t, c) for t in schemas for c, _ in self.columns[t]}

    def first(self) -> dict[str, list[Row]]:
        """The tables at the start."""
        rows: dict[str, list[Row]] = {table: [] for table in self.columns}
        for table in self.keys.primary:
            for query, filters in self.filters.items():
                if table in filters.tables:
                    count = self.keys.amounts.get(table, 3)
                    rows[table] += [self.row(table, query) for _ in range(count)]
        return rows

    def row(self, table: str, query: str) -> Row:
        """A new row of a table, made for a query."""
        while True:
            values = self._drawn(table, query)
            key = tuple(values[c] for c in self.keys.primary[table])
            day = ("d_date", values.get("d_date", len(self._used[table])))
            if None not in key and self._used[table].isdisjoint({key, day}):
                break
        self._used[table] |= {key, day}
        self._made[table] += 1
        row = tuple(values[c] for c, _ in self.columns[table])
        self._known.setdefault((table, query), []).append(row)
        return row

    def changed(self, table: str, row: Row, query: str) -> Row:
        """The row with a few other values, none of them of its key; a day becomes another day."""
        if table == "date_dim":
            other = self.row(table, query)
            self._known[table, query].remove(other)
            return (row[0], *other[1:])
        fresh = self._drawn(table, query)
        free = [c for c, _ in self.columns[table] if c not in self.keys.primary[table]]
        moved = set(self.random.sample(free, min(len(free), self.random.randint(1, 4))))
        return tuple(
            fresh[c] if c in moved else v
            for (c, _), v in zip(self.columns[table], row, strict=True)
        )

    def readers(self, table: str) -> list[str]:
        """The queries that read a table."""
        return [q for q, f in self.filters.items() if table in f.tables]

    def _drawn(self, table: str, query: str) -> dict[str, object]:
        wishes = self.filters[query].wishes(table, self.random)
        values = {c: self._value(table, c, kind, wishes, query) for c, kind in self.columns[table]}
        if table in self.keys.copied:
            other, endings = self.keys.copied[table]
            values |= self._copied(table, other, endings, query)
        if "d_date" in values:
            values |= _calendar(values, wishes)
        return values

    def _copied(
        self, table: str, other: str, endings: Sequence[str], query: str
    ) -> dict[str, object]:
        rows = self._rows_for(other, query)
        if not rows:
            return {}
        row, names = self.random.choice(rows), [c for c, _ in self.columns[other]]
        found = {}
        for ending in endings:
            to = [c for c, _ in self.columns[table] if c.endswith(ending)]
            source = [i for i, c in enumerate(names) if c.endswith(ending)]
            found |= dict.fromkeys(to, row[source[0]])
        return found

    def _rows_for(self, table: str, query: str) -> list[Row]:
        if self.random.random() < ANYWHERE:
            query = self.random.choice([*self.filters])
        return self._known.get((table, query), [])

    def _value(self, table: str, column: str, kind: str, wishes: Wishes, query: str) -> object:
        rng, wish = self.random, wishes.get(column)
        if self.keys.primary[table] == (column,):
            return self._made[table] + 1
        if wish is not None and wish.null and rng.random() < 0.5:
            return None
        if rng.random() < NULLS and column not in self.keys.primary[table]:
            return None
        target = self._targets[table, column]
        if target is not None:
            rows = self._rows_for(target, query) or self._known.get((target, query), [])
            return rng.choice(rows)[0] if rows else rng.randint(1, 20)
        if wish is None or rng.random() < MISFIT:
            wish = Wish()
            if column in self.keys.values:
                return rng.choice(self.keys.values[column])
        if column.endswith("_id") and kind == "string":
            return f"id{self._made[table] // 2}"
        return _typed(kind, column, wish, rng)


def _typed(kind: str, column: str, wish: Wish, rng: random.Random) -> object:
    if wish.values:
        chosen = rng.choice(wish.values)
        return _as_day(chosen) if kind == "date" else chosen
    if kind == "date":
        return _day(wish, rng)
    if kind == "timestamp_ntz":
        start = 1800 if column == "expires" else 0
        return MIDNIGHT + datetime.timedelta(seconds=start + rng.randint(0, 1200))
    if kind == "string":
        return _text(column, wish, rng)
    low, high = _bounds(wish)
    if kind.startswith("decimal"):
        return Decimal(rng.randint(round(low * 100), round(high * 100))) / 100
    return rng.randint(round(low), round(high))


def _bounds(wish: Wish) -> tuple[float, float]:
    low, high = wish.low, wish.high
    if not isinstance(low, (int, float, Decimal)):
        low = None
    if not isinstance(high, (int, float, Decimal)):
        high = None
    if low is None and high is None:
        return 1.0, 60.0
    if low is None:
        return min(0.0, float(high)), float(high)
    return float(low), float(high) if high is not None and high >= low else float(low) * 1.5 + 10


def _day(wish: Wish, rng: random.Random) -> datetime.date:
    low, high = _as_day(wish.low), _as_day(wish.high)
    if low is None:
        low = high - datetime.timedelta(200) if high else datetime.date(1994, 1, 1)
    if high is None:
        high = low + datetime.timedelta(400)
    return low + datetime.timedelta(rng.randint(0, max(0, (high - low).days - 1)))


def _as_day(value: object) -> datetime.date | None:
    if isinstance(value, datetime.datetime):
        return value.date()
    if isinstance(value, str):
        return datetime.date.fromisoformat(value)
    return value if isinstance(value, datetime.date) else None


def _text(column: str, wish: Wish, rng: random.Random) -> str:
    """A word of a small set that columns of like meaning share, as `s_county` and `ca_county`."""
    word = f"{column.rpartition('_')[2]}{rng.randint(1, 4)}"
    if wish.prefixes:
        return f"{rng.choice(wish.prefixes)}{word}"
    if wish.like is not None:
        return wish.like.replace("%", f" {word} ").replace("_", "x")
    return word


def _calendar(values: dict[str, object], wishes: Wishes) -> dict[str, object]:
    """The parts of a day agree with each other; what the query asks for decides on the day."""
    day = values["d_date"] or datetime.date(2000, 3, 1)
    if "d_month_seq" in wishes and values["d_month_seq"] is not None:
        day = datetime.date(1900 + values["d_month_seq"] // 12, values["d_month_seq"] % 12 + 1, 9)
    elif "d_date" not in wishes:
        year, month = values["d_year"], values["d_moy"]
        year = year if "d_year" in wishes and year else day.year
        month = month if "d_moy" in wishes and month else day.month
        day = datetime.date(year, (month - 1) % 12 + 1, day.day % 28 + 1)
    days = (day - DAY_ZERO).days
    parts = {
        "d_date": day,
        "d_month_seq": (day.year - 1900) * 12 + day.month - 1,
        "d_week_seq": days // 7,
        "d_quarter_seq": (day.year - 1900) * 4 + (day.month - 1) // 3,
        "d_year": day.year,
        "d_dow": (day.weekday() + 1) % 7,
        "d_moy": day.month,
        "d_dom": day.day,
        "d_qoy": (day.month + 2) // 3,
        "d_day_name": day.strftime("%A"),
        "d_quarter_name": f"{day.year}Q{(day.month + 2) // 3}",
    }
    return {c: v for c, v in parts.items() if c not in wishes or c == "d_date"}
