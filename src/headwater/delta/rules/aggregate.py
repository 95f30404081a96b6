"""D(γ_G R) = N(γ_G R | G ∈ S) − O(γ_G R | G ∈ S), S = groups with a changed row.

The key-scoped rule on the grouping columns: the old row of every affected group goes, the new one
comes, for any aggregate function; a group that lost its last row has no new one, a global
aggregate always has both. Grouping sets are keyed by their columns and the grouping id.

Reference: Griffin and Libkin (1995), section on aggregation. Cost: all rows of the affected groups
at both versions. (At the root, aggregates in exact arithmetic are merged instead, see `state`.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.delta.keyed import keyed_delta

if TYPE_CHECKING:
    from headwater.delta.change import Delta
    from headwater.delta.context import DeltaContext
    from headwater.sql.operators import Aggregate


def keys(node: Aggregate) -> tuple[str, ...]:
    """The columns that identify a group."""
    return node.keys if node.grouping is None else (*node.keys, node.grouping.name)


def delta(node: Aggregate, ctx: DeltaContext) -> Delta:
    """Old rows of affected groups out, new ones in."""
    return keyed_delta(node, keys(node), ctx)
