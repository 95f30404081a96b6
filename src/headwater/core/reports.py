"""Rows that tell of the scheduler: frozen, printable, the same words everywhere."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from headwater.core.results import RefreshResult


@dataclass(frozen=True, slots=True)
class TickChoice:
    """What a tick decided about one stream table, and why."""

    name: str
    refresh: bool
    reason_code: str
    reason: str


@dataclass(frozen=True, slots=True)
class TickReport:
    """One round of the scheduler.

    Attributes:
        now: the instant it decided for.
        choices: for every stream table that was looked at; the others hold what their sources have.
        units: keys of the units that ran, upstream first.
        results: the refreshes that were made.
        errors: stream table → why it failed.
        versions: base table → the version that all refreshes of the tick read; empty when
            `tick_watermark_enabled` is off.
        queries: how many queries looked for changes.
    """

    now: datetime
    tick: int | None
    choices: tuple[TickChoice, ...]
    units: tuple[str, ...] = ()
    results: tuple[RefreshResult, ...] = ()
    errors: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, int | None] = field(default_factory=dict)
    duration_ms: float = 0.0
    queries: int = 1
    mode: str = "on"

    @property
    def idle(self) -> bool:
        """Whether no stream table was due."""
        return not self.units

    @property
    def refreshed(self) -> tuple[str, ...]:
        """The stream tables that were refreshed."""
        return tuple(r.name for r in self.results if r.action != "SKIPPED")

    @property
    def skipped(self) -> Mapping[str, str]:
        """Stream table → why it was not refreshed, for those that were looked at."""
        return {c.name: c.reason_code for c in self.choices if not c.refresh}

    @property
    def failed(self) -> tuple[str, ...]:
        """The stream tables that failed."""
        return tuple(self.errors)

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class UnitRow:
    """Stream tables that one worker refreshes as a whole."""

    key: str
    kind: str
    members: tuple[str, ...]
    upstream: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WorkerPoolRow:
    """The workers of this hub; `per_db_cap` is the older name of `per_hub_cap`."""

    active_workers: int
    max_workers: int
    per_hub_cap: int
    per_db_cap: int
    parallel_mode: str
    idle_workers: int
    last_scheduler_tick_unix: float | None


@dataclass(frozen=True, slots=True)
class JobRow:
    """One attempt to run a unit."""

    job_id: int
    unit_key: str
    unit_kind: str
    status: str
    member_count: int
    attempt_no: int
    scheduler_pid: int
    worker_pid: int | None
    enqueued_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    duration_ms: float | None
    outcome_detail: str | None = None


@dataclass(frozen=True, slots=True)
class AllocationRow:
    """The share of one hub in the workers that hubs of a catalog database share.

    Attributes:
        db_name: the hub, by its older name.
        workers_quota: the most it may use now, burst included.
    """

    hub: str
    db_name: str
    workers_used: int
    workers_quota: int
    workers_queued: int
    cluster_active: int
    cluster_max: int


@dataclass(frozen=True, slots=True)
class ClusterWorkerRow:
    """The workers and the coordinator of one hub (`db_name`) of the catalog database."""

    hub: str
    db_name: str
    active_workers: int
    scheduler_pid: int | None
    scheduler_running: bool
    total_active_workers: int


@dataclass(frozen=True, slots=True)
class MetricsRow:
    """What one hub (`db_name`) has done so far, as far as its history goes back."""

    hub: str
    db_name: str
    total_stream_tables: int
    active_stream_tables: int
    suspended_stream_tables: int
    total_refreshes: int
    successful_refreshes: int
    failed_refreshes: int
    total_rows_processed: int
    active_workers: int
    ivm_lock_parse_error_count: int


@dataclass(frozen=True, slots=True)
class SlaRow:
    """How one stream table kept its service level in the last hours."""

    stream_table: str
    p50_ms: float | None
    p99_ms: float | None
    freshness_lag_s: float | None
    error_rate: float
    error_budget_remaining: float
    deadline_ms: int | None = None
    tier: str = ""


@dataclass(frozen=True, slots=True)
class ScheduleAdvice:
    """How often a stream table can be refreshed, from how long its refreshes took."""

    stream_table: str
    recommended_interval_seconds: float
    peak_window_cron: str | None
    confidence: float
    reasoning: str
    current_interval_seconds: float | None
    delta_pct: float | None


@dataclass(frozen=True, slots=True)
class HealthRow:
    """One check of the health of a hub."""

    check_name: str
    severity: str
    detail: str
