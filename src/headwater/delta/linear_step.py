"""Decides whether a recursion is linear: its step reads the working table once, row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.sql.operators import Filter, Generate, Join, JoinKind, Project, Reference

if TYPE_CHECKING:
    from headwater.sql.operators import Node, Recursive


def is_linear_step(node: Recursive) -> bool:
    """Whether the signed recursion of `rules.recursive` applies."""
    reads = [n for n in node.step.walk() if isinstance(n, Reference) and n.name == node.name]
    return len(reads) == 1 and _passes(node.step, node.name)


def _passes(node: Node, name: str) -> bool:
    """Whether every operator between the step's root and the working table is linear in it."""
    if isinstance(node, Reference):
        return node.name == name
    if isinstance(node, (Filter, Project, Generate)):
        return _passes(node.input, name)
    if isinstance(node, Join) and node.kind is JoinKind.INNER:
        return _passes(node.left, name) or _passes(node.right, name)
    return False
