"""D(R ∪ S) = D R + D S.

Every branch contributes its own delta, also when two branches read one source.

Reference: DBSP (2022), linear operators. Cost: the deltas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.delta.change import WEIGHT_COLUMN, Delta
from headwater.sql.operators import Union

if TYPE_CHECKING:
    from headwater.delta.context import DeltaContext


def delta(node: Union, ctx: DeltaContext) -> Delta:
    """The changes of all branches."""
    deltas = [d for branch in node.branches if (d := ctx.delta(branch)) is not None]
    tree = Union(tuple(d.tree for d in deltas), (*node.schema, WEIGHT_COLUMN))
    return Delta(tree, inserts_only=all(d.inserts_only for d in deltas))
