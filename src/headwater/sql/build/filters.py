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
from headwater.sql.grouping import Aggregate
from headwater.sql.nesting import SubqueryKind
from headwater.sql.rebuild import bare, conjunction, conjuncts
from headwater.sql.relations import Filter, Join, JoinKind, Project
from headwater.sql.renew import renewed

if TYPE_CHECKING:
    from headwater.core.errors import Place
    from headwater.sql.build.context import Context
    from headwater.sql.node import Node


def filtered(node: Node, predicate: exp.Expr, ctx: Context, place: Place | None = None) -> Node:
    """The rows of `node` for which a resolved predicate is true.

    EXISTS, IN and their negations as conjuncts are joins; any other subquery is evaluated for
    each row. NOT IN is true where no row is equal *or unknown*. For one value without correlation
    that is an anti join on equality and two facts about the whole subquery; else COALESCE says it.
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
    if kind is SubqueryKind.NOT_IN and len(members) == 1 and not correlation:
        joined = _not_in(node, operands_of(value)[0], right, members[0], ctx)
        if joined is not None:
            return joined
    condition = conjunction([*correlation, *_matches(value, kind, members)])
    anti = negated or kind is SubqueryKind.NOT_IN
    return Join(
        node,
        right,
        JoinKind.ANTI if anti else JoinKind.SEMI,
        condition if condition is not None else exp.true(),
        place=pending.place,
    )


def _not_in(
    node: Node, operand: exp.Expr, right: Node, member: exp.Column, ctx: Context
) -> Node | None:
    """No row is equal, and: there is no row at all, or neither the value nor any row is NULL."""
    again = renewed(right, ctx.session.names.fresh)
    if again is None:
        return None
    equal = exp.EQ(this=_operand(operand), expression=member)
    unequal = Join(node, right, JoinKind.ANTI, equal)
    empty, unknown, flags = _flags(again[0], ref(again[1][member.name]), ctx)
    known = exp.Not(this=exp.Is(this=_operand(operand.copy()), expression=exp.null()))
    passes = exp.And(this=known, expression=exp.Not(this=unknown))
    test = exp.Or(this=empty, expression=exp.Paren(this=passes))
    return Filter(Join(unequal, flags), test)


def _flags(node: Node, member: exp.Column, ctx: Context) -> tuple[exp.Expr, exp.Expr, Node]:
    """One row that tells whether a relation is empty and whether it has a NULL."""
    counts = [exp.Count(this=exp.Star()), exp.Count(this=member.copy())]
    columns = [
        ctx.computed(name, call) for name, call in zip(("rows", "known"), counts, strict=True)
    ]
    counted = Aggregate(node, (), tuple(zip(columns, counts, strict=True)))
    rows, known = (c.ref for c in columns)
    tests = [
        exp.EQ(this=rows, expression=exp.Literal.number(0)),
        exp.NEQ(this=rows.copy(), expression=known),
    ]
    flags = [
        ctx.computed(name, test) for name, test in zip(("empty", "unknown"), tests, strict=True)
    ]
    return flags[0].ref, flags[1].ref, Project(counted, tuple(zip(flags, tests, strict=True)))


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
