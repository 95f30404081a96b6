"""Whole queries: WITH, set operations, parentheses and SELECT blocks, wherever they stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.core.errors import InvalidQuery
from headwater.sql.build.ctes import with_ctes
from headwater.sql.build.expressions import Resolver
from headwater.sql.build.ordering import limited, ordering_of
from headwater.sql.build.projection import exactly
from headwater.sql.build.scope import Entry, Relation, Scope
from headwater.sql.build.select import select
from headwater.sql.build.tables import aliased
from headwater.sql.build.unions import set_operation

if TYPE_CHECKING:
    from headwater.sql.build.context import Context


def query(ast: exp.Expr, outer: Scope | None, ctx: Context) -> Relation:
    """The relation of a query; `outer` is the scope of the query around it."""
    inside = with_ctes(ast, outer, ctx)
    if isinstance(ast, exp.Select):
        return select(ast, outer, inside)
    if isinstance(ast, exp.SetOperation):
        return _cut(set_operation(ast, outer, inside), ast, outer, inside)
    if isinstance(ast, exp.Subquery):
        relation = query(ast.this, outer, inside)
        return aliased(_cut(relation, ast, outer, inside), ast, inside)
    raise ctx.error(InvalidQuery, f"cannot read a query from {ast.sql('spark')}", ast)


def _cut(relation: Relation, ast: exp.Expr, outer: Scope | None, ctx: Context) -> Relation:
    """ORDER BY and LIMIT behind a set operation or parentheses: over its result columns."""
    if not any(ast.args.get(part) is not None for part in ("order", "sort", "limit", "offset")):
        return relation
    plain = exactly(relation)
    entries = tuple(Entry(e.name, e.column) for e in plain.visible)
    values = [entry.column.ref for entry in entries]
    order = ordering_of(ast, values, Resolver(Scope(entries, outer), ctx), ctx)
    for key in order:
        if not isinstance(key.this, exp.Column):
            hint = "order by result columns only"
            raise ctx.error(InvalidQuery, "ORDER BY of a set operation computes", key, hint)
    return limited(plain, order, ast, ctx)
