"""A hub that exists in memory only: tables, versions, workers and a clock that the test moves.

Each stream table remembers the version of every base table that its content shows, so that the
simulation can tell whether what the scheduler did is right.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from headwater.core.names import TableName
from headwater.core.schedule import Calculated, Cron, Every
from headwater.core.spec import Status, Tier
from headwater.graph.dependencies import Graph
from headwater.graph.diamonds import Diamond, diamonds
from headwater.graph.units import UnitGraph, UnitKind, UnitTraits, build_units
from headwater.scheduler.tick import is_quiet, tick
from headwater.scheduler.tick_budget import MAX_ATTEMPTS, Budget, retry_after
from headwater.scheduler.tick_dispatch import Entry, ReadyQueue
from headwater.scheduler.tick_due import asked_by_clock
from headwater.scheduler.tick_state import Decisions, Limits, Retry, TableState, TickState

START = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)


@dataclass
class Content:
    """What a table shows: its own version, and the version of each source it was made from."""

    version: int = 0
    sources: dict[TableName, int] = field(default_factory=dict)
    base: dict[TableName, int] = field(default_factory=dict)


@dataclass
class Work:
    """A unit that a simulated worker runs."""

    entry: Entry
    ends: datetime
    fails: bool
    permanent: bool


class SimulatedHub:
    """Random stream tables, random changes, and the scheduler under test."""

    def __init__(self, seed: int, tables: int) -> None:
        self.random = random.Random(seed)
        self.now = START
        self.number = 0
        self.versions = {TableName("default", f"s{i}"): 1 for i in range(6)}
        self.reads: dict[TableName, list[TableName]] = {}
        self.tables: dict[TableName, TableState] = {}
        self.content: dict[TableName, Content] = {}
        self.errors: dict[TableName, int] = {}
        self.vectors: dict[int, dict[TableName, int]] = {}
        self.queue = ReadyQueue()
        self.work: dict[str, Work] = {}
        self.retries: dict[str, Retry] = {}
        self.pressure: dict[TableName, int] = {}
        self.gates: set[TableName] = set()
        self.previous: datetime | None = None
        self.started: list[tuple[datetime, str]] = []
        self.ended: list[tuple[datetime, str, bool]] = []
        self.budget = Budget(per_hub=self.random.choice([0, 1, 2, 4, 8]), cap=4)
        for _ in range(tables):
            self.create()
        self.rebuild()

    # -- DDL ---------------------------------------------------------------------------------

    def create(self) -> None:
        rng = self.random
        self.number += 1
        name = TableName("default", f"t{self.number:04d}")
        below = [*self.versions, *rng.sample(sorted(self.reads), min(len(self.reads), 8))]
        self.reads[name] = rng.sample(below, min(len(below), rng.choice([1, 1, 1, 2, 2, 3])))
        schedule = rng.choice(
            [Calculated(), Calculated(), Every(SECOND * rng.choice([1, 5, 30])), Cron("* * * * *")]
        )
        self.tables[name] = TableState(
            name=name,
            schedule=schedule,
            tier=rng.choice([Tier.HOT, Tier.HOT, Tier.HOT, Tier.WARM, Tier.COLD, Tier.FROZEN]),
            populated=False,
            deadline=rng.choice([None, None, SECOND * 30]),
            fuse_ceiling=rng.choice([0, 0, 0, 50]),
        )
        self.content[name] = Content()
        self.errors[name] = 0

    def drop(self) -> None:
        leaves = [n for n in self.reads if not any(n in reads for reads in self.reads.values())]
        if leaves:
            gone = self.random.choice(leaves)
            for kept in (self.reads, self.tables, self.content, self.errors):
                del kept[gone]

    def rebuild(self) -> None:
        self.graph = Graph.build(self.reads)
        traits = {
            n: UnitTraits(
                atomic=hash_of(n) % 10 != 0,
                immediate=hash_of(n) % 23 == 0,
                calculated=isinstance(self.tables[n].schedule, Calculated),
            )
            for n in self.reads
        }
        self.units: UnitGraph = build_units(self.graph, traits)
        self.diamonds: tuple[Diamond, ...] = tuple(
            d for d in diamonds(self.graph) if all(traits[m].atomic for m in d.members)
        )
        self.queue.keep(self.units)

    def ddl(self) -> None:
        rng = self.random
        match rng.randrange(6):
            case 0 | 1:
                self.create()
            case 2:
                self.drop()
            case 3:
                self.change(tier=rng.choice(list(Tier)))
            case 4:
                self.change(status=rng.choice([Status.ACTIVE, Status.SUSPENDED]))
            case _:
                self.change(schedule=rng.choice([Calculated(), Every(SECOND * 5)]))
        self.rebuild()

    def change(self, **values: object) -> None:
        if self.tables:
            name = self.random.choice(sorted(self.tables))
            self.tables[name] = replace(self.tables[name], **values)  # type: ignore[arg-type]

    def heal(self) -> None:
        """Operators do their work: resume what is suspended, reset fuses."""
        for name, table in self.tables.items():
            if table.status is Status.SUSPENDED and self.random.random() < 0.3:
                self.errors[name] = 0
                table = replace(table, status=Status.ACTIVE)
            if table.fuse_blown is not None and self.random.random() < 0.3:
                table = replace(table, fuse_blown=None, fuse_passes=True)
            self.tables[name] = table

    # -- the tick ----------------------------------------------------------------------------

    def state(self) -> TickState:
        limits = Limits(interval=SECOND, workers=max(1, self.budget.per_hub))
        seen = {}
        for name, table in self.tables.items():
            moved = tuple(s for s in self.reads[name] if self.is_behind(name, s))
            rows = sum(
                self.version(s) - self.content[name].sources.get(s, 0)
                for s in moved
                if s in self.versions
            )
            since = table.fresh_at if table.moved and moved else self.previous
            gated = tuple(sorted(self.graph.base_of(name) & self.gates)) if self.gates else ()
            seen[name] = replace(table, moved=moved, pending_rows=rows, fresh_at=since, gated=gated)
        self.tables = seen
        state = TickState(
            tables=dict(self.tables),
            graph=self.graph,
            units=self.units,
            limits=limits,
            busy=self.queue.busy,
            retries=self.retries,
            pressure=self.pressure,
        )
        awake = frozenset(
            n
            for n, t in self.tables.items()
            if not is_quiet(t, state) or asked_by_clock(t, self.now)
        )
        return replace(state, awake=awake)

    def version(self, name: TableName) -> int:
        return self.versions[name] if name in self.versions else self.content[name].version

    def is_behind(self, name: TableName, source: TableName) -> bool:
        return self.version(source) != self.content[name].sources.get(source, 0)

    def tick(self, number: int) -> tuple[TickState, Decisions]:
        state = self.state()
        made = tick(state, self.now)
        self.vectors[number] = dict(self.versions)
        for name, choice in made.choices.items():
            if choice.refresh:
                self.tables[name] = replace(self.tables[name], last_at=self.now)
        for name in made.looked:
            self.tables[name] = replace(self.tables[name], last_at=self.now)
        for change in made.tiers:
            self.tables[change.name] = replace(self.tables[change.name], tier=change.after)
        for name, (misses, spare) in made.signals.items():
            self.tables[name] = replace(self.tables[name], sla_misses=misses, sla_spare=spare)
        for name in made.blown:
            self.tables[name] = replace(self.tables[name], fuse_blown="too many rows")
        self.queue.add(made.runs, self.graph, self.units, number)
        self.previous = self.now
        return state, made

    def dispatch(self) -> list[Entry]:
        free = self.budget.free(len(self.work), 0)
        begun = self.queue.start(free)
        for entry in begun:
            rng = self.random
            fails = rng.random() < 0.06
            ends = self.now + self.length(entry)
            self.work[entry.key] = Work(entry, ends, fails, rng.random() < 0.3)
            self.started.append((self.now, entry.key))
        return begun

    def length(self, entry: Entry) -> timedelta:
        """How long a unit takes; known before it starts, so that waits can be bounded."""
        dice = random.Random(f"{entry.key}/{entry.turn}")
        seconds = dice.choice([0.05, 0.2, 0.2, 1.0, 8.0]) * len(entry.run.unit.members)
        return timedelta(seconds=seconds)

    def finish(self, work: Work) -> list[Entry]:
        """End a unit; what it reads is as it is now, base tables as its tick pinned them."""
        entry = work.entry
        del self.work[entry.key]
        self.ended.append((self.now, entry.key, not work.fails))
        if not work.fails:
            for name in entry.run.members:
                if name in self.tables and self._align(name, self.vectors[entry.tick]):
                    self._refresh(name, self.vectors[entry.tick])
            self.retries.pop(entry.key, None)
            self.queue.succeeded(entry.key)
            return []
        retry = None
        if not work.permanent:
            retry = retry_after(entry.key, entry.run.attempt, self.now)
        if retry is None:
            self.retries.pop(entry.key, None)
            for name in entry.run.members:
                self._error(name)
        else:
            self.retries[entry.key] = retry
        assert entry.run.attempt <= MAX_ATTEMPTS
        return self.queue.failed(entry.key)

    def _align(self, name: TableName, vector: dict[TableName, int]) -> bool:
        """As a refresh does: bring lagging arms together first; whether they agree then."""
        if self._agree(name, vector):
            return True
        below = self.graph.upstream([name])
        for upper in self.graph.order:
            active = upper in below and self.tables[upper].status is not Status.SUSPENDED
            if active and self._agree(upper, vector):
                self._refresh(upper, vector)
        return self._agree(name, vector)

    def _agree(self, name: TableName, vector: dict[TableName, int]) -> bool:
        seen: dict[TableName, int] = {}
        for source in self.reads[name]:
            own = self.content[name].sources.get(source, 0)
            shown = (
                {source: max(vector[source], own)}
                if source in self.versions
                else self.content[source].base
            )
            if any(seen.setdefault(base, at) != at for base, at in shown.items()):
                return False
        return True

    def _refresh(self, name: TableName, vector: dict[TableName, int]) -> None:
        content = self.content[name]
        before = (dict(content.sources), content.base)
        base: dict[TableName, int] = {}
        for source in self.reads[name]:
            if source in self.versions:
                seen = max(vector[source], content.sources.get(source, 0))
                content.sources[source] = base[source] = seen
            else:
                content.sources[source] = self.content[source].version
                base |= self.content[source].base
        content.base = base
        if (content.sources, base) != before:
            content.version += 1
        self.errors[name] = 0
        self.tables[name] = replace(self.tables[name], populated=True, fuse_passes=False)

    def _error(self, name: TableName) -> None:
        if name in self.tables:
            self.errors[name] += 1
            if self.errors[name] >= 3:
                self.tables[name] = replace(self.tables[name], status=Status.SUSPENDED)


def hash_of(name: TableName) -> int:
    return sum(str(name).encode())


def is_group(kind: UnitKind) -> bool:
    return kind in (UnitKind.ATOMIC_GROUP, UnitKind.REFRESH_GROUP)
