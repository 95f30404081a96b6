"""D(σ_p R) = σ_p(D R); with a clock in p also σ_p¹(R⁰) − σ_p⁰(R⁰) where the two differ.

Each image of an updated row carries its own values, so p is tested on the old image for the −1 row
and on the new one for the +1 row. A predicate that reads the clock changes its mind about rows
nobody touched: those of R⁰ that pass under exactly one of the two clocks. Conditions that can fail
see netted rows only, after all others.

Reference: DBSP (2022), linear operators. Cost: the delta; with a clock the rows between the clocks.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.delta.careful import careful
from headwater.delta.change import Delta, added, big, weighted
from headwater.delta.context import has_clock, old_clock
from headwater.delta.predicates import all_of, conjuncts
from headwater.sql.operators import Filter

if TYPE_CHECKING:
    from headwater.delta.context import DeltaContext
    from headwater.sql.operators import Node


def delta(node: Filter, ctx: DeltaContext) -> Delta:
    """The changes that pass the filter."""
    if not has_clock(node):
        return passing(ctx.change(node.input), node.predicate)
    moved = ctx.delta(node.input)
    old = ctx.old(node.input)
    now, before = node.predicate, old_clock(node.predicate)
    parts: list[Node] = [passing(moved, node.predicate).tree] if moved else []
    parts.append(weighted(Filter(old, _only(now, before)), node.columns, big(1)))
    parts.append(weighted(Filter(old, _only(before, now)), node.columns, big(-1)))
    return Delta(added(parts, node.columns))


def passing(below: Delta, predicate: exp.Expr) -> Delta:
    """The rows of a delta that pass a predicate."""
    parts = conjuncts(predicate)
    below, guard = careful(below, parts)
    written = [(part, guard(part)) for part in parts]
    plain = [new for old, new in written if new is old]
    guarded = [new for old, new in written if new is not old]
    if not guarded:
        return replace(below, tree=Filter(below.tree, predicate))
    test = all_of([*plain, *guarded])
    return replace(below, tree=Filter(below.tree, test)) if test is not None else below


def _only(one: exp.Expr, other: exp.Expr) -> exp.Expr:
    """`one` is true and `other` is not."""
    untrue = exp.Not(
        this=exp.Coalesce(this=exp.Paren(this=other.copy()), expressions=[exp.false()])
    )
    return exp.And(this=exp.Paren(this=one.copy()), expression=untrue)
