"""What the scheduler asks of a declaration: a schedule not too short, the tier an SLA needs."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from headwater.core.errors import InvalidOption
from headwater.core.schedule import format_duration, parse_schedule, parse_sla, shortest_distance
from headwater.scheduler.tick_sla import first_tier
from headwater.scheduler.tick_state import Limits, TableState

if TYPE_CHECKING:
    from headwater.core.spec import StreamTableSpec
    from headwater.refresh.runtime import Runtime

_MEAN_OF_LAST = 100


def check_schedule(runtime: Runtime, spec: StreamTableSpec) -> None:
    """Refuse a schedule that asks more often than the hub allows."""
    shortest = shortest_distance(parse_schedule(spec.schedule))
    least = timedelta(seconds=int(runtime.setting("min_schedule_seconds")))
    if shortest is not None and shortest < least:
        raise InvalidOption(
            f"schedule {spec.schedule!r} asks for a refresh every {format_duration(shortest)}, "
            f"min_schedule_seconds allows one every {format_duration(least)}",
            hint="give a longer schedule, or set min_schedule_seconds lower",
        )


def with_tier(runtime: Runtime, spec: StreamTableSpec) -> StreamTableSpec:
    """A declaration with the slowest tier that keeps its service level.

    Raises:
        InvalidOption: not even the hot tier keeps it.
    """
    if spec.sla is None:
        return spec
    setting = runtime.setting
    limits = Limits(
        interval=timedelta(milliseconds=int(setting("scheduler_interval_ms"))),
        tiered=bool(setting("tiered_scheduling")),
        workers=max(1, int(setting("max_parallel_workers"))),
        mean=timedelta(milliseconds=runtime.store.past.mean_ms(_MEAN_OF_LAST)),
    )
    table = TableState(
        spec.name,
        schedule=parse_schedule(spec.schedule),
        deadline=timedelta(milliseconds=parse_sla(spec.sla)),
    )
    queued = runtime.store.jobs.loads().get(runtime.store.hub, (0, 0))[1]
    return replace(spec, tier=first_tier(table, limits, queued))
