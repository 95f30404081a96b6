"""D(L ⟕ R) = D(L) ⟕ R¹ + L⁰ ⋈ D(R) + (L⁰ ⋉ D(R) ⋉ R⁰ ▷ R¹)×⊥ − (L⁰ ⋉ D(R) ▷ R⁰ ⋉ R¹)×⊥.

From L ⟕ R = L ⋈ R + (L ▷ R)×⊥. A left row can gain or lose its padded form only if it matches
some changed right row; it gains it when the last match goes, loses it when the first one comes.
The guards R⁰ and R¹ look at the whole content, so any number of deletes, inserts and updates of
matches at once is right, and each copy of a duplicate left row flips on its own. RIGHT is the
mirror image; FULL adds D(R) ▷ L¹ and the flips of R⁰ under L⁰ → L¹.

Reference: Larson and Zhou (2007) for the terms, DBSP (2022) for the algebra. Cost: both deltas and
the rows of L⁰, R⁰ and R¹ that share a key with D(R).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.delta.change import Delta, added, big, padded, settled, weighted
from headwater.delta.flips import flips, in_versions
from headwater.sql.operators import Join, JoinKind

if TYPE_CHECKING:
    from headwater.delta.context import DeltaContext
    from headwater.sql.operators import Node


def delta(node: Join, ctx: DeltaContext) -> Delta:
    """The changes of an outer join."""
    left, right = ctx.delta(node.left), ctx.delta(node.right)
    whole = in_versions(node, left, right, ctx)
    if whole is not None:
        return whole
    left, right = left and settled(left), right and settled(right)
    terms: list[Node] = []
    grows = True
    if left is not None:
        ctx.share(left.tree)
        terms.append(_of_left(node, left, ctx))
        grows = left.inserts_only
    if right is not None:
        ctx.share(right.tree)
        terms.append(_of_right(node, right, ctx))
        grows = grows and right.inserts_only
    if right is not None and node.kind in (JoinKind.LEFT, JoinKind.FULL):
        terms += _padding(node, node.left, node.right, right, ctx)
        grows = False
    if left is not None and node.kind in (JoinKind.RIGHT, JoinKind.FULL):
        terms += _padding(node, node.right, node.left, left, ctx)
        grows = False
    return Delta(added(terms, node.columns), inserts_only=grows)


def _of_left(node: Join, left: Delta, ctx: DeltaContext) -> Node:
    """D(L) with its matches in R¹, padded where L's rows are preserved."""
    keeps = node.kind in (JoinKind.LEFT, JoinKind.FULL)
    kind = JoinKind.LEFT if keeps else JoinKind.INNER
    return weighted(Join(left.tree, ctx.new(node.right), kind, node.condition), node.columns)


def _of_right(node: Join, right: Delta, ctx: DeltaContext) -> Node:
    """D(R) with its matches in L⁰; where R's rows are preserved, those without one in L¹."""
    matched = weighted(
        Join(ctx.old(node.left), right.tree, JoinKind.INNER, node.condition), node.columns
    )
    if node.kind is JoinKind.LEFT:
        return matched
    alone = Join(right.tree, ctx.new(node.left), JoinKind.ANTI, node.condition)
    return added([matched, padded(alone, node.columns)], node.columns)


def _padding(node: Join, kept: Node, other: Node, change: Delta, ctx: DeltaContext) -> list[Node]:
    """Padded rows of the kept side that appear or go because the other side changed."""
    turned = flips(kept, other, change, node.condition, ctx)
    terms = [padded(turned.gained, node.columns, big(-1))]
    if turned.lost is not None:
        terms.append(padded(turned.lost, node.columns, big(1)))
    return terms
