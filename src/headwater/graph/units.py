"""Units: what one worker runs as a whole. Every stream table is in exactly one.

Built from the dependency graph in steps: circles, then diamonds whose members are all atomic,
declared groups, and immediate tables with the tables they read are put together; units that would
wait for each other are merged; chains of what is left are fused. A frozen value, built aside and
swapped in.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass, field
from enum import StrEnum
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

from headwater.graph.circles import circles
from headwater.graph.diamonds import diamonds

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from headwater.core.names import TableName
    from headwater.graph.dependencies import Graph


class UnitKind(StrEnum):
    """What a worker runs as a whole."""

    SINGLETON = "singleton"
    ATOMIC_GROUP = "atomic_group"
    REFRESH_GROUP = "refresh_group"
    IMMEDIATE_CLOSURE = "immediate_closure"
    CYCLIC_SCC = "cyclic_scc"
    FUSED_CHAIN = "fused_chain"


_STRENGTH = (
    UnitKind.CYCLIC_SCC,
    UnitKind.IMMEDIATE_CLOSURE,
    UnitKind.ATOMIC_GROUP,
    UnitKind.REFRESH_GROUP,
)
"""Which kind a merged unit has: the first of these that one of its parts has."""


@dataclass(frozen=True, slots=True)
class UnitTraits:
    """What of a stream table decides its unit."""

    atomic: bool = True
    immediate: bool = False
    calculated: bool = True


@dataclass(frozen=True, slots=True)
class Unit:
    """Stream tables that one worker runs, in dependency order."""

    kind: UnitKind
    members: tuple[TableName, ...]
    key: str

    @classmethod
    def of(cls, kind: UnitKind, members: tuple[TableName, ...]) -> Unit:
        """A unit with its key: the same for the same members, whatever else changes."""
        first = min(members)
        if len(members) == 1:
            return cls(kind, members, f"{kind.value}:{first}")
        digest = hashlib.sha256("\n".join(sorted(map(str, members))).encode()).hexdigest()[:16]
        return cls(kind, members, f"{kind.value}:{first}+{len(members) - 1}:{digest}")


@dataclass(frozen=True, slots=True)
class UnitGraph:
    """The units and which of them reads which.

    Attributes:
        units: upstream first; equal ranks by their first member.
        of_table: the unit of each stream table.
        upstream: unit key → keys of the units it reads directly.
        downstream: unit key → keys of the units that read it directly.
        by_key: the units by their keys.
        position: unit key → its place in `units`.
    """

    units: tuple[Unit, ...] = ()
    of_table: Mapping[TableName, Unit] = field(default_factory=dict)
    upstream: Mapping[str, frozenset[str]] = field(default_factory=dict)
    downstream: Mapping[str, frozenset[str]] = field(default_factory=dict)
    by_key: Mapping[str, Unit] = field(default_factory=dict)
    position: Mapping[str, int] = field(default_factory=dict)


def build_units(
    graph: Graph,
    traits: Mapping[TableName, UnitTraits],
    groups: Mapping[str, Collection[TableName]] | None = None,
) -> UnitGraph:
    """Put every stream table of a graph into one unit.

    Args:
        graph: what reads what.
        traits: of each stream table; what is missing counts as the default.
        groups: declared refresh groups; names that are no stream tables are ignored.
    """
    parts = _Parts(graph, traits)
    for circle in graph.circles:
        parts.join(parts.places(circle), UnitKind.CYCLIC_SCC)
    for diamond in diamonds(graph):
        if all(traits.get(m, USUAL).atomic for m in diamond.members):
            parts.join(parts.places(diamond.members), UnitKind.ATOMIC_GROUP)
    for members in (groups or {}).values():
        known = parts.places(members)
        if len(known) > 1:
            parts.join(known, UnitKind.REFRESH_GROUP)
    for place, reads in parts.reads.items():
        if parts.traits[place].immediate:
            parts.join([place, *reads], UnitKind.IMMEDIATE_CLOSURE)
    parts.merge_circles()
    parts.fuse()
    return parts.finished()


USUAL = UnitTraits()


class _Parts:
    """Units while they are put together: a root for each, tables by their place in the order.

    Places are numbers: hashing names would take most of the time.
    """

    def __init__(self, graph: Graph, traits: Mapping[TableName, UnitTraits]) -> None:
        self._order = graph.order
        self._place = {name: place for place, name in enumerate(graph.order)}
        self.traits = [traits.get(name, USUAL) for name in graph.order]
        self.reads = {
            place: tuple(self._place[s] for s in graph.sources[name] if s in self._place)
            for place, name in enumerate(graph.order)
        }
        self._root = list(range(len(graph.order)))
        self._kinds: dict[int, set[UnitKind]] = defaultdict(set)

    def places(self, names: Iterable[TableName]) -> list[int]:
        """Where these stream tables are; others are left out."""
        return [self._place[name] for name in names if name in self._place]

    def join(self, members: Iterable[int], kind: UnitKind) -> None:
        """Put tables together, with the units they are in."""
        first, *rest = members
        root = self._find(first)
        self._kinds[root].add(kind)
        for member in rest:
            other = self._find(member)
            if other != root:
                self._root[other] = root
                self._kinds[root] |= self._kinds.pop(other, set())

    def merge_circles(self) -> None:
        """Units that wait for each other can only run together; single tables never do."""
        while self._kinds:
            found = circles(self._arrows())
            if not found:
                return
            for circle in found:
                kinds = {k for root in circle for k in self._kinds[root]}
                self.join(circle, _strongest(kinds) or UnitKind.REFRESH_GROUP)

    def fuse(self) -> None:
        """Put chains of calculated tables together, where each has one reader and one upstream."""
        above = self._arrows()
        readers: dict[int, int] = defaultdict(int)
        for reads in above.values():
            for read in reads:
                readers[read] += 1
        links = {r for r in above if self.traits[r].calculated and not self._kinds.get(r)}
        for root in range(len(self._order)):
            if root in links and len(above[root]) == 1:
                (upper,) = above[root]
                if upper in links and readers[upper] == 1:
                    top = self._find(upper)
                    self._root[self._find(root)] = top
                    self._kinds[top].add(UnitKind.FUSED_CHAIN)

    def finished(self) -> UnitGraph:
        members: dict[int, list[TableName]] = defaultdict(list)
        for place, name in enumerate(self._order):
            members[self._find(place)].append(name)
        made = {
            root: Unit.of(_kind(self._kinds.get(root, set())), tuple(names))
            for root, names in members.items()
        }
        arrows = self._arrows()
        upstream = {u.key: frozenset(made[r].key for r in arrows[root]) for root, u in made.items()}
        downstream: dict[str, set[str]] = {key: set() for key in upstream}
        for key, reads in upstream.items():
            for read in reads:
                downstream[read].add(key)
        ordered = _ordered(made.values(), upstream)
        return UnitGraph(
            units=ordered,
            of_table={name: unit for unit in made.values() for name in unit.members},
            upstream=upstream,
            downstream={key: frozenset(readers) for key, readers in downstream.items()},
            by_key={unit.key: unit for unit in ordered},
            position={unit.key: i for i, unit in enumerate(ordered)},
        )

    def _find(self, place: int) -> int:
        root = self._root
        while root[place] != place:
            root[place] = root[root[place]]
            place = root[place]
        return place

    def _arrows(self) -> dict[int, frozenset[int]]:
        """Root → roots it reads."""
        arrows: dict[int, set[int]] = {}
        for place, reads in self.reads.items():
            root = self._find(place)
            found = arrows.setdefault(root, set())
            found.update(self._find(s) for s in reads)
            found.discard(root)
        return {root: frozenset(reads) for root, reads in arrows.items()}


def _strongest(kinds: set[UnitKind]) -> UnitKind | None:
    return next((kind for kind in _STRENGTH if kind in kinds), None)


def _kind(kinds: set[UnitKind]) -> UnitKind:
    if UnitKind.FUSED_CHAIN in kinds:
        return UnitKind.FUSED_CHAIN
    return _strongest(kinds) or UnitKind.SINGLETON


def _ordered(units: Iterable[Unit], upstream: Mapping[str, frozenset[str]]) -> tuple[Unit, ...]:
    by_key = {unit.key: unit for unit in units}
    sorter: TopologicalSorter[str] = TopologicalSorter(upstream)
    sorter.prepare()
    ordered: list[Unit] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready(), key=lambda key: by_key[key].members)
        ordered.extend(by_key[key] for key in ready)
        sorter.done(*ready)
    return tuple(ordered)
