"""D(scan) = the change window of the source, only the columns the query uses.

A row that was updated appears twice, with weight −1 as it was and +1 as it is. The window is not
netted here: filters and projections above come first, so that changes of unused columns and rows
outside the filter cost nothing. One that a refresh has netted before holds what changed only.

Reference: DBSP (2022), the input operator. Cost: the window.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headwater.delta.change import Change, Delta
from headwater.sql.operators import At

if TYPE_CHECKING:
    from headwater.delta.context import DeltaContext
    from headwater.sql.operators import Scan


def delta(node: Scan, ctx: DeltaContext) -> Delta:
    """The changes of one source."""
    change = ctx.sources[node.table]
    return Delta(
        replace(node, at=At.DELTA),
        inserts_only=change is Change.APPEND,
        compact=change is Change.NETTED,
    )
