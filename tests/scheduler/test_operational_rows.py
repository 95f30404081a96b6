"""What the operational calls show of several hubs, and how many queries they need for it."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from bench.idle_tick import count_looks
from bench.quiet_hub import quiet_hub
from test_idle_ticks import statements

import headwater
from headwater.catalog.jobs import JobStatus, NewJob
from headwater.catalog.owners import owner_name
from headwater.core.names import TableName
from headwater.core.spec import Status
from headwater.graph.units import UnitKind
from headwater.operations import scheduler_of

TTL = timedelta(seconds=30)


def run_jobs(hub: headwater.Hub, running: int, queued: int) -> None:
    """Jobs of a hub, as its dispatcher makes them."""
    jobs = hub._runtime.store.jobs
    for number in range(running + queued):
        new = NewJob(f"singleton:t{number}", UnitKind.SINGLETON, (f"default.t{number}",), 1)
        assert jobs.enqueue(new, owner=owner_name(), ttl=TTL)
    for _ in range(running):
        assert jobs.claim(owner_name(), TTL)


def test_the_share_of_each_hub_is_that_of_its_own_settings(tmp_path: Path) -> None:
    with (
        headwater.connect(tmp_path) as here,
        headwater.connect(catalog=f"sqlite:///{tmp_path}/headwater.db", warehouse=str(tmp_path),
                          hub="other") as other,
    ):  # fmt: skip
        here.set("max_dynamic_refresh_workers", 8)
        here.set("per_hub_worker_quota", 2)
        other.set("per_hub_worker_quota", 4)
        run_jobs(here, 1, 0)
        run_jobs(other, 2, 0)
        for hub in (here, other):
            hub.set("max_parallel_workers", 8)
        rows = {row.hub: row for row in here.worker_allocation_status()}
        assert asdict(rows["default"]) == {
            "hub": "default",
            "db_name": "default",
            "workers_used": 1,
            "workers_quota": 3,  # 2, and half of it as long as little runs
            "workers_queued": 0,
            "cluster_active": 3,
            "cluster_max": 8,
        }
        assert (rows["other"].workers_used, rows["other"].workers_quota) == (2, 6)
        run_jobs_more(other)
        rows = {row.hub: row for row in here.worker_allocation_status()}
        assert rows["default"].workers_quota == 2, "the other one waits for a part of its share"
        assert (rows["other"].workers_quota, rows["other"].workers_queued) == (6, 1)
        other.set("parallel_refresh_mode", "off")
        rows = {row.hub: row for row in here.worker_allocation_status()}
        assert rows["other"].workers_quota == 1
        (pool,) = here.worker_pool_status()
        assert asdict(pool)["per_db_cap"] == 8


def run_jobs_more(hub: headwater.Hub) -> None:
    new = NewJob("singleton:more", UnitKind.SINGLETON, ("default.more",), 1)
    assert hub._runtime.store.jobs.enqueue(new, owner=owner_name(), ttl=TTL)


@pytest.mark.parametrize("count", [10, 300])
def test_sums_need_no_query_per_table(tmp_path: Path, count: int) -> None:
    with quiet_hub(tmp_path, count) as hub:
        hub.metrics_summary()
        hub._runtime.store.tables.update(TableName.parse("t1"), status=Status.SUSPENDED)
        seen = statements(hub)
        (row,) = hub.metrics_summary()
        shown = (row.total_stream_tables, row.active_stream_tables, row.suspended_stream_tables)
        assert shown == (count, count - 1, 1)
        asked = [s for s in seen if s.startswith("SELECT")]
        assert len(asked) <= 4, asked
        seen.clear()
        (worker,) = hub.cluster_worker_summary()
        assert (worker.hub, worker.scheduler_running) == ("default", False)
        assert len([s for s in seen if s.startswith("SELECT")]) <= 4, seen
        for call in ("sla_summary", "health_check", "worker_pool_status",
                     "parallel_job_status", "worker_allocation_status"):  # fmt: skip
            seen.clear()
            looks = count_looks(hub)
            getattr(hub, call)()
            assert len([s for s in seen if s.startswith("SELECT")]) <= 10, (call, seen)
            assert len(looks) <= 2, call
        assert not hub._runtime.engine.running, "no Spark"


def test_the_summary_of_workers_needs_no_query_per_hub(tmp_path: Path) -> None:
    place = {"catalog": f"sqlite:///{tmp_path}/headwater.db", "warehouse": str(tmp_path)}
    with headwater.connect(**place) as hub:  # type: ignore[arg-type]
        assert len(hub.cluster_worker_summary()) == 1
        seen = statements(hub)
        hub.cluster_worker_summary()
        alone = len(seen)
        for number in range(5):
            with headwater.connect(**place, hub=f"hub{number}") as other:  # type: ignore[arg-type]
                assert other.status() == ()
                leases = other._runtime.store.leases
                assert leases.acquire("scheduler", owner_name(), TTL) is not None
        seen.clear()
        rows = hub.cluster_worker_summary()
        assert len(rows) == 6
        assert sum(row.scheduler_running for row in rows) == 5
        assert len(seen) == alone


@pytest.mark.parametrize("hours", [-2, 2])
def test_the_clock_of_a_host_may_differ_from_that_of_the_catalog(
    tmp_path: Path, hours: int
) -> None:
    with quiet_hub(tmp_path, 1) as hub:
        runtime = hub._runtime
        wrong = replace(runtime, clock=lambda: datetime.now(UTC) + timedelta(hours=hours))
        hub._runtime = wrong
        run_jobs(hub, 1, 0)
        (job,) = runtime.store.jobs.all()
        assert runtime.store.jobs.finish(job, JobStatus.RETRYABLE_FAILED)
        assert [j.status for j in hub.parallel_job_status(60)] == ["RETRYABLE_FAILED"]
        coordinator = scheduler_of(hub).coordinator
        coordinator._reap()
        coordinator._reaper.prune()
        assert len(runtime.store.jobs.all()) == 1, "it ended less than an hour ago"
        wait = coordinator._retries[job.unit_key].not_before - wrong.clock()
        assert timedelta(seconds=-30) < wait < timedelta(seconds=2)


def test_jobs_that_ended_long_ago_are_forgotten_while_ticks_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headwater.scheduler.reaping.PRUNE_SECONDS", 0.0)
    monkeypatch.setattr("headwater.scheduler.reaping.REAP_SECONDS", 0.0)
    with quiet_hub(tmp_path, 1) as hub:
        hub.tick()
        run_jobs(hub, 1, 0)
        (job,) = hub._runtime.store.jobs.all()
        long_ago = datetime.now(UTC) - timedelta(hours=3)
        assert hub._runtime.store.jobs.finish(job, JobStatus.SUCCEEDED, now=long_ago)
        hub.tick()
        assert hub._runtime.store.jobs.all() == ()
