"""When a stream table may refresh: schedules, tiers, and what its readers ask for. Pure.

A schedule is a distance that must lie between two refreshes, not an appointment: a table whose
sources changed after it elapsed is refreshed at the next tick. A cron schedule is an appointment.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING

from headwater.core.schedule import Calculated, Cron, Every, format_duration
from headwater.core.spec import Status, Tier
from headwater.scheduler.tick_state import MULTIPLIERS, TableState

if TYPE_CHECKING:
    from headwater.core.names import TableName
    from headwater.scheduler.tick_state import Limits, TickState


def multiplier(tier: Tier, limits: Limits) -> int:
    """How many times longer a table of this tier waits."""
    return MULTIPLIERS.get(tier, 1) if limits.tiered else 1


class Due:
    """Answers for one instant; each table is asked once, however many read it."""

    def __init__(self, state: TickState, now: datetime) -> None:
        self._state = state
        self._now = now
        self._asks: dict[TableName, bool] = {}

    def wait(self, table: TableState) -> tuple[str, str] | None:
        """Why the clock does not let a table refresh now, as code and reason; None if it does."""
        own = self._own_clock(table)
        if own is not None or not isinstance(table.schedule, Calculated) or table.last_at is None:
            return own
        asking = self._readers(table.name)
        if not asking or any(self._is_asking(reader) for reader in asking):
            return None
        first = ", ".join(sorted(map(str, asking))[:3])
        return "NOT_ASKED", f"it is calculated, and none of its readers is due ({first})"

    def _own_clock(self, table: TableState) -> tuple[str, str] | None:
        limits, now, last = self._state.limits, self._now, table.last_at
        if last is None or last > now:  # never, or the clock was set back
            return None
        match table.schedule:
            case Every(interval):
                factor = multiplier(table.tier, limits) * table.slow_factor
                due = last + interval * factor
                if due > now + limits.interval / 20:
                    return "NOT_DUE", _not_due(table, interval, factor, due)
            case Cron() as cron:
                due = occurrence(cron, last)
                if due > now:
                    return "NOT_DUE", f"its schedule {cron} asks for it at {_instant(due)}"
            case Calculated():
                factor = multiplier(table.tier, limits)
                if factor > 1 and last + limits.interval * factor > now + limits.interval / 2:
                    tier = f"its tier {table.tier} lets it refresh"
                    return "TIER", f"{tier} once in {factor} ticks"
        return None

    def _readers(self, name: TableName) -> list[TableName]:
        """The readers that can ask for anything; those of a circle ask for all its members."""
        tables, graph = self._state.tables, self._state.graph
        readers = graph.consumers.get(name, frozenset())
        circle = graph.circle_of(name)
        if circle:
            readers = frozenset(r for m in circle for r in graph.consumers.get(m, ())) - circle
        return [n for n in readers if n in tables and can_refresh(tables[n])]

    def _is_asking(self, name: TableName) -> bool:
        """Whether the clock lets a table refresh; a calculated one asks when its readers do.

        A stack instead of recursion: chains may be long.
        """
        stack, seen = [name], {name}
        while stack:
            current = stack[-1]
            known = self._settled(current)
            if known is None:
                unknown = [
                    n for n in self._readers(current) if n not in self._asks and n not in seen
                ]
                if unknown:
                    seen.add(unknown[0])
                    stack.append(unknown[0])
                    continue
                known = False
            self._asks[current] = known
            stack.pop()
        return self._asks[name]

    def _settled(self, name: TableName) -> bool | None:
        """What is known without asking further readers."""
        if name in self._asks:
            return self._asks[name]
        table = self._state.tables[name]
        if self._own_clock(table) is not None:
            return False
        if not isinstance(table.schedule, Calculated) or table.last_at is None:
            return True
        readers = self._readers(name)
        return True if not readers or any(self._asks.get(n) for n in readers) else None


def can_refresh(table: TableState) -> bool:
    """Whether a reader of a table can ask for anything."""
    return table.status is not Status.SUSPENDED and table.tier is not Tier.FROZEN


@lru_cache(maxsize=16_384)
def occurrence(cron: Cron, last: datetime) -> datetime:
    """The first appointment after an instant."""
    return cron.after(last)


def appointment(table: TableState) -> datetime | None:
    """When a cron schedule asks next; None for other schedules."""
    if not isinstance(table.schedule, Cron) or table.last_at is None:
        return None
    return occurrence(table.schedule, table.last_at)


def asked_by_clock(table: TableState, now: datetime) -> bool:
    """Whether an appointment passed since the table was last looked at."""
    due = appointment(table)
    return due is not None and due <= now


def shortest_gap(table: TableState, tier: Tier, limits: Limits, depth: int) -> timedelta:
    """The longest time a change may wait for a table of a tier, when all goes well.

    The distance between two refreshes in that tier, and the time of the work queued before it.
    """
    factor = MULTIPLIERS.get(tier, 1) if limits.tiered else 1
    match table.schedule:
        case Every(interval):
            distance = max(limits.interval, interval * factor)
        case _:
            distance = limits.interval * factor
    return distance + depth * limits.mean / max(1, limits.workers)


def _not_due(table: TableState, interval: timedelta, factor: int, due: datetime) -> str:
    times = f" times {factor} ({_why(table)})" if factor > 1 else ""
    return f"its schedule {format_duration(interval)}{times} asks for it at {_instant(due)}"


def _why(table: TableState) -> str:
    tier = f"tier {table.tier}" if table.tier is not Tier.HOT else ""
    slow = "it is slower than its schedule" if table.slow_factor > 1 else ""
    return ", ".join(part for part in (tier, slow) if part)


def _instant(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M:%S UTC")
