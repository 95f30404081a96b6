"""Predicates: plain conjuncts become filters, subquery conjuncts become semi and anti joins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.sql.build.decorrelate import decorrelated
from headwater.sql.build.pending import (
    attach,
    has_pending,
    is_pending,
    operands_of,
    pending_of,
    take,
)
from headwater.sql.columns import ref
from headwater.sql.nesting import SubqueryKind
from headwater.sql.rebuild import bare, conjunction, conjuncts
from headwater.sql.relations import Filter, Join, JoinKind

if TYPE_CHECKING:
    from headwater.core.errors import Place
    from headwater.sql.build.context import Context
    from headwater.sql.node import Node


def filtered(node: Node, predicate: exp.Expr, ctx: Context, place: Place | None = None) -> Node:
    """The rows of `node` for which a resolved predicate is true.

    EXISTS, IN and their negations as conjuncts are joins; any other subquery is evaluated for
    each row. NOT IN is true where no row is equal *or unknown*, hence the COALESCE.
    """
    plain: list[exp.Expr] = []
    late: list[exp.Expr] = []
    for conjunct in conjuncts(predicate):
        (late if has_pending(conjunct) else plain).append(conjunct)
    wide = node
    condition = conjunction(plain)
    if condition is not None:
        wide = Filter(wide, condition, place=place)
    for conjunct in late:
        joined = _semi_join(wide, conjunct, ctx)
        wide = joined if joined is not None else _applied(wide, conjunct, ctx, place)
    return wide


def _applied(node: Node, conjunct: exp.Expr, ctx: Context, place: Place | None) -> Node:
    wide, (predicate,) = attach(node, [conjunct], ctx)
    return Filter(wide, predicate, place=place)


def _semi_join(node: Node, conjunct: exp.Expr, ctx: Context) -> Node | None:
    negated = isinstance(conjunct, exp.Not)
    value = bare(conjunct.this) if negated else conjunct
    if not is_pending(value):
        return None
    pending = pending_of(value, ctx)
    kind = pending.kind
    if kind is SubqueryKind.SCALAR or (negated and kind is not SubqueryKind.EXISTS):
        return None
    if any(has_pending(operand) for operand in operands_of(value)):
        return None
    relation = take(value, ctx)
    pulled = decorrelated(relation.node)
    if pulled is None:
        ctx.session.taken.discard(int(value.expressions[0].this))
        return None
    right, correlation = pulled
    members = [ref(entry.column.name) for entry in relation.visible]
    condition = conjunction([*correlation, *_matches(value, kind, members)])
    anti = negated or kind is SubqueryKind.NOT_IN
    return Join(
        node,
        right,
        JoinKind.ANTI if anti else JoinKind.SEMI,
        condition if condition is not None else exp.true(),
        place=pending.place,
    )


def _matches(value: exp.Expr, kind: SubqueryKind, members: list[exp.Column]) -> list[exp.Expr]:
    if kind is SubqueryKind.EXISTS:
        return []
    pairs: list[exp.Expr] = [
        exp.EQ(this=_operand(left), expression=right)
        for left, right in zip(operands_of(value), members, strict=True)
    ]
    if kind is SubqueryKind.IN:
        return pairs
    return [exp.Coalesce(this=conjunction(pairs), expressions=[exp.true()])]


def _operand(e: exp.Expr) -> exp.Expr:
    return exp.Paren(this=e) if isinstance(e, exp.Binary | exp.Connector | exp.Not) else e
