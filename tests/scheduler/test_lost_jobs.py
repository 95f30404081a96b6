"""Workers that are lost or cannot start, groups nobody finished: told, counted, cleaned up."""

from __future__ import annotations

import io
import logging
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from bench.quiet_hub import write_source
from failing_units import Units, coordinator_of, hub_with_readers, jobs_of
from recovery import wait_until
from sqlalchemy import insert, update

import headwater
from headwater.catalog import tables
from headwater.catalog.jobs import JobStatus, NewJob
from headwater.catalog.schedule_tables import ticks
from headwater.core.errors import RunInterrupted, SparkUnavailable
from headwater.core.names import TableName
from headwater.core.spec import Tier
from headwater.graph.units import Unit, UnitKind
from headwater.observe.events import WarningEvent
from headwater.refresh import locks
from headwater.refresh.together import complete_intents
from headwater.scheduler import daemon, keeper
from headwater.scheduler.execute import UnitResult
from headwater.scheduler.keeper import LeaseKeeper
from headwater.scheduler.messages import Greeting, Task
from headwater.scheduler.tick_budget import MAX_ATTEMPTS
from headwater.scheduler.tick_state import UnitRun
from headwater.storage.jobs import cancel_jobs
from headwater.worker import Worker

NOW = datetime.now(UTC)
T0, T1 = TableName.parse("t0"), TableName.parse("t1")


def warnings_of(hub: headwater.Hub) -> list[str]:
    told: list[str] = []
    hub.subscribe(lambda e: told.append(e.code) if isinstance(e, WarningEvent) else None)
    return told


def ticked(hub: headwater.Hub, first: int, last: int) -> None:
    for minute in range(first, last):
        hub.tick(now=NOW + timedelta(minutes=minute))


# -- workers ---------------------------------------------------------------------------------


def test_workers_that_cannot_start_are_failed_attempts_of_the_tables(
    tmp_path: Path, units: Units, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hub_with_readers(tmp_path) as hub:
        told = warnings_of(hub)
        hub.set("worker_kind", "process")
        hub.tick(now=NOW)

        def refuse(wanted: int) -> int:
            raise SparkUnavailable("no server", hint="mend it")

        monkeypatch.setattr(coordinator_of(hub).dispatcher.processes, "prepare", refuse)
        write_source(tmp_path, "source3", 2)
        ticked(hub, 1, 2)
        (run, *_) = hub.history("t3")
        assert (run.status, run.error_code) == ("FAILED", "HW5010")
        assert "no server" in (run.error_message or "")
        (job,) = [j for j in hub._runtime.store.jobs.all() if j.members == ("default.t3",)]
        assert (job.status, job.worker_pid) == (JobStatus.RETRYABLE_FAILED, None)
        report = hub.tick(now=datetime.now(UTC))
        assert {c.reason_code for c in report.choices if c.name == "default.t3"} == {"BACKOFF"}
        ticked(hub, 2, MAX_ATTEMPTS + 1)
        assert hub.status("t3")[0].consecutive_errors == 1
        ticked(hub, MAX_ATTEMPTS + 1, 3 * MAX_ATTEMPTS + 1)
        assert hub.status("t3")[0].status == "SUSPENDED"
        assert told.count("AUTO_SUSPENDED") == 2, "t2 reads the source as well"


def test_a_worker_that_does_not_reach_spark_tells_it_in_the_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hub_with_readers(tmp_path) as hub:

        def refuse(url: str) -> None:
            raise SparkUnavailable(f"nobody listens at {url}", hint="mend it")

        monkeypatch.setattr("headwater.storage.remote.connect", refuse)
        runtime = hub._runtime
        store = runtime.store
        store.jobs.enqueue(NewJob("u", UnitKind.SINGLETON, ("default.t0",), 1))
        job = store.jobs.claim("w", timedelta(minutes=1))
        assert job is not None
        run = UnitRun(Unit.of(UnitKind.SINGLETON, (T0,)), (T0,), Tier.HOT)
        task = Task.of(
            job, run, None, tick=3, is_retried=True, label="l", url="sc://x", has_jars=True
        )
        worker = Worker(Greeting.of(runtime.lake, store.hub, {}, {}), io.BytesIO(), io.BytesIO())
        result = worker._result(task)
        assert result.error is not None
        assert (result.failed, result.error.code) == (T0, "HW5010")
        assert result.error.is_transient
        (run_,) = store.history.runs(T0)
        assert (run_.error_code, run_.tick) == ("HW5010", 3)


def lost_in_the_middle(hub: headwater.Hub, units: Units, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the refresh of t0 begin, and its worker be lost."""

    def run(runtime: Any, run: UnitRun, **options: Any) -> UnitResult:
        if T0 not in run.members:
            return units.run(runtime, run, **options)
        runtime.store.history.begin(runtime.store.tables.get(T0))
        return UnitResult(failed=T0, error=RunInterrupted("its worker was lost"))

    monkeypatch.setattr("headwater.scheduler.dispatcher.run_unit", run)


def test_a_worker_that_keeps_crashing_is_told_at_once_and_suspends_its_table(
    tmp_path: Path, units: Units, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hub_with_readers(tmp_path) as hub:
        told = warnings_of(hub)
        hub.tick(now=NOW)
        lost_in_the_middle(hub, units, monkeypatch)
        write_source(tmp_path, "source0", 2)
        ticked(hub, 1, 2)
        (run,) = hub.history("t0")
        assert (run.status, run.error_code) == ("FAILED", "HW5007"), "not only by the next attempt"
        assert hub.status("t0")[0].consecutive_errors == 0
        ticked(hub, 2, MAX_ATTEMPTS + 1)
        assert hub.status("t0")[0].consecutive_errors == 1
        ticked(hub, MAX_ATTEMPTS + 1, 3 * MAX_ATTEMPTS + 1)
        assert hub.status("t0")[0].status == "SUSPENDED"
        assert told == ["AUTO_SUSPENDED"]
        assert len(hub.history("t0")) == 3 * MAX_ATTEMPTS


# -- groups ----------------------------------------------------------------------------------


def member(name: str, snapshot: int = 1) -> dict[str, str]:
    return {"name": f"default.{name}", "snapshot": str(snapshot), "parent": "", "run": "r"}


def lost_job(hub: headwater.Hub) -> None:
    """A job of a process that is dead."""
    jobs = hub._runtime.store.jobs
    jobs.enqueue(NewJob("singleton:default.t3", UnitKind.SINGLETON, ("default.t3",), 1))
    assert jobs.claim("nobody", timedelta(seconds=-1)) is not None


def test_a_group_with_a_dropped_member_is_completed(tmp_path: Path, units: Units) -> None:
    with hub_with_readers(tmp_path) as hub:
        intents = hub._runtime.store.intents
        intents.add("group", [member("gone"), member("t0")])
        hub.tick(now=NOW)
        assert intents.pending() == ()


def test_a_group_that_cannot_be_completed_holds_up_nothing(tmp_path: Path, units: Units) -> None:
    """The metadata of t1 is missing; the groups before and after it, and lost jobs, are done."""
    with hub_with_readers(tmp_path) as hub:
        told = warnings_of(hub)
        intents = hub._runtime.store.intents
        for name in ("t0", "t1", "gone"):
            intents.add(f"group of {name}", [member(name)])
        lost_job(hub)
        coordinator = coordinator_of(hub)
        for second in range(2):
            coordinator._reaper._reaped_at = -10.0
            hub.tick(now=NOW + timedelta(seconds=second))
        assert [i.unit_key for i in intents.pending()] == ["group of t1"]
        assert told == ["GROUP_NOT_PUBLISHED"], "once"
        assert jobs_of(hub)["default.t3"] == "RETRYABLE_FAILED"
        assert hub.history("t3")[0].error_code == "HW5007"


def test_ticks_do_not_wait_for_a_group_that_is_being_refreshed(
    tmp_path: Path, units: Units
) -> None:
    with hub_with_readers(tmp_path) as hub:
        runtime, go, has = hub._runtime, threading.Event(), threading.Event()

        def hold() -> None:
            with locks.table_lock(runtime, T0):
                has.set()
                go.wait()

        holder = threading.Thread(target=hold)
        holder.start()
        assert has.wait(10)
        runtime.store.intents.add("group", [member("t0")])
        started = time.monotonic()
        hub.tick(now=NOW)
        assert time.monotonic() - started < 5
        assert len(runtime.store.intents.pending()) == 1
        go.set()
        holder.join()
        assert complete_intents(runtime, of=[T1]) == 0
        assert complete_intents(runtime, of=[T0]) == 1


# -- retention -------------------------------------------------------------------------------


def test_what_ended_long_ago_is_forgotten_by_a_coordinator_that_is_well(
    tmp_path: Path, units: Units
) -> None:
    with hub_with_readers(tmp_path) as hub:
        hub.tick(now=NOW)
        store, old = hub._runtime.store, NOW - timedelta(days=400)
        store.jobs.enqueue(NewJob("u", UnitKind.SINGLETON, ("default.t0",), 1))
        job = store.jobs.claim("w", timedelta(minutes=1))
        assert job is not None
        store.jobs.finish(job, JobStatus.SUCCEEDED, now=old)
        groups = [store.intents.add(f"g{n}", [member("t0")]) for n in range(2)]
        with store.database.write() as connection:
            done = update(tables.publish_intents).values(status="DONE", finished_at=old)
            connection.execute(done)
            killed = {"hub": store.hub, "started_at": old, "versions": "{}", "units": 1}
            connection.execute(insert(ticks).values({**killed, "host": "h", "pid": 1}))
        coordinator_of(hub)._reaper._pruned_at = -3600.0
        hub.tick(now=NOW + timedelta(seconds=1))
        assert store.jobs.all() == ()
        assert store.intents.look().last == groups[1], "the newest stays"
        with store.database.read() as connection:
            left = connection.execute(tables.publish_intents.select()).all()
            assert len(left) == 1
            assert connection.execute(ticks.select()).all() == []


# -- leases ----------------------------------------------------------------------------------


def test_leases_are_renewed_whatever_fails_beside_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(keeper, "RENEW_SECONDS", 0.0)
    monkeypatch.setattr(keeper, "_POLL_SECONDS", 0.01)
    renewed: list[float] = []

    def look() -> None:
        raise ConnectionError("the JVM is gone")

    kept = LeaseKeeper(look, lambda: renewed.append(time.monotonic()), lambda: True)
    with caplog.at_level(logging.CRITICAL, "headwater"):
        kept.start()
        wait_until(lambda: len(renewed) > 3, 10)
        kept.stop()


def test_jobs_of_a_spark_that_is_gone_need_no_cancelling() -> None:
    class Gone:
        @property
        def sparkContext(self) -> Any:  # noqa: N802 - Spark calls it so
            raise ConnectionError("the JVM is gone")

    cancel_jobs([Gone()], "label")  # type: ignore[list-item]


def test_the_lease_of_a_table_outlives_a_busy_catalog(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "RENEW_SECONDS", 0.01)
    with hub_with_readers(tmp_path) as hub:
        leases, calls = hub._runtime.store.leases, []
        real = leases.renew

        def renew(*args: Any, **options: Any) -> Any:
            calls.append(args)
            if len(calls) == 1:
                raise OSError("the catalog is out of reach")
            return real(*args, **options)

        monkeypatch.setattr(leases, "renew", renew)
        with locks.table_lock(hub._runtime, T0):
            wait_until(lambda: len(calls) > 2, 10)


def test_the_lead_is_kept_while_refreshes_are_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(daemon, "RENEW_SECONDS", 0.1)
    monkeypatch.setattr(daemon, "LEADER_LEASE", timedelta(seconds=1))
    began, go = threading.Event(), threading.Event()

    def run(*_: object, **__: object) -> UnitResult:
        began.set()
        go.wait()
        return UnitResult()

    monkeypatch.setattr("headwater.scheduler.dispatcher.run_unit", run)
    with hub_with_readers(tmp_path) as hub:
        hub.set("scheduler_interval_ms", 100)
        write_source(tmp_path, "source0", 2)
        hub.start()
        assert began.wait(20)
        stopping = threading.Thread(target=hub.stop)
        stopping.start()
        time.sleep(2)
        assert hub._runtime.store.leases.holder(daemon.LEADER) is not None
        go.set()
        stopping.join()
        assert hub._runtime.store.leases.holder(daemon.LEADER) is None


def test_a_listener_that_fails_disturbs_nobody(
    tmp_path: Path, units: Units, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(event: object) -> None:
        raise RuntimeError("on purpose")

    with hub_with_readers(tmp_path) as hub:
        seen: list[object] = []
        hub.subscribe(broken)
        hub.subscribe(seen.append)
        write_source(tmp_path, "source0", 2)
        for second in range(2):
            hub.tick(now=NOW + timedelta(minutes=second))
        assert units.taken()
        assert len(seen) == 2
        assert len(caplog.records) == 1, "said once"
