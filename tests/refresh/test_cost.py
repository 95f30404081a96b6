"""The cost model: when it is silent, what it predicts, how soon it forgets an outlier."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from situations import CALM, CHANGED, MB

from headwater.core.spec import Action, RefreshMode
from headwater.refresh.cost import (
    CLAMP,
    Fit,
    Forecast,
    Limits,
    Load,
    Sample,
    fitted,
    forecast,
    full_estimate,
)
from headwater.refresh.decide import decide

NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
LONG_AGO = NOW - timedelta(days=1)
SPEC = "default.src:APPEND"
ACTIVE = replace(CALM, changes=(CHANGED,))


def delta(size: int, took: float, minutes_ago: float = 1, **more: object) -> Sample:
    sample = Sample(
        at=NOW - timedelta(minutes=minutes_ago),
        full=False,
        specialisation=SPEC,
        apply="merge",
        load=Load(size),
        source_bytes=100 * MB,
        duration_ms=took,
    )
    return replace(sample, **more)  # type: ignore[arg-type]


def full(took: float = 1000, minutes_ago: float = 600, **more: object) -> Sample:
    return replace(
        delta(0, took, minutes_ago), full=True, specialisation="full", apply="overwrite", **more
    )  # type: ignore[arg-type]


def line(count: int, *, ms_per_mb: float = 100, base: float = 200) -> list[Sample]:
    return [delta(i * MB, base + i * ms_per_mb, i) for i in range(1, count + 1)]


def predict(samples: list[Sample], size: int, **more: object) -> Forecast:
    given_: dict[str, object] = {
        "specialisation": SPEC,
        "source_bytes": 100 * MB,
        "now": NOW,
        "created_at": LONG_AGO,
        "limits": Limits(),
    }
    return forecast(samples, Load(size), **(given_ | more))  # type: ignore[arg-type]


def chosen(told: Forecast, **more: object) -> str:
    return decide(replace(ACTIVE, forecast=told, **more)).reason_code  # type: ignore[arg-type]


samples_of_any_kind = st.builds(
    delta, st.integers(0, 10**12), st.floats(0, 10**7), st.floats(0, 59)
)


@given(st.lists(samples_of_any_kind, max_size=4), st.integers(0, 10**12))
def test_below_five_samples_nothing_is_predicted(samples: list[Sample], size: int) -> None:
    told = predict([*samples, full()], size)
    assert told.incremental_ms is None
    assert told.why_not
    assert chosen(told) == "CHANGES"


@given(st.lists(samples_of_any_kind, min_size=5, max_size=80), st.integers(0, 10**12))
def test_a_prediction_stays_within_its_clamp(samples: list[Sample], size: int) -> None:
    told = predict([*samples, full(1000)], size)
    assert told.full_ms is not None
    if told.incremental_ms is not None:
        assert CLAMP[0] * told.full_ms <= told.incremental_ms <= CLAMP[1] * told.full_ms


@given(st.integers(0, 10**9), st.lists(st.floats(1, 10**6), min_size=5, max_size=20))
def test_equal_loads_predict_nothing(size: int, times: list[float]) -> None:
    assert predict([*(delta(size, took) for took in times), full()], size).incremental_ms is None


def test_a_spike_switches_to_full() -> None:
    samples = [*line(8), full(1000)]
    assert chosen(predict(samples, 5 * MB)) == "CHANGES"
    spike = predict(samples, 50 * MB)
    assert spike.incremental_ms == 4000
    decision = decide(replace(ACTIVE, forecast=spike))
    assert (decision.action, decision.reason_code) == (Action.FULL, "PREDICTED_COST_EXCEEDS_FULL")
    assert not decision.asked_for


def test_the_ratio_is_the_border() -> None:
    samples = [*line(8), full(1000)]
    told = predict(samples, 12 * MB)
    assert told.incremental_ms == pytest.approx(1400)
    assert chosen(told) == "CHANGES"
    assert chosen(told, prediction_ratio=1.3) == "PREDICTED_COST_EXCEEDS_FULL"


@pytest.mark.parametrize("more", [{"mode": RefreshMode.STRICT}, {"strict": True}])
def test_strict_never_goes_full_for_its_cost(more: dict[str, object]) -> None:
    huge = replace(CHANGED, changed_rows=900_000)
    spike = predict([*line(8), full(1000)], 50 * MB)
    assert chosen(spike, changes=(huge,), **more) == "CHANGES"
    assert chosen(Forecast(Load(0), 0), changes=(huge,), **more) == "CHANGES"


def test_a_prediction_replaces_the_fixed_limit_both_ways() -> None:
    huge = replace(CHANGED, changed_rows=900_000)
    cheap = predict([*line(8), full(10_000)], 5 * MB)
    assert chosen(cheap, changes=(huge,)) == "CHANGES"
    silent = predict([*line(3), full(10_000)], 5 * MB)
    assert chosen(silent, changes=(huge,)) == "TOO_MUCH_CHANGED"


@pytest.mark.parametrize(
    ("samples", "more", "why"),
    [
        ([*line(8), full()], {"created_at": NOW - timedelta(seconds=59)}, "younger"),
        ([*line(8), full()], {"limits": Limits(min_samples=0)}, "switched off"),
        ([*line(8), full()], {"limits": Limits(min_samples=9)}, "8 of 9"),
        ([*line(8), full()], {"limits": Limits(window=timedelta(minutes=5))}, ""),
        ([*line(8), full()], {"limits": Limits(window=timedelta(minutes=4))}, "4 of 5"),
        ([*line(8), full()], {"specialisation": "default.src:MIXED"}, "0 of 5"),
        (line(8), {}, "no full refresh"),
        ([*(delta(MB, 100 + i) for i in range(8)), full()], {}, "same load"),
    ],
)
def test_when_it_is_silent(samples: list[Sample], more: dict[str, object], why: str) -> None:
    told = predict(samples, 5 * MB, **more)
    assert why in told.why_not
    assert (told.incremental_ms is None) == bool(why)


def test_only_times_of_the_newest_apply_kind_count() -> None:
    other = [delta(i * MB, 9000, 20 + i, apply="replace_keys") for i in range(8)]
    told = predict([*other, *line(6), full(1000)], 5 * MB)
    assert told.samples == 6
    assert told.incremental_ms == pytest.approx(700)


def test_a_sawtooth_with_an_outlier_is_right_again_within_five_samples() -> None:
    """Loads rise and fall; one refresh takes 40 times as long. Truth: 200 ms + 100 ms per MB."""
    sizes = [1 + i % 4 for i in range(40)]
    samples: list[Sample] = [full(1000)]
    wrong_after_outlier = []
    for i, size in enumerate(sizes):
        told = predict(samples, size * MB)
        if told.incremental_ms is not None and i > 12:
            truth = max(200 + 100 * size, 500)
            wrong_after_outlier.append(abs(told.incremental_ms - truth) > 0.1 * truth)
        took = (200 + 100 * size) * (40 if i == 12 else 1)
        samples.append(delta(size * MB, took, 40 - i))
    assert len(wrong_after_outlier) == 27
    assert not any(wrong_after_outlier[5:])


def test_noise_over_loads_that_hardly_differ_is_no_steep_line() -> None:
    noise = [300, 340, 310, 290, 350, 305, 320, 330]
    samples = [delta(1000 + i % 3, took, i) for i, took in enumerate(noise)]
    assert fitted(samples) == Fit(0, pytest.approx(315), "bytes", 8, pytest.approx(15), 1002)  # type: ignore[arg-type]
    assert predict([*samples, full(1000)], 2000).incremental_ms == 500
    assert predict([*samples, full(1000)], 100_000).why_not == "the load is far from any sample's"


def test_rows_are_used_where_they_explain_the_times_better() -> None:
    sizes = [(9, 100), (2, 200), (7, 300), (1, 400), (8, 500), (3, 600)]
    samples = [delta(size * MB, 100 + rows, load=Load(size * MB, rows)) for size, rows in sizes]
    fit = fitted(samples)
    assert fit is not None
    assert (fit.unit, fit.slope, fit.intercept) == ("rows", 1, 100)


def test_a_full_refresh_is_scaled_by_the_growth_of_its_sources() -> None:
    assert full_estimate([full(1000)], 100 * MB) == 1000
    assert full_estimate([full(1000), delta(1, 200)], 300 * MB) == 200 + 800 * 3
    assert full_estimate([full(1000), delta(1, 200)], 10 * MB) == 200 + 80
    assert full_estimate([delta(1, 200)], 10 * MB) is None


def test_a_full_refresh_in_a_cold_spark_counts_less_and_not_for_long() -> None:
    cold = full(6000, 50, warmth=0)
    assert full_estimate([cold], 100 * MB) == 3000
    assert full_estimate([cold, full(900, 40)], 100 * MB) == 900
    disturbed = [full(900, 40), full(9000, 30), full(1000, 20)]
    assert full_estimate(disturbed, 100 * MB) == 1000
