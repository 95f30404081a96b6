"""Removes projections that change nothing and merges projections of plain columns."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.sql.node import transform
from headwater.sql.relations import Project

if TYPE_CHECKING:
    from headwater.sql.node import Node


def tidied(tree: Node) -> Node:
    """The tree without needless projections."""
    return transform(tree, _tidy)


def _tidy(node: Node) -> Node:
    if not isinstance(node, Project):
        return node
    below = node.input
    if isinstance(below, Project) and _is_plain(node):
        made = {column.name: item for column, item in below.items}
        if _merges(node, made):
            items = tuple((column, made[value.name]) for column, value in node.items)
            return _tidy(replace(node, input=below.input, items=items))
    same = tuple(column.name for column, _ in node.items) == below.names
    return below if same and _is_identity(node) else node


def _merges(node: Project, made: dict[str, exp.Expr]) -> bool:
    """Whether the lower items can stand in the upper list without being computed twice."""
    used = [value.name for _, value in node.items]
    computed = [n for n in used if not isinstance(made.get(n), exp.Column)]
    return all(n in made for n in used) and len(computed) == len(set(computed))


def _is_plain(node: Project) -> bool:
    return all(isinstance(value, exp.Column) for _, value in node.items)


def _is_identity(node: Project) -> bool:
    return all(isinstance(v, exp.Column) and v.name == c.name for c, v in node.items)
