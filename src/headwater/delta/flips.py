"""Rows whose number of join partners crossed zero; shared by outer, semi and anti joins.

gained = L⁰ ⋉ D(R) ▷ R⁰ ⋉ R¹ (first partner came), lost = L⁰ ⋉ D(R) ⋉ R⁰ ▷ R¹ (last one went).

R⁰ and R¹ are restricted to the keys of D(R): a left row that passed the first semi-join can meet
partners only under those keys. Without an equality in the condition they are read whole.

The terms pair old rows with new ones. A condition that can fail must not see such pairs: then both
versions are computed for the affected keys, each by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headwater.delta.careful import fails_on_one, fails_on_pairs
from headwater.delta.keyed import keyed_delta
from headwater.delta.predicates import conjuncts, equal_columns
from headwater.delta.restrict import restrict
from headwater.sql.operators import Join, JoinKind

if TYPE_CHECKING:
    from sqlglot import exp

    from headwater.delta.change import Delta
    from headwater.delta.context import DeltaContext
    from headwater.sql.operators import Node


class Flips(NamedTuple):
    """Old left rows that gained their first or lost their last partner; None: there are none."""

    gained: Node
    lost: Node | None


def in_versions(
    node: Join, left: Delta | None, right: Delta | None, ctx: DeltaContext
) -> Delta | None:
    """The delta by recomputing, where the condition can fail on pairs of no version; else None."""
    grows = all(d is None or d.inserts_only for d in (left, right))
    if grows or not any(_fails(part, node) for part in conjuncts(node.condition)):
        return None
    pairs = equal_columns(node.condition, node.left, node.right)
    match node.kind:
        case JoinKind.FULL:
            columns: list[str] = []
        case JoinKind.RIGHT:
            columns = [b for _, b in pairs]
        case _:
            columns = [a for a, _ in pairs]
    return keyed_delta(node, list(dict.fromkeys(columns)), ctx)


def _fails(part: exp.Expr, node: Join) -> bool:
    sides = (node.left, node.right)
    return fails_on_pairs(part, sides) or any(fails_on_one(part, side) for side in sides)


def flips(
    kept: Node, other: Node, change: Delta, condition: exp.Expr | None, ctx: DeltaContext
) -> Flips:
    """The old rows of `kept` that flip because `other` changed by `change`."""
    pairs = equal_columns(condition, kept, other)
    before, after = ctx.old(other), ctx.new(other)
    if pairs:
        columns = [b for _, b in pairs]
        keys = ctx.keys(change.tree, columns)
        before, after = restrict(before, columns, keys), restrict(after, columns, keys)
    touched = Join(ctx.old(kept), change.tree, JoinKind.SEMI, condition)

    def where(old: JoinKind, new: JoinKind) -> Node:
        return Join(Join(touched, before, old, condition), after, new, condition)

    gained = where(JoinKind.ANTI, JoinKind.SEMI)
    if change.inserts_only:
        return Flips(gained, None)
    return Flips(gained, where(JoinKind.SEMI, JoinKind.ANTI))
