"""Answers of the operational calls: workers, jobs, shares, metrics, service levels, health.

Each is a few queries on the catalog, none per stream table; none starts Spark.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from headwater.catalog.job_loads import HubLoad, load_of
from headwater.catalog.schedule_states import FuseState
from headwater.core.reports import (
    AllocationRow,
    ClusterWorkerRow,
    JobRow,
    MetricsRow,
    UnitRow,
    WorkerPoolRow,
)
from headwater.core.schedule import Every, parse_schedule
from headwater.core.spec import Status
from headwater.observe.advice import Past, schedule_advice, sla_row
from headwater.observe.health import Facts, health
from headwater.scheduler.daemon import LEADER, leader_of, leads_now
from headwater.scheduler.ledger import shape_of
from headwater.scheduler.staleness import stale_tables, waiting_since
from headwater.scheduler.tick_budget import Budget
from headwater.scheduler.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headwater.catalog.jobs import Job
    from headwater.catalog.outlines import Outline
    from headwater.core.names import TableName
    from headwater.core.reports import HealthRow, ScheduleAdvice, SlaRow
    from headwater.refresh.runtime import Runtime

GROWING_ROWS = 10_000
_OF_A_HUB = ("parallel_refresh_mode", "max_parallel_workers", "per_hub_worker_quota")


def units(runtime: Runtime) -> tuple[UnitRow, ...]:
    """What is refreshed as a whole, upstream first."""
    shape = shape_of(runtime.store, {o.name: o for o in runtime.store.outlines.read()})
    return tuple(
        UnitRow(
            unit.key,
            unit.kind.value,
            tuple(map(str, unit.members)),
            tuple(sorted(shape.units.upstream[unit.key])),
        )
        for unit in shape.units.units
    )


def worker_pool_status(runtime: Runtime, idle: int = 0) -> tuple[WorkerPoolRow, ...]:
    """The workers of this hub."""
    load = runtime.store.jobs.load()
    last = runtime.store.ticks.last_at()
    most = int(runtime.setting("max_parallel_workers"))
    return (
        WorkerPoolRow(
            active_workers=load.here + load.elsewhere,
            max_workers=int(runtime.setting("max_dynamic_refresh_workers")),
            per_hub_cap=most,
            per_db_cap=most,
            parallel_mode=str(runtime.setting("parallel_refresh_mode")),
            idle_workers=idle,
            last_scheduler_tick_unix=last.timestamp() if last is not None else None,
        ),
    )


def parallel_job_status(runtime: Runtime, max_age_seconds: int = 300) -> tuple[JobRow, ...]:
    """Jobs that wait or run, and those that ended lately; the newest first."""
    since = runtime.store.now() - timedelta(seconds=max_age_seconds)
    return tuple(_job(job) for job in reversed(runtime.store.jobs.all(finished_since=since)))


def worker_allocation_status(runtime: Runtime) -> tuple[AllocationRow, ...]:
    """The share of each hub of the catalog database in the workers."""
    found = runtime.store.jobs.by_hub()
    cap = int(runtime.setting("max_dynamic_refresh_workers"))
    active = sum(load.running for load in found.values())
    stored = runtime.store.settings.of_all_hubs(_OF_A_HUB)
    rows = []
    for hub in runtime.store.hubs():
        mine, load = found.get(hub, HubLoad()), load_of(hub, found)
        given = _given(runtime) if hub == runtime.store.hub else stored.get(hub, {})
        budget = _budget(given, cap, load.hubs)
        quota = budget.allowed(active, load.waiting)
        rows.append(AllocationRow(hub, hub, mine.running, quota, mine.queued, active, cap))
    return tuple(rows)


def _given(runtime: Runtime) -> dict[str, Any]:
    return {name: runtime.setting(name) for name in _OF_A_HUB}


def _budget(given: Mapping[str, Any], cap: int, hubs: int) -> Budget:
    """What a hub may use; of another hub only what it stored is known."""
    usual = Budget()
    return Budget(
        mode=str(given.get("parallel_refresh_mode", usual.mode)),
        per_hub=int(given.get("max_parallel_workers", usual.per_hub)),
        cap=cap,
        quota=int(given.get("per_hub_worker_quota", usual.quota)),
        hubs=hubs,
    )


def cluster_worker_summary(runtime: Runtime) -> tuple[ClusterWorkerRow, ...]:
    """The workers and the coordinator of each hub of the catalog database."""
    loads = runtime.store.jobs.loads()
    leaders = runtime.store.leases.holders(LEADER)
    total = sum(running for running, _ in loads.values())
    rows = []
    for hub in runtime.store.hubs():
        pid, leads = leads_now(leaders.get(hub))
        rows.append(ClusterWorkerRow(hub, hub, loads.get(hub, (0, 0))[0], pid, leads, total))
    return tuple(rows)


def metrics_summary(runtime: Runtime) -> tuple[MetricsRow, ...]:
    """What this hub has and has done."""
    counts = runtime.store.outlines.counts()
    totals = runtime.store.past.totals()
    return (
        MetricsRow(
            hub=runtime.store.hub,
            db_name=runtime.store.hub,
            total_stream_tables=sum(counts.values()),
            active_stream_tables=counts.get(Status.ACTIVE, 0),
            suspended_stream_tables=counts.get(Status.SUSPENDED, 0),
            total_refreshes=totals.refreshes,
            successful_refreshes=totals.successful,
            failed_refreshes=totals.failed,
            total_rows_processed=totals.rows,
            active_workers=runtime.store.jobs.load().here,
            ivm_lock_parse_error_count=0,
        ),
    )


def sla_summary(runtime: Runtime) -> tuple[SlaRow, ...]:
    """How stream tables kept their service levels in the last hours."""
    return tuple(sla_row(past) for past in _past(runtime).values())


def recommend_schedule(runtime: Runtime, name: TableName) -> ScheduleAdvice:
    """How often a stream table can be refreshed."""
    runtime.store.tables.get(name)
    least = int(runtime.setting("schedule_recommendation_min_samples"))
    return schedule_advice(_past(runtime)[name], least)


def health_check(runtime: Runtime) -> tuple[HealthRow, ...]:
    """The health of the hub, one row for each check."""
    outlines = runtime.store.outlines.read()
    behind = _behind(runtime, outlines)
    fuses = runtime.store.schedule.fuses()
    has_workers = int(runtime.setting("max_parallel_workers")) > 0
    loads = runtime.store.jobs.loads()
    return health(
        Facts(
            scheduler_running=leader_of(runtime)[1],
            failing=_names(o for o in outlines if o.status is Status.ERROR),
            suspended=_names(o for o in outlines if o.status is Status.SUSPENDED),
            stale=tuple(map(str, stale_tables(runtime, outlines))),
            needs_reinit=_names(o for o in outlines if o.needs_reinit),
            repeated_errors=_names(o for o in outlines if o.errors),
            unreadable=tuple(runtime.store.outlines.unreadable()),
            growing=_names(o for o in outlines if behind.get(o.name, 0) > GROWING_ROWS),
            blown=_names(
                o for o in outlines if o.id in fuses and fuses[o.id].fuse_state is FuseState.BLOWN
            ),
            parallel=has_workers and str(runtime.setting("parallel_refresh_mode")) != "off",
            active_workers=sum(r for r, _ in loads.values()),
            max_workers=int(runtime.setting("max_dynamic_refresh_workers")),
            queued_jobs=sum(q for _, q in loads.values()),
        )
    )


def _behind(runtime: Runtime, outlines: tuple[Outline, ...]) -> dict[TableName, int]:
    """Stream tables whose sources moved, with the rows that wait for them."""
    watch = Watch(runtime)
    watch.look()
    rows: dict[TableName, int] = {}
    for outline in outlines:
        for source in outline.reads:
            known, newest = outline.sources.get(source), watch.version(source)
            if newest is not None and newest != known:
                waiting = watch.pending(source, known.snapshot_id if known else None)
                rows[outline.name] = rows.get(outline.name, 0) + waiting.certain
    return rows


def _past(runtime: Runtime) -> dict[TableName, Past]:
    hours = int(runtime.setting("sla_window_hours"))
    since = runtime.clock() - timedelta(hours=hours)
    durations, failed = runtime.store.past.durations(since)
    outlines = runtime.store.outlines.read()
    watch, now = Watch(runtime), runtime.clock()
    watch.look()
    found = {}
    for outline in sorted(outlines, key=lambda o: o.name):
        lag = None if outline.last_refresh_at is None else 0.0
        waiting = waiting_since(watch, outline)
        if lag is not None and waiting is not None:
            lag = max(0.0, (now - waiting).total_seconds())
        schedule = parse_schedule(outline.schedule)
        found[outline.name] = Past(
            name=str(outline.name),
            durations_ms=durations.get(str(outline.name), []),
            failed=failed.get(str(outline.name), 0),
            lag_seconds=lag,
            deadline_ms=outline.deadline_ms,
            tier=outline.tier.value,
            interval_seconds=schedule.interval.total_seconds()
            if isinstance(schedule, Every)
            else None,
        )
    return found


def _names(outlines: object) -> tuple[str, ...]:
    return tuple(str(o.name) for o in outlines)  # type: ignore[attr-defined]


def _job(job: Job) -> JobRow:
    took = None
    if job.started_at is not None and job.finished_at is not None:
        took = (job.finished_at - job.started_at).total_seconds() * 1000
    return JobRow(
        job_id=job.job_id,
        unit_key=job.unit_key,
        unit_kind=job.unit_kind.value,
        status=job.status.value,
        member_count=len(job.members),
        attempt_no=job.attempt_no,
        scheduler_pid=job.scheduler_pid,
        worker_pid=job.worker_pid,
        enqueued_at=job.enqueued_at,
        started_at=job.started_at,
        finished_at=job.finished_at,
        duration_ms=took,
        outcome_detail=job.outcome_detail,
    )
