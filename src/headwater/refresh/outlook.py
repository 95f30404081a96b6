"""What the next refresh of a stream table is expected to cost, from metadata and past refreshes.

Gathers the numbers; `refresh.cost` predicts with them, `refresh.decide` decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from headwater.catalog.costs import Cost
from headwater.delta.change import Change
from headwater.refresh.cost import Forecast, Limits, Load, Sample, forecast
from headwater.refresh.templates import specialisation
from headwater.sources.source import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headwater.catalog.costs import CostRow
    from headwater.catalog.rows import StreamTableRow
    from headwater.core.frontier import Frontier
    from headwater.core.names import TableName
    from headwater.refresh.pin import View
    from headwater.refresh.runtime import Runtime
    from headwater.refresh.stages import Planned
    from headwater.refresh.write import Applied
    from headwater.sources.source import Window

WORTH_SKIPPING = 16 * 1024 * 1024
"""Sources of this size have files that are worth skipping: finding out which costs a Spark job."""

FULL = "full"
"""The specialisation of every full refresh."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a refresh has to do, and what that is expected to take.

    Attributes:
        load: what the windows hold.
        source_bytes: size of all sources at the new frontier.
        specialisation: which sources changed, and how.
        forecast: the predictions; None where there is no choice.
    """

    load: Load
    source_bytes: int
    specialisation: str
    forecast: Forecast | None = None


def measured(
    runtime: Runtime, planned: Planned, definition_hash: str, applied: Applied, took: float
) -> Cost:
    """What a refresh took by itself, in seconds, beside what was expected of it."""
    ahead, told = planned.outlook, planned.outlook.forecast
    is_full = planned.decision.is_full
    ran = FULL if is_full else ahead.specialisation
    return Cost(
        is_full=is_full,
        specialisation=ran,
        apply=applied.kind.value,
        way=applied.way,
        files=applied.files,
        files_rewritten=applied.files_rewritten,
        planned_bytes=ahead.load.bytes,
        planned_rows=ahead.load.rows,
        source_bytes=ahead.source_bytes,
        warmth=runtime.warmth.run(definition_hash, ran),
        duration_ms=took * 1000,
        expected_incremental_ms=told.incremental_ms if told is not None else None,
        expected_full_ms=told.full_ms if told is not None else None,
    )


def outlook(view: View, frontier: Frontier, windows: Mapping[TableName, Window]) -> Outlook:
    """What has to be read, without a prediction."""
    return Outlook(
        load=load_of(windows),
        source_bytes=source_bytes(view, frontier),
        specialisation=specialisation(changes_in(windows)),
    )


def predicted(runtime: Runtime, row: StreamTableRow, ahead: Outlook) -> Forecast:
    """The prediction for both ways, from the samples that all processes share."""
    limits = limits_of(runtime)
    now = runtime.clock()
    rows = runtime.store.costs.of(row.id, row.generation, since=now - limits.window)
    return forecast(
        samples_of(rows),
        ahead.load,
        specialisation=ahead.specialisation,
        source_bytes=ahead.source_bytes,
        now=now,
        created_at=row.created_at,
        limits=limits,
    )


def limits_of(runtime: Runtime) -> Limits:
    """The settings of the cost model."""
    return Limits(
        window=timedelta(minutes=int(runtime.setting("prediction_window"))),
        ratio=float(runtime.setting("prediction_ratio")),
        min_samples=int(runtime.setting("prediction_min_samples")),
    )


def samples_of(rows: Iterable[CostRow]) -> list[Sample]:
    """Stored costs as the cost model takes them."""
    return [
        Sample(
            at=row.measured_at,
            full=row.cost.is_full,
            specialisation=row.cost.specialisation,
            apply=row.cost.apply,
            load=Load(row.cost.planned_bytes, row.cost.planned_rows),
            source_bytes=row.cost.source_bytes,
            duration_ms=row.cost.duration_ms,
            warmth=row.cost.warmth,
        )
        for row in rows
    ]


def changes_in(windows: Mapping[TableName, Window]) -> dict[TableName, Change]:
    """Which sources changed, and how: what a program is compiled for."""
    return {
        name: Change.APPEND if window.kind is Kind.APPEND else Change.MIXED
        for name, window in windows.items()
        if window.kind in (Kind.APPEND, Kind.MIXED)
    }


def load_of(windows: Mapping[TableName, Window]) -> Load:
    """Planned bytes of all windows, and their rows while rows were only added.

    The counts of a commit that rewrote files hold the copied rows too: they say nothing about how
    much changed.
    """
    changed = [w for w in windows.values() if w.kind in (Kind.APPEND, Kind.MIXED)]
    rows: int | None = 0
    for window in changed:
        exact = window.added_records if window.kind is Kind.APPEND else None
        rows = None if rows is None or exact is None else rows + exact
    return Load(sum(w.planned_bytes for w in changed), rows)


def source_bytes(view: View, frontier: Frontier) -> int:
    """Size of all sources at a frontier."""
    return sum(source_sizes(view, frontier).values())


def source_sizes(view: View, frontier: Frontier) -> dict[TableName, int]:
    """Size of each source at a frontier, as their snapshots tell it."""
    sizes = {}
    for name, version in frontier.sources.items():
        metadata = view.metadata(name)
        snapshot = metadata.snapshot(version.snapshot_id) if metadata is not None else None
        sizes[name] = snapshot.count("total-files-size") if snapshot is not None else 0
    return sizes
