"""D(L ∘ R) = N(L ∘ R | S) − O(L ∘ R | S), ∘ ∈ {∩, ∖} with or without ALL, S = rows of D(L), D(R).

The key-scoped rule on all columns. The multiplicity of a row in the result is a function of its
multiplicities on both sides (min for ∩ ALL, the difference floored at 0 for ∖ ALL), so both are
counted afresh for the rows that changed on either side; D(L) − D(R) would be wrong.

Reference: Griffin and Libkin (1995). Cost: all copies of the changed rows, both sides and versions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.delta.keyed import keyed_delta

if TYPE_CHECKING:
    from headwater.delta.change import Delta
    from headwater.delta.context import DeltaContext
    from headwater.sql.operators import SetOperation


def delta(node: SetOperation, ctx: DeltaContext) -> Delta:
    """Rows whose multiplicity changed."""
    return keyed_delta(node, node.names, ctx)
