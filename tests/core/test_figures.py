"""Figures that several calls show: each is computed in one way."""

from __future__ import annotations

import pytest

from headwater.core.figures import percentile
from headwater.observe.advice import Past, schedule_advice, sla_row


@pytest.mark.parametrize(
    ("count", "share", "expected"),
    [
        (1, 0.5, 1),
        (2, 0.5, 1),
        (3, 0.5, 2),
        (4, 0.5, 2),
        (6, 0.5, 3),
        (20, 0.95, 19),
        (100, 0.95, 95),
        (100, 0.99, 99),
        (101, 0.99, 100),
        (5, 1.0, 5),
        (5, 0.0, 1),
    ],
)
def test_a_percentile_is_the_nearest_rank(count: int, share: float, expected: int) -> None:
    assert percentile(list(range(count, 0, -1)), share) == expected


def test_without_values_there_is_no_percentile() -> None:
    assert percentile([], 0.5) is None


def past(durations: list[float], **values: object) -> Past:
    given = {"failed": 0, "lag_seconds": 0.0, "deadline_ms": None, "tier": "hot", **values}
    return Past(name="default.t", durations_ms=durations, **given)  # type: ignore[arg-type]


def test_the_row_of_a_service_level() -> None:
    row = sla_row(past([100.0, 200.0, 300.0, 5000.0], deadline_ms=1000, lag_seconds=2.5))
    assert (row.p50_ms, row.p99_ms, row.freshness_lag_s) == (200.0, 5000.0, 2.5)
    assert (row.error_rate, row.error_budget_remaining) == (0.0, 0.0), "one in four was late"

    kept = sla_row(past([100.0] * 999, failed=1))
    assert kept.error_rate == pytest.approx(0.001)
    assert kept.error_budget_remaining == pytest.approx(0.9)

    empty = sla_row(past([], lag_seconds=None))
    assert (empty.p50_ms, empty.error_rate, empty.error_budget_remaining) == (None, 0.0, 1.0)


def test_the_advice_for_a_schedule() -> None:
    few = schedule_advice(past([1000.0] * 19, interval_seconds=30.0), 20)
    assert (few.confidence, few.recommended_interval_seconds, few.delta_pct) == (0.0, 30.0, None)

    steady = schedule_advice(past([2000.0] * 20, interval_seconds=30.0), 20)
    assert (steady.confidence, steady.recommended_interval_seconds) == (1.0, 3.0)
    assert steady.delta_pct == pytest.approx(-90.0)

    spread = schedule_advice(past([1000.0, 3000.0] * 10), 20)
    assert spread.recommended_interval_seconds == pytest.approx((2000 + 3 * 1000) * 1.5 / 1000)
    assert spread.confidence == pytest.approx(0.5)

    quick = schedule_advice(past([10.0] * 20), 20)
    assert quick.recommended_interval_seconds == 1.0, "never more often than once in a second"
