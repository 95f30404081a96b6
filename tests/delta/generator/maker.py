"""What all parts of the query generator share: chance, names, wishes, and what was used."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from generator.tables import Table
from generator.values import is_key

VIEW = "view"
_INTEGERS = {"int", "bigint"}


@dataclass(frozen=True)
class Column:
    """A column in scope: how it is written, and its type."""

    ref: str
    type: str


Pool = Sequence[Column]


@dataclass(frozen=True)
class Source:
    """An item of a FROM clause."""

    text: str
    pool: tuple[Column, ...]


@dataclass(frozen=True)
class Relation:
    """A query: its text and result columns (by name); `key` names columns that are unique."""

    sql: str
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ()


class Impossible(Exception):
    """The tables or columns at hand do not allow an operator here."""


@dataclass
class Maker:
    """The making of one query.

    Attributes:
        wishes: operators that should still occur.
        used: operators that do occur.
        leaves: tables read so far.
        spark: whether the query may use what only Spark understands as Spark does.
    """

    rng: random.Random
    tables: Sequence[Table]
    wishes: list[str] = field(default_factory=list)
    spark: bool = False
    used: set[str] = field(default_factory=set)
    leaves: int = 0
    most_leaves: int = 4
    names: int = 10
    build: Callable[[Maker, int], Relation] | None = None

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def name(self, letter: str) -> str:
        self.names += 1
        return f"{letter}{self.names}"

    def use(self, operator: str) -> None:
        self.used.add(operator)
        if operator in self.wishes:
            self.wishes.remove(operator)

    def table(self, table: Table | None = None) -> Source:
        """A table under an alias of its own."""
        self.leaves += 1
        chosen = table or self.rng.choice(self.tables)
        alias = self.name("r")
        pool = tuple(Column(f"{alias}.{name}", kind) for name, kind in chosen.columns)
        name = chosen.name
        if self.spark and (VIEW in self.wishes or self.chance(0.03)):
            self.use(VIEW)
            name = chosen.view
        return Source(f"{name} AS {alias}", pool)

    def source(self, depth: int) -> Source:
        """A table, or a query while there is depth left."""
        if depth <= 0 or self.leaves >= self.most_leaves or not (self.wishes or self.chance(0.35)):
            return self.table()
        return self.derived(self.relation(depth))

    def derived(self, relation: Relation) -> Source:
        """A query as an item of a FROM clause."""
        alias = self.name("d")
        pool = tuple(Column(f"{alias}.{c.ref}", c.type) for c in relation.columns)
        return Source(f"({relation.sql}) AS {alias}", pool)

    def relation(self, depth: int) -> Relation:
        if self.build is None:
            raise Impossible
        return self.build(self, depth)

    def pick(self, pool: Pool, kind: str | None = None) -> Column:
        """A column that can be compared, of a type if one is given."""
        found = [c for c in pool if (c.type == kind if kind else is_key(c.type))]
        if not found:
            raise Impossible
        return self.rng.choice(found)

    def pair(self, left: Pool, right: Pool) -> tuple[Column, Column]:
        """Two columns of one type, seldom of two integer types."""
        pairs = [(a, b) for a in left for b in right if a.type == b.type and is_key(a.type)]
        if self.chance(0.1):
            pairs += [(a, b) for a in left for b in right if {a.type, b.type} == _INTEGERS]
        if not pairs:
            raise Impossible
        keys = [(a, b) for a, b in pairs if a.type == "int"]
        return self.rng.choice(keys if keys and self.chance(0.6) else pairs)

    def some(self, pool: Pool, least: int, most: int) -> list[Column]:
        """A few different columns, in any order."""
        if len(pool) < least:
            raise Impossible
        return self.rng.sample(list(pool), min(len(pool), self.rng.randint(least, most)))


def keys_of(pool: Pool) -> list[Column]:
    """The columns that can be compared exactly."""
    return [c for c in pool if is_key(c.type)]


def query(maker: Maker, items: Sequence[tuple[str, str]], rest: str, **facts: tuple) -> Relation:
    """`SELECT items rest`, each item (expression, type) under a new name."""
    columns = tuple(Column(maker.name("c"), kind) for _, kind in items)
    listed = ", ".join(f"{e} AS {c.ref}" for (e, _), c in zip(items, columns, strict=True))
    return Relation(f"SELECT {listed} {rest}", columns, **facts)
