"""The columns of the operational calls, and the figures they show of jobs and past refreshes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from bench.quiet_hub import quiet_hub, write_source
from failing_units import coordinator_of
from sqlalchemy import update
from test_operational_rows import run_jobs

import headwater
from headwater.catalog import tables
from headwater.catalog.history import Outcome
from headwater.commands import CALLABLE
from headwater.core.errors import InvalidOption, QueryFailed
from headwater.core.frontier import Frontier
from headwater.core.names import TableName
from headwater.core.spec import Action, ApplyKind
from headwater.observe.metrics import Metrics

NOW = datetime.now(UTC)
COLUMNS = {
    "worker_pool_status": "active_workers max_workers per_db_cap parallel_mode idle_workers "
    "last_scheduler_tick_unix",
    "parallel_job_status": "job_id unit_key unit_kind status member_count attempt_no "
    "scheduler_pid worker_pid enqueued_at started_at finished_at duration_ms",
    "worker_allocation_status": "db_name workers_used workers_quota workers_queued "
    "cluster_active cluster_max",
    "cluster_worker_summary": "db_name active_workers scheduler_pid scheduler_running "
    "total_active_workers",
    "metrics_summary": "db_name total_stream_tables active_stream_tables suspended_stream_tables "
    "total_refreshes successful_refreshes failed_refreshes total_rows_processed active_workers "
    "ivm_lock_parse_error_count",
    "sla_summary": "stream_table p50_ms p99_ms freshness_lag_s error_rate error_budget_remaining",
    "health_check": "check_name severity detail",
    "recommend_schedule": "recommended_interval_seconds peak_window_cron confidence reasoning "
    "current_interval_seconds delta_pct",
}
"""The columns that users of the original know, in their order."""


CHECKS = {
    "stale_tables": "default.t2",
    "needs_reinit": "default.t0",
    "consecutive_errors": "default.t1",
    "buffer_growth": "default.t1, default.t2",
    "fuse_blown": "default.t2",
}
"""Checks that warn, and of which stream tables."""


@pytest.mark.parametrize("call", COLUMNS)
def test_the_columns_of_a_call(tmp_path: Path, call: str) -> None:
    with quiet_hub(tmp_path, 1) as hub:
        run_jobs(hub, 1, 0)
        given = ("t0",) if call == "recommend_schedule" else ()
        found = getattr(hub, call)(*given)
        row = found if call == "recommend_schedule" else found[0]
        names = [f.name for f in fields(row)]
        assert [n for n in names if n in COLUMNS[call].split()] == COLUMNS[call].split()
    assert call in CALLABLE, "also as CALL headwater.x()"


def test_numbers_for_prometheus_have_all_their_digits() -> None:
    metrics = Metrics('a "hub"')
    metrics.count("headwater_ticks_total", 12_345_678)
    metrics.count("headwater_ticks_total")
    metrics.set("headwater_tick_seconds", 0.00123456789)
    metrics.replace("headwater_source_pending_rows", {"default.s": 1_000_001.0}, "source")
    told = metrics.text().splitlines()
    assert 'headwater_ticks_total{hub="a \\"hub\\""} 12345679' in told
    assert 'headwater_tick_seconds{hub="a \\"hub\\""} 0.00123456789' in told
    assert told[2].endswith('source="default.s"} 1000001')


def severities(hub: headwater.Hub) -> dict[str, str]:
    return {row.check_name: row.severity for row in hub.health_check()}


def test_each_check_names_the_tables_it_is_about(tmp_path: Path) -> None:
    many = {"operation": "append", "added-records": "10001"}
    with quiet_hub(tmp_path, 4) as hub:
        sound = {name for name, severity in severities(hub).items() if severity == "OK"}
        assert sound >= {*CHECKS, "error_tables"}
        hub.set_fuse("t2", 100)
        columns = tables.stream_tables.c
        with hub._runtime.store.database.write() as connection:
            for name, state in {
                "t0": {"needs_reinit": True},
                "t1": {"consecutive_errors": 2},
                "t3": {"status": "ERROR"},
            }.items():
                change = update(tables.stream_tables).where(columns.name == name)
                connection.execute(change.values(**state))
        write_source(tmp_path, "source2", 2, last=many)  # t1 and t2 read it, t2 every 30 s
        coordinator_of(hub)._begun(NOW)
        found = {row.check_name: row for row in hub.health_check()}
        for check, names in CHECKS.items():
            assert found[check].severity == "WARN", check
            assert found[check].detail.endswith(f": {names}"), check
        assert found["error_tables"].severity == "ERROR"
        assert found["error_tables"].detail == "1 failed or suspended: default.t3"


@pytest.mark.parametrize(
    ("running", "queued", "pool", "queue"),
    [(0, 0, "OK", "OK"), (3, 10, "OK", "OK"), (4, 0, "WARN", "OK"), (0, 11, "OK", "WARN")],
)
def test_the_health_of_workers_and_queue(
    tmp_path: Path, running: int, queued: int, pool: str, queue: str
) -> None:
    with quiet_hub(tmp_path, 1) as hub:
        run_jobs(hub, running, queued)
        found = severities(hub)
        assert (found["worker_pool"], found["job_queue"]) == (pool, queue)
        details = {row.check_name: row.detail for row in hub.health_check()}
        assert details["worker_pool"] == f"{running} of 4 workers run"
        assert details["job_queue"] == f"{queued} jobs wait"


@pytest.mark.parametrize(
    ("setting", "value", "shown"),
    [
        ("parallel_refresh_mode", "off", False),
        ("max_parallel_workers", 0, False),
        ("parallel_refresh_mode", "dry_run", True),
    ],
)
def test_workers_have_no_health_where_units_run_one_by_one(
    tmp_path: Path, setting: str, value: object, shown: bool
) -> None:
    with quiet_hub(tmp_path, 1) as hub:
        hub.set(setting, value)
        assert {"worker_pool", "job_queue"} <= severities(hub).keys() or not shown
        assert {"worker_pool", "job_queue"}.isdisjoint(severities(hub)) or shown


def test_the_workers_of_several_hubs(tmp_path: Path) -> None:
    place = {"catalog": f"sqlite:///{tmp_path}/headwater.db", "warehouse": str(tmp_path)}
    with (
        headwater.connect(**place, hub="one") as one,  # type: ignore[arg-type]
        headwater.connect(**place, hub="two") as two,  # type: ignore[arg-type]
        headwater.connect(**place, hub="three") as three,  # type: ignore[arg-type]
    ):
        assert three.status() == ()
        run_jobs(one, 1, 2)
        run_jobs(two, 2, 1)
        two.start()
        try:
            rows = {row.hub: row for row in one.cluster_worker_summary()}
            shares = {row.hub: row for row in three.worker_allocation_status()}
            assert one.worker_pool_status()[0].active_workers == 3
        finally:
            two.stop(drain=False)
        assert {hub: row.active_workers for hub, row in rows.items()} == {
            "one": 1,
            "two": 2,
            "three": 0,
        }
        assert {row.total_active_workers for row in rows.values()} == {3}
        assert {row.db_name for row in rows.values()} == {"one", "two", "three"}
        assert {hub: (s.workers_used, s.workers_queued) for hub, s in shares.items()} == {
            "one": (1, 2),
            "two": (2, 1),
            "three": (0, 0),
        }
        assert {s.cluster_active for s in shares.values()} == {3}


@pytest.fixture
def ran(tmp_path: Path) -> Callable[..., None]:
    """Puts a refresh of t0 into the history."""

    def run(hub: headwater.Hub, seconds: float, ago: timedelta, **how: object) -> None:
        store = hub._runtime.store
        row = store.tables.get(TableName.parse("t0"))
        begun = store.history.begin(row, now=NOW - ago)
        ended = NOW - ago + timedelta(seconds=seconds)
        if how.get("fails"):
            store.history.fail(begun, QueryFailed("on purpose"), counts=False, now=ended)
            return
        outcome = Outcome(
            action=Action.INCREMENTAL,
            reason_code="DELTA",
            reason="rows changed",
            frontier=Frontier({}, {}),
            version=1,
            rows_inserted=2,
            rows_deleted=1,
            apply=ApplyKind.MERGE,
        )
        store.history.finish(begun, outcome, now=ended)

    return run


def test_service_levels_are_those_of_the_last_hours(
    tmp_path: Path, ran: Callable[..., None]
) -> None:
    minute, days = timedelta(minutes=1), timedelta(days=2)
    with quiet_hub(tmp_path, 2) as hub:
        for seconds in (1, 2, 3):
            ran(hub, seconds, 10 * minute)
        ran(hub, 1, 10 * minute, fails=True)
        ran(hub, 1000, days)
        ran(hub, 1, days, fails=True)
        first, second = hub.sla_summary()
        assert (first.p50_ms, first.p99_ms, first.error_rate) == (2000, 3000, 0.25)
        assert (second.p50_ms, second.p99_ms, second.error_rate) == (None, None, 0)
        (totals,) = hub.metrics_summary()
        assert (totals.total_refreshes, totals.successful_refreshes) == (6, 4)
        assert (totals.failed_refreshes, totals.total_rows_processed) == (2, 12)
        hub.set("sla_window_hours", 72)
        assert hub.sla_summary()[0].p99_ms == 1_000_000
        assert hub.sla_summary()[0].error_rate == pytest.approx(2 / 6)


def test_a_schedule_is_recommended_from_the_newest_refreshes(
    tmp_path: Path, ran: Callable[..., None]
) -> None:
    """The schedule of t0 is 30 s; up to three times as many refreshes as are needed count."""
    with quiet_hub(tmp_path, 2) as hub:
        hub.set("schedule_recommendation_min_samples", 4)
        for hours in range(20, 12, -1):
            ran(hub, 500, timedelta(hours=hours))
        for hours in range(12, 1, -1):
            ran(hub, 40, timedelta(hours=hours))
        ran(hub, 40, timedelta(hours=1), fails=True)
        assert hub.recommend_schedule("t0").confidence == pytest.approx(1.0)
        ran(hub, 44, timedelta(minutes=5))
        advice = hub.recommend_schedule("default.t0")
        assert advice.recommended_interval_seconds == pytest.approx(60)
        assert (advice.current_interval_seconds, advice.delta_pct) == (30, pytest.approx(100))
        assert "the median of 12 refreshes is 40000 ms" in advice.reasoning
        assert hub.recommend_schedule("t1").confidence == 0.0


def test_the_first_tier_of_a_service_level_counts_what_waits(
    tmp_path: Path, ran: Callable[..., None]
) -> None:
    """Refreshes take ten seconds; four workers have so many of them before the table's turn."""
    with quiet_hub(tmp_path, 2) as hub:
        ran(hub, 10, timedelta(hours=1))
        hub.alter_stream_table("t1", sla="30 seconds")
        assert hub.status("t1")[0].tier == "cold"
        run_jobs(hub, 0, 10)
        hub.alter_stream_table("t1", sla="30s")
        assert hub.status("t1")[0].tier == "warm", "25 s of work ahead, 10 s of a cold table"
        with pytest.raises(InvalidOption, match=r"even in the hot tier"):
            hub.alter_stream_table("t1", sla="20s")
        assert hub.sla_summary()[1].deadline_ms == 30_000
