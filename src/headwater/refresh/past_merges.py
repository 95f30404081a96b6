"""The way of the next MERGE, from the costs that all processes share; a flip is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.core.spec import Way
from headwater.observe.events import RouteEvent
from headwater.refresh.outlook import limits_of
from headwater.refresh.routing import MergePlan, Route, route

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headwater.catalog.rows import StreamTableRow
    from headwater.refresh.runtime import Runtime
    from headwater.refresh.stages import Planned

USUAL = Route(Way.SEEK, "adaptive_merge_strategy is off")


def routed(runtime: Runtime, row: StreamTableRow, planned: Planned) -> Route:
    """Choose the way of a refresh, where the setting lets it be chosen."""
    if planned.decision.is_full or not runtime.setting("adaptive_merge_strategy"):
        return USUAL
    chosen = route(tuple(_merges(runtime, row, planned.outlook.specialisation)))
    if chosen.is_flip:
        runtime.events.emit(
            RouteEvent(str(row.name), str(chosen.before), chosen.way, chosen.reason)
        )
    return chosen


def _merges(runtime: Runtime, row: StreamTableRow, specialisation: str) -> Iterator[MergePlan]:
    """Merges after the same kind of change, newest first."""
    since = runtime.clock() - limits_of(runtime).window
    for found in runtime.store.costs.of(row.id, row.generation, since=since):
        cost = found.cost
        if cost.way is not None and cost.specialisation == specialisation:
            yield MergePlan(cost.way, cost.files or 0, cost.files_rewritten or 0, cost.duration_ms)
