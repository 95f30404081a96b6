"""One round of the scheduler as a pure function: what to refresh, and why or why not.

Units are looked at upstream first, so that a table is due when something it reads is refreshed in
the same tick. Only tables that are awake, and what reads the refreshed ones, are looked at: a tick
in which nothing happened costs nothing per table.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headwater.core.spec import Status, Tier
from headwater.graph.units import Unit, UnitKind
from headwater.scheduler.tick_due import Due, asked_by_clock
from headwater.scheduler.tick_pressure import pressure
from headwater.scheduler.tick_sla import is_settled, signal
from headwater.scheduler.tick_state import (
    QUIET,
    TIERS,
    Choice,
    Decisions,
    TableState,
    TickState,
    TierChange,
    UnitRun,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Set
    from datetime import datetime

    from headwater.core.names import TableName

_TOGETHER = (UnitKind.ATOMIC_GROUP, UnitKind.REFRESH_GROUP, UnitKind.IMMEDIATE_CLOSURE)


def tick(state: TickState, now: datetime) -> Decisions:
    """Decide about every stream table that is awake."""
    round_ = _Round(state, now, Due(state, now))
    if not state.limits.enabled:
        off = Choice(False, "DISABLED", "the scheduler is switched off by the setting enabled")
        return Decisions(dict.fromkeys(_awake(state), off))
    round_.decide()
    tiers, signals = round_.service_levels()
    counters, alerts = pressure(state.pressure, state.source_rows, state.limits)
    return Decisions(
        choices=round_.choices,
        runs=tuple(round_.runs),
        looked=tuple(round_.looked),
        tiers=tiers,
        signals=signals,
        blown=tuple(round_.blown),
        pressure=counters,
        alerts=alerts,
    )


def is_quiet(table: TableState, state: TickState) -> bool:
    """Whether a table needs no look until a source moves, its appointment comes or it changes."""
    return (
        not table.moved
        and table.populated
        and not table.needs_reinit
        and not table.uses_clock
        and table.status is not Status.SUSPENDED
        and table.tier is not Tier.FROZEN
        and not table.gated
        and table.fuse_blown is None
        and is_settled(table, state.limits, 0)
    )


def _awake(state: TickState) -> Iterable[TableName]:
    return state.tables if state.awake is None else state.awake


@dataclass
class _Round:
    state: TickState
    now: datetime
    due: Due
    choices: dict[TableName, Choice] = field(default_factory=dict)
    runs: list[UnitRun] = field(default_factory=list)
    looked: list[TableName] = field(default_factory=list)
    blown: list[TableName] = field(default_factory=list)
    refreshing: set[TableName] = field(default_factory=set)

    def decide(self) -> None:
        units = self.state.units
        todo = {units.position[units.of_table[n].key] for n in _awake(self.state)}
        heap = sorted(todo)
        while heap:
            unit = units.units[heapq.heappop(heap)]
            for member in self._unit(unit):
                for reader in self.state.graph.consumers.get(member, ()):
                    place = units.position[units.of_table[reader].key]
                    if place not in todo:
                        todo.add(place)
                        heapq.heappush(heap, place)

    def _unit(self, unit: Unit) -> tuple[TableName, ...]:
        """Decide about the members of a unit; returns those to be refreshed."""
        held = self._held(unit)
        chosen = (
            self._together(unit, held) if unit.kind in _TOGETHER else self._one_by_one(unit, held)
        )
        obstacle = self._obstacle(unit) if chosen else None
        if obstacle is not None:
            for member in chosen:
                self.choices[member] = obstacle
                self.refreshing.discard(member)
            return ()
        if chosen:
            retry = self.state.retries.get(unit.key)
            tier = min((self._table(m).tier for m in chosen), key=_rank)
            self.runs.append(UnitRun(unit, chosen, tier, retry.attempts + 1 if retry else 1))
        return chosen

    def _held(self, unit: Unit) -> set[TableName]:
        """Members that may not refresh, and in a group those that read one of them."""
        held: set[TableName] = set()
        for member in unit.members:
            choice = self._blocked(self._table(member))
            if choice is None and unit.kind in _TOGETHER:
                inside = sorted(self.state.graph.sources[member] & held)
                if inside:
                    reason = f"it belongs together with {inside[0]}, which may not refresh"
                    choice = Choice(False, "GROUP_HELD", reason)
            if choice is not None:
                self.choices[member] = choice
                held.add(member)
        return held

    def _one_by_one(self, unit: Unit, held: set[TableName]) -> tuple[TableName, ...]:
        chosen = []
        for member in unit.members:
            if member in held:
                continue
            table = self._table(member)
            want = self._wants(table, self.refreshing)
            wait = self._wait(unit, table) if want is not None else None
            if want is None:
                self._quiet(table)
            elif wait is not None:
                self.choices[member] = Choice(False, *wait)
            else:
                self.choices[member] = Choice(True, *want)
                self.refreshing.add(member)
                chosen.append(member)
        return tuple(chosen)

    def _together(self, unit: Unit, held: set[TableName]) -> tuple[TableName, ...]:
        wants: dict[TableName, tuple[str, str]] = {}
        for member in unit.members:
            if member in held:
                continue
            want = self._wants(self._table(member), self.refreshing | wants.keys())
            if want is None:
                self._quiet(self._table(member))
            else:
                wants[member] = want
        waits = {m: self._wait(unit, self._table(m)) for m in wants}
        due = [m for m, wait in waits.items() if wait is None]
        slowest = any(self._table(m).waits_for_slowest for m in unit.members)
        if not due or (slowest and len(due) < len(waits)):
            for member, wait in waits.items():
                self.choices[member] = Choice(False, *(wait or _waits_for(waits)))
            return ()
        for member, want in wants.items():
            if waits[member] is not None:
                want = "GROUP_DUE", f"it belongs together with {due[0]}, which is due"
            self.choices[member] = Choice(True, *want)
        self.refreshing |= wants.keys()
        return tuple(wants)

    def _wait(self, unit: Unit, table: TableState) -> tuple[str, str] | None:
        """Why the clock does not let a table refresh.

        A failed attempt is repeated by a clock of its own, and a definition that does not fit its
        content waits for none.
        """
        has_own = table.needs_reinit or unit.key in self.state.retries
        return None if has_own else self.due.wait(table)

    def _obstacle(self, unit: Unit) -> Choice | None:
        if not self.state.busy.isdisjoint(unit.members):
            return Choice(False, "IN_FLIGHT", "its refresh of an earlier tick is not done")
        retry = self.state.retries.get(unit.key)
        if retry is not None and retry.holds(self.now):
            at = retry.not_before.strftime("%H:%M:%S")
            reason = f"it failed {retry.attempts} times in a row and is tried again at {at} UTC"
            return Choice(False, "BACKOFF", reason)
        if unit.kind is UnitKind.CYCLIC_SCC and not self.state.limits.circular:
            reason = "it reads itself through other stream tables, and allow_circular is off"
            return Choice(False, "CIRCLE", reason)
        return None

    def _blocked(self, table: TableState) -> Choice | None:
        if table.status is Status.SUSPENDED:
            hint = f"resume_stream_table('{table.name}') lets it refresh again"
            return Choice(False, "SUSPENDED", f"it is suspended; {hint}")
        if table.tier is Tier.FROZEN:
            return Choice(False, "FROZEN", "its tier is frozen")
        if table.gated:
            names = ", ".join(map(str, table.gated))
            return Choice(False, "GATED", f"gated sources: {names}; ungate_source opens them")
        reason = table.fuse_blown
        if reason is None and 0 < table.fuse_ceiling < table.pending_rows:
            if table.fuse_passes:
                return None
            reason = f"{table.pending_rows} changed rows wait, more than {table.fuse_ceiling}"
            self.blown.append(table.name)
        if reason is not None:
            return Choice(False, "FUSE_BLOWN", f"{reason}; reset_fuse('{table.name}') lets it run")
        return None

    def _wants(self, table: TableState, refreshing: Set[TableName]) -> tuple[str, str] | None:
        """What there is to do for a table."""
        if not table.populated:
            return "NOT_POPULATED", "it has no content yet"
        if table.needs_reinit:
            return "NEEDS_REINIT", "its definition does not fit its content"
        if table.moved:
            return "SOURCES_CHANGED", f"{_listed(table.moved)} changed"
        upstream = sorted(s for s in self.state.graph.sources[table.name] if s in refreshing)
        if upstream:
            return "UPSTREAM_DUE", f"{_listed(upstream)} refreshed in this tick"
        if table.uses_clock:
            return "CLOCK_MOVED", "its content depends on the time"
        return None

    def _quiet(self, table: TableState) -> None:
        self.choices[table.name] = QUIET
        if asked_by_clock(table, self.now) and not self._is_awaited(table):
            self.looked.append(table.name)

    def _is_awaited(self, table: TableState) -> bool:
        """Whether something below is being refreshed or tried again: its change is to come."""
        units, busy = self.state.units, self.state.busy
        return any(
            name in busy or units.of_table[name].key in self.state.retries
            for name in self.state.graph.upstream([table.name])
        )

    def service_levels(self) -> tuple[tuple[TierChange, ...], dict[TableName, tuple[int, int]]]:
        changes: list[TierChange] = []
        signals: dict[TableName, tuple[int, int]] = {}
        depth = len(self.runs)
        for name, choice in self.choices.items():
            table = self._table(name)
            if table.deadline is None or choice.code in ("SUSPENDED", "GATED", "FUSE_BLOWN"):
                continue
            after, change = signal(table, self.state.limits, depth, self.now)
            counters = (after.sla_misses, after.sla_spare)
            if change is not None:
                changes.append(change)
            if counters != (table.sla_misses, table.sla_spare):
                signals[name] = counters
        return tuple(changes), signals

    def _table(self, name: TableName) -> TableState:
        return self.state.tables[name]


def _rank(tier: Tier) -> int:
    return TIERS.index(tier) if tier in TIERS else len(TIERS)


def _listed(names: Iterable[TableName]) -> str:
    words = [str(name) for name in names]
    return ", ".join(words[:3]) + (f" and {len(words) - 3} more" if len(words) > 3 else "")


def _waits_for(waits: dict[TableName, tuple[str, str] | None]) -> tuple[str, str]:
    late = next(name for name, wait in waits.items() if wait is not None)
    return "GROUP_WAITS", f"it belongs together with {late}, which is not due yet"
