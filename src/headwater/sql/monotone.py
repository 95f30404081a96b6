"""Is a query monotone: do more rows in a source never take a row away from its result?

A circle of stream tables with monotone queries has one smallest content that fits all of them, and
adding rows step by step leads to it. Pure: looks at the operator tree. What is not known to be
monotone is not: an outer join takes back the row that had no partner, an aggregate its old value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headwater.sql.operators import (
    Distinct,
    Filter,
    Generate,
    Join,
    JoinKind,
    Lateral,
    Project,
    Scan,
    Union,
    Values,
)

if TYPE_CHECKING:
    from headwater.core.errors import Place
    from headwater.sql.definition import Definition
    from headwater.sql.node import Node

_JOINS = (JoinKind.INNER, JoinKind.SEMI)
_ROW_BY_ROW = (Distinct, Filter, Generate, Project, Scan, Union, Values)


@dataclass(frozen=True, slots=True)
class Obstacle:
    """What may take rows away, and where it is written."""

    what: str
    place: Place | None


def obstacle(definition: Definition) -> Obstacle | None:
    """The first part of a query that is not monotone; None when all of it is."""
    if definition.uses_clock:
        return Obstacle("rows leave its result as time goes on", None)
    for node in definition.tree.walk():
        if not _is_monotone(node):
            return Obstacle(f"{type(node).__name__} can take rows away", node.place)
    return None


def _is_monotone(node: Node) -> bool:
    if isinstance(node, Join):
        return node.kind in _JOINS
    if isinstance(node, Lateral):
        return not node.outer
    return isinstance(node, _ROW_BY_ROW)
