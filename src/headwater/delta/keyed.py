"""The universal rule: recompute the affected keys at both versions and take the difference.

D(n) = N(n | C ∈ S) − O(n | C ∈ S), where S ⊇ π_C(D(inputs of n)).

Columns that may come out in other digits each time are left out of C: a coarser key is right too.

Right for any deterministic operator that commutes with selection on C: for a key outside S the
inputs are equal at both versions, so the output is too; inside S both contents are taken whole,
whatever was inserted, deleted or moved to another key. With C empty it is N − O.

Reference: Griffin and Libkin (1995) for the differential form; DBSP (2022) calls it the
non-linear case. Cost: the rows of both versions whose key is in S.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.delta.affected import affected
from headwater.delta.change import Delta, difference
from headwater.delta.restrict import restrict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headwater.delta.context import DeltaContext
    from headwater.sql.operators import Node


def keyed_delta(node: Node, columns: Sequence[str], ctx: DeltaContext) -> Delta:
    """The delta of a node that works key by key on `columns`."""
    new, old = ctx.new(node), ctx.old(node)
    columns = ctx.digits.steady(columns)
    if columns:
        keys = affected(node, columns, ctx)
        new, old = restrict(new, columns, keys), restrict(old, columns, keys)
    return Delta(difference(new, old, node.columns))
