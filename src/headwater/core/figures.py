"""Rows of the calls that show how a hub is doing: costs, refreshes, caches, upkeep."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

_ROUNDING = 1e-9
"""A share of a count is a whole number when it is this near to one."""


@dataclass(frozen=True, slots=True)
class ThresholdAdvice:
    """What the cost model knows about one stream table; one row per specialisation, newest first.

    Attributes:
        name: the stream table.
        specialisation: which sources had changed, and how; None before the first delta.
        apply: how those deltas were written.
        samples: deltas within `prediction_window` that the line goes through.
        slope: milliseconds per unit of load; None while there is no line.
        intercept: milliseconds without load.
        unit: `bytes` or `rows`.
        spread_ms: median deviation of the times from the line.
        last_full_ms: the last full refresh, as measured.
        full_ms: a full refresh with the sources as they were at the newest refresh.
        current_threshold: part of a source that may change while nothing is predicted.
        break_even: load in `unit` at which a full refresh becomes the choice; None if never known.
        confidence: HIGH, MEDIUM or LOW, by the number of samples.
        last_action: what the newest refresh did.
        last_reason_code: why.
        last_at: when.
        last_ms: what it took.
        last_expected_ms: what the way not taken was expected to take then.
        last_right: whether the way taken took no longer than that; None when nothing was expected.
        reason: why nothing is predicted; empty when something is.
    """

    name: str
    specialisation: str | None
    apply: str | None
    samples: int
    slope: float | None
    intercept: float | None
    unit: str | None
    spread_ms: float | None
    last_full_ms: float | None
    full_ms: float | None
    current_threshold: float
    break_even: float | None
    confidence: str
    last_action: str | None
    last_reason_code: str | None
    last_at: datetime | None
    last_ms: float | None
    last_expected_ms: float | None
    last_right: bool | None
    reason: str


@dataclass(frozen=True, slots=True)
class RefreshStats:
    """The refreshes of one stream table, summed up from the history that is kept."""

    name: str
    status: str
    refresh_mode: str
    is_populated: bool
    total_refreshes: int
    successful_refreshes: int
    failed_refreshes: int
    incremental_refreshes: int
    full_refreshes: int
    total_rows_inserted: int
    total_rows_deleted: int
    avg_duration_ms: float | None
    p95_duration_ms: float | None
    p99_duration_ms: float | None
    last_refresh_action: str | None
    last_refresh_status: str | None
    last_refresh_at: datetime | None
    staleness_secs: float | None
    consecutive_errors: int
    schedule: str
    refresh_tier: str
    last_error_message: str | None
    downstream_publication: str | None


@dataclass(frozen=True, slots=True)
class CacheStats:
    """The caches of compiled refreshes: hits in this process, sizes as they are.

    Attributes:
        l1_hits: found in this process.
        l0_hits: found in the file that processes of this host share.
        l2_hits: found in the catalog.
        misses: compiled.
        evictions: programs that made room for others in this process.
        l1_size: programs kept in this process.
        l0_size: entries of the shared file.
        l2_size: entries in the catalog.
        l0_skipped_writes: entries not written to the file, because another process was writing.
        l0_path: where the shared file is; None when there is none.
    """

    l1_hits: int
    l0_hits: int
    l2_hits: int
    misses: int
    evictions: int
    l1_size: int
    l0_size: int
    l2_size: int
    l0_skipped_writes: int
    l0_path: str | None


@dataclass(frozen=True, slots=True)
class MaintenanceRow:
    """What maintenance did to one stream table.

    Attributes:
        files_before: data files of the content.
        files_after: the same afterwards.
        bytes_before: their size.
        bytes_after: the same afterwards.
        delete_files_before: files that mark rows as deleted.
        delete_files_after: the same afterwards.
        files_rewritten: data files that were put together.
        snapshots_before: snapshots of the table, staged ones included.
        snapshots_after: the same afterwards.
        versions_expired: old versions that nobody needed.
        staged_removed: commits that were staged and never published.
        reason: why nothing was done, or how coming merges will write from now on.
    """

    name: str
    files_before: int
    files_after: int
    bytes_before: int
    bytes_after: int
    delete_files_before: int
    delete_files_after: int
    files_rewritten: int
    snapshots_before: int
    snapshots_after: int
    versions_expired: int
    staged_removed: int
    duration_ms: float
    reason: str


def percentile(values: Sequence[float], share: float) -> float | None:
    """The smallest of the values that a share of them does not exceed; None without values.

    >>> percentile([4, 3, 1, 2], 0.5)
    2
    """
    if not values:
        return None
    rank = ceil(share * len(values) - _ROUNDING)
    return sorted(values)[max(0, rank - 1)]
