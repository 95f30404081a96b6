"""GROUPING SETS as a union of plain GROUP BYs, so that each level can be restricted by its keys.

Spark gives no grand-total row over empty input, unlike a plain global aggregate: the level without
keys keeps its row only while the input has rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.core.errors import PlanBug
from headwater.delta.change import big, null_of
from headwater.sql.operators import Aggregate, Column, Filter, Node, Project, ref

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_ROWS = Column("__hw_rows", "bigint")


def grouping_number(node: Aggregate, keys: tuple[str, ...]) -> int:
    """The grouping id of a set: one bit per key, the first key highest, 1 = rolled up."""
    bits = 0
    for key in node.keys:
        bits = bits * 2 + (0 if key in keys else 1)
    return bits


def branches(node: Aggregate) -> list[tuple[tuple[str, ...], Callable[[Node], Node]]]:
    """Per grouping set: its keys, and the plain aggregation of an input by them."""
    return [(keys, _branch(node, keys)) for keys in node.sets or ()]


def set_keys(keys: Node, names: Mapping[str, str], node: Aggregate, number: int) -> Node:
    """The part of a key relation that belongs to one grouping set."""
    if node.grouping is None or node.sets is None:
        raise PlanBug("grouping sets without an id")
    grouped = node.sets[number]
    wanted = exp.EQ(
        this=ref(names[node.grouping.name]), expression=big(grouping_number(node, grouped))
    )
    types = {c.name: c for c in keys.columns}
    kept = [types[names[k]] for k in grouped]
    return Project(Filter(keys, wanted), tuple((c, c.ref) for c in kept))


def _branch(node: Aggregate, keys: tuple[str, ...]) -> Callable[[Node], Node]:
    def build(source: Node) -> Node:
        calls = node.calls if keys else (*node.calls, (_ROWS, exp.Count(this=exp.Star())))
        level: Node = Aggregate(source, keys, calls)
        if not keys:
            level = Filter(level, exp.GT(this=_ROWS.ref, expression=exp.Literal.number(0)))
        items: list[tuple[Column, exp.Expr]] = []
        for column in node.columns:
            if column.name in node.keys and column.name not in keys:
                items.append((column, null_of(column)))
            elif node.grouping is not None and column.name == node.grouping.name:
                items.append((column, big(grouping_number(node, keys))))
            else:
                items.append((column, column.ref))
        return Project(level, tuple(items))

    return build
