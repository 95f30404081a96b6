"""A round of the scheduler that fails leaves nothing behind: the next one does all of its work."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from bench.quiet_hub import write_source
from failing_units import NOW, Units, after, coordinator_of, hub_with_readers, jobs_of, refuse_once
from sqlalchemy import event, update

import headwater
from headwater.catalog import tables
from headwater.catalog.schedule_states import FuseState
from headwater.core.errors import CatalogBusy, CatalogUnavailable, HeadwaterError, SparkLost
from headwater.core.names import TableName
from headwater.observe.events import BackpressureEvent, Event, FuseEvent, TickEvent, TierEvent
from headwater.refresh.pin import View
from headwater.scheduler.writes import Writes

T3 = TableName.parse("t3")


def heard(hub: headwater.Hub, kind: type[Event]) -> list[Any]:
    """The events of one kind from now on."""
    told: list[Any] = []
    hub.subscribe(lambda said: told.append(said) if isinstance(said, kind) else None)
    return told


def fail_tick(hub: headwater.Hub, owner: object, name: str, **time: float) -> None:
    """A tick in which one call of the catalog is refused."""
    with pytest.MonkeyPatch.context() as patch:
        refuse_once(patch, owner, name)
        with pytest.raises(CatalogBusy):
            hub.tick(now=after(**time))


def fail_the_commit_of_a_tick(hub: headwater.Hub, patch: pytest.MonkeyPatch) -> None:
    """Let the next tick that queues units lose its transaction at the very end."""
    coordinator, queued = coordinator_of(hub), list[bool]()
    real = coordinator._queue

    def queue(*given: Any) -> None:
        real(*given)
        queued.append(True)

    def commit(_: object) -> None:
        if queued:
            queued.clear()
            patch.setattr(coordinator, "_queue", real)
            raise sqlite3.OperationalError("disk I/O error")

    patch.setattr(coordinator, "_queue", queue)
    event.listen(hub._runtime.store.database.engine, "commit", commit)


@pytest.mark.parametrize(
    ("part", "method"),
    [
        (lambda hub: coordinator_of(hub)._ledger, "reload"),
        (lambda hub: coordinator_of(hub)._ledger, "sources_moved"),
        (lambda hub: hub._runtime.store, "generation"),
    ],
    ids=["reload", "sources_moved", "generation"],
)
def test_a_change_that_a_failed_tick_saw_is_refreshed_by_the_next(
    tmp_path: Path, units: Units, part: Callable[[headwater.Hub], object], method: str
) -> None:
    with hub_with_readers(tmp_path) as hub:
        hub.tick(now=NOW)
        write_source(tmp_path, "source2", 2)
        fail_tick(hub, part(hub), method, seconds=1)
        assert units.taken() == []
        hub.tick(now=after(seconds=2))
        assert units.taken() == ["default.t1", "default.t2"]


def test_ticks_go_on_when_the_first_after_a_drop_failed(tmp_path: Path, units: Units) -> None:
    with hub_with_readers(tmp_path) as hub:
        hub.tick(now=NOW)
        hub._runtime.store.tables.remove(TableName.parse("t4"))
        fail_tick(hub, hub._runtime.store.schedule, "fuses", seconds=1)
        write_source(tmp_path, "source0", 2)
        report = hub.tick(now=after(seconds=2))
        assert units.taken() == ["default.t0"]
        assert "default.t4" not in {c.name for c in report.choices}


def test_a_change_is_seen_although_the_tick_after_an_alter_failed_half_way(
    tmp_path: Path, units: Units
) -> None:
    with hub_with_readers(tmp_path) as hub:
        hub.tick(now=NOW)
        hub.alter_stream_table("t1", schedule="1h")
        write_source(tmp_path, "source2", 2)
        fail_tick(hub, coordinator_of(hub)._ledger, "_recompute", seconds=1)
        hub.tick(now=after(seconds=2))
        assert units.taken() == ["default.t1", "default.t2"]


def test_a_fuse_is_reset_although_the_tick_after_it_failed(tmp_path: Path, units: Units) -> None:
    with hub_with_readers(tmp_path) as hub:
        hub.tick(now=NOW)
        hub.set_fuse("t2", 5)
        write_source(tmp_path, "source2", 2)
        hub.tick(now=after(seconds=1))
        assert units.taken() == ["default.t1"]
        hub.reset_fuse("t2")
        fail_tick(hub, hub._runtime.store.groups, "all", seconds=2)
        hub.tick(now=after(seconds=40))
        assert "default.t2" in units.taken()


def test_after_a_lost_commit_each_unit_runs_under_a_job_of_its_own(
    tmp_path: Path, units: Units, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ids of jobs that were rolled back are given to other units."""
    ran: dict[int, str] = {}

    def noting(runtime: object, run: Any, **options: Any) -> Any:
        ran[int(options["label"].removeprefix("headwater-"))] = run.unit.key
        return units.run(runtime, run, **options)

    monkeypatch.setattr("headwater.scheduler.dispatcher.run_unit", noting)
    with hub_with_readers(tmp_path) as hub:
        hub.tick(now=NOW)
        write_source(tmp_path, "source2", 2)
        coordinator_of(hub).begin(after(seconds=1))  # t1 and t2 wait
        write_source(tmp_path, "source4", 2)
        fail_the_commit_of_a_tick(hub, monkeypatch)
        with pytest.raises(HeadwaterError):
            hub.tick(now=after(seconds=2))
        assert units.taken() == []
        write_source(tmp_path, "source0", 2)
        hub.tick(now=after(seconds=3))
        assert units.taken() == [f"default.t{number}" for number in range(5)]
        jobs = hub._runtime.store.jobs.all()
        assert {job.job_id: job.unit_key for job in jobs if job.job_id in ran} == ran
        assert set(jobs_of(hub).values()) == {"SUCCEEDED"}
        assert {job.job_id for job in jobs if job.status.value != "CANCELLED"} == ran.keys()


def test_a_tick_that_was_taken_back_is_not_told(
    tmp_path: Path, units: Units, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hub_with_readers(tmp_path) as hub:
        hub.tick(now=NOW)
        told = heard(hub, TickEvent)
        write_source(tmp_path, "source3", 2)
        fail_the_commit_of_a_tick(hub, monkeypatch)
        with pytest.raises(HeadwaterError):
            hub.tick(now=after(seconds=1))
        assert told == []
        report = hub.tick(now=after(seconds=2))
        assert [(t.tick, t.units) for t in told] == [(report.tick, report.units)]


def test_a_change_of_tier_is_told_once_and_only_when_it_is_stored(
    tmp_path: Path, units: Units
) -> None:
    with hub_with_readers(tmp_path) as hub:
        store, told = hub._runtime.store, heard(hub, TierEvent)
        declared = {"freshness_deadline_ms": 3_600_000, "tier": "hot", "sla": "1h"}
        with store.database.write() as connection:
            one = tables.stream_tables.c.name == "t3"
            connection.execute(update(tables.stream_tables).where(one).values(declared))
        for second in range(4):
            fail_tick(hub, store.schedule, "save", seconds=2 * second)
            assert told == [] and store.tables.get(T3).tier == "hot"
            hub.tick(now=after(seconds=2 * second + 1))
            if told:
                break
        assert [(e.table, e.before) for e in told] == [("default.t3", "hot")]
        assert store.tables.get(T3).tier == told[0].after


def test_a_blown_fuse_is_told_once_and_only_when_it_is_stored(tmp_path: Path, units: Units) -> None:
    with hub_with_readers(tmp_path) as hub:
        told = heard(hub, FuseEvent)
        hub.tick(now=NOW)
        hub.set_fuse("t2", 5)
        write_source(tmp_path, "source2", 2)
        fail_tick(hub, hub._runtime.store.schedule, "save", seconds=1)
        assert told == []
        for second in (2, 3):
            hub.tick(now=after(seconds=second))
            assert [e.table for e in told] == ["default.t2"]
        (fuse,) = hub._runtime.store.schedule.fuses().values()
        assert fuse.fuse_state is FuseState.BLOWN


def test_back_pressure_is_told_by_the_tick_after_the_one_that_failed(
    tmp_path: Path, units: Units
) -> None:
    with hub_with_readers(tmp_path) as hub:
        told = heard(hub, BackpressureEvent)
        hub.set("buffer_alert_threshold", 1000)
        hub.set("backpressure_consecutive_limit", 2)
        hub.tick(now=NOW)
        many = {"operation": "append", "added-records": "5000"}
        write_source(tmp_path, "source2", 2, last=many)
        hub.gate_source("source2")
        hub.tick(now=after(seconds=1))
        fail_tick(hub, hub._runtime.store.schedule, "save", seconds=2)
        assert told == []
        for second in (3, 4, 5):
            hub.tick(now=after(seconds=second))
        assert [(e.source, e.consecutive_cycles) for e in told] == [("default.source2", 2)]


def test_an_appointment_is_kept_while_what_the_table_reads_is_tried_again(
    tmp_path: Path, units: Units
) -> None:
    day = datetime(2027, 1, 1, tzinfo=UTC)
    clock = [day.replace(hour=5)]
    with hub_with_readers(tmp_path) as hub:
        hub._runtime = replace(hub._runtime, clock=lambda: clock[0])
        hub.alter_stream_table("t4", schedule="0 6 * * *")
        with hub._runtime.store.database.write() as connection:
            connection.execute(update(tables.stream_tables).values(last_refresh_at=clock[0]))

        def tick(**time: int) -> list[str]:
            clock[0] = day.replace(**time)  # type: ignore[arg-type]
            hub.tick(now=clock[0])
            return units.taken()

        write_source(tmp_path, "source0", 2)
        units.errors["default.t0"] = SparkLost("Spark went away")
        assert tick(hour=5, minute=59, second=59, microsecond=900_000) == ["default.t0"]
        units.errors.clear()
        assert tick(hour=6) == [], "t0 is in BACKOFF when the appointment of t4 comes"
        assert tick(hour=6, minute=1) == ["default.t0", "default.t4"]


def test_metadata_that_could_not_be_read_is_read_by_the_next_tick(
    tmp_path: Path, units: Units, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, failed = View.version, list[str]()

    def version(self: View, name: TableName) -> Any:
        if name.name == "source2" and not failed:
            failed.append(name.name)
            raise CatalogUnavailable("the object store hiccups", hint="try again")
        return real(self, name)

    monkeypatch.setattr(View, "version", version)
    with hub_with_readers(tmp_path) as hub:
        hub.tick(now=NOW)
        assert units.taken() == ["default.t1", "default.t2"], "a refresh tells what is wrong"
        hub.tick(now=after(minutes=2))
        assert units.taken() == [], "nothing was committed, and all of it is known again"


def test_what_can_never_be_written_holds_up_nothing_after_it(
    tmp_path: Path, units: Units, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hub_with_readers(tmp_path) as hub:
        hub.tick(now=NOW)
        jobs = hub._runtime.store.jobs
        finish = jobs.finish

        def refuse(job: Any, *given: Any, **options: Any) -> Any:
            if job.members == ("default.t2",):
                raise ValueError("such a text cannot be stored")
            return finish(job, *given, **options)

        monkeypatch.setattr(jobs, "finish", refuse)
        write_source(tmp_path, "source2", 2)
        hub.tick(now=after(seconds=1))
        write_source(tmp_path, "source0", 2)
        hub.tick(now=after(seconds=2))
        assert {"default.t0", "default.t4"} <= set(units.taken())
        ended = jobs_of(hub)
        assert {ended[f"default.{name}"] for name in ("t0", "t1", "t4")} == {"SUCCEEDED"}


def test_what_the_catalog_does_not_take_now_stays_in_its_order(
    tmp_path: Path, units: Units
) -> None:
    with hub_with_readers(tmp_path) as hub:
        writes, made, busy = Writes(hub._runtime.store.database), list[str](), [True]

        def wait() -> None:
            if busy:
                busy.clear()
                raise CatalogBusy("the catalog is locked", hint="try again")
            made.append("second")

        def never() -> None:
            raise TypeError("no column for it")

        for write in (never, lambda: made.append("first"), wait, lambda: made.append("third")):
            writes.add(write)
        with pytest.raises(CatalogBusy):
            writes.catch_up()
        assert made == ["first"]
        writes.catch_up()
        assert made == ["first", "second", "third"]
