"""The dependency graph of stream tables: order, closures, cycles. A frozen value, built aside."""

from __future__ import annotations

import heapq
from collections import defaultdict
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

from headwater.core.errors import DependencyCycle
from headwater.graph.circles import circles

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from headwater.core.names import TableName


@dataclass(frozen=True, slots=True)
class Graph:
    """Stream tables and what they read.

    Attributes:
        sources: stream table → every table it reads, base tables included.
        order: the stream tables, each after those it reads; equal ranks by name.
        consumers: table (base tables included) → the stream tables that read it.
        circles: stream tables that read each other in a circle; they stand together in the order.
    """

    sources: Mapping[TableName, frozenset[TableName]]
    order: tuple[TableName, ...]
    consumers: Mapping[TableName, frozenset[TableName]] = field(repr=False)
    circles: tuple[frozenset[TableName], ...] = ()

    @classmethod
    def build(
        cls, reads: Mapping[TableName, Iterable[TableName]], *, circular: bool = False
    ) -> Graph:
        """Make a graph from stream table → tables it reads.

        Args:
            reads: every stream table.
            circular: whether circles are allowed.

        Raises:
            DependencyCycle: stream tables read each other in a circle; the message names it.
        """
        sources = {name: frozenset(read) for name, read in reads.items()}
        consumers: dict[TableName, set[TableName]] = defaultdict(set)
        for name, read in sources.items():
            for source in read:
                consumers[source].add(name)
        read_by = {k: frozenset(v) for k, v in consumers.items()}
        found = tuple(frozenset(c) for c in circles(sources)) if circular else ()
        return cls(sources, _order(sources, found), read_by, found)

    @property
    def base_tables(self) -> frozenset[TableName]:
        """Tables that are read and are no stream tables."""
        return frozenset(self.consumers.keys() - self.sources.keys())

    def upstream(self, names: Iterable[TableName]) -> frozenset[TableName]:
        """Every stream table that the given ones read, directly or not; not themselves."""
        start = frozenset(names)
        reached = _reach(start, self.sources)
        return frozenset(name for name in reached - start if name in self.sources)

    def downstream(self, names: Iterable[TableName]) -> frozenset[TableName]:
        """Every stream table that reads one of the given tables, directly or not."""
        start = frozenset(names)
        return _reach(start, self.consumers) - start

    def base_of(self, *names: TableName) -> frozenset[TableName]:
        """The base tables below some stream tables."""
        return _reach(frozenset(names), self.sources) - self.sources.keys()

    def levels(self) -> tuple[tuple[TableName, ...], ...]:
        """The stream tables by depth: a level reads only base tables and earlier levels."""
        depth: dict[TableName, int] = {}
        for name in self.order:
            depth[name] = 1 + max((depth[s] for s in self.sources[name] if s in depth), default=-1)
        grouped: list[list[TableName]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
        for name in self.order:
            grouped[depth[name]].append(name)
        return tuple(tuple(level) for level in grouped)

    def circle_of(self, name: TableName) -> frozenset[TableName]:
        """The stream tables that read each other with this one, itself included; or none."""
        return next((circle for circle in self.circles if name in circle), frozenset())

    def with_table(
        self, name: TableName, reads: Iterable[TableName], *, circular: bool = False
    ) -> Graph:
        """A new graph in which `name` reads the given tables: tells a circle before it exists.

        A circle that is there already was allowed; whether it may grow is asked again.
        """
        wider = Graph.build({**self.sources, name: frozenset(reads)}, circular=True)
        if not circular and wider.circle_of(name):
            return Graph.build({**self.sources, name: frozenset(reads)})
        return wider


def _reach(
    start: frozenset[TableName], arrows: Mapping[TableName, frozenset[TableName]]
) -> frozenset[TableName]:
    seen = set(start)
    todo = list(start)
    while todo:
        fresh = arrows.get(todo.pop(), frozenset()) - seen
        seen |= fresh
        todo.extend(fresh)
    return frozenset(seen)


def _order(
    sources: Mapping[TableName, frozenset[TableName]], circles: Iterable[frozenset[TableName]]
) -> tuple[TableName, ...]:
    """Upstream first; a circle counts as one, in the place of its first member."""
    first = {name: min(circle) for circle in circles for name in circle}
    arrows: dict[TableName, set[TableName]] = {}
    for name, read in sources.items():
        found = arrows.setdefault(first.get(name, name), set())
        found |= {first.get(s, s) for s in read if s in sources}
        if name in first:
            found.discard(first[name])
    members: dict[TableName, list[TableName]] = defaultdict(list)
    for name, lead in first.items():
        members[lead].append(name)
    ordered: list[TableName] = []
    for name in _sorted(arrows):
        ordered += sorted(members[name]) if name in first else [name]
    return tuple(ordered)


def _sorted(arrows: Mapping[TableName, Iterable[TableName]]) -> Iterator[TableName]:
    sorter: TopologicalSorter[TableName] = TopologicalSorter(arrows)
    try:
        sorter.prepare()
    except CycleError as error:
        # graphlib lists each table before the one that reads it; people read "a reads b".
        circle = " reads ".join(str(name) for name in reversed(error.args[1]))
        raise DependencyCycle(
            f"stream tables would read each other in a circle: {circle}",
            hint="take one of these tables out of the query of another",
        ) from None
    ready: list[TableName] = []
    while sorter.is_active():
        for name in sorter.get_ready():
            heapq.heappush(ready, name)
        first = heapq.heappop(ready)
        yield first
        sorter.done(first)
