"""Random schemas and their first rows."""

from __future__ import annotations

import random
from dataclasses import dataclass

from generator.values import BIGINT, DOUBLE, INT, STRING, TIMESTAMP, TYPES, some_value

Rows = list[tuple]


@dataclass(frozen=True)
class Table:
    """A source table."""

    name: str
    columns: tuple[tuple[str, str], ...]

    @property
    def schema(self) -> str:
        """As a CREATE TABLE would say it."""
        return ", ".join(f"{name} {kind}" for name, kind in self.columns)

    @property
    def view(self) -> str:
        """The name of a view of the table."""
        return f"view_of_{self.name}"

    @property
    def view_body(self) -> str:
        """The query of the view: all rows, the columns turned round."""
        listed = ", ".join(name for name, _ in reversed(self.columns))
        return f"SELECT {listed} FROM {self.name}"


def some_tables(rng: random.Random) -> tuple[Table, ...]:
    """One to four tables of two to six columns; the first ones are keys that can meet."""
    return tuple(_table(rng, i) for i in range(rng.choice((1, 2, 3, 3, 4))))


def _table(rng: random.Random, number: int) -> Table:
    kinds = [INT, rng.choice((INT, INT, BIGINT))]
    kinds += rng.sample((*TYPES, DOUBLE, STRING), rng.choice((0, 1, 2, 3, 3)))
    if rng.random() < 0.8:
        kinds.append((TIMESTAMP, DOUBLE)[number % 2])
    letters = "abcdef"
    columns = tuple((f"{letters[i]}{number}", kind) for i, kind in enumerate(kinds))
    return Table(f"t{number}", columns)


def some_rows(rng: random.Random, table: Table, count: int) -> Rows:
    """Rows with repetitions."""
    rows: Rows = []
    for _ in range(count):
        if rows and rng.random() < 0.2:
            rows.append(rng.choice(rows))
        else:
            rows.append(tuple(some_value(rng, kind) for _, kind in table.columns))
    return rows
