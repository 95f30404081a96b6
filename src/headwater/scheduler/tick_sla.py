"""Service levels: which tier a deadline needs, and when missed or spare ticks change it. Pure.

A tick counts as missed when a table was without a look, or behind, for longer than its deadline,
and as spare when it needed less than half of it. Three in a row move the table by one tier.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headwater.core.errors import InvalidOption
from headwater.core.schedule import format_duration
from headwater.core.spec import Tier
from headwater.scheduler.tick_due import shortest_gap
from headwater.scheduler.tick_state import TIERS, TableState, TierChange

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from headwater.scheduler.tick_state import Limits

SLOWER, TOLERATED = 1.1, 1.2
"""A refresh is expected to take this much longer than the last; over its deadline by that much."""

SIGNALS = 3
"""How many ticks in a row must agree before a tier changes."""


def first_tier(table: TableState, limits: Limits, depth: int = 0) -> Tier:
    """The slowest tier that keeps the deadline of a table.

    Raises:
        InvalidOption: not even the hot tier keeps it.
    """
    deadline = table.deadline
    if deadline is None:
        return table.tier
    fitting = [t for t in TIERS if shortest_gap(table, t, limits, depth) <= deadline]
    if fitting:
        return fitting[-1]
    least = shortest_gap(table, Tier.HOT, limits, depth)
    raise InvalidOption(
        f"an SLA of {format_duration(deadline)} cannot be kept: a change waits up to "
        f"{least.total_seconds():.1f} s even in the hot tier",
        hint="give a longer sla, a shorter schedule, more workers or a shorter "
        "scheduler_interval_ms",
    )


def signal(
    table: TableState, limits: Limits, depth: int, now: datetime
) -> tuple[TableState, TierChange | None]:
    """Count this tick for the deadline of a table; the table afterwards, and its change of tier."""
    deadline = table.deadline
    if deadline is None or table.fresh_at is None or table.tier is Tier.FROZEN:
        return table, None
    gap = max(now - table.fresh_at, now - now)
    if gap > deadline:
        counted = replace(table, sla_misses=min(SIGNALS, table.sla_misses + 1), sla_spare=0)
        return _promoted(counted)
    if gap * 2 < deadline:
        counted = replace(table, sla_misses=0, sla_spare=min(SIGNALS, table.sla_spare + 1))
        return _demoted(counted, limits, depth)
    return replace(table, sla_misses=0, sla_spare=0), None


def is_settled(table: TableState, limits: Limits, depth: int) -> bool:
    """Whether further spare ticks change nothing: the table is in the slowest tier that fits."""
    if table.deadline is None or table.tier is Tier.FROZEN:
        return True
    return table.sla_spare >= SIGNALS and _slower(table, limits, depth) is None


def expected_breach(took: timedelta, deadline: timedelta | None) -> timedelta | None:
    """How long the next refresh is expected to take, when that is far over the deadline."""
    expected = took * SLOWER
    return expected if deadline is not None and expected >= deadline * TOLERATED else None


def _promoted(table: TableState) -> tuple[TableState, TierChange | None]:
    at = TIERS.index(table.tier)
    if table.sla_misses < SIGNALS or at == 0:
        return table, None
    reason = f"its SLA was missed in {SIGNALS} ticks in a row"
    return _moved(table, TIERS[at - 1], reason)


def _demoted(table: TableState, limits: Limits, depth: int) -> tuple[TableState, TierChange | None]:
    slower = _slower(table, limits, depth)
    if table.sla_spare < SIGNALS or slower is None:
        return table, None
    reason = f"less than half of its SLA was used in {SIGNALS} ticks in a row"
    return _moved(table, slower, reason)


def _slower(table: TableState, limits: Limits, depth: int) -> Tier | None:
    """The next slower tier, if it keeps the deadline."""
    at = TIERS.index(table.tier) + 1
    if at >= len(TIERS) or table.deadline is None or not limits.tiered:
        return None
    fits = shortest_gap(table, TIERS[at], limits, depth) <= table.deadline
    return TIERS[at] if fits else None


def _moved(table: TableState, tier: Tier, reason: str) -> tuple[TableState, TierChange]:
    change = TierChange(table.name, table.tier, tier, reason)
    return replace(table, tier=tier, sla_misses=0, sla_spare=0), change
