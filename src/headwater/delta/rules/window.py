"""D(ω R) = N(ω R | P ∈ S) − O(ω R | P ∈ S), P = columns all functions partition by.

The key-scoped rule on partitions. One change can alter every row of its partition; frames, ties
and NULLs are computed by the same functions as ever. A row that moves has an image in both
partitions. Functions that share no partition column have no such key: then P is empty and the
rule is N − O.

Reference: delta of a partitioned operator, Griffin and Libkin (1995). Cost: the affected
partitions at both versions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.delta.keyed import keyed_delta
from headwater.delta.restrict import partition_columns

if TYPE_CHECKING:
    from headwater.delta.change import Delta
    from headwater.delta.context import DeltaContext
    from headwater.sql.operators import Window


def delta(node: Window, ctx: DeltaContext) -> Delta:
    """The affected partitions, as they were and as they are."""
    return keyed_delta(node, partition_columns(node), ctx)
