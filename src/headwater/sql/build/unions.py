"""Set operations: UNION, INTERSECT, EXCEPT, by position, with and without ALL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.core.errors import InvalidQuery
from headwater.sql.build.projection import exactly
from headwater.sql.build.scope import Entry, Relation, Scope
from headwater.sql.relations import Distinct, Project, SetOperation, Union
from headwater.sql.types import common

if TYPE_CHECKING:
    from headwater.sql.build.context import Context
    from headwater.sql.columns import Column
    from headwater.sql.node import Node


def set_operation(ast: exp.SetOperation, outer: Scope | None, ctx: Context) -> Relation:
    """The relation of a set operation; column names are those of the first branch."""
    if ast.args.get("by_name"):
        raise ctx.error(InvalidQuery, "UNION BY NAME is not Spark SQL", ast.expression)
    branches = [ctx.query(branch, outer, ctx) for branch in _branches(ast)]
    widths = {len(branch.visible) for branch in branches}
    if len(widths) != 1:
        what = f"branches have {' and '.join(str(len(b.visible)) for b in branches)} columns"
        raise ctx.error(InvalidQuery, what, ast.expression)
    nodes = [_positional(branch, ctx) for branch in branches]
    schema = tuple(
        ctx.column(entry.name, common([node.columns[i].type for node in nodes]))
        for i, entry in enumerate(branches[0].visible)
    )
    node = _combined(ast, nodes, schema, ctx)
    names = (entry.name for entry in branches[0].visible)
    return Relation(node, tuple(Entry(n, c) for n, c in zip(names, schema, strict=True)))


def _branches(ast: exp.SetOperation) -> list[exp.Expr]:
    """The branches; a chain of UNION ALL is one union."""
    left = ast.this
    if _is_chain(ast) and _is_chain(left):
        return [*_branches(left), ast.expression]
    return [left, ast.expression]


def _is_chain(ast: exp.Expr) -> bool:
    if not isinstance(ast, exp.Union) or ast.args.get("distinct"):
        return False
    parts = ("order", "limit", "offset", "with_", "by_name")
    return not any(ast.args.get(part) for part in parts)


def _combined(
    ast: exp.SetOperation, nodes: list[Node], schema: tuple[Column, ...], ctx: Context
) -> Node:
    place = ctx.place(ast)
    distinct = bool(ast.args.get("distinct"))
    if isinstance(ast, exp.Union):
        union = Union(tuple(nodes), schema, place=place)
        return Distinct(union, place=place) if distinct else union
    kind = "INTERSECT" if isinstance(ast, exp.Intersect) else "EXCEPT"
    return SetOperation(nodes[0], nodes[1], kind, not distinct, schema, place=place)


def _positional(branch: Relation, ctx: Context) -> Node:
    """The branch with one column per visible column, also where one column is shown twice."""
    columns = [entry.column for entry in branch.visible]
    if len(set(columns)) == len(columns):
        return exactly(branch).node
    seen: set[Column] = set()
    items = []
    for entry in branch.visible:
        repeated = entry.column in seen
        column = ctx.column(entry.name, entry.column.type) if repeated else entry.column
        seen.add(entry.column)
        items.append((column, entry.column.ref))
    return Project(branch.node, tuple(items))
