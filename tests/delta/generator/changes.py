"""Rounds of changes: INSERT, UPDATE, DELETE and whole rewrites, biased to what breaks rules.

A change is data: Python applies it to rows, Spark gets it as a statement.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from generator.tables import Rows, Table, some_rows
from generator.values import known_value, literal, some_value

Content = dict[str, Rows]


@dataclass(frozen=True)
class Change:
    """One statement on one table.

    Attributes:
        kind: insert, update, delete or overwrite.
        where: (column, value) the rows must have, null-safe; None for all rows.
        put: (column, value) to set; a value of None sets NULL; None writes rows as they are.
        rows: what an insert or overwrite brings.
    """

    table: Table
    kind: str
    where: tuple[int, object] | None = None
    put: tuple[int, object] | None = None
    rows: tuple[tuple, ...] = ()

    def applied(self, rows: Rows) -> Rows:
        """The rows afterwards."""
        if self.kind == "overwrite":
            return list(self.rows)
        if self.kind == "insert":
            return [*rows, *self.rows]
        if self.kind == "delete":
            return [row for row in rows if not self._hits(row)]
        return [self._put(row) if self._hits(row) else row for row in rows]

    def _hits(self, row: tuple) -> bool:
        if self.where is None:
            return True
        value = row[self.where[0]]
        same = value == self.where[1] or (value != value and self.where[1] != self.where[1])
        return same and type(value) is type(self.where[1])

    def _put(self, row: tuple) -> tuple:
        if self.put is None:
            return row
        place, value = self.put
        return (*row[:place], value, *row[place + 1 :])

    def sql(self) -> str:
        """The statement for Spark."""
        if self.kind in ("insert", "overwrite"):
            verb = "INSERT INTO" if self.kind == "insert" else "INSERT OVERWRITE"
            return f"{verb} {self.table.name} {_listed(self.rows, self.table)}"
        test = ""
        if self.where is not None:
            name, kind = self.table.columns[self.where[0]]
            test = f" WHERE {name} <=> {literal(self.where[1], kind)}"
        if self.kind == "delete":
            return f"DELETE FROM {self.table.name}{test}"
        name, kind = self.table.columns[self.put[0] if self.put else 0]
        value = literal(self.put[1], kind) if self.put else name
        return f"UPDATE {self.table.name} SET {name} = {value}{test}"


def _listed(rows: Sequence[tuple], table: Table) -> str:
    if not rows:
        nulls = ", ".join(literal(None, kind) for _, kind in table.columns)
        return f"SELECT {nulls} WHERE FALSE"
    kinds = [kind for _, kind in table.columns]
    listed = (", ".join(literal(v, k) for v, k in zip(row, kinds, strict=True)) for row in rows)
    return "VALUES " + ", ".join(f"({row})" for row in listed)


@dataclass(frozen=True)
class Round:
    """Changes between two refreshes and the rows of all tables after them.

    Attributes:
        noise: the window repeats rows that did not change and rows that came and went.
    """

    changes: tuple[Change, ...]
    content: Mapping[str, Rows]
    noise: bool = True


def some_rounds(rng: random.Random, tables: Sequence[Table], first: Content) -> list[Round]:
    """Three to six rounds."""
    rounds: list[Round] = []
    past = [first]
    for _ in range(rng.choice((3, 3, 3, 4, 4, 5, 6))):
        content = dict(past[-1])
        changes = tuple(_changes(rng, tables, content, past))
        past.append(content)
        rounds.append(Round(changes, content, noise=rng.random() < 0.6))
    return rounds


def _changes(
    rng: random.Random, tables: Sequence[Table], content: Content, past: list[Content]
) -> list[Change]:
    """One to five statements; `content` is brought up to date."""
    grows = rng.random() < 0.25
    shared = known_value(rng, "int")
    changes: list[Change] = []
    for _ in range(rng.randint(1, 5)):
        table = rng.choice(tables)
        change = _insert(rng, table) if grows else _change(rng, table, content, past, shared)
        content[table.name] = change.applied(content[table.name])
        changes.append(change)
    return changes


def _insert(rng: random.Random, table: Table) -> Change:
    return Change(table, "insert", rows=tuple(some_rows(rng, table, rng.randint(1, 3))))


def _change(
    rng: random.Random, table: Table, content: Content, past: list[Content], shared: object
) -> Change:
    rows = content[table.name]
    dice = rng.random()
    if len(rows) > 14:
        return Change(table, "delete", where=(0, rng.choice(rows)[0]))
    if dice < 0.4 or not rows:
        return _insert(rng, table)
    if dice < 0.45:
        return Change(table, "delete")
    if dice < 0.52:
        return Change(table, "overwrite", rows=tuple(rng.choice(past)[table.name]))
    if dice < 0.57:
        return Change(table, "update")
    place = rng.randrange(len(table.columns))
    value = rng.choice(rows)[place]
    where = (0, shared) if rng.random() < 0.3 else (place, value)
    if dice < 0.75:
        return Change(table, "delete", where=where)
    target = rng.randrange(len(table.columns))
    kind = table.columns[target][1]
    moved = None if rng.random() < 0.3 else some_value(rng, kind)
    return Change(table, "update", where=where, put=(target, moved))
