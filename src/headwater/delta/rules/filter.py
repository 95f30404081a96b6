"""D(σ_p R) = σ_p(D R); with a clock in p also σ_p¹(R⁰) − σ_p⁰(R⁰) where the two differ.

Each image of an updated row carries its own values, so p is tested on the old image for the −1 row
and on the new one for the +1 row. A predicate that reads the clock changes its mind about rows
nobody touched: those of R⁰ that pass under exactly one of the two clocks.

Reference: DBSP (2022), linear operators. Cost: the delta; with a clock the rows between the clocks.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.delta.change import Delta, added, big, weighted
from headwater.delta.context import has_clock, old_clock
from headwater.sql.operators import Filter

if TYPE_CHECKING:
    from headwater.delta.context import DeltaContext
    from headwater.sql.operators import Node


def delta(node: Filter, ctx: DeltaContext) -> Delta:
    """The changes that pass the filter."""
    if not has_clock(node):
        below = ctx.change(node.input)
        return replace(below, tree=Filter(below.tree, node.predicate))
    moved = ctx.delta(node.input)
    old = ctx.old(node.input)
    now, before = node.predicate, old_clock(node.predicate)
    parts: list[Node] = [Filter(moved.tree, node.predicate)] if moved else []
    parts.append(weighted(Filter(old, _only(now, before)), node.columns, big(1)))
    parts.append(weighted(Filter(old, _only(before, now)), node.columns, big(-1)))
    return Delta(added(parts, node.columns))


def _only(one: exp.Expr, other: exp.Expr) -> exp.Expr:
    """`one` is true and `other` is not."""
    untrue = exp.Not(
        this=exp.Coalesce(this=exp.Paren(this=other.copy()), expressions=[exp.false()])
    )
    return exp.And(this=exp.Paren(this=one.copy()), expression=untrue)
