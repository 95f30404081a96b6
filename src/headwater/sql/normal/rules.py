"""The normal form of a tree: the list of rewrites, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.sql.normal.denied import has_flags, with_denied_flags
from headwater.sql.normal.prune import pruned
from headwater.sql.normal.push import pushed
from headwater.sql.normal.tidy import tidied

if TYPE_CHECKING:
    from collections.abc import Callable

    from headwater.sql.columns import Column
    from headwater.sql.node import Node


def normalised(tree: Node, wanted: tuple[Column, ...], fresh: Callable[[str], str]) -> Node:
    """The tree in normal form; `fresh` names columns that are new.

    Predicates stand as deep as inner joins allow and inside join conditions, every node gives
    only columns that are used above it, and projections that change nothing are gone.
    """
    names = frozenset(c.name for c in wanted)
    if has_flags(tree):
        tree = with_denied_flags(pruned(tree, names), fresh)
    return tidied(pruned(pushed(tree), names))
