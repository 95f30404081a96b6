"""What a query asks of the rows of each table: the comparisons with constants in its conditions.

Rows made to these wishes meet in the joins of the query, so that tiny tables give results.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import duckdb
import sqlglot
from sqlglot import exp

Value = object


@dataclass
class Wish:
    """The values one column should have."""

    values: list[Value] = field(default_factory=list)
    low: Value = None
    high: Value = None
    like: str | None = None
    prefixes: list[str] = field(default_factory=list)
    null: bool = False


Wishes = dict[str, Wish]


class Filters:
    """The conditions of one query."""

    def __init__(self, text: str, table_of: Mapping[str, str]) -> None:
        tree = sqlglot.parse_one(text, read="spark")
        self.tables = sorted({t.name for t in tree.find_all(exp.Table)} & {*table_of.values()})
        self._table_of = table_of
        self._conditions: dict[str, list[tuple[int, exp.Expr, bool]]] = defaultdict(list)
        for number, select in enumerate(tree.find_all(exp.Select)):
            negated = select.find_ancestor(exp.Not) is not None
            for condition in _conditions(select):
                self._note(number, condition, optional=negated)
            for item in select.expressions:
                for case in item.find_all(exp.If):
                    self._note(number, case.this, optional=True)

    def _note(self, number: int, condition: exp.Expr, *, optional: bool) -> None:
        names = {self._table_of.get(c.name) for c in condition.find_all(exp.Column)}
        for table in names - {None}:
            self._conditions[table].append((number, condition, optional))

    def wishes(self, table: str, rng: random.Random) -> Wishes:
        """One consistent choice for a row: of alternatives one, of several uses of a table one."""
        uses: dict[tuple[int, str], Wishes] = defaultdict(dict)
        for number, condition, optional in self._conditions[table]:
            if optional and rng.random() < 0.5:
                continue
            for column, part in _chosen(condition, rng):
                if self._table_of.get(column.name) == table:
                    wish = uses[number, column.table].setdefault(column.name, Wish())
                    _add(wish, part)
        return rng.choice(list(uses.values())) if uses else {}


def _conditions(select: exp.Select) -> list[exp.Expr]:
    clauses = [select.args.get("where"), select.args.get("having")]
    joins = [join.args.get("on") for join in select.args.get("joins") or []]
    return [c.this for c in clauses if c] + [on for on in joins if on]


def _chosen(node: exp.Expr, rng: random.Random) -> Iterator[tuple[exp.Column, exp.Expr]]:
    """Comparisons of a column with constants that together fulfil a condition."""
    match node:
        case exp.Paren():
            yield from _chosen(node.this, rng)
        case exp.And():
            yield from _chosen(node.left, rng)
            yield from _chosen(node.right, rng)
        case exp.Or():
            yield from _chosen(rng.choice((node.left, node.right)), rng)
        case exp.Predicate():
            column = _column(node)
            if column is not None:
                yield column, node


def _column(node: exp.Expr) -> exp.Column | None:
    if "column" not in node.meta:
        columns = list(node.find_all(exp.Column))
        simple = node.find(exp.Select, exp.Case, exp.AggFunc) is None
        node.meta["column"] = columns[0] if len(columns) == 1 and simple else None
    return node.meta["column"]


def _add(wish: Wish, part: exp.Expr) -> None:
    subject, prefix = part.this, part.find(exp.Substring) is not None
    match part:
        case exp.In() | exp.EQ():
            constants = part.expressions or [part.expression]
            if prefix:
                wish.prefixes += [str(constant(c)) for c in constants]
            elif isinstance(subject, exp.Column):
                wish.values += [constant(c) for c in constants]
        case exp.Between():
            wish.low, wish.high = constant(part.args["low"]), constant(part.args["high"])
        case exp.GT() | exp.GTE() if isinstance(subject, exp.Column):
            wish.low = constant(part.expression)
        case exp.LT() | exp.LTE() if isinstance(subject, exp.Column):
            wish.high = constant(part.expression)
        case exp.Like():
            wish.like = str(constant(part.expression))
        case exp.Is():
            wish.null = True


def constant(node: exp.Expr) -> Value:
    """The value of an expression without columns."""
    if "value" not in node.meta:
        text = f"SELECT {node.sql('duckdb')}"
        node.meta["value"] = duckdb.execute(text).fetchone()[0]
    return node.meta["value"]
