"""What a coordinator knows of each stream table between ticks.

Rows are read again only when the generation of the hub moved, and then only those that changed.
The graph and its units are built aside, anew only where something changed, and swapped in as one
value. A tick in which nothing moved reads no row and touches no table.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from headwater.catalog.schedule_states import FuseState, ScheduleState
from headwater.core.schedule import CALCULATED, Schedule, parse_schedule
from headwater.core.spec import RefreshMode
from headwater.graph.dependencies import Graph
from headwater.graph.patch import patched
from headwater.graph.units import UnitGraph, UnitTraits, build_units
from headwater.scheduler.tick import is_quiet
from headwater.scheduler.tick_due import appointment
from headwater.scheduler.tick_state import Limits, TableState, TickState

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from datetime import datetime

    from headwater.catalog.outlines import Outline
    from headwater.catalog.store import Store
    from headwater.core.names import TableName
    from headwater.scheduler.watch import Watch


@dataclass(frozen=True, slots=True)
class Shape:
    """Everything that only a change of definitions changes; swapped as a whole.

    Attributes:
        ids: the number of each stream table in the catalog.
    """

    generation: int
    graph: Graph
    units: UnitGraph
    gates: frozenset[TableName]
    traits: Mapping[TableName, UnitTraits]
    groups: Mapping[str, tuple[TableName, ...]]
    ids: Mapping[TableName, int]


_FEW = 50
"""Up to so many changed tables the graph is patched, however small it is."""

NO_TABLES = Shape(-1, Graph.build({}), UnitGraph(), frozenset(), {}, {}, {})
"""The shape of a hub before anything is read."""


class Ledger:
    """The stream tables of one hub.

    Attributes:
        tables: each as the next tick will see it.
        outlines: each as the catalog has it.
        awake: tables that the next tick must look at.
        saved: the choices that are stored, as code and reason.
        previous: when the last tick looked.
        unreadable: ids of rows that the last reading had to leave out.
    """

    def __init__(self, store: Store, watch: Watch) -> None:
        self._store = store
        self._watch = watch
        self._stamps: dict[int, tuple[Any, ...]] = {}
        self._schedules: dict[str, Schedule] = {}
        self._names: dict[int, TableName] = {}
        self._fuses: dict[int, ScheduleState] = {}
        self._default_ceiling = 0
        self.shape = NO_TABLES
        self.tables: dict[TableName, TableState] = {}
        self.outlines: dict[TableName, Outline] = {}
        self._appointments: dict[TableName, datetime] = {}
        self.awake: set[TableName] = set()
        self.saved: dict[TableName, tuple[str, str]] = {}
        self.previous: datetime | None = None
        self.unreadable: frozenset[int] = frozenset()

    def reload(self, limits: Limits, default_ceiling: int) -> bool:
        """Take over what changed in the catalog; whether anything did."""
        generation = self._store.generation()
        if generation == self.shape.generation and default_ceiling == self._default_ceiling:
            return False
        self._default_ceiling = default_ceiling
        first = not self._stamps
        stamps = self._store.outlines.stamps()
        self.unreadable = frozenset()
        changed = {i for i, stamp in stamps.items() if self._stamps.get(i) != stamp}
        names = {self._forget(gone) for gone in self._stamps.keys() - stamps.keys()}
        states = self._store.schedule.all() if first else {}
        before = (self._fuses, self.shape.gates)
        self._fuses = self._store.schedule.fuses()
        touched: set[TableName] = set()
        for outline in self._store.outlines.read(changed) if changed else ():
            self._take(outline, states.get(outline.id, ScheduleState()))
            touched.add(outline.name)
        for damaged in changed - {self.outlines[name].id for name in touched}:
            names.add(self._forget(damaged))
            del stamps[damaged]  # asked for again
            self.unreadable |= {damaged}
        self._stamps = stamps
        self.shape = self._reshaped(generation, {n for n in names | touched if n is not None})
        if (self._fuses, self.shape.gates) != before:
            touched = set(self.tables)
        for name in touched:
            self._recompute(name)
        self._settle(touched, limits)
        return True

    def sources_moved(self, names: Iterable[TableName], limits: Limits) -> None:
        """Some tables may have moved: look again at what reads them, and at their own rows."""
        touched: set[TableName] = set()
        own = [self.outlines[n].id for n in names if n in self.outlines]
        if own:
            touched |= self._reread(own)
        for name in names:
            touched |= self.shape.graph.consumers.get(name, frozenset()) & self.tables.keys()
        for name in touched:
            self._recompute(name)
        self._settle(touched, limits)

    def refreshed(
        self,
        names: Collection[TableName],
        done: Collection[TableName],
        at: datetime,
        limits: Limits,
    ) -> None:
        """A refresh of these tables ended: take over their rows.

        Args:
            names: the tables.
            done: those of them that hold the versions of that tick now; the others failed.
            at: the tick whose versions they were to be refreshed to.
            limits: the settings.
        """
        known = [n for n in names if n in self.outlines]
        self._reread([self.outlines[n].id for n in known])
        for name in known:
            if name in self.tables:
                if name in done:
                    self.tables[name] = replace(self.tables[name], fresh_at=at)
                self._recompute(name)
        self._settle(known, limits)

    def change(self, name: TableName, limits: Limits, **changes: Any) -> None:
        """Change the state of one table in memory."""
        if name in self.tables:
            self.tables[name] = replace(self.tables[name], **changes)
            self._settle([name], limits)

    def state(
        self,
        limits: Limits,
        now: datetime,
        *,
        busy: frozenset[TableName],
        retries: Mapping[str, Any],
        pressure: Mapping[TableName, int],
    ) -> TickState:
        """What a tick at an instant decides from."""
        self.awake |= {name for name, at in self._appointments.items() if at <= now}
        for name in self.awake:
            table = self.tables[name]
            if table.deadline is not None and not table.moved:
                self.tables[name] = replace(table, fresh_at=self.previous)
        return TickState(
            tables=self.tables,
            graph=self.shape.graph,
            units=self.shape.units,
            limits=limits,
            awake=frozenset(self.awake),
            busy=busy,
            retries=retries,
            pressure=pressure,
            source_rows=self._source_rows(),
        )

    def _source_rows(self) -> dict[TableName, int]:
        """Rows of each base table that its slowest reader must look at."""
        rows: dict[TableName, int] = {}
        for name in self.awake:
            for source in self.tables[name].moved:
                if source not in self.outlines:
                    since = self.outlines[name].sources.get(source)
                    waiting = self._watch.pending(source, since.snapshot_id if since else None)
                    rows[source] = max(rows.get(source, 0), waiting.planned)
        return rows

    def _reread(self, ids: Collection[int]) -> set[TableName]:
        """Read the run state of some tables again."""
        if not ids:
            return set()
        found = self._store.outlines.read(ids)
        for outline in found:
            self._take(outline, None)
        return {outline.name for outline in found}

    def _take(self, outline: Outline, saved: ScheduleState | None) -> None:
        name = outline.name
        before = self.tables.get(name)
        schedule = self._schedules.setdefault(outline.schedule, parse_schedule(outline.schedule))
        fuse = self._fuses.get(outline.id, ScheduleState())
        last = outline.last_refresh_at
        if before is not None and before.last_at is not None:
            last = max(before.last_at, last) if last is not None else before.last_at
        table = before or TableState(
            name,
            sla_misses=saved.sla_misses if saved is not None else 0,
            sla_spare=saved.sla_spare if saved is not None else 0,
        )
        deadline = outline.deadline_ms
        self.tables[name] = replace(
            table,
            schedule=schedule,
            tier=outline.tier,
            status=outline.status,
            populated=outline.populated,
            needs_reinit=outline.needs_reinit,
            uses_clock=outline.uses_clock,
            waits_for_slowest=outline.waits_for_slowest,
            last_at=last if outline.populated else None,
            fresh_at=table.fresh_at or last,
            deadline=timedelta(milliseconds=deadline) if deadline is not None else None,
            fuse_ceiling=fuse.fuse_ceiling or self._default_ceiling,
        )
        self.outlines[name] = outline
        self._names[outline.id] = name
        if saved is not None and saved.decision_code is not None:
            self.saved[name] = (saved.decision_code, saved.decision_reason or "")

    def _forget(self, identifier: int) -> TableName | None:
        name = self._names.pop(identifier, None)
        if name is not None and self.outlines[name].id == identifier:
            del self.tables[name], self.outlines[name]
            self.awake.discard(name)
            self._appointments.pop(name, None)
            self.saved.pop(name, None)
        return name

    def _reshaped(self, generation: int, names: Collection[TableName]) -> Shape:
        """Graph and units after these tables changed, built aside; all anew if they are many."""
        before, groups = self.shape, self._store.groups.all()
        if groups != before.groups or len(names) > max(_FEW, len(self.outlines) // 4):
            return shape_of(self._store, self.outlines, generation)
        changed: dict[TableName, frozenset[TableName] | None] = {}
        traits = dict(before.traits)
        for name in names:
            outline = self.outlines.get(name)
            if outline is None:
                changed[name] = None
                traits.pop(name, None)
                continue
            reads, own = frozenset(outline.reads), traits_of(outline)
            if (before.graph.sources.get(name), before.traits.get(name)) != (reads, own):
                changed[name], traits[name] = reads, own
        graph, units = before.graph, before.units
        if changed:
            graph, units = patched(graph, units, changed, traits, groups)
        ids = {name: outline.id for name, outline in self.outlines.items()}
        return Shape(generation, graph, units, self._store.gates.all(), traits, groups, ids)

    def _recompute(self, name: TableName) -> None:
        """What moved below a table, and what holds it."""
        table, outline = self.tables[name], self.outlines[name]
        moved, rows = [], 0
        for source in outline.reads:
            known, newest = outline.sources.get(source), self._watch.version(source)
            if newest != known:  # also one that is gone: the refresh tells what is wrong with it
                moved.append(source)
                if source not in self.outlines:
                    waiting = self._watch.pending(source, known.snapshot_id if known else None)
                    rows += waiting.certain
        fuse = self._fuses.get(outline.id, ScheduleState())
        gates = self.shape.gates
        graph = self.shape.graph
        below = graph.base_of(name) | graph.upstream([name]) if gates else frozenset()
        gated = tuple(sorted(below & gates))
        behind = bool(moved) and not table.moved
        self.tables[name] = replace(
            table,
            moved=tuple(moved),
            pending_rows=rows if outline.populated else 0,
            gated=gated,
            fresh_at=self.previous or table.fresh_at if behind else table.fresh_at,
            fuse_ceiling=fuse.fuse_ceiling or self._default_ceiling,
            fuse_blown=fuse.fuse_reason if fuse.fuse_state is FuseState.BLOWN else None,
            fuse_passes=fuse.fuse_state is FuseState.PASSES,
        )

    def _settle(self, names: Iterable[TableName], limits: Limits) -> None:
        """Which of these tables the next tick must look at."""
        asleep = TickState({}, self.shape.graph, self.shape.units, limits)
        for name in names:
            if name not in self.tables:
                continue
            self._appointments.pop(name, None)
            if not is_quiet(self.tables[name], asleep):
                self.awake.add(name)
                continue
            self.awake.discard(name)
            due = appointment(self.tables[name])
            if due is not None:
                self._appointments[name] = due


def shape_of(store: Store, outlines: Mapping[TableName, Outline], generation: int = 0) -> Shape:
    """Graph, units and gates for these stream tables, all of them built."""
    reads = {name: frozenset(outline.reads) for name, outline in outlines.items()}
    graph = Graph.build(reads, circular=True)
    traits = {name: traits_of(outline) for name, outline in outlines.items()}
    groups = store.groups.all()
    units = build_units(graph, traits, groups)
    ids = {name: outline.id for name, outline in outlines.items()}
    return Shape(generation, graph, units, store.gates.all(), traits, groups, ids)


def traits_of(outline: Outline) -> UnitTraits:
    """What of a stream table decides its unit."""
    return UnitTraits(
        atomic=outline.atomic,
        immediate=outline.mode is RefreshMode.IMMEDIATE,
        calculated=outline.schedule.strip().lower() == CALCULATED,
    )
