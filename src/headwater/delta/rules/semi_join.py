"""D(L ⋉ R) = D(L) ⋉ R¹ + (L⁰ ⋉ D(R) ▷ R⁰ ⋉ R¹) − (L⁰ ⋉ D(R) ⋉ R⁰ ▷ R¹); ▷ with signs turned.

A left row changes its mind only if it matches some changed right row, and only when the number of
its matches goes from none to some or back. Deleting one of two matches, or replacing the only one
by another in the same window, changes nothing because R⁰ and R¹ are both asked.

Reference: DBSP (2022), section on distinct and anti-join. Cost: D(L), D(R) and the rows of L⁰, R⁰,
R¹ that share a key with D(R).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.delta.change import Delta, added, big, settled, weighted
from headwater.delta.flips import flips, in_versions
from headwater.sql.operators import Join, JoinKind

if TYPE_CHECKING:
    from headwater.delta.context import DeltaContext
    from headwater.sql.operators import Node


def delta(node: Join, ctx: DeltaContext) -> Delta:
    """Changed left rows that qualify, and untouched ones that begin or cease to."""
    left, right = ctx.delta(node.left), ctx.delta(node.right)
    whole = in_versions(node, left, right, ctx)
    if whole is not None:
        return whole
    terms: list[Node] = []
    grows = True
    if left is not None:
        left = settled(left)
        terms.append(Join(left.tree, ctx.new(node.right), node.kind, node.condition))
        grows = left.inserts_only
    if right is not None:
        right = settled(right)
        ctx.share(right.tree)
        terms += _turned(node, right, ctx)
        grows = grows and node.kind is JoinKind.SEMI and right.inserts_only
    return Delta(added(terms, node.columns), inserts_only=grows)


def _turned(node: Join, right: Delta, ctx: DeltaContext) -> list[Node]:
    """Left rows whose number of matches crossed zero."""
    sign = 1 if node.kind is JoinKind.SEMI else -1
    turned = flips(node.left, node.right, right, node.condition, ctx)
    terms = [weighted(turned.gained, node.columns, big(sign))]
    if turned.lost is not None:
        terms.append(weighted(turned.lost, node.columns, big(-sign)))
    return terms
