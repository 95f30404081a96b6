"""Takes correlation predicates out of a subquery, so that it can be one side of a semi join.

Only through filters, projections and inner joins: there a predicate over outer columns commutes
with the operator. A subquery that is correlated in any other way is left to `Apply`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.sql.columns import names_in, ref
from headwater.sql.rebuild import conjunction, conjuncts
from headwater.sql.relations import Distinct, Filter, Join, JoinKind, Project

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlglot import exp

    from headwater.sql.node import Node

    Pulled = tuple[Node, list[exp.Expr]]


def produced_in(node: Node) -> frozenset[str]:
    """The names of all columns made anywhere in a tree."""
    return frozenset(name for part in node.walk() for name in part.names)


def free_in(node: Node) -> frozenset[str]:
    """The names a tree refers to but does not make: the outer columns it is correlated with."""
    used = (name for part in node.walk() for e in part.expressions for name in names_in(e))
    return frozenset(used) - produced_in(node)


def decorrelated(node: Node) -> Pulled | None:
    """A tree without outer columns, and the predicates that were taken out of it.

    The tree gives all columns the predicates need. DISTINCT on top goes away: a semi join asks
    only whether there is a row. None if the correlation cannot be taken out.
    """
    while isinstance(node, Distinct):
        node = node.input
    free = free_in(node)
    return _pull(node, free) if free else (node, [])


def _pull(node: Node, free: frozenset[str]) -> Pulled | None:
    if not free_in(node):
        return node, []
    if isinstance(node, Filter):
        return _pull_filter(node, free)
    if isinstance(node, Project):
        return _pull_project(node, free)
    if isinstance(node, Join) and node.kind is JoinKind.INNER:
        return _pull_join(node, free)
    return None


def _pull_filter(node: Filter, free: frozenset[str]) -> Pulled | None:
    below = _pull(node.input, free)
    if below is None:
        return None
    inner, outer = _split(conjuncts(node.predicate), free)
    kept = conjunction(inner)
    tree = Filter(below[0], kept, place=node.place) if kept is not None else below[0]
    return tree, below[1] + outer


def _pull_project(node: Project, free: frozenset[str]) -> Pulled | None:
    if any(names_in(e) & free for _, e in node.items):
        return None
    below = _pull(node.input, free)
    if below is None:
        return None
    tree, outer = below
    return _with_columns(node, tree, {n for e in outer for n in names_in(e)} - free), outer


def _with_columns(node: Project, tree: Node, needed: set[str]) -> Node:
    have = {column.name for column, _ in node.items}
    more = [c for c in tree.columns if c.name in needed - have]
    return Project(tree, (*node.items, *((c, ref(c.name)) for c in more)), place=node.place)


def _pull_join(node: Join, free: frozenset[str]) -> Pulled | None:
    left, right = _pull(node.left, free), _pull(node.right, free)
    if left is None or right is None:
        return None
    inner, outer = _split(conjuncts(node.condition), free)
    tree = Join(left[0], right[0], node.kind, conjunction(inner), place=node.place)
    return tree, left[1] + right[1] + outer


def _split(
    parts: Iterable[exp.Expr], free: frozenset[str]
) -> tuple[list[exp.Expr], list[exp.Expr]]:
    inner: list[exp.Expr] = []
    outer: list[exp.Expr] = []
    for part in parts:
        (outer if names_in(part) & free else inner).append(part)
    return inner, outer
