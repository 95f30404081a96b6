"""The tier that a service level needs when it is declared."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from headwater.core.schedule import parse_schedule, parse_sla
from headwater.scheduler.tick_sla import first_tier
from headwater.scheduler.tick_state import Limits, TableState

if TYPE_CHECKING:
    from headwater.core.spec import StreamTableSpec
    from headwater.refresh.runtime import Runtime

_MEAN_OF_LAST = 100


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
