"""Predicts what a refresh takes, as a delta and in full, from what earlier ones took. Pure.

    incremental = slope · load + intercept      over the samples of one specialisation
    full        = fixed + (last full − fixed) · growth of the sources since

The line is the median of the slopes between all pairs of samples (Theil and Sen): a third of the
samples may be wrong. Samples further from it than three median deviations are left out, and the
rest is fitted again. Load is planned bytes or planned rows, whichever explains the times better.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import combinations
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

NEW_TABLE = timedelta(seconds=60)
"""For so long after its creation nothing is predicted for a stream table."""

CLAMP = (0.5, 4.0)
"""A prediction is kept between these multiples of a full refresh."""

NEWEST = 64
"""Samples a fit looks at: the slopes of all their pairs are taken in under a millisecond."""

FAR = 4.0
"""A load above so many times the greatest one seen is not predicted from times that do not grow."""

LAST_FULLS = 3
"""Full refreshes whose median counts as the last one: one of them may have been disturbed."""

_OUTLIER = 3 * 1.4826
"""Median deviations, as standard deviations of a normal distribution, that make an outlier."""


WARMTH_SHARE = (0.5, 0.8, 1.0)
"""What a refresh takes once Spark and its statement are warm, as a part of the measured."""


@dataclass(frozen=True, slots=True)
class Load:
    """What a refresh has to work through, known before it runs.

    Attributes:
        bytes: size of the files that the reads of the windows open.
        rows: changed rows, where they are known exactly; None when files were rewritten.
    """

    bytes: int
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """One refresh that was made.

    Attributes:
        at: when it ended.
        full: whether everything was computed.
        specialisation: which sources had changed, and how.
        apply: how the result was written.
        load: what was planned.
        source_bytes: size of all sources.
        duration_ms: how long it took by itself: without waiting, and without others beside it.
        warmth: 0 in a Spark that just started, 1 when its statement was new, 2 when it was not.
    """

    at: datetime
    full: bool
    specialisation: str
    apply: str
    load: Load
    source_bytes: int
    duration_ms: float
    warmth: int = 2

    @property
    def warm_ms(self) -> float:
        """What it would take once Spark and its statement are warm."""
        return self.duration_ms * WARMTH_SHARE[self.warmth]


@dataclass(frozen=True, slots=True)
class Limits:
    """What the settings say about predictions."""

    window: timedelta = timedelta(minutes=60)
    ratio: float = 1.5
    min_samples: int = 5


@dataclass(frozen=True, slots=True)
class Fit:
    """A line through samples: milliseconds over load.

    Attributes:
        slope: milliseconds per byte or row; 0 when the times do not grow with the load.
        intercept: milliseconds without any load.
        unit: `bytes` or `rows`.
        samples: how many were looked at.
        spread_ms: median deviation of the times from the line.
        greatest: the greatest load among them.
    """

    slope: float
    intercept: float
    unit: str
    samples: int
    spread_ms: float
    greatest: float

    def at(self, load: Load) -> float | None:
        """Milliseconds at a load; None where the line says nothing about it."""
        amount = load.bytes if self.unit == "bytes" else load.rows
        if amount is None or (self.slope == 0 and amount > FAR * self.greatest):
            return None
        return self.slope * amount + self.intercept


@dataclass(frozen=True, slots=True)
class Forecast:
    """What both ways are expected to take.

    Attributes:
        load: what the delta has to work through.
        source_bytes: what a full refresh has to.
        samples: earlier refreshes of this specialisation within the window.
        fit: the line through them; None when there is none yet.
        incremental_ms: the prediction, kept within `CLAMP`; None when nothing is predicted.
        full_ms: a full refresh now; None while none was measured.
        why_not: why nothing is predicted; empty when something is.
    """

    load: Load
    source_bytes: int
    samples: int = 0
    fit: Fit | None = None
    incremental_ms: float | None = None
    full_ms: float | None = None
    why_not: str = ""

    def exceeds(self, ratio: float) -> bool:
        """Whether the delta is predicted to take longer than `ratio` full refreshes."""
        if self.incremental_ms is None or self.full_ms is None:
            return False
        return self.incremental_ms > self.full_ms * ratio


def forecast(
    samples: Sequence[Sample],
    load: Load,
    *,
    specialisation: str,
    source_bytes: int,
    now: datetime,
    created_at: datetime,
    limits: Limits,
) -> Forecast:
    """Predict both ways of the next refresh.

    Args:
        samples: earlier refreshes of the stream table, in any order.
        load: what its windows hold.
        specialisation: which sources have changed, and how.
        source_bytes: size of all sources now.
        now: the current instant.
        created_at: when the stream table was created.
        limits: the settings.
    """
    full_ms = full_estimate(samples, source_bytes)
    alike = like(samples, specialisation, since=now - limits.window)
    fit = fitted(alike) if 0 < limits.min_samples <= len(alike) else None
    predicted = fit.at(load) if fit is not None else None
    told = Forecast(load, source_bytes, len(alike), fit, None, full_ms)
    why_not = _silence(told, predicted, limits, age=now - created_at)
    if why_not or predicted is None or full_ms is None:
        return Forecast(load, source_bytes, len(alike), fit, None, full_ms, why_not)
    kept = min(max(predicted, CLAMP[0] * full_ms), CLAMP[1] * full_ms)
    return Forecast(load, source_bytes, len(alike), fit, kept, full_ms)


def like(samples: Iterable[Sample], specialisation: str, *, since: datetime) -> list[Sample]:
    """Deltas of one specialisation since an instant, newest first, written as the newest was."""
    found = [
        s for s in samples if not s.full and s.specialisation == specialisation and s.at >= since
    ]
    found.sort(key=lambda s: s.at, reverse=True)
    return [s for s in found if s.apply == found[0].apply][:NEWEST]


def fitted(samples: Sequence[Sample]) -> Fit | None:
    """The line through the samples in the better unit; None when no load differs from another."""
    fits = [_line([(s.load.bytes, s.warm_ms) for s in samples], "bytes")]
    by_rows = [(s.load.rows, s.warm_ms) for s in samples if s.load.rows is not None]
    if len(by_rows) == len(samples):
        fits.append(_line(by_rows, "rows"))
    return min((f for f in fits if f is not None), key=lambda f: f.spread_ms, default=None)


def full_estimate(samples: Iterable[Sample], source_bytes: int) -> float | None:
    """What a full refresh takes now: the last ones, scaled by the growth of the sources."""
    known = sorted(samples, key=lambda s: s.at, reverse=True)
    fulls = [s for s in known if s.full]
    if not fulls:
        return None
    warmest = max(s.warmth for s in fulls)
    fulls = [s for s in fulls if s.warmth == warmest][:LAST_FULLS]
    cheapest = min(s.warm_ms for s in known)
    return median(_scaled(s, source_bytes, cheapest) for s in fulls)


def _scaled(sample: Sample, source_bytes: int, cheapest: float) -> float:
    """One full refresh as it would be now; what every refresh costs does not grow."""
    took = sample.warm_ms
    fixed = min(took, cheapest)
    growth = source_bytes / sample.source_bytes if sample.source_bytes > 0 else 1.0
    return fixed + (took - fixed) * growth


def _silence(told: Forecast, predicted: float | None, limits: Limits, age: timedelta) -> str:
    """Why nothing is predicted; empty when something is."""
    if limits.min_samples == 0:
        return "predictions are switched off"
    if age < NEW_TABLE:
        return f"the stream table is younger than {NEW_TABLE.total_seconds():.0f} s"
    if told.full_ms is None:
        return "no full refresh was measured"
    if told.samples < limits.min_samples:
        return f"{told.samples} of {limits.min_samples} samples in the window"
    if told.fit is None:
        return "all samples have the same load"
    return "" if predicted is not None else "the load is far from any sample's"


def _line(points: Sequence[tuple[float, float]], unit: str) -> Fit | None:
    first = _theil_sen(points)
    if first is None:
        return None
    off = [abs(y - first[0] * x - first[1]) for x, y in points]
    limit = _OUTLIER * median(off)
    kept = [point for point, distance in zip(points, off, strict=True) if distance <= limit]
    slope, intercept = _theil_sen(kept) or first
    spread = median(abs(y - slope * x - intercept) for x, y in points)
    return Fit(slope, intercept, unit, len(points), spread, max(x for x, _ in points))


def _theil_sen(points: Sequence[tuple[float, float]]) -> tuple[float, float] | None:
    """Slope and intercept; None when all loads are equal.

    Where a quarter of the slopes falls, the times do not grow with the load: noise over loads that
    hardly differ would else be taken for a steep line.
    """
    slopes = sorted(
        (b[1] - a[1]) / (b[0] - a[0]) for a, b in combinations(points, 2) if a[0] != b[0]
    )
    if not slopes:
        return None
    slope = median(slopes) if slopes[len(slopes) // 4] > 0 else 0.0
    return slope, median(y - slope * x for x, y in points)
