"""A graph and its units after a change of outermost stream tables: those that no other reads.

Such a change puts nothing together but chains, and whether two tables are links of one chain is
seen from them alone:

    linked(t)  ⇔  t reads one stream table u,  t alone reads u,  both are free

where a table is free if its schedule is calculated and no circle, diamond, group or immediate
table holds it. So only the chains next to a change are built anew, however large the graph is.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headwater.graph.dependencies import Graph
from headwater.graph.units import USUAL, Unit, UnitGraph, UnitKind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from headwater.core.names import TableName
    from headwater.graph.units import UnitTraits

    Changed = Mapping[TableName, frozenset[TableName] | None]

_CHAINED = (UnitKind.SINGLETON, UnitKind.FUSED_CHAIN)


def patched_outermost(
    graph: Graph,
    units: UnitGraph,
    changed: Changed,
    traits: Mapping[TableName, UnitTraits],
    groups: Mapping[str, Collection[TableName]],
) -> tuple[Graph, UnitGraph] | None:
    """Graph and units in which some tables are changed; None if more than chains may change."""
    if _held(graph, units, changed, traits, groups):
        return None
    wider = _graph(graph, changed)
    if wider is None or any(_meets(wider, name) for name, reads in changed.items() if reads):
        return None
    return wider, _Chains(graph, wider, units, changed, traits).patched()


def _held(
    graph: Graph,
    units: UnitGraph,
    changed: Changed,
    traits: Mapping[TableName, UnitTraits],
    groups: Mapping[str, Collection[TableName]],
) -> bool:
    """Whether a changed table is read by another, or is or was held by more than a chain."""
    if any(member in changed for members in groups.values() for member in members):
        return True
    for name, reads in changed.items():
        unit = units.of_table.get(name)
        if unit is not None and unit.kind not in _CHAINED:
            return True
        if reads is not None and traits.get(name, USUAL).immediate:
            return True
        if not graph.consumers.get(name, frozenset()) <= changed.keys():
            return True
    return False


def _graph(graph: Graph, changed: Changed) -> Graph | None:
    """The graph with its changed tables last; None if they read each other in a circle."""
    here = {name: reads for name, reads in changed.items() if reads is not None}
    part = Graph.build(here, circular=True)
    if part.circles:
        return None
    sources, consumers = dict(graph.sources), dict(graph.consumers)
    for name in changed:
        for source in sources.pop(name, ()):
            consumers[source] -= {name}
    for name, reads in part.sources.items():
        sources[name] = reads
        for source in reads:
            consumers[source] = consumers.get(source, frozenset()) | {name}
    for source in {s for name in changed for s in graph.sources.get(name, ())}:
        if not consumers[source]:
            del consumers[source]
    order = tuple(name for name in graph.order if name not in changed) + part.order
    return Graph(sources, order, consumers, graph.circles)


def _meets(graph: Graph, top: TableName) -> bool:
    """Whether two of the arms of a table share something below."""
    arms = graph.sources[top]
    if len(arms) == 1:
        return False
    seen: set[TableName] = set()
    for arm in arms:
        closure = {arm, *graph.upstream([arm]), *graph.base_of(arm)}
        if not seen.isdisjoint(closure):
            return True
        seen |= closure
    return False


@dataclass(frozen=True, slots=True)
class _Chains:
    """The chains next to changed tables, before and after."""

    before: Graph
    graph: Graph
    units: UnitGraph
    changed: Changed
    traits: Mapping[TableName, UnitTraits]

    def patched(self) -> UnitGraph:
        near = self._near()
        made = self._built(near)
        of_table = dict(self.units.of_table)
        gone = {of_table.pop(name).key for name in near if name in of_table}
        of_table.update({name: unit for unit in made for name in unit.members})
        ordered = self._ordered(made, gone)
        by_key = {unit.key: unit for unit in ordered}
        upstream, downstream = dict(self.units.upstream), dict(self.units.downstream)
        beside = {key for old in gone for key in (*upstream.pop(old), *downstream.pop(old))}
        for unit in made:
            beside |= _upstream(unit, self.graph, of_table) | {unit.key}
        for key in beside & by_key.keys():
            upstream[key] = _upstream(by_key[key], self.graph, of_table)
            downstream[key] = _downstream(by_key[key], self.graph, of_table)
        position = {unit.key: place for place, unit in enumerate(ordered)}
        return UnitGraph(ordered, of_table, upstream, downstream, by_key, position)

    def _near(self) -> set[TableName]:
        """The changed tables, those they read or read before, and what is chained with them."""
        uppers = {
            source
            for name in self.changed
            for graph in (self.before, self.graph)
            for source in graph.sources.get(name, ())
            if source in graph.sources
        }
        near = {*self.changed, *uppers}
        for upper in uppers:
            readers = self.graph.consumers.get(upper, frozenset())
            if len(readers) == 1:
                near |= readers
        chained = {name for name in near if self._is_chained(name)}
        known = [self.units.of_table[name] for name in chained if name in self.units.of_table]
        return chained.union(*(unit.members for unit in known))

    def _built(self, near: set[TableName]) -> list[Unit]:
        """The units of these tables, each a table or a chain of them."""
        known = [name for name in near if name in self.graph.sources]
        linked = {name: upper for name in known if (upper := self._linked(name)) is not None}
        reader = {upper: name for name, upper in linked.items()}
        made = []
        for name in known:
            if name not in linked:
                chain = [name]
                while chain[-1] in reader:
                    chain.append(reader[chain[-1]])
                kind = UnitKind.FUSED_CHAIN if len(chain) > 1 else UnitKind.SINGLETON
                made.append(Unit.of(kind, tuple(chain)))
        return made

    def _linked(self, name: TableName) -> TableName | None:
        """The table below it in its chain."""
        uppers = [source for source in self.graph.sources[name] if source in self.graph.sources]
        if len(uppers) != 1 or not self._is_free(name) or not self._is_free(uppers[0]):
            return None
        return uppers[0] if self.graph.consumers[uppers[0]] == {name} else None

    def _is_free(self, name: TableName) -> bool:
        return self.traits.get(name, USUAL).calculated and self._is_chained(name)

    def _is_chained(self, name: TableName) -> bool:
        unit = self.units.of_table.get(name)
        return unit is None or unit.kind in _CHAINED

    def _ordered(self, made: Iterable[Unit], gone: set[str]) -> tuple[Unit, ...]:
        """Every unit after those it reads: a chain in the place that its last table had.

        Nothing but the chain reads its other tables, and nothing but changed tables reads those.
        """
        by_last = {unit.members[-1]: unit for unit in made}
        at: dict[str, list[Unit]] = defaultdict(list)
        for last in (name for name in self.graph.order if name in by_last):
            before = "" if last in self.changed else self.units.of_table[last].key
            at[before].append(by_last[last])
        ordered: list[Unit] = []
        for unit in self.units.units:
            ordered += at[unit.key] if unit.key in gone else [unit]
        return tuple(ordered + at[""])


def _upstream(unit: Unit, graph: Graph, of_table: Mapping[TableName, Unit]) -> frozenset[str]:
    read = {source for name in unit.members for source in graph.sources[name]}
    return frozenset(of_table[name].key for name in read if name in of_table) - {unit.key}


def _downstream(unit: Unit, graph: Graph, of_table: Mapping[TableName, Unit]) -> frozenset[str]:
    readers = {r for name in unit.members for r in graph.consumers.get(name, ())}
    return frozenset(of_table[name].key for name in readers) - {unit.key}
