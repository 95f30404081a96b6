"""Projections that builders need: more columns, exactly these columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.sql.relations import Project

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp

    from headwater.sql.build.scope import Relation
    from headwater.sql.columns import Column
    from headwater.sql.node import Node


def extended(node: Node, computed: Sequence[tuple[Column, exp.Expr]]) -> Node:
    """The node with computed columns added."""
    if not computed:
        return node
    return Project(node, (*((c, c.ref) for c in node.columns), *computed))


def exactly(relation: Relation) -> Relation:
    """The relation with its visible columns only, in order, each once."""
    wanted = tuple(dict.fromkeys(entry.column for entry in relation.visible))
    if relation.node.columns == wanted:
        return relation
    return relation.over(Project(relation.node, tuple((c, c.ref) for c in wanted)))
