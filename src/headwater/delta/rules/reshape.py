"""D(unpivot R) = unpivot(D R); D(pivot R) = N(pivot R | K ∈ S) − O(pivot R | K ∈ S).

UNPIVOT looks at one row and is linear. PIVOT is an aggregation by the columns it passes through:
the key-scoped rule with the clause as written, so that a cell without rows is NULL as Spark says.

Reference: DBSP (2022), linear operators; Griffin and Libkin (1995), aggregation. Cost: the delta;
for PIVOT all rows of the affected keys at both versions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headwater.delta.change import Delta, weighted
from headwater.delta.keyed import keyed_delta
from headwater.sql.operators import WEIGHT

if TYPE_CHECKING:
    from headwater.delta.context import DeltaContext
    from headwater.sql.operators import Reshape


def delta(node: Reshape, ctx: DeltaContext) -> Delta:
    """The reshaped changes, or the affected keys before and after."""
    if not node.unpivot:
        return keyed_delta(node, node.keys, ctx)
    below = ctx.change(node.input)
    reshaped = replace(node, input=below.tree, keys=(*node.keys, WEIGHT))
    return Delta(weighted(reshaped, node.columns), inserts_only=below.inserts_only)
