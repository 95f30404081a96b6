"""The operator tree: what a query means, independent of how it was written.

Every column in a tree has a name that is unique in the whole tree, so an expression refers to
columns by bare name, joins never need qualification and a sub-plan can be moved freely. Two
references to one table (self-join, CTE used twice) are two scans with different column names.

The same node kinds express the query, its old and new content (scans pinned to a version) and
its delta (scans of changes): a delta rule maps a tree to a tree, and one renderer writes SQL.

A tree may refer to columns it does not produce: those are the correlated columns of an enclosing
`Apply` or `Lateral`.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from headwater.core.names import WEIGHT
from headwater.sql.columns import Column, names_in, ref
from headwater.sql.grouping import Aggregate, Generate, Limit, Reshape, Window
from headwater.sql.nesting import Apply, Lateral, Opaque, Recursive, Reference, SubqueryKind
from headwater.sql.node import Node, transform
from headwater.sql.relations import (
    At,
    Distinct,
    Filter,
    Join,
    JoinKind,
    Project,
    Scan,
    SetOperation,
    Union,
    Values,
)

__all__ = [
    "CLOCK_BEFORE",
    "CLOCK_NOW",
    "WEIGHT",
    "Aggregate",
    "Apply",
    "At",
    "Column",
    "Distinct",
    "Filter",
    "Generate",
    "Join",
    "JoinKind",
    "Lateral",
    "Limit",
    "Node",
    "Opaque",
    "Project",
    "Recursive",
    "Reference",
    "Reshape",
    "Scan",
    "SetOperation",
    "SubqueryKind",
    "Union",
    "Values",
    "Window",
    "names_in",
    "pinned",
    "ref",
    "transform",
]

CLOCK_NOW = "__hw_now"
CLOCK_BEFORE = "__hw_before"

_CLOCK = {At.OLD: (CLOCK_NOW, CLOCK_BEFORE), At.NEW: (CLOCK_BEFORE, CLOCK_NOW)}


def pinned(node: Node, at: At) -> Node:
    """The same relation read at another version: every scan below is pinned to `at`.

    Clock holes go with the version: the old content was made with the clock of its refresh.
    """
    swap = _CLOCK.get(at)

    def pin(n: Node) -> Node:
        if isinstance(n, Scan):
            return replace(n, at=at)
        return n.map_expressions(lambda e: _with_clock(e, *swap)) if swap else n

    return transform(node, pin)


def _with_clock(expression: exp.Expr, old: str, new: str) -> exp.Expr:
    if not any(hole.this == old for hole in expression.find_all(exp.Literal)):
        return expression

    def turn(part: exp.Expr) -> exp.Expr:
        is_hole = isinstance(part, exp.Literal) and part.is_string and part.this == old
        return exp.Literal.string(new) if is_hole else part

    return expression.transform(turn)
