"""D(generate R) = generate(D R), the weight passed on.

A generator looks at one row, so the rows it made from the old image go and those from the new one
come. With OUTER a row without elements gives one padded row, at either sign.

Reference: DBSP (2022), linear operators (flat map). Cost: the delta times its elements.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headwater.delta.change import Delta, weighted

if TYPE_CHECKING:
    from headwater.delta.context import DeltaContext
    from headwater.sql.operators import Generate


def delta(node: Generate, ctx: DeltaContext) -> Delta:
    """The rows generated from the changes."""
    below = ctx.change(node.input)
    tree = weighted(replace(node, input=below.tree), node.columns)
    return Delta(tree, inserts_only=below.inserts_only)
