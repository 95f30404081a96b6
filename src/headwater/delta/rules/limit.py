"""D(top-k R) = N(top-k R) − O(top-k R).

No column selects a part of a limit: a deleted row is replaced by one from outside the k rows. With
a total order both sides are well defined.

Reference: the trivial form of Griffin and Libkin (1995). Cost: R at both versions, k rows each out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.delta.keyed import keyed_delta

if TYPE_CHECKING:
    from headwater.delta.change import Delta
    from headwater.delta.context import DeltaContext
    from headwater.sql.operators import Limit


def delta(node: Limit, ctx: DeltaContext) -> Delta:
    """The rows that left the limit and those that entered."""
    return keyed_delta(node, (), ctx)
