"""Thousands of ticks over random hubs: what must hold whatever happens."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import pytest
from simulated_hub import SECOND, SimulatedHub, Work

from headwater.core.names import TableName
from headwater.core.schedule import Cron, Every
from headwater.core.spec import Status, Tier
from headwater.graph.units import UnitKind
from headwater.scheduler.tick import tick
from headwater.scheduler.tick_budget import MAX_ATTEMPTS
from headwater.scheduler.tick_state import Decisions, TableState, TickState

SHORT = [(seed, 120, 30) for seed in range(6)] + [(99, 40, 200)]
LONG = [(seed, 300, 5 * (seed - 99)) for seed in range(100, 140)]
LONGEST = timedelta(seconds=8)
"""What one member of a unit takes at most."""


@dataclass
class Bound:
    """When a unit must start, and what was ahead of it when that was worked out."""

    latest: datetime
    ahead: frozenset[str]
    awaits: frozenset[TableName]


class Checked(SimulatedHub):
    """The simulated hub with every invariant looked at."""

    def __init__(self, seed: int, tables: int) -> None:
        super().__init__(seed, tables)
        self.bounds: dict[str, Bound] = {}
        self.failures: dict[str, tuple[int, datetime]] = {}

    def run(self, ticks: int) -> None:
        for number in range(1, ticks + 1):
            self.happen(number)
            state, made = self.tick(number)
            self.check_decisions(state, made)
            self.check_clocks(state, made)
            check_service_levels(state, made, self.now)
            self.note_due()
            self.start_ready()
            self.advance(self.now + SECOND)

    def happen(self, number: int) -> None:
        rng = self.random
        for source in self.versions:
            if rng.random() < 0.3:
                self.versions[source] += rng.choice([1, 1, 1, 100])
        if rng.random() < 0.1:
            self.ddl()
        if rng.random() < 0.05:
            self.gates = {s for s in self.versions if rng.random() < 0.2}
        self.heal()
        if number % 40 == 0:
            jump = timedelta(seconds=rng.choice([-3600, -5, 90, 7200]))
            self.now += jump
            for work in self.work.values():
                work.ends += jump
            for bound in self.bounds.values():
                bound.latest += jump
            self.failures = {}

    def advance(self, until: object) -> None:
        """Let workers finish, in order, and start what becomes ready, up to the next tick."""
        while self.work:
            work = min(self.work.values(), key=lambda w: w.ends)
            if work.ends > until:  # type: ignore[operator]
                break
            self.now = max(self.now, work.ends)
            held = self.finish(work)
            self.check_retry(work)
            lost = set(work.entry.run.members)
            for entry in held:
                assert lost & entry.reads, "a failure holds back only what reads it"
                lost |= set(entry.run.members)
            for entry in held:
                self.bounds.pop(entry.key, None)
            if not work.fails:
                self.check_diamonds(work.entry.key)
            self.start_ready()
        self.now = until  # type: ignore[assignment]

    def note_due(self) -> None:
        """The latest instant at which each unit that is due must start.

        All workers are busy with what is ahead of it until then. A unit that reads others of this
        tick waits for them too, and each of them perhaps for one more that took its worker. The
        instant stays, whatever is defined meanwhile, unless that puts something else ahead of it.
        """
        workers = self.budget.allowed(0)
        queued = self.queue.queued
        lengths = {e.key: self.length(e) for e in queued.values()}
        running = sum((w.ends - self.now for w in self.work.values()), timedelta(0))
        members = max((len(unit.members) for unit in self.units.units), default=1)
        longest = LONGEST * max(
            [members, *(len(w.entry.run.unit.members) for w in self.work.values())]
        )
        chains: dict[TableName, timedelta] = {}
        awaited = {m for e in queued.values() for m in e.run.members} | self.queue.busy
        self.bounds = {key: bound for key, bound in self.bounds.items() if key in queued}
        for entry in sorted(queued.values(), key=lambda e: e.place):
            awaits = entry.reads & awaited
            chain = max((chains.get(up, longest) for up in awaits), default=timedelta(0))
            chain += longest if awaits else timedelta(0)
            chains |= dict.fromkeys(entry.run.members, chain + lengths[entry.key])
            ahead = frozenset(e.key for e in queued.values() if awaits or e.rank < entry.rank)
            known = self.bounds.get(entry.key)
            if known is not None and ahead <= known.ahead and awaits <= known.awaits:
                continue
            work = running + sum((lengths[key] for key in ahead), timedelta(0))
            latest = self.now + SECOND + work / workers + chain
            self.bounds[entry.key] = Bound(latest, ahead, awaits)

    def check_retry(self, work: Work) -> None:
        """A failed unit waits a second, then twice as long each time; five attempts are all."""
        key, attempt = work.entry.key, work.entry.run.attempt
        self.failures.pop(key, None)
        retry = self.retries.get(key)
        if not work.fails or work.permanent or attempt == MAX_ATTEMPTS:
            assert retry is None
            return
        assert retry is not None
        wait = (retry.not_before - self.now) / SECOND
        assert 0.75 <= wait / min(2 ** (attempt - 1), 60) <= 1.25
        self.failures[key] = (attempt, retry.not_before)

    def start_ready(self) -> None:
        before, told = set(self.work), self.queue.order()
        assert len(told) == len(self.queue.queued), "the order that is told has every unit"
        started = self.dispatch()
        if not before and len(started) == 1:
            assert told[0] == started[0], "one by one they start in the order that was told"
        for entry in started:
            assert entry.key not in before, "no unit runs twice at once"
            others = [*self.queue.queued.values(), *(w.entry for w in self.work.values())]
            ahead = {
                m for e in others if e.turn <= entry.turn and e != entry for m in e.run.members
            }
            assert not ahead & entry.reads, "a unit starts after what it reads"
            assert self.now <= self.bounds.pop(entry.key).latest, "no unit that is due starves"
            attempt, again = self.failures.get(entry.key, (entry.run.attempt - 1, self.now))
            assert self.now >= again, "a failed unit waits before it is tried again"
            assert entry.run.attempt == attempt + 1 or entry.key not in self.failures
        running = [m for w in self.work.values() for m in w.entry.run.members]
        assert len(running) == len(set(running)), "no table is refreshed twice at once"
        assert len(self.work) <= self.budget.allowed(0)
        assert len(self.work) <= self.budget.cap
        idle = self.budget.free(len(self.work), 0)
        assert not (idle and self.queue.ready()), "no worker idles while a unit is ready"

    def check_decisions(self, state: TickState, made: Decisions) -> None:
        for name, choice in made.choices.items():
            assert choice.code.isupper() and choice.reason, name
            table = state.tables[name]
            if choice.refresh:
                assert table.status is not Status.SUSPENDED
                assert table.tier is not Tier.FROZEN
                assert table.fuse_blown is None
                assert not self.graph.base_of(name) & self.gates, "what is gated below it waits"
            elif choice.code == "GATED":
                assert self.graph.base_of(name) & self.gates
        placed = [self.units.position[r.unit.key] for r in made.runs]
        assert placed == sorted(placed), "runs are told upstream first"
        chosen = {n for n, c in made.choices.items() if c.refresh}
        assert chosen == {m for r in made.runs for m in r.members}
        assert not {m for r in made.runs for m in r.unit.members} & state.busy
        if len(state.tables) < 60:
            everything = tick(replace(state, awake=None), self.now)
            assert everything.runs == made.runs, "tables that sleep would not have been refreshed"
            assert all(everything.choices[n] == c for n, c in made.choices.items())

    def check_clocks(self, state: TickState, made: Decisions) -> None:
        """Schedules times tiers: nobody refreshes early, and nobody is told to wait when due."""
        for run in (r for r in made.runs if r.attempt == 1):  # a failed attempt is soon repeated
            early = [m for m in run.members if is_early(state.tables[m], self.now)]
            assert len(early) < len(run.members), f"nobody of {run.unit.key} is due"
            if run.unit.kind in (UnitKind.SINGLETON, UnitKind.FUSED_CHAIN):
                assert not early
        for name, choice in made.choices.items():
            if choice.code in ("NOT_DUE", "TIER"):
                assert is_early(state.tables[name], self.now), (name, choice)

    def check_diamonds(self, key: str) -> None:
        """Arms of an atomic diamond show one version of what they share."""
        if key not in self.units.by_key:
            return
        members = set(self.units.by_key[key].members)
        for diamond in self.diamonds:
            if diamond.top not in members:
                continue
            top = self.content[diamond.top]
            for source in self.reads[diamond.top]:
                below = {source: top.sources.get(source)}
                if source in self.tables:
                    if self.content[source].version != top.sources.get(source):
                        continue
                    below = dict(self.content[source].base)
                for base, version in below.items():
                    if base in self.versions and self.tables[diamond.top].populated:
                        assert top.base[base] == version, (diamond, base)


def is_early(table: TableState, now: datetime) -> bool:
    """Whether schedule and tier ask a table to wait, by the words of the specification."""
    if table.last_at is None or table.last_at > now:
        return False
    factor = {Tier.HOT: 1, Tier.WARM: 2, Tier.COLD: 10}[table.tier]
    match table.schedule:
        case Every(interval):
            return now + SECOND / 20 < table.last_at + interval * factor
        case Cron() as cron:
            return now < cron.after(table.last_at)
        case _:
            return factor > 1 and now + SECOND / 2 < table.last_at + SECOND * factor


def check_service_levels(state: TickState, made: Decisions, now: datetime) -> None:
    """One step of every service level: missed and spare ticks in a row, three move the tier."""
    moves = {change.name: (change.before, change.after) for change in made.tiers}
    order = [Tier.HOT, Tier.WARM, Tier.COLD]
    for name, choice in made.choices.items():
        table = state.tables[name]
        held = choice.code in ("SUSPENDED", "GATED", "FUSE_BLOWN")
        if table.deadline is None or table.fresh_at is None or held or table.tier is Tier.FROZEN:
            assert name not in moves
            continue
        gap = max(now - table.fresh_at, timedelta(0))
        misses = min(3, table.sla_misses + 1) if gap > table.deadline else 0
        spare = min(3, table.sla_spare + 1) if gap * 2 < table.deadline else 0
        place, move = order.index(table.tier), None
        if misses == 3 and place > 0:
            move = order[place - 1]
        elif spare == 3 and place < 2 and distance(table, order[place + 1]) <= table.deadline:
            move = order[place + 1]
        counters = (0, 0) if move else (misses, spare)
        assert moves.get(name) == ((table.tier, move) if move else None), (name, choice)
        assert made.signals.get(name, (table.sla_misses, table.sla_spare)) == counters


def distance(table: TableState, tier: Tier) -> timedelta:
    """The longest a change waits in a tier; refreshes of this hub take no time on the mean."""
    factor = {Tier.HOT: 1, Tier.WARM: 2, Tier.COLD: 10}[tier]
    every = table.schedule.interval if isinstance(table.schedule, Every) else SECOND
    return max(SECOND, every * factor)


def bounded_wait(hub: Checked, ticks: int) -> None:
    """Without failures and DDL: everything due starts, and in the end everything is fresh."""
    hub.gates = set()
    for number in range(ticks + 1, ticks + 2_000):
        hub.tick(number)
        hub.dispatch()
        until = hub.now + SECOND
        while hub.work:
            work = min(hub.work.values(), key=lambda w: w.ends)
            if work.ends > until:
                break
            hub.now = max(hub.now, work.ends)
            work.fails = False
            hub.finish(work)
            hub.dispatch()
        hub.now = until
        if not hub.work and not hub.queue.queued and not behind(hub):
            return
    raise AssertionError(f"never came to rest: {behind(hub)}")


def behind(hub: SimulatedHub) -> list[str]:
    """Tables that lack something they could have."""
    held = {
        n
        for n, t in hub.tables.items()
        if t.status is Status.SUSPENDED or t.tier is Tier.FROZEN or t.fuse_blown is not None
    }
    groups = {UnitKind.ATOMIC_GROUP, UnitKind.REFRESH_GROUP, UnitKind.IMMEDIATE_CLOSURE}
    for unit in hub.units.units:
        if unit.kind in groups:
            for member in unit.members:
                if hub.graph.sources[member] & held:
                    held.add(member)
    return [
        str(n)
        for n in hub.tables
        if n not in held and any(hub.is_behind(n, s) for s in hub.reads[n])
    ]


def simulate(seed: int, ticks: int, tables: int) -> None:
    hub = Checked(seed, tables)
    hub.run(ticks)
    assert hub.started, "something was refreshed"
    bounded_wait(hub, ticks)


@pytest.mark.parametrize(("seed", "ticks", "tables"), SHORT)
def test_invariants_hold_in_every_tick(seed: int, ticks: int, tables: int) -> None:
    simulate(seed, ticks, tables)


@pytest.mark.long
@pytest.mark.parametrize(("seed", "ticks", "tables"), LONG)
def test_invariants_hold_in_ten_thousand_ticks(seed: int, ticks: int, tables: int) -> None:
    simulate(seed, ticks, tables)
