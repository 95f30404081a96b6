"""Thousands of ticks over random hubs: what must hold whatever happens."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from simulated_hub import SECOND, SimulatedHub

from headwater.core.names import TableName
from headwater.core.spec import Status, Tier
from headwater.graph.units import UnitKind
from headwater.scheduler.tick import tick
from headwater.scheduler.tick_state import Decisions, TickState

SHORT = [(seed, 120, 30) for seed in range(6)] + [(99, 40, 200)]
LONG = [(seed, 300, 20 + seed % 180) for seed in range(100, 140)]


class Checked(SimulatedHub):
    """The simulated hub with every invariant looked at."""

    def run(self, ticks: int) -> None:
        for number in range(1, ticks + 1):
            self.happen(number)
            state, made = self.tick(number)
            if made.tiers:
                self.latest = {}
            self.check_decisions(state, made)
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
            self.latest = {}
        self.heal()
        if number % 40 == 0:
            jump = timedelta(seconds=rng.choice([-3600, -5, 90, 7200]))
            self.now += jump
            for work in self.work.values():
                work.ends += jump
            self.latest = {key: at + jump for key, at in self.latest.items()}

    def advance(self, until: object) -> None:
        """Let workers finish, in order, and start what becomes ready, up to the next tick."""
        while self.work:
            work = min(self.work.values(), key=lambda w: w.ends)
            if work.ends > until:  # type: ignore[operator]
                break
            self.now = max(self.now, work.ends)
            held = self.finish(work)
            lost = set(work.entry.run.members)
            for entry in held:
                assert lost & entry.reads, "a failure holds back only what reads it"
                lost |= set(entry.run.members)
            for entry in held:
                self.latest.pop(entry.key, None)
            if not work.fails:
                self.check_diamonds(work.entry.key)
            self.start_ready()
        self.now = until  # type: ignore[assignment]

    def note_due(self) -> None:
        """The latest instant at which each unit that is due must start.

        All workers are busy with what is ahead of it until then. A unit that reads others of this
        tick waits for them too, and perhaps for one more that took their worker.
        """
        workers = self.budget.allowed(0)
        lengths = {e.key: self.length(e) for e in self.queue.queued.values()}
        running = sum((w.ends - self.now for w in self.work.values()), timedelta(0))
        longest = max([*lengths.values(), SECOND, *(w.ends - self.now for w in self.work.values())])
        chains: dict[TableName, timedelta] = {}
        awaited = {m for e in self.queue.queued.values() for m in e.run.members} | self.queue.busy
        for entry in sorted(self.queue.queued.values(), key=lambda e: e.place):
            waits = [chains.get(up, longest) for up in entry.reads & awaited]
            chain = max(waits, default=timedelta(0))
            chains |= dict.fromkeys(entry.run.members, chain + lengths[entry.key])
            if entry.key in self.latest:
                continue
            ahead = [lengths[e.key] for e in self.queue.queued.values() if e.rank < entry.rank]
            if waits:
                ahead, chain = list(lengths.values()), chain + longest
            work = running + sum(ahead, timedelta(0))
            self.latest[entry.key] = self.now + SECOND + work / workers + chain

    def start_ready(self) -> None:
        before = set(self.work)
        for entry in self.dispatch():
            assert entry.key not in before, "no unit runs twice at once"
            others = [*self.queue.queued.values(), *(w.entry for w in self.work.values())]
            ahead = {
                m for e in others if e.turn <= entry.turn and e != entry for m in e.run.members
            }
            assert not ahead & entry.reads, "a unit starts after what it reads"
            assert self.now <= self.latest.pop(entry.key), "no unit that is due starves"
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
        placed = [self.units.position[r.unit.key] for r in made.runs]
        assert placed == sorted(placed), "runs are told upstream first"
        chosen = {n for n, c in made.choices.items() if c.refresh}
        assert chosen == {m for r in made.runs for m in r.members}
        assert not {m for r in made.runs for m in r.unit.members} & state.busy
        if len(state.tables) < 60:
            everything = tick(replace(state, awake=None), self.now)
            assert everything.runs == made.runs, "tables that sleep would not have been refreshed"
            assert all(everything.choices[n] == c for n, c in made.choices.items())

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


def bounded_wait(hub: Checked, ticks: int) -> None:
    """Without failures and DDL: everything due starts, and in the end everything is fresh."""
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
