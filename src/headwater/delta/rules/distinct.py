"""D(δ R) = N(δ R | S) − O(δ R | S), S = the distinct rows of D(R).

The key-scoped rule on all columns: a row of the result comes or goes only if copies of it came or
went, and whether any copy is left is asked of the full content.

Reference: DBSP (2022), incremental distinct. Cost: all copies of the changed rows at both versions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.delta.keyed import keyed_delta

if TYPE_CHECKING:
    from headwater.delta.change import Delta
    from headwater.delta.context import DeltaContext
    from headwater.sql.operators import Distinct


def delta(node: Distinct, ctx: DeltaContext) -> Delta:
    """Rows whose number of copies crossed zero."""
    return keyed_delta(node, node.names, ctx)
