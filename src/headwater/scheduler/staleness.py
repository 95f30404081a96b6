"""Which stream tables are stale: a change waits for them longer than schedule or SLA allow.

Reads the catalog and table metadata; starts no Spark.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from headwater.core.schedule import Calculated, Cron, Every, parse_schedule
from headwater.core.spec import Status, Tier
from headwater.scheduler.tick_state import MULTIPLIERS
from headwater.scheduler.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headwater.catalog.outlines import Outline
    from headwater.core.names import TableName
    from headwater.refresh.runtime import Runtime

_INTERVALS = 2
"""A change may wait for so many intervals of a schedule: one passes before it is looked for."""

_SETTLED = timedelta(seconds=60)
"""How long after an appointment of a cron schedule a refresh may end."""

_EVER = datetime(2000, 1, 1, tzinfo=UTC)


def stale_tables(runtime: Runtime, outlines: Sequence[Outline]) -> tuple[TableName, ...]:
    """Those of some stream tables that are stale."""
    now = runtime.clock()
    asked = [o for o in outlines if _may_be_stale(runtime, o, now)]
    if not asked:
        return ()
    watch = Watch(runtime)
    watch.look()
    found = []
    for outline in asked:
        since = waiting_since(watch, outline)
        limit = None if since is None else _fresh_until(runtime, outline, since)
        if limit is not None and now > limit:
            found.append(outline.name)
    return tuple(found)


def _may_be_stale(runtime: Runtime, outline: Outline, now: datetime) -> bool:
    """Whether its sources have to be looked at: a change since the last refresh may be too old."""
    if outline.status is Status.SUSPENDED or outline.tier is Tier.FROZEN:
        return False
    limit = _fresh_until(runtime, outline, outline.last_refresh_at or _EVER)
    return limit is not None and now > limit


def waiting_since(watch: Watch, outline: Outline) -> datetime | None:
    """When the oldest change was made that the stream table does not show yet."""
    moved = []
    for source in outline.reads:
        known = outline.sources.get(source)
        moved.append(watch.moved_at(source, known.snapshot_id if known else None))
    return min((at for at in moved if at is not None), default=None)


def _fresh_until(runtime: Runtime, outline: Outline, since: datetime) -> datetime | None:
    """When a change must show at the latest; None: the clock promises nothing."""
    if outline.deadline_ms is not None:
        return since + timedelta(milliseconds=outline.deadline_ms)
    match parse_schedule(outline.schedule):
        case Every(interval):
            tiered = outline.tier is not Tier.HOT and bool(runtime.setting("tiered_scheduling"))
            factor = MULTIPLIERS.get(outline.tier, 1) if tiered else 1
            return since + interval * factor * _INTERVALS
        case Cron() as cron:
            return cron.after(since) + _SETTLED
        case Calculated():
            return None
