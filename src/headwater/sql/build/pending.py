"""Subqueries inside expressions: pending until the node they are evaluated over is known.

While an expression moves through the stages of a SELECT (below or above the grouping, into a
filter, into the result), its subqueries are calls of a placeholder function; its arguments are
the number of the subquery and the left sides of IN. `attach` turns placeholders into `Apply`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.core.errors import InvalidQuery
from headwater.sql.build.context import PendingSubquery
from headwater.sql.build.projection import exactly
from headwater.sql.columns import ref
from headwater.sql.negation import moved_inwards
from headwater.sql.nesting import Apply, SubqueryKind
from headwater.sql.node import transform
from headwater.sql.rebuild import bare, rebuild
from headwater.sql.relations import Distinct, Project

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headwater.sql.build.context import Context
    from headwater.sql.build.scope import Relation, Scope
    from headwater.sql.node import Node

_PLACEHOLDER = "__hw_subquery"
_NAMES = {
    SubqueryKind.EXISTS: "has",
    SubqueryKind.IN: "is_in",
    SubqueryKind.NOT_IN: "not_in",
}


def subquery_value(
    e: exp.Expr, scope: Scope, ctx: Context, resolve: Callable[[exp.Expr], exp.Expr]
) -> exp.Expr | None:
    """The placeholder for an expression that is a subquery; None if it is none."""
    if isinstance(e, exp.Not):
        inner = bare(e.this)
        if isinstance(inner, exp.In) and inner.args.get("query") is not None:
            return _membership(inner, SubqueryKind.NOT_IN, scope, ctx, resolve)
    if isinstance(e, exp.Not | exp.EQ | exp.NEQ):
        inwards = moved_inwards(e) if _has_membership(e) else None
        return resolve(inwards) if inwards is not None else None
    if isinstance(e, exp.In):
        if e.args.get("query") is None:
            return None
        return _membership(e, SubqueryKind.IN, scope, ctx, resolve)
    if isinstance(e, exp.Exists):
        if not isinstance(e.this, exp.Query):
            return None
        return _placeholder(e, _unlimited(e.this), SubqueryKind.EXISTS, (), scope, ctx)
    return _scalar(e, scope, ctx)


def _has_membership(e: exp.Expr) -> bool:
    return any(part.args.get("query") is not None for part in e.find_all(exp.In))


def _unlimited(query: exp.Query) -> exp.Query:
    """The query without a LIMIT that cannot tell whether there are rows."""
    limit = query.args.get("limit")
    count = limit.args.get("expression") if isinstance(limit, exp.Limit) else None
    if query.args.get("offset") or not isinstance(count, exp.Literal) or count.name == "0":
        return query
    whole = query.copy()
    whole.set("limit", None)
    return whole


def _membership(
    e: exp.In,
    kind: SubqueryKind,
    scope: Scope,
    ctx: Context,
    resolve: Callable[[exp.Expr], exp.Expr],
) -> exp.Expr:
    left = bare(e.this)
    sides = left.expressions if isinstance(left, exp.Tuple) else [left]
    operands = tuple(resolve(side) for side in sides)
    found = _placeholder(e, e.args["query"], kind, operands, scope, ctx)
    width = len(pending_of(found, ctx).built.visible)
    if width != len(operands):
        what = f"IN compares {len(operands)} values with a subquery of {width} columns"
        raise ctx.error(InvalidQuery, what, e)
    return found


def _scalar(e: exp.Expr, scope: Scope, ctx: Context) -> exp.Expr:
    found = _placeholder(e, e, SubqueryKind.SCALAR, (), scope, ctx)
    width = len(pending_of(found, ctx).built.visible)
    if width != 1:
        what = f"a subquery used as a value must have one column, this has {width}"
        raise ctx.error(InvalidQuery, what, e)
    return found


def _placeholder(
    e: exp.Expr,
    query: exp.Expr,
    kind: SubqueryKind,
    operands: Sequence[exp.Expr],
    scope: Scope,
    ctx: Context,
) -> exp.Expr:
    def build() -> Relation:
        return ctx.query(query, scope, ctx)

    ctx.session.pending.append(PendingSubquery(kind, build, build(), ctx.place(e)))
    number = exp.Literal.number(len(ctx.session.pending) - 1)
    return exp.Anonymous(this=_PLACEHOLDER, expressions=[number, *operands])


def is_pending(e: exp.Expr) -> bool:
    """Whether an expression is the placeholder of a subquery."""
    return isinstance(e, exp.Anonymous) and e.this == _PLACEHOLDER


def has_pending(e: exp.Expr) -> bool:
    """Whether an expression has a subquery in it."""
    return any(is_pending(part) for part in e.find_all(exp.Anonymous))


def pending_of(placeholder: exp.Expr, ctx: Context) -> PendingSubquery:
    """The subquery a placeholder stands for."""
    return ctx.session.pending[int(placeholder.expressions[0].this)]


def operands_of(placeholder: exp.Expr) -> tuple[exp.Expr, ...]:
    """The left sides of IN."""
    return tuple(placeholder.expressions[1:])


def take(placeholder: exp.Expr, ctx: Context) -> Relation:
    """The relation of a subquery, with columns of its own for each time it is taken."""
    number = int(placeholder.expressions[0].this)
    pending = ctx.session.pending[number]
    relation = pending.build() if number in ctx.session.taken else pending.built
    ctx.session.taken.add(number)
    if pending.kind is not SubqueryKind.EXISTS:
        return exactly(relation)
    node = relation.node
    while isinstance(node, Project | Distinct):
        node = node.input
    return relation.over(node)


def moved_subquery(
    placeholder: exp.Expr,
    operand: Callable[[exp.Expr], exp.Expr],
    change: Callable[[exp.Expr], exp.Expr | None],
    ctx: Context,
) -> exp.Expr:
    """The placeholder of the same subquery over another node.

    Args:
        placeholder: the subquery as it stands.
        operand: gives the left sides of IN over the other node.
        change: replaces what the subquery says of outer columns.
        ctx: the definition.
    """
    old = pending_of(placeholder, ctx)

    def moved(relation: Relation) -> Relation:
        node = transform(relation.node, lambda n: n.map_expressions(lambda e: rebuild(e, change)))
        return relation.over(node)

    def build() -> Relation:
        return moved(old.build())

    ctx.session.pending.append(PendingSubquery(old.kind, build, moved(old.built), old.place))
    number = exp.Literal.number(len(ctx.session.pending) - 1)
    operands = [operand(e) for e in operands_of(placeholder)]
    return exp.Anonymous(this=_PLACEHOLDER, expressions=[number, *operands])


def attach(
    node: Node, expressions: Sequence[exp.Expr], ctx: Context
) -> tuple[Node, list[exp.Expr]]:
    """Evaluate the subqueries of some expressions over `node`.

    Returns:
        The node with one more column per subquery, and the expressions over it.
    """
    done: dict[int, exp.Expr] = {}

    def change(e: exp.Expr) -> exp.Expr | None:
        nonlocal node
        if not is_pending(e):
            return None
        number = int(e.expressions[0].this)
        if number not in done:
            operands = tuple(rebuild(operand, change) for operand in operands_of(e))
            pending = pending_of(e, ctx)
            relation = take(e, ctx)
            value = relation.visible[0].column if relation.visible else None
            scalar = pending.kind is SubqueryKind.SCALAR and value is not None
            wanted = value.name if scalar and value else _NAMES[pending.kind]
            type = value.type if scalar and value else "boolean"
            output = ctx.column(wanted, type)
            node = Apply(
                node,
                relation.node,
                pending.kind,
                output,
                operands,
                place=pending.place,
            )
            done[number] = ref(output.name)
        return done[number].copy()

    rewritten = [rebuild(e, change) if has_pending(e) else e for e in expressions]
    return node, rewritten
