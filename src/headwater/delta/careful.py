"""Keeps expressions that can fail away from rows that are in neither version.

A change window holds rows that came and went again, and a sum of join terms holds pairs of a new
row with an old one; both cancel out. The query never evaluates its expressions on such rows, so a
division by zero there must not stop a refresh. Before an expression that can fail, the delta is
netted: then each row left is in the old or in the new version. The expression is also made to
depend on the weight, because the engine moves filters below the grouping that nets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.delta.change import settled
from headwater.sql.operators import (
    WEIGHT,
    Aggregate,
    Apply,
    Filter,
    Limit,
    Project,
    SubqueryKind,
    names_in,
    ref,
)
from headwater.sql.totality import can_fail, failing_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from headwater.delta.change import Delta
    from headwater.sql.operators import Column, Node

    Guard = Callable[[exp.Expr], exp.Expr]


def careful(below: Delta, expressions: Iterable[exp.Expr]) -> tuple[Delta, Guard]:
    """The delta on which expressions may be evaluated, and how to write each of them."""
    fails = failing(below.tree.columns)
    if below.inserts_only or not any(fails(e) for e in expressions):
        return below, lambda e: e
    return settled(below), lambda e: guarded(e) if fails(e) else e


def failing(columns: Sequence[Column], *, overflow: bool = True) -> Callable[[exp.Expr], bool]:
    """Tells of an expression over these columns whether it can fail."""
    types = {c.name: c.type for c in columns}
    return lambda e: can_fail(e, types.get, overflow=overflow)


def fails_on_pairs(condition: exp.Expr, sides: Sequence[Node]) -> bool:
    """Whether a join condition can fail for a pair of rows, each of which is right by itself."""
    types = {c.name: c.type for side in sides for c in side.columns}
    for part in failing_parts(condition, types.get):
        used = names_in(part)
        if sum(bool(used & set(side.names)) for side in sides) > 1:
            return True
    return False


def fails_on_one(condition: exp.Expr, side: Node) -> bool:
    """Whether a condition on one side of a join can fail."""
    return names_in(condition) <= set(side.names) and failing(side.columns)(condition)


def guarded(expression: exp.Expr) -> exp.Expr:
    """The expression for rows that count; NULL for all others."""
    counts = exp.NEQ(this=ref(WEIGHT), expression=exp.Literal.number(0))
    return exp.Case(ifs=[exp.If(this=counts, true=expression.copy())])


def can_fail_inside(node: Node, outer: Sequence[Column] = (), *, overflow: bool = True) -> bool:
    """Whether some expression of a tree can fail; `outer` are columns it may refer to."""
    return any(_fails(part, outer, overflow=overflow) for part in node.walk())


def _fails(node: Node, outer: Sequence[Column], *, overflow: bool) -> bool:
    if isinstance(node, Apply) and gives_too_many(node):
        return True
    columns = [*outer, *(c for child in node.inputs for c in child.columns), *node.columns]
    fails = failing(columns, overflow=overflow)
    return any(fails(e) for e in node.expressions)


def gives_too_many(node: Apply) -> bool:
    """Whether a scalar subquery can fail for giving more rows than one."""
    if node.kind is not SubqueryKind.SCALAR:
        return False
    inside = node.subquery
    while isinstance(inside, (Project, Filter)):
        inside = inside.input
    if isinstance(inside, Aggregate):
        return bool(inside.keys) or inside.sets is not None
    return not (isinstance(inside, Limit) and inside.limit == exp.Literal.number(1))
