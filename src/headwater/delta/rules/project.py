"""D(π R) = π(D R), the weight passed on.

Row by row, so deletes and updates need no care. Two rows that were different may become equal:
the result counts as not netted unless every column of the input is passed on. Expressions that can
fail see netted rows only.

Reference: DBSP (2022), linear operators. Cost: the delta.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.delta.careful import careful
from headwater.delta.change import WEIGHT_COLUMN, Delta
from headwater.delta.predicates import plain
from headwater.sql.operators import Project

if TYPE_CHECKING:
    from headwater.delta.context import DeltaContext


def delta(node: Project, ctx: DeltaContext) -> Delta:
    """The projected changes."""
    below, guard = careful(ctx.change(node.input), [e for _, e in node.items])
    items = tuple((column, guard(e)) for column, e in node.items)
    tree = Project(below.tree, (*items, (WEIGHT_COLUMN, WEIGHT_COLUMN.ref)))
    injective = set(node.input.names) <= {plain(e) for _, e in node.items}
    return Delta(tree, below.netted and injective, below.inserts_only, below.compact)
