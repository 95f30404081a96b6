"""Service levels and schedules from past refreshes: percentiles, error budgets, advice. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from headwater.core.figures import percentile
from headwater.core.reports import ScheduleAdvice, SlaRow

if TYPE_CHECKING:
    from collections.abc import Sequence

_ALLOWED_ERRORS = 0.01
"""Share of refreshes that may fail or be late before the error budget is used up."""

_LEAST_SECONDS = 1.0
_HEADROOM = 1.5


@dataclass(frozen=True, slots=True)
class Past:
    """One stream table and its refreshes in the window.

    Attributes:
        durations_ms: of the refreshes that ended well and had something to do.
        failed: how many failed.
        lag_seconds: for how long it has been behind; 0 when it is not, None when never refreshed.
    """

    name: str
    durations_ms: Sequence[float]
    failed: int
    lag_seconds: float | None
    deadline_ms: int | None
    tier: str
    interval_seconds: float | None = None


def sla_row(past: Past) -> SlaRow:
    """How one stream table kept its service level."""
    ran = len(past.durations_ms) + past.failed
    late = [d for d in past.durations_ms if past.deadline_ms and d > past.deadline_ms]
    rate = past.failed / ran if ran else 0.0
    bad = (past.failed + len(late)) / ran if ran else 0.0
    return SlaRow(
        stream_table=past.name,
        p50_ms=percentile(past.durations_ms, 0.5),
        p99_ms=percentile(past.durations_ms, 0.99),
        freshness_lag_s=past.lag_seconds,
        error_rate=rate,
        error_budget_remaining=max(0.0, 1 - bad / _ALLOWED_ERRORS),
        deadline_ms=past.deadline_ms,
        tier=past.tier,
    )


def schedule_advice(past: Past, min_samples: int) -> ScheduleAdvice:
    """How often it can be refreshed: half again as long as its slow refreshes take."""
    samples = past.durations_ms[: 3 * min_samples]
    current = past.interval_seconds
    if len(samples) < min_samples:
        said = f"{len(samples)} refreshes are known, {min_samples} are needed"
        seconds = current or _LEAST_SECONDS
        return ScheduleAdvice(past.name, seconds, None, 0.0, said, current, None)
    middle = median(samples)
    spread = median(abs(s - middle) for s in samples)
    slow = middle + 3 * spread
    seconds = max(_LEAST_SECONDS, slow * _HEADROOM / 1000)
    confidence = max(0.1, 1 - min(1.0, spread / middle)) if middle else 0.1
    said = (
        f"the median of {len(samples)} refreshes is {middle:.0f} ms, slow ones take about "
        f"{slow:.0f} ms"
    )
    change = (seconds - current) / current * 100 if current else None
    return ScheduleAdvice(past.name, seconds, None, confidence, said, current, change)
