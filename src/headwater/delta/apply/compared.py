"""The difference between the affected keys as they are and what is stored under them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.delta.affected import affected
from headwater.delta.change import difference, net_rows
from headwater.delta.restrict import restrict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headwater.delta.apply.writing import Writing
    from headwater.sql.operators import Node


def compared(writing: Writing, key: Sequence[str]) -> Node:
    """N(n | key ∈ S) − stored(key ∈ S), netted; everything where there is no key."""
    root, ctx = writing.root, writing.ctx
    new, old = ctx.new(root.tree), writing.stored(root.columns)
    if key:
        keys = affected(root.tree, key, ctx)
        new, old = restrict(new, key, keys), restrict(old, key, keys)
    return net_rows(difference(new, old, root.tree.columns))
