"""One SELECT under construction; the renderer merges operators into it while that is safe.

A block is *open* while a further filter or projection may be added to the same SELECT, and
*sealed* once rows were grouped, ordered, limited or made distinct. It is *bare* when it reads a
table directly: then names the tree knows nothing of are in scope, and neither another relation nor
an expression with correlated columns may be placed beside them, because they would capture names.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.sql.columns import names_in, ref

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ROW_MARK = "__hw_one"


def table(name: str) -> exp.Table:
    """A quoted one-part table name."""
    return exp.Table(this=exp.to_identifier(name, quoted=True))


def derived(query: exp.Query, alias: str) -> exp.Subquery:
    """A query as an item of FROM."""
    return exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(alias)))


@dataclass
class SelectBlock:
    """Items and clauses of one SELECT; owned and changed by the renderer only."""

    items: dict[str, exp.Expr]
    source: exp.Expr | None = None
    joins: list[exp.Join] = field(default_factory=list)
    laterals: list[exp.Lateral] = field(default_factory=list)
    where: list[exp.Expr] = field(default_factory=list)
    clauses: dict[str, exp.Expr] = field(default_factory=dict)
    sealed: bool = False
    bare: bool = False

    @property
    def is_identity(self) -> bool:
        """Whether every item is a column of the same name."""
        return all(isinstance(e, exp.Column) and e.name == n for n, e in self.items.items())

    @property
    def is_joinable(self) -> bool:
        """Whether another relation may be joined to the FROM clause as it stands."""
        return (
            not (self.sealed or self.bare or self.where or self.laterals)
            and self.source is not None
            and not self.source.args.get("pivots")  # LEFT behind it would become its name
            and self.is_identity
        )

    def accepts(self, expressions: Iterable[exp.Expr]) -> bool:
        """Whether expressions over the items can be written over the scope of this block."""
        if self.sealed:
            return False
        if self.is_identity and not self.bare:
            return True
        used: frozenset[str] = frozenset().union(*(names_in(e) for e in expressions))
        return all(isinstance(self.items.get(name), exp.Column) for name in used)

    def over(self, expression: exp.Expr) -> exp.Expr:
        """An expression over the items, written over the scope."""
        return substituted(expression, {} if self.is_identity else self.items)

    def to_query(self) -> exp.Query:
        """The finished query; a block that only passes a derived table through is that table."""
        inner = self._passed_through()
        if inner is not None:
            return inner
        items = [_item(name, e) for name, e in self.items.items()]
        select = exp.Select(expressions=items or [exp.alias_(exp.Literal.number(1), ROW_MARK)])
        if self.source is not None:
            select.set("from_", exp.From(this=self.source))
        if self.joins:
            select.set("joins", self.joins)
        if self.laterals:
            select.set("laterals", self.laterals)
        if self.where:
            select.set("where", exp.Where(this=conjunction(self.where)))
        for name, clause in self.clauses.items():
            select.set(name, clause)
        return select

    def _passed_through(self) -> exp.Query | None:
        untouched = not (self.joins or self.laterals or self.where or self.clauses)
        if not (untouched and isinstance(self.source, exp.Subquery) and self.is_identity):
            return None
        if self.source.alias_column_names or self.source.args.get("pivots"):
            return None
        inner = self.source.this
        return inner if inner.named_selects == list(self.items) else None


def conjunction(parts: Iterable[exp.Expr]) -> exp.Expr:
    """All parts joined by AND; TRUE when there are none."""
    whole: exp.Expr | None = None
    for part in parts:
        operand = exp.Paren(this=part) if isinstance(part, exp.Or) else part
        whole = operand if whole is None else exp.And(this=whole, expression=operand)
    return whole if whole is not None else exp.true()


def substituted(expression: exp.Expr, items: Mapping[str, exp.Expr]) -> exp.Expr:
    """A copy of an expression with columns replaced; others stay as they are."""
    if isinstance(expression, exp.Column):
        return _copy(items.get(expression.name, expression))
    copy = expression.copy()
    if not items:
        return copy
    for column in list(copy.find_all(exp.Column)):
        replacement = items.get(column.name)
        if replacement is not None:
            column.replace(_operand(replacement))
    return copy


def identity(names: Iterable[str]) -> dict[str, exp.Expr]:
    """Items that pass columns on under their own names."""
    return {name: ref(name) for name in names}


def _copy(expression: exp.Expr) -> exp.Expr:
    plain = isinstance(expression, exp.Column) and not expression.table
    return ref(expression.name) if plain else expression.copy()


def _operand(expression: exp.Expr) -> exp.Expr:
    copy = _copy(expression)
    return exp.Paren(this=copy) if isinstance(copy, (exp.Binary, exp.Unary)) else copy


def _item(name: str, expression: exp.Expr) -> exp.Expr:
    if isinstance(expression, exp.Column) and expression.name == name:
        return expression
    return exp.Alias(this=expression, alias=exp.to_identifier(name, quoted=True))
