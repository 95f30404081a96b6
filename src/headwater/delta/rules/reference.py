"""D(reference) = the delta the enclosing rule gives to the named relation.

Only a recursion's working table changes while a plan runs; staged results and the target do not.

Reference: DBSP (2022), section on recursion. Cost: none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headwater.delta.change import Delta
    from headwater.delta.context import DeltaContext
    from headwater.sql.operators import Reference


def delta(node: Reference, ctx: DeltaContext) -> Delta:
    """The delta known for the name."""
    return ctx.references[node.name]
