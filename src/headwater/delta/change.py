"""Weighted relations: the value every delta rule returns, and the algebra all rules share.

A delta is a relation with one more column, the weight (`__hw_w`), last: +1 for a row that
appeared, −1 for one that went. The sum of the weights of equal rows is what counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.sql.operators import WEIGHT, Aggregate, Column, Filter, Project, Union, ref
from headwater.sql.types import element_types

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headwater.sql.operators import Node

WEIGHT_COLUMN = Column(WEIGHT, "bigint")


class Change(Enum):
    """What a source's window holds: only new rows, or rows that went as well.

    NETTED: those as well, without pairs that cancel out: the window is netted before it is read.
    """

    APPEND = "append"
    MIXED = "mixed"
    NETTED = "netted"


@dataclass(frozen=True)
class Delta:
    """A weighted relation.

    Attributes:
        tree: columns of the operator, then the weight.
        netted: no two rows are equal and no weight is zero.
        inserts_only: every weight is +1.
        compact: rows that a commit only copied are not in it, nor rows that came and went.
    """

    tree: Node
    netted: bool = False
    inserts_only: bool = False
    compact: bool = False


@cache
def _data_type(kind: str) -> exp.DataType:
    return exp.DataType.build(kind, dialect="spark")


def cast(expression: exp.Expr, kind: str) -> exp.Expr:
    """A cast to a Spark type; parsing a type text is slow, so each is parsed once."""
    return exp.Cast(this=expression, to=_data_type(kind).copy())


def big(value: int) -> exp.Expr:
    """A BIGINT literal."""
    number = exp.Literal.number(abs(value))
    literal = exp.Neg(this=number) if value < 0 else number
    return cast(literal, "bigint")


def null_of(column: Column) -> exp.Expr:
    """NULL with the type of a column."""
    return cast(exp.null(), column.type) if column.type else exp.null()


def passed(columns: Sequence[Column]) -> tuple[tuple[Column, exp.Expr], ...]:
    """Projection items that pass columns on."""
    return tuple((c, c.ref) for c in columns)


def weighted(tree: Node, columns: Sequence[Column], weight: exp.Expr | None = None) -> Node:
    """These columns and a weight: that of the tree, or the one given."""
    items = (*passed(columns), (WEIGHT_COLUMN, weight if weight is not None else ref(WEIGHT)))
    return Project(tree, items)


def padded(tree: Node, columns: Sequence[Column], weight: exp.Expr | None = None) -> Node:
    """The columns, NULL for those the tree does not have, and a weight."""
    own = frozenset(tree.names)
    items = tuple((c, c.ref if c.name in own else null_of(c)) for c in columns)
    value = weight if weight is not None else ref(WEIGHT)
    return Project(tree, (*items, (WEIGHT_COLUMN, value)))


def added(parts: Sequence[Node], columns: Sequence[Column]) -> Node:
    """The sum of weighted relations of one schema."""
    if len(parts) == 1:
        return parts[0]
    return Union(tuple(parts), (*columns, WEIGHT_COLUMN))


def difference(new: Node, old: Node, columns: Sequence[Column]) -> Node:
    """`new − old` as a weighted relation, not netted."""
    return added([weighted(new, columns, big(1)), weighted(old, columns, big(-1))], columns)


def net(delta: Delta) -> Node:
    """The delta with one row per distinct row and no zero weights."""
    return delta.tree if delta.netted else net_rows(delta.tree)


def net_rows(tree: Node) -> Node:
    """A weighted relation with one row per distinct row and no zero weights."""
    maps = [c for c in tree.columns if _is_map(c)]
    if maps:
        return _with_maps(net_rows(_with_entries(tree, maps)), tree.columns)
    keys = tuple(n for n in tree.names if n != WEIGHT)
    total = Aggregate(tree, keys, ((WEIGHT_COLUMN, exp.Sum(this=ref(WEIGHT))),))
    return Filter(total, exp.NEQ(this=ref(WEIGHT), expression=exp.Literal.number(0)))


def _with_entries(tree: Node, maps: Sequence[Column]) -> Node:
    """Maps as their entries, in order.

    Two maps are the same only if their order is; Spark sorts a map by which it groups, and fails on
    a NULL in it.
    """
    entries = {m.name: exp.Anonymous(this="map_entries", expressions=[m.ref]) for m in maps}
    items = [
        (_entries_of(c), entries[c.name]) if c.name in entries else (c, c.ref) for c in tree.columns
    ]
    return Project(tree, tuple(items))


def _with_maps(tree: Node, columns: Sequence[Column]) -> Node:
    """The columns as they were before `_with_entries`."""
    items = []
    for column in columns:
        value: exp.Expr = column.ref
        if _is_map(column):
            entries = ref(_entries_of(column).name)
            value = exp.Anonymous(this="map_from_entries", expressions=[entries])
        items.append((column, value))
    return Project(tree, tuple(items))


def _is_map(column: Column) -> bool:
    return (column.type or "").startswith("map<")


def _entries_of(column: Column) -> Column:
    key, value = element_types(column.type)
    return Column(f"__hw_entries_{column.name}", f"array<struct<key:{key},value:{value}>>")


def settled(delta: Delta) -> Delta:
    """The delta as a non-linear operator should read it.

    Rewritten files repeat unchanged rows as a pair that cancels out. Every rule would be right
    with them; netting keeps them from dragging snapshots in. Rows that only appear have no pairs.
    """
    if delta.netted or delta.inserts_only or delta.compact:
        return delta
    return Delta(net_rows(delta.tree), netted=True)


def renamed(tree: Node, names: Mapping[str, str]) -> Node:
    """The columns named by the mapping's keys, under the names it gives them."""
    types = {c.name: c.type for c in tree.columns}
    items = tuple((Column(new, types[old]), ref(old)) for old, new in names.items())
    return Project(tree, items)
