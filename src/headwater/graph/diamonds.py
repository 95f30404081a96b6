"""Diamonds: stream tables whose arms meet again above a table they share.

A table above two arms must read both at one version of what they share, so the arms and the table
where they meet belong together. Pure: works on the dependency graph alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from headwater.core.names import TableName
    from headwater.graph.dependencies import Graph


@dataclass(frozen=True, slots=True)
class Diamond:
    """Arms that meet.

    Attributes:
        top: the stream table where the arms meet.
        shared: the tables below, base tables or stream tables, that more than one arm reads.
        members: the arms above the shared tables, and the top; in dependency order.
    """

    top: TableName
    shared: frozenset[TableName]
    members: tuple[TableName, ...]


def diamonds(graph: Graph) -> tuple[Diamond, ...]:
    """Every diamond of a graph, by its top, in dependency order.

    An arm is what the top reads together with all below it. Two arms of which one is a base table
    make a diamond too: a top that reads `orders` and a sum of `orders`. What is below a table is a
    set of bits, so that thousands of tables in a row stay cheap. A circle is no diamond; everything
    below one of its members is below all of them.
    """
    names = [*sorted(graph.base_tables), *graph.order]
    bit = {name: 1 << i for i, name in enumerate(names)}
    below: dict[TableName, int] = dict.fromkeys(graph.base_tables, 0)
    found = []
    for top in graph.order:
        if top in below:
            continue
        circle = graph.circle_of(top)
        if circle:
            outside = {arm for name in circle for arm in graph.sources[name]} - circle
            all_below = 0
            for table in outside:
                all_below |= below[table] | bit[table]
            for name in circle:
                all_below |= bit[name]
            below |= dict.fromkeys(circle, all_below)
            continue
        seen = shared = 0
        for arm in graph.sources[top]:
            closure = below[arm] | bit[arm]
            shared |= seen & closure
            seen |= closure
        below[top] = seen
        if shared:
            members = _between(graph, top, shared, below, bit)
            if len(members) > 1:
                ordered = tuple(sorted(members, key=bit.__getitem__))
                found.append(Diamond(top, frozenset(_named(shared, names)), ordered))
    return tuple(found)


def _named(bits: int, names: Sequence[TableName]) -> Iterator[TableName]:
    while bits:
        lowest = bits & -bits
        yield names[lowest.bit_length() - 1]
        bits ^= lowest


def _between(
    graph: Graph,
    top: TableName,
    shared: int,
    below: Mapping[TableName, int],
    bit: Mapping[TableName, int],
) -> set[TableName]:
    """The stream tables between the top and what its arms share, with the top."""
    members, todo = {top}, [top]
    while todo:
        for source in graph.sources[todo.pop()]:
            is_arm = below[source] & shared and not bit[source] & shared
            if is_arm and source not in members:
                members.add(source)
                todo.append(source)
    return members
