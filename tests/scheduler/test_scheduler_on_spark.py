"""Ticks on Spark: what is due is refreshed, in order, together where it must be, and told why."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import headwater
from headwater.core.errors import HeadwaterError, InvalidOption
from headwater.observe.events import StageEvent
from headwater.operations import scheduler_of
from headwater.refresh import together
from headwater.refresh.stages import ORDER
from headwater.scheduler.staleness import stale_tables
from shared_spark import Place, check, place_in, rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def make(hub: headwater.Hub) -> None:
    """A chain, a diamond and a table that stands alone."""
    hub.sql("CREATE TABLE src (id BIGINT, g INT, x INT) USING iceberg")
    hub.sql("CREATE TABLE other (id BIGINT, y INT) USING iceberg")
    hub.sql("INSERT INTO src SELECT id, CAST(id % 3 AS INT), CAST(id AS INT) FROM range(20)")
    hub.sql("INSERT INTO other VALUES (1, 1), (2, 2)")
    hub.create_stream_table("sums", "SELECT g, SUM(x) AS s FROM src GROUP BY g")
    hub.create_stream_table("counts", "SELECT g, COUNT(*) AS n FROM src GROUP BY g")
    hub.create_stream_table("means", "SELECT s.g, s.s, c.n FROM sums s JOIN counts c ON s.g = c.g")
    hub.create_stream_table("lone", "SELECT id, y * 2 AS y2 FROM other")


@pytest.fixture(scope="module")
def made(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Place, headwater.Hub]]:
    """One hub for the tests that leave its tables as exact as they found them."""
    place = place_in(tmp_path_factory.mktemp("scheduler"))
    with place.open(spark) as opened:
        make(opened)
        yield place, opened


def codes(report: headwater.TickReport) -> dict[str, str]:
    return {c.name.removeprefix("default."): c.reason_code for c in report.choices}


def test_a_tick_refreshes_what_is_due_and_says_why(made: tuple[Place, headwater.Hub]) -> None:
    _, hub = made
    events: list[object] = []
    hub.subscribe(events.append)
    first = hub.tick()
    assert first.idle, first
    assert {u.kind for u in hub.units()} == {"atomic_group", "singleton"}

    hub.sql("INSERT INTO src VALUES (100, 1, 5)")
    report = hub.tick()
    assert codes(report)["sums"] == "SOURCES_CHANGED"
    assert codes(report)["means"] == "UPSTREAM_DUE"
    assert sorted(report.refreshed) == ["default.counts", "default.means", "default.sums"]
    for name in report.refreshed:
        told = [e for e in events if isinstance(e, StageEvent) and e.table == name]
        assert tuple(e.stage for e in told if e.moment == "end") == ORDER
    check(hub, "sums", "counts", "means", "lone")
    assert hub.tick().idle
    status = hub.status("means")[0]
    assert (status.decision_code, status.last_action) == ("NO_CHANGES", "INCREMENTAL")
    assert "NO_CHANGES" in str(hub.explain("means", what="refresh"))

    runs = [r for r in hub._runtime.store.history.runs() if r.tick is not None and r.name != "*"]
    assert {r.name for r in runs} >= {"default.sums", "default.counts", "default.means"}
    versions = hub._runtime.store.ticks.versions(runs[0].tick or 0)
    assert versions == {"default.src": report.versions["default.src"]}
    assert {r.initiated_by for r in runs} == {"SCHEDULER"}

    (job,) = hub.parallel_job_status()
    assert (job.unit_kind, job.status, job.member_count) == ("atomic_group", "SUCCEEDED", 3)
    pool = hub.worker_pool_status()[0]
    assert (pool.active_workers, pool.max_workers, pool.per_db_cap) == (0, 4, 4)
    assert (pool.parallel_mode, pool.last_scheduler_tick_unix is not None) == ("on", True)
    share = hub.worker_allocation_status()[0]
    assert (share.hub, share.workers_used, share.workers_queued, share.cluster_max) == (
        "default",
        0,
        0,
        4,
    )
    assert hub.cluster_worker_summary()[0].scheduler_running is False
    metrics = hub.metrics_summary()[0]
    assert (metrics.total_stream_tables, metrics.failed_refreshes) == (4, 0)
    assert {r.stream_table for r in hub.sla_summary()} == {
        "default.sums",
        "default.counts",
        "default.means",
        "default.lone",
    }
    assert hub.recommend_schedule("lone").confidence == 0.0
    health = {r.check_name: r.severity for r in hub.health_check()}
    assert health["scheduler_running"] == "WARN"
    assert health["stale_tables"] == health["worker_pool"] == health["job_queue"] == "OK"


def test_a_table_is_stale_when_a_change_waits_longer_than_promised(
    made: tuple[Place, headwater.Hub],
) -> None:
    _, hub = made
    now = datetime.now(UTC)

    def stale_in(**wait: float) -> list[str]:
        later = replace(hub._runtime, clock=lambda: now + timedelta(**wait))
        found = stale_tables(later, later.store.outlines.read())
        return sorted(name.name for name in found)

    for name, promise in {
        "sums": {"schedule": "1h"},
        "counts": {"schedule": f"0 {(now.hour + 12) % 24} * * *"},
        "lone": {"sla": "10 minutes"},
    }.items():
        hub.alter_stream_table(name, **promise)
    hub.set("min_schedule_seconds", 60)
    for schedule in ("30s", 59):
        with pytest.raises(HeadwaterError, match="min_schedule_seconds"):
            hub.alter_stream_table("sums", schedule=schedule)
    assert stale_in(days=9) == [], "nothing changed"
    hub.sql("INSERT INTO src VALUES (200, 1, 5)")
    hub.sql("INSERT INTO other VALUES (3, 3)")
    assert stale_in(minutes=5) == []
    assert stale_in(minutes=30) == ["lone"]
    assert stale_in(minutes=119) in (["lone"], ["counts", "lone"])
    assert stale_in(days=2) == ["counts", "lone", "sums"]
    hub.refresh()
    assert stale_in(days=2) == []
    hub.set("min_schedule_seconds", 1)
    for name in ("sums", "counts", "lone"):
        hub.alter_stream_table(name, schedule="calculated", sla=None)
    hub.sql("DELETE FROM src WHERE id = 200")
    assert stale_in(days=2) == [], "without a promise nothing is broken"
    hub.refresh()


def test_a_group_appears_whole_or_not_at_all(
    made: tuple[Place, headwater.Hub], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, hub = made
    hub.create_stream_table("reader", "SELECT g, s FROM sums WHERE s >= 0")
    before = {name: rows(hub, name) for name in ("sums", "counts", "means", "reader")}
    hub.sql("INSERT INTO src VALUES (100, 7, 5)")
    staged: list[str] = []
    stage = together.stage_run

    def failing(*args: object) -> object:
        row = args[1]
        staged.append(row.name.name)  # type: ignore[attr-defined]
        if row.name.name == "means":  # type: ignore[attr-defined]
            raise HeadwaterError("broken on purpose")
        return stage(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(together, "stage_run", failing)
    report = hub.tick()
    assert staged == ["counts", "sums", "means"]
    assert report.failed == ("default.means",)
    assert codes(report)["reader"] == "UPSTREAM_FAILED"
    assert hub.refresh_stream_table("reader").action == "NO_DATA", "nor is it seen downstream"
    assert {name: rows(hub, name) for name in before} == before, "nothing of it is visible"
    skipped = hub.history("sums", limit=1)
    assert (skipped[0].status, skipped[0].reason_code) == ("SKIPPED", "GROUP_FAILED")
    monkeypatch.undo()
    report = hub.tick()
    refreshed = sorted(name.removeprefix("default.") for name in report.refreshed)
    assert refreshed == ["counts", "means", "reader", "sums"]
    check(hub, "sums", "counts", "means", "reader")
    hub.drop_stream_table("reader")


def test_a_group_that_was_committed_to_is_seen_whole_and_carried_out(
    made: tuple[Place, headwater.Hub], spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, hub = made
    hub.tick()
    hub.sql("INSERT INTO src VALUES (100, 8, 5)")
    before = rows(hub, "means")

    class Killed(BaseException):
        pass

    def die(*args: object) -> None:
        raise Killed

    monkeypatch.setattr(together, "publish_run", die)
    hub.set("max_parallel_workers", 0)
    hub._runtime.setting.resolved(fresh=True)  # type: ignore[attr-defined]
    with pytest.raises(Killed):
        hub.tick()
    monkeypatch.undo()
    (intent,) = hub._runtime.store.intents.pending()
    assert len(intent.members) == 3
    new = rows(hub, "means")
    assert new != before, "committed to: the hub shows it before it is carried out"
    assert 8 in {r[0] for r in rows(hub, "sums")}
    assert 8 in {r[0] for r in hub.tables(["sums", "means"])["means"].collect()}
    hub.set("max_parallel_workers", 4)
    with place.open(spark) as second:
        second.tick()
        assert second._runtime.store.intents.pending() == ()
        assert rows(second, "means") == new
        check(second, "sums", "counts", "means")
        second.create_stream_table("brief", "SELECT id FROM src", initialize=False)
        second._runtime.store.intents.add("group", [{"name": "default.brief", "snapshot": "1"}])
        second.drop_stream_table("brief")
        assert second._runtime.store.intents.pending() == (), "a drop leaves no group behind"


def test_a_failing_table_holds_back_its_readers_only_and_is_suspended(hub: headwater.Hub) -> None:
    hub.sql("CREATE TABLE a (id INT, x INT) USING iceberg")
    hub.sql("CREATE TABLE b (id INT) USING iceberg")
    hub.sql("INSERT INTO a VALUES (1, 1)")
    hub.create_stream_table("bad", "SELECT id, 10 / x AS y FROM a")
    hub.create_stream_table("above", "SELECT id, y FROM bad", schedule="1s")
    hub.create_stream_table("good", "SELECT id FROM b")
    warned: list[str] = []
    hub.subscribe(lambda e: warned.append(getattr(e, "code", "")))
    for number in range(3):
        hub.sql("INSERT INTO a VALUES (2, 0)")
        hub.sql("INSERT INTO b VALUES (1)")
        report = hub.tick(now=datetime.now(UTC) + timedelta(seconds=10 * (number + 1)))
        assert report.failed == ("default.bad",)
        assert codes(report)["above"] == "UPSTREAM_FAILED"
        assert "default.good" in report.refreshed
    assert hub.status("bad")[0].status == "SUSPENDED"
    assert warned.count("AUTO_SUSPENDED") == 1
    assert codes(hub.tick())["bad"] == "SUSPENDED"
    assert {r.check_name: r.severity for r in hub.health_check()}["error_tables"] == "ERROR"
    hub.sql("DELETE FROM a WHERE x = 0")
    hub.resume_stream_table("bad")
    assert "default.bad" in hub.tick(now=datetime.now(UTC) + timedelta(minutes=1)).refreshed
    check(hub, "bad", "above", "good")


def test_the_scheduler_in_the_background_keeps_tables_fresh(
    made: tuple[Place, headwater.Hub],
) -> None:
    _, hub = made
    before = len(rows(hub, "lone"))
    hub.set("scheduler_interval_ms", 200)
    hub.start()
    try:
        for number in range(2):
            hub.sql(f"INSERT INTO src VALUES ({200 + number}, 1, 1)")
            hub.sql(f"INSERT INTO other VALUES ({200 + number}, 1)")
            expected = before + number + 1
            wait_for(lambda: len(rows(hub, "lone")) == expected)  # noqa: B023
        assert hub.cluster_worker_summary()[0].scheduler_running
        assert hub.health_check()[0].severity == "OK"
    finally:
        assert hub.stop()
    assert hub.cluster_worker_summary()[0].scheduler_running is False
    hub.tick()
    check(hub, "sums", "counts", "means", "lone")


def test_independent_tables_are_refreshed_at_the_same_time(
    hub: headwater.Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        hub.sql(f"CREATE TABLE s{number} (id INT) USING iceberg")
        hub.create_stream_table(f"t{number}", f"SELECT id FROM s{number}")
    at_once: list[int] = []
    running: set[str] = set()
    lock = threading.Lock()

    def seen(event: object) -> None:
        stage, moment = getattr(event, "stage", ""), getattr(event, "moment", "")
        if stage == "apply":
            with lock:
                name = event.table  # type: ignore[attr-defined]
                running.add(name) if moment == "start" else running.discard(name)
                at_once.append(len(running))

    hub.subscribe(seen)
    for number in range(4):
        hub.sql(f"INSERT INTO s{number} VALUES (1)")
    hub.set("max_parallel_workers", 2)
    report = hub.tick()
    assert len(report.refreshed) == 4
    assert max(at_once) == 2, "two at once, and never more"
    assert most_at_once(hub, report.tick) == 2, "the history shows it"
    hub.create_stream_table("both", "SELECT a.id FROM t0 a JOIN t3 b ON a.id = b.id")
    at_once.clear()
    for number in range(4):
        hub.sql(f"INSERT INTO s{number} VALUES (1)")
    hub.set("parallel_refresh_mode", "dry_run")
    hub._runtime.setting.resolved(fresh=True)  # type: ignore[attr-defined]
    planned: list[object] = []
    hub.subscribe(lambda e: planned.append(e) if type(e).__name__ == "TickEvent" else None)
    workers = scheduler_of(hub).coordinator.dispatcher.workers
    started = workers._started
    report = hub.tick()
    assert max(at_once) == most_at_once(hub, report.tick) == 1, "it plans, and runs one by one"
    names = [key.removeprefix("singleton:") for key in planned[0].units]  # type: ignore[attr-defined]
    assert sorted(names) == ["default.both", *(f"default.t{n}" for n in range(4))]
    assert names.index("default.both") > max(names.index("default.t0"), names.index("default.t3"))
    assert list(report.refreshed) == names, "in the order it told"
    assert workers._started == started, "no worker was started for it"
    check(hub, *names)
    a_declared_group(hub, monkeypatch)


def most_at_once(hub: headwater.Hub, tick: int | None) -> int:
    """How many refreshes of a tick ran at one instant, by the history."""
    runs = [row for row in hub.history() if row.tick == tick]
    assert all(row.finished_at is not None for row in runs)
    return max(sum(o.started_at <= r.started_at < o.finished_at for o in runs) for r in runs)  # type: ignore[operator]


def a_declared_group(hub: headwater.Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    """Members of a refresh group appear together, or not at all."""
    hub.set("parallel_refresh_mode", "on")
    hub.create_refresh_group("pair", ["t1", "t2"])
    (unit,) = [u for u in hub.units() if u.kind == "refresh_group"]
    assert sorted(unit.members) == ["default.t1", "default.t2"]
    before = {name: rows(hub, name) for name in ("t1", "t2")}
    hub.sql("INSERT INTO s1 VALUES (7)")
    hub.sql("INSERT INTO s2 VALUES (7)")
    stage = together.stage_run

    def failing(*args: object) -> object:
        if args[1].name.name == "t2":  # type: ignore[attr-defined]
            raise HeadwaterError("broken on purpose")
        return stage(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(together, "stage_run", failing)
    assert hub.tick().failed == ("default.t2",)
    assert {name: rows(hub, name) for name in before} == before, "t1 waits for t2"
    monkeypatch.undo()
    report = hub.tick()
    assert sorted(report.refreshed) == ["default.t1", "default.t2"]
    assert report.units == (unit.key,)
    check(hub, "t1", "t2")
    hub.drop_refresh_group("pair")
    assert {u.kind for u in hub.units()} == {"singleton"}


def test_a_service_level_moves_its_table_between_tiers(
    made: tuple[Place, headwater.Hub], spark: SparkSession
) -> None:
    place, hub = made
    query = "SELECT id, y FROM other WHERE y > 0"
    with pytest.raises(InvalidOption) as refused:
        hub.create_stream_table("kept", query, schedule="1h", sla="30 seconds")
    assert refused.value.code == InvalidOption.code
    assert "30s cannot be kept" in str(refused.value)
    tiers: list[tuple[str, str]] = []
    hub.subscribe(
        lambda e: tiers.append((e.before, e.after)) if "Tier" in type(e).__name__ else None
    )  # type: ignore[attr-defined]
    hub.create_stream_table("kept", query, sla="30 seconds")
    assert hub.status("kept")[0].tier == "cold", "the slowest that keeps it"
    (level,) = [row for row in hub.sla_summary() if row.stream_table == "default.kept"]
    assert (level.deadline_ms, level.tier) == (30_000, "cold")
    now = datetime.now(UTC) + timedelta(hours=1)
    hub.tick(now=now - timedelta(seconds=1))
    hub.tick(now=now)  # the hour without a look is forgotten
    for number in range(1, 4):  # each change waits for forty seconds
        hub.sql(f"INSERT INTO other VALUES ({1000 + number}, 1)")
        assert tiers == []
        report = hub.tick(now=now + timedelta(seconds=40 * number))
        assert "default.kept" in report.refreshed
    assert tiers == [("cold", "warm")], "promoted within three cycles"
    now += timedelta(seconds=120)
    for second in range(1, 4):
        hub.tick(now=now + timedelta(seconds=second))
    assert tiers[1:] == [("warm", "cold")], "demoted when idle"
    now += timedelta(seconds=3)
    for number in range(1, 3):
        hub.tick(now=now + timedelta(seconds=40 * number))
    assert hub.status("kept")[0].tier == "cold", "two were late so far"
    with place.open(spark) as second:
        second.sql("INSERT INTO other VALUES (2000, 1)")
        second.tick(now=now + timedelta(seconds=120))
        assert second.status("kept")[0].tier == "warm", "the counters outlive a hub"
        check(second, "kept")
    hub.drop_stream_table("kept")


@pytest.mark.long
def test_a_refresh_that_takes_too_long_is_cancelled_and_tried_again(
    hub: headwater.Hub, tmp_path: Path
) -> None:
    quick = tmp_path / "quick"

    def slowly(x: int) -> int:
        if not quick.exists():
            time.sleep(5)
        return x

    hub.register_function("slowly", slowly, returns="int")
    hub.sql("CREATE TABLE s (id INT) USING iceberg")
    hub.create_stream_table("t", "SELECT id, slowly(id) AS y FROM s")
    hub.sql("INSERT INTO s VALUES (1), (2), (3), (4), (5), (6)")
    hub.set("refresh_timeout", 1)
    started = time.monotonic()
    report = hub.tick()
    assert time.monotonic() - started < 25, "thirty seconds of sleep were cut short"
    assert "HW5008" in report.errors["default.t"]
    (job,) = [j for j in hub.parallel_job_status() if j.finished_at is not None]
    assert (job.status, job.attempt_no) == ("RETRYABLE_FAILED", 1)
    status = hub.status("t")[0]
    assert (status.status, status.consecutive_errors) == ("ACTIVE", 0), "no error of it yet"
    assert codes(hub.tick())["t"] == "BACKOFF"
    quick.touch()
    hub.set("refresh_timeout", 0)
    hub._runtime.setting.resolved(fresh=True)  # type: ignore[attr-defined]
    report = hub.tick(now=datetime.now(UTC) + timedelta(seconds=10))
    assert report.refreshed == ("default.t",)
    assert hub.parallel_job_status()[0].attempt_no == 2
    check(hub, "t")


def wait_for(condition: object, seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < until, "it did not come true"
        time.sleep(0.1)
