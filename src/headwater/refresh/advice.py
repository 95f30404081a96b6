"""Shows what the cost model knows: its lines, what it last decided, whether that was right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headwater.core.figures import ThresholdAdvice
from headwater.refresh.cost import Fit, fitted, forecast, full_estimate, like
from headwater.refresh.outlook import FULL, limits_of, samples_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from headwater.catalog.costs import CostRow
    from headwater.catalog.rows import StreamTableRow
    from headwater.refresh.cost import Limits, Sample
    from headwater.refresh.runtime import Runtime
    from headwater.refresh.stages import Planned

_MANY, _SOME = 20, 10
"""Samples that make a line trustworthy, or fairly so."""


def threshold_advice(runtime: Runtime) -> tuple[ThresholdAdvice, ...]:
    """One row per stream table and specialisation; a table without deltas has one row too."""
    limits, now = limits_of(runtime), runtime.clock()
    threshold = float(runtime.setting("differential_max_change_ratio"))
    told: list[ThresholdAdvice] = []
    for row in runtime.store.tables.all():
        costs = runtime.store.costs.of(row.id, row.generation)
        names = dict.fromkeys(c.cost.specialisation for c in costs if not c.cost.is_full)
        told += [_advice(row, costs, name, limits, threshold, now) for name in names or [None]]
    return tuple(told)


def _advice(
    row: StreamTableRow,
    costs: Sequence[CostRow],
    specialisation: str | None,
    limits: Limits,
    threshold: float,
    now: datetime,
) -> ThresholdAdvice:
    samples = samples_of(costs)
    size = costs[0].cost.source_bytes if costs else 0
    alike: list[Sample] = []
    if specialisation is not None:
        alike = like(samples, specialisation, since=now - limits.window)
    enough = 0 < limits.min_samples <= len(alike)
    fit = fitted(alike) if enough else None
    full_ms = full_estimate(samples, size)
    fulls = [c.cost.duration_ms for c in costs if c.cost.is_full]
    last = _last(costs, specialisation)
    newest = next((c for c in costs if c.cost.specialisation == specialisation), None)
    return ThresholdAdvice(
        name=str(row.name),
        specialisation=specialisation,
        apply=newest.cost.apply if newest is not None else None,
        samples=len(alike),
        slope=fit.slope if fit is not None else None,
        intercept=fit.intercept if fit is not None else None,
        unit=fit.unit if fit is not None else None,
        spread_ms=fit.spread_ms if fit is not None else None,
        last_full_ms=fulls[0] if fulls else None,
        full_ms=full_ms,
        current_threshold=threshold,
        break_even=_break_even(fit, full_ms, limits.ratio),
        confidence="HIGH" if len(alike) >= _MANY else "MEDIUM" if len(alike) >= _SOME else "LOW",
        last_action=("FULL" if last.cost.is_full else "INCREMENTAL") if last is not None else None,
        last_reason_code=last.reason_code if last is not None else None,
        last_at=last.measured_at if last is not None else None,
        last_ms=last.cost.duration_ms if last is not None else None,
        last_expected_ms=_other_way(last),
        last_right=was_right(last),
        reason=_reason(samples, newest, limits, row.created_at, now),
    )


def _last(costs: Sequence[CostRow], specialisation: str | None) -> CostRow | None:
    """The newest decision: a delta of this specialisation, or any full refresh."""
    return next((c for c in costs if c.cost.specialisation in (specialisation, FULL)), None)


def _other_way(last: CostRow | None) -> float | None:
    """What the way that was not taken had been expected to take."""
    if last is None:
        return None
    cost = last.cost
    return cost.expected_incremental_ms if cost.is_full else cost.expected_full_ms


def was_right(last: CostRow | None) -> bool | None:
    """Whether a refresh took no longer than the other way was expected to."""
    expected = _other_way(last)
    if last is None or expected is None:
        return None
    return last.cost.duration_ms <= expected


def _break_even(fit: Fit | None, full_ms: float | None, ratio: float) -> float | None:
    if fit is None or full_ms is None or fit.slope <= 0:
        return None
    return max(0.0, (full_ms * ratio - fit.intercept) / fit.slope)


def _reason(
    samples: Sequence[Sample],
    newest: CostRow | None,
    limits: Limits,
    created_at: datetime,
    now: datetime,
) -> str:
    if newest is None:
        return "no delta was measured"
    (like_newest,) = samples_of([newest])
    return forecast(
        samples,
        like_newest.load,
        specialisation=newest.cost.specialisation,
        source_bytes=newest.cost.source_bytes,
        now=now,
        created_at=created_at,
        limits=limits,
    ).why_not


def explain_cost(runtime: Runtime, planned: Planned) -> tuple[str, dict[str, Any]]:
    """Both ways of the next refresh: what each has to read and is expected to take."""
    ahead, decision = planned.outlook, planned.decision
    told = ahead.forecast
    windows = {
        str(n): {"kind": w.kind.value, "how": w.how.value, "planned_bytes": w.planned_bytes}
        for n, w in planned.windows.items()
    }
    fit = told.fit if told is not None else None
    document: dict[str, Any] = {
        "action": decision.action.value,
        "reason_code": decision.reason_code,
        "reason": decision.reason,
        "windows": windows,
        "specialisation": ahead.specialisation,
        "planned_bytes": ahead.load.bytes,
        "planned_rows": ahead.load.rows,
        "source_bytes": ahead.source_bytes,
        "predicted_incremental_ms": told.incremental_ms if told is not None else None,
        "predicted_full_ms": told.full_ms if told is not None else None,
        "samples": told.samples if told is not None else 0,
        "slope": fit.slope if fit is not None else None,
        "intercept": fit.intercept if fit is not None else None,
        "unit": fit.unit if fit is not None else None,
        "prediction_ratio": limits_of(runtime).ratio,
        "no_prediction": told.why_not if told is not None else "there is no choice",
    }
    lines = [f"next: {decision.action} ({decision.reason_code}: {decision.reason})"]
    lines += [
        f"  {n}: {w['kind']} by {w['how']}, {w['planned_bytes']:,} bytes"
        for n, w in windows.items()
    ]
    lines.append(_told("incremental", document["predicted_incremental_ms"], ahead.load.bytes))
    lines.append(_told("full", document["predicted_full_ms"], ahead.source_bytes))
    if fit is not None:
        lines.append(
            f"line: {fit.slope:.3g} ms per {fit.unit.removesuffix('s')} + {fit.intercept:.0f} ms, "
            f"{fit.samples} samples, ± {fit.spread_ms:.0f} ms"
        )
    if document["no_prediction"]:
        lines.append(f"no prediction: {document['no_prediction']}")
    return "\n".join(lines), document


def _told(way: str, expected: float | None, size: int) -> str:
    shown = "not known" if expected is None else f"{expected:.0f} ms"
    return f"{way}: {shown}, {size:,} bytes to read"
