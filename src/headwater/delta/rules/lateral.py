"""D(L ⋈ₗ R(l)) = D(L) ⋈ₗ R¹(l) + A ⋈ₗ R¹(l) − A ⋈ₗ R⁰(l).

For fixed content of R's tables the join is linear in L. A holds the rows of L⁰ that correlate with
some changed row of R, all of L⁰ if no equality ties them; their results are replaced whole, so
limits and orders inside the lateral body need no care. A row that went with R¹ belongs to no
version; a body that can fail is computed version by version instead.

Reference: DBSP (2022), bilinear operators with one side nested. Cost: D(L) and A with the body.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headwater.delta.change import Delta, added, big, settled, weighted
from headwater.delta.correlation import at_both_versions, concerned_rows
from headwater.delta.row_scoped import by_version

if TYPE_CHECKING:
    from headwater.delta.context import DeltaContext
    from headwater.sql.operators import Lateral, Node


def delta(node: Lateral, ctx: DeltaContext) -> Delta:
    """Changed left rows joined anew, and left rows whose body changed replaced."""
    outer = ctx.delta(node.left)
    whole = by_version(node, outer, ctx)
    if whole is not None:
        return whole
    terms: list[Node] = []
    if outer is not None:
        outer = settled(outer)
        joined = replace(node, left=outer.tree, right=ctx.new(node.right))
        terms.append(weighted(joined, node.columns))
    if not ctx.changed(node.right):
        return Delta(terms[0], inserts_only=outer is not None and outer.inserts_only)
    rows, columns = concerned_rows(node.left, node.right, ctx)
    new, old = at_both_versions(node.right, ctx.share(rows), columns, ctx)
    for body, sign in ((new, 1), (old, -1)):
        joined = replace(node, left=rows, right=body)
        terms.append(weighted(joined, node.columns, big(sign)))
    return Delta(added(terms, node.columns))
