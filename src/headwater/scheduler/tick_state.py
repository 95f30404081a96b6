"""What a tick knows and what it says: frozen values, without clock, Spark or database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType

from headwater.core.names import TableName
from headwater.core.schedule import Calculated, Schedule
from headwater.core.spec import Status, Tier
from headwater.graph.dependencies import Graph
from headwater.graph.units import Unit, UnitGraph

MULTIPLIERS: Mapping[Tier, int] = MappingProxyType({Tier.HOT: 1, Tier.WARM: 2, Tier.COLD: 10})
"""How many times longer than a hot table a table of a tier waits; frozen ones wait for ever."""

TIERS = (Tier.HOT, Tier.WARM, Tier.COLD)
"""The tiers that refresh, the fastest first."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The settings that a tick obeys.

    Attributes:
        interval: distance between two ticks.
        workers: how many units may run at once.
        mean: mean time of a refresh, as far as it is known.
        circular: whether circles of stream tables are refreshed.
    """

    enabled: bool = True
    interval: timedelta = timedelta(seconds=1)
    tiered: bool = True
    workers: int = 1
    mean: timedelta = timedelta(0)
    pressure_rows: int = 1_000_000
    pressure_ticks: int = 3
    circular: bool = False


@dataclass(frozen=True, slots=True)
class TableState:
    """One stream table as a tick sees it.

    Attributes:
        last_at: the tick that last refreshed it, or looked when a cron schedule asked for it.
        fresh_at: the last instant at which it was known to hold everything its sources had.
        moved: sources whose newest version is not the one in its frontier.
        pending_rows: changed rows that wait for it: at least so many, as far as commits tell.
        gated: sources below it that are gated.
        uses_clock: its content depends on the time.
        slow_factor: how many times longer it waits because it is slower than its schedule.
        sla_misses: ticks in a row that were too late for its deadline.
        sla_spare: ticks in a row that used less than half of its deadline.
        fuse_ceiling: pending rows at which it stops; 0 never.
        fuse_blown: why it stopped; None while it did not.
        fuse_passes: the fuse was reset, and the next refresh may be as large as it is.
    """

    name: TableName
    schedule: Schedule = field(default_factory=Calculated)
    tier: Tier = Tier.HOT
    status: Status = Status.ACTIVE
    populated: bool = True
    needs_reinit: bool = False
    uses_clock: bool = False
    waits_for_slowest: bool = False
    last_at: datetime | None = None
    fresh_at: datetime | None = None
    moved: tuple[TableName, ...] = ()
    pending_rows: int = 0
    gated: tuple[TableName, ...] = ()
    slow_factor: int = 1
    deadline: timedelta | None = None
    sla_misses: int = 0
    sla_spare: int = 0
    fuse_ceiling: int = 0
    fuse_blown: str | None = None
    fuse_passes: bool = False


@dataclass(frozen=True, slots=True)
class Retry:
    """Failed attempts of a unit, when the last one failed, and when it may run again."""

    attempts: int
    failed_at: datetime
    not_before: datetime

    def holds(self, now: datetime) -> bool:
        """Whether the unit must still wait; a clock that was set back makes nobody wait longer."""
        return self.failed_at <= now < self.not_before


@dataclass(frozen=True, slots=True)
class TickState:
    """Everything a tick decides from.

    Attributes:
        awake: the tables to look at; all others hold what their sources have and stay as they are.
            None looks at every table.
        busy: members of units that run; their units wait.
        retries: units that failed and wait.
        pressure: source → ticks in a row over the threshold.
        source_rows: source → rows that its slowest reader must look at.
    """

    tables: Mapping[TableName, TableState]
    graph: Graph
    units: UnitGraph
    limits: Limits = field(default_factory=Limits)
    awake: frozenset[TableName] | None = None
    busy: frozenset[TableName] = frozenset()
    retries: Mapping[str, Retry] = field(default_factory=dict)
    pressure: Mapping[TableName, int] = field(default_factory=dict)
    source_rows: Mapping[TableName, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Choice:
    """To refresh a stream table in this tick or not, and why."""

    refresh: bool
    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class UnitRun:
    """A unit to be run in this tick, with those of its members that take part."""

    unit: Unit
    members: tuple[TableName, ...]
    tier: Tier
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class TierChange:
    """The service level of a table moves it to another tier."""

    name: TableName
    before: Tier
    after: Tier
    reason: str


@dataclass(frozen=True, slots=True)
class Pressure:
    """A source whose changes pile up."""

    source: TableName
    pending_rows: int
    consecutive_cycles: int
    threshold: int


@dataclass(frozen=True, slots=True)
class Decisions:
    """What a tick decided.

    Attributes:
        choices: for each table that was looked at; the others hold what their sources have.
        runs: the units to run, upstream first.
        looked: tables whose cron schedule asked and found nothing to do.
        signals: new counters (misses, spare) of tables with a service level, where they changed.
        blown: tables whose fuse blows now.
        pressure: counters of sources under pressure; those that are not in it are at rest.
        alerts: sources that have now been under pressure for long enough.
    """

    choices: Mapping[TableName, Choice]
    runs: tuple[UnitRun, ...] = ()
    looked: tuple[TableName, ...] = ()
    tiers: tuple[TierChange, ...] = ()
    signals: Mapping[TableName, tuple[int, int]] = field(default_factory=dict)
    blown: tuple[TableName, ...] = ()
    pressure: Mapping[TableName, int] = field(default_factory=dict)
    alerts: tuple[Pressure, ...] = ()

    def of(self, name: TableName) -> Choice:
        """The choice for one table."""
        return self.choices.get(name, QUIET)


QUIET = Choice(False, "NO_CHANGES", "no source changed since its last refresh")
"""The choice for a table that holds what its sources have."""
