"""The ready queue: which unit starts next. A state machine without effects.

A unit waits only for units it reads that were queued before it or with it, and that are not done.
Units of an earlier tick go first, so that nothing waits for ever; within a tick closures, then
groups and chains, then single tables, hot before cold.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headwater.core.spec import Tier
from headwater.graph.units import UnitKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headwater.core.names import TableName
    from headwater.graph.dependencies import Graph
    from headwater.graph.units import UnitGraph
    from headwater.scheduler.tick_state import UnitRun

_KINDS = {
    UnitKind.IMMEDIATE_CLOSURE: 0,
    UnitKind.ATOMIC_GROUP: 1,
    UnitKind.REFRESH_GROUP: 1,
    UnitKind.FUSED_CHAIN: 1,
    UnitKind.SINGLETON: 2,
    UnitKind.CYCLIC_SCC: 3,
}
_TIERS = {Tier.HOT: 0, Tier.WARM: 1, Tier.COLD: 2, Tier.FROZEN: 3}


@dataclass(frozen=True, slots=True)
class Entry:
    """A unit that is queued or running.

    Attributes:
        turn: the tick that queued it; it keeps its turn when a later tick asks again.
        tick: the tick whose pinned versions it reads.
        place: where the unit is in the order of the graph.
        reads: stream tables outside the unit that its members read. Tables, not units: a unit that
            runs while definitions change may be another one in the new graph.
    """

    run: UnitRun
    turn: int
    tick: int
    place: int
    reads: frozenset[TableName]

    @property
    def key(self) -> str:
        """The key of the unit."""
        return self.run.unit.key

    @property
    def rank(self) -> tuple[int, int, int, int, str]:
        """The smallest goes first; two places are alike when definitions changed between them."""
        kind = _KINDS[self.run.unit.kind]
        tier = 0 if kind == 0 else _TIERS[self.run.tier]
        return self.turn, kind, tier, self.place, self.key


@dataclass
class ReadyQueue:
    """What is queued and what runs."""

    queued: dict[str, Entry] = field(default_factory=dict)
    running: dict[str, Entry] = field(default_factory=dict)

    @property
    def busy(self) -> frozenset[TableName]:
        """The members of the units that run."""
        return frozenset(m for e in self.running.values() for m in e.run.unit.members)

    @property
    def members(self) -> frozenset[TableName]:
        """The tables that are refreshed, or wait for it."""
        return frozenset(
            m for e in (*self.queued.values(), *self.running.values()) for m in e.run.members
        )

    def add(self, runs: Iterable[UnitRun], graph: Graph, units: UnitGraph, tick: int) -> None:
        """Queue the units of a tick; one that waits already keeps its turn, with newer versions."""
        for run in runs:
            key = run.unit.key
            if key in self.running:
                continue
            earlier = self.queued.get(key)
            turn = earlier.turn if earlier is not None else tick
            read = frozenset(s for m in run.members for s in graph.sources[m])
            reads = (read & graph.sources.keys()) - frozenset(run.unit.members)
            self.queued[key] = Entry(run, turn, tick, units.position[key], reads)

    def ready(self) -> list[Entry]:
        """The units that may start now, the most urgent first."""
        turns = self._turns()
        free = [
            entry
            for entry in self.queued.values()
            if all(turns.get(name, entry.turn + 1) > entry.turn for name in entry.reads)
        ]
        return sorted(free, key=lambda entry: entry.rank)

    def order(self) -> list[Entry]:
        """What waits, in the order in which it starts if one unit runs at a time and none fails."""
        of_table = {name: e for e in self.queued.values() for name in e.run.members}
        waits: dict[str, set[str]] = {}
        readers: dict[str, list[Entry]] = {}
        for entry in self.queued.values():
            read = [of_table[name] for name in entry.reads if name in of_table]
            waits[entry.key] = {e.key for e in read if e.turn <= entry.turn}
            for key in waits[entry.key]:
                readers.setdefault(key, []).append(entry)
        heap = [e.rank for e in self.queued.values() if not waits[e.key]]
        heapq.heapify(heap)
        found = []
        while heap:
            *_, key = heapq.heappop(heap)
            found.append(self.queued[key])
            for reader in readers.get(key, ()):
                waits[reader.key].discard(key)
                if not waits[reader.key]:
                    heapq.heappush(heap, reader.rank)
        return found

    def start(self, most: int) -> list[Entry]:
        """Take up to so many units that are ready, the most urgent first; they run now."""
        if most <= 0 or not self.queued:
            return []
        chosen = self.ready()[:most]
        for entry in chosen:
            self.running[entry.key] = self.queued.pop(entry.key)
        return chosen

    def back(self, key: str) -> None:
        """A unit that was to run could not start: it waits again."""
        self.queued[key] = self.running.pop(key)

    def succeeded(self, key: str) -> None:
        """A unit is done: what waits for it may go on."""
        self.running.pop(key, None)

    def failed(self, key: str) -> list[Entry]:
        """A unit failed: what waits for it is taken back, and returned, nearest first."""
        failed = self.running.pop(key, None)
        if failed is None:
            return []
        taken: list[Entry] = []
        lost = dict.fromkeys(failed.run.members, failed.turn)
        while True:
            more = [
                e
                for e in self.queued.values()
                if any(lost.get(name, e.turn + 1) <= e.turn for name in e.reads)
            ]
            if not more:
                return taken
            for entry in sorted(more, key=lambda e: e.rank):
                taken.append(self.queued.pop(entry.key))
                lost |= dict.fromkeys(entry.run.members, entry.turn)

    def keep(self, units: UnitGraph) -> None:
        """Forget units that are queued and gone from the graph."""
        for key in [key for key in self.queued if key not in units.by_key]:
            del self.queued[key]

    def _turns(self) -> dict[TableName, int]:
        """The turn of each table that will be refreshed or is being refreshed."""
        entries = (*self.queued.values(), *self.running.values())
        return {name: entry.turn for entry in entries for name in entry.run.members}
