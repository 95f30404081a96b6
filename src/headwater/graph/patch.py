"""A graph and its units after a few stream tables changed, without building all of it again.

What is refreshed as a whole depends only on stream tables that are connected: through what they
read of each other, or through a declared group. So the connected parts that a change touches are
built anew, and all others are taken over; of a part whose outermost tables change, only the
chains next to them. The values are the same as after a full build, but for the order of units that
do not read each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.graph.dependencies import Graph
from headwater.graph.outermost import patched_outermost
from headwater.graph.units import UnitGraph, build_units

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from headwater.core.names import TableName
    from headwater.graph.units import UnitTraits


def patched(
    graph: Graph,
    units: UnitGraph,
    changed: Mapping[TableName, frozenset[TableName] | None],
    traits: Mapping[TableName, UnitTraits],
    groups: Mapping[str, Collection[TableName]],
) -> tuple[Graph, UnitGraph]:
    """Graph and units in which some stream tables are changed.

    Args:
        graph: as it was.
        units: as they were, with the same groups.
        changed: what each changed or new stream table reads now; None for one that is gone.
        traits: of every stream table.
        groups: declared refresh groups.
    """
    near = patched_outermost(graph, units, changed, traits, groups)
    if near is not None:
        return near
    touched = _connected(graph, changed, groups)
    reads = {
        name: changed[name] if name in changed else graph.sources[name]
        for name in touched
        if name in changed or name in graph.sources
    }
    part = Graph.build({n: r for n, r in reads.items() if r is not None}, circular=True)
    inside = {
        name: [m for m in members if m in part.sources]
        for name, members in groups.items()
        if not touched.isdisjoint(members)
    }
    return _with_part(graph, part, touched), _with_units(
        units, build_units(part, traits, inside), touched
    )


def _connected(
    graph: Graph,
    changed: Mapping[TableName, frozenset[TableName] | None],
    groups: Mapping[str, Collection[TableName]],
) -> set[TableName]:
    """The stream tables whose units may be others now, those that are gone included."""
    together: dict[TableName, set[TableName]] = {}
    for members in groups.values():
        for member in members:
            together.setdefault(member, set()).update(members)
    seen, todo = set(changed), list(changed)
    while todo:
        name = todo.pop()
        near = {*(changed.get(name) or ()), *graph.sources.get(name, ()), *together.get(name, ())}
        tables = {n for n in near if n in graph.sources or n in changed}
        fresh = (tables | graph.consumers.get(name, frozenset())) - seen
        seen |= fresh
        todo.extend(fresh)
    return seen


def _with_part(graph: Graph, part: Graph, touched: set[TableName]) -> Graph:
    sources, consumers = dict(graph.sources), dict(graph.consumers)
    old = {s for name in touched for s in sources.pop(name, ())}
    sources.update(part.sources)
    for source in old | part.consumers.keys():
        readers = (consumers.get(source, frozenset()) - touched) | part.consumers.get(
            source, frozenset()
        )
        if readers:
            consumers[source] = readers
        else:
            consumers.pop(source, None)
    order = tuple(name for name in graph.order if name not in touched)
    circles = tuple(c for c in graph.circles if c.isdisjoint(touched))
    return Graph(sources, order + part.order, consumers, circles + part.circles)


def _with_units(units: UnitGraph, part: UnitGraph, touched: set[TableName]) -> UnitGraph:
    of_table = dict(units.of_table)
    gone = {unit.key for unit in (of_table.pop(name, None) for name in touched) if unit is not None}
    of_table.update(part.of_table)
    kept = tuple(unit for unit in units.units if unit.key not in gone)
    upstream, downstream = dict(units.upstream), dict(units.downstream)
    by_key = dict(units.by_key)
    for key in gone:
        del upstream[key], downstream[key], by_key[key]
    upstream.update(part.upstream)
    downstream.update(part.downstream)
    by_key.update(part.by_key)
    ordered = kept + part.units
    position = {unit.key: place for place, unit in enumerate(ordered)}
    return UnitGraph(ordered, of_table, upstream, downstream, by_key, position)
