"""Back-pressure: sources whose changes pile up for several ticks in a row. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.scheduler.tick_state import Pressure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headwater.core.names import TableName
    from headwater.scheduler.tick_state import Limits


def pressure(
    before: Mapping[TableName, int], rows: Mapping[TableName, int], limits: Limits
) -> tuple[dict[TableName, int], tuple[Pressure, ...]]:
    """Count one tick: the new counters, and the sources that just crossed the limit.

    A source is told once; its counter starts again when it is back under the threshold.
    """
    if limits.pressure_ticks == 0:
        return {}, ()
    over = {source: n for source, n in rows.items() if n > limits.pressure_rows}
    counters = {source: before.get(source, 0) + 1 for source in over}
    crossed = tuple(
        Pressure(source, over[source], count, limits.pressure_rows)
        for source, count in sorted(counters.items())
        if count == limits.pressure_ticks
    )
    return counters, crossed
