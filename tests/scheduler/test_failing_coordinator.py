"""Something goes wrong in the coordinator itself, or around it: nothing is stuck, nothing lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.quiet_hub import quiet_hub, write_source
from failing_units import NOW, Units, after, coordinator_of, hub_with_readers, jobs_of, refuse_once
from sqlalchemy import event, update

from headwater.catalog import tables
from headwater.core.errors import CatalogBusy, QueryFailed, SparkLost
from headwater.scheduler import reaping
from headwater.scheduler.process_pool import ProcessPool

LOST = SparkLost("Spark went away")


def test_a_job_that_could_not_be_closed_is_closed_by_the_next_tick(
    tmp_path: Path, units: Units, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hub_with_readers(tmp_path) as hub:
        hub.tick(now=NOW)
        write_source(tmp_path, "source1", 2)
        refuse_once(monkeypatch, hub._runtime.store.jobs, "finish")
        hub.tick(now=after(seconds=1))
        assert units.taken() == ["default.t0", "default.t1", "default.t4"]
        assert coordinator_of(hub).is_idle
        hub.tick(now=after(seconds=40))
        assert set(jobs_of(hub).values()) == {"SUCCEEDED"}
        assert "default.t0" in units.taken(), "it is not in flight for ever"


def test_units_that_could_not_be_claimed_wait_again(
    tmp_path: Path, units: Units, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hub_with_readers(tmp_path) as hub:
        hub.tick(now=NOW)
        write_source(tmp_path, "source1", 2)
        refuse_once(monkeypatch, hub._runtime.store.jobs, "claim")
        with pytest.raises(CatalogBusy):
            hub.tick(now=after(seconds=1))
        assert not coordinator_of(hub).dispatcher.queue.running
        hub.tick(now=after(seconds=2))
        assert units.taken() == ["default.t0", "default.t1", "default.t4"]
        assert set(jobs_of(hub).values()) == {"SUCCEEDED"}


def test_the_end_of_one_unit_that_fails_to_be_noted_loses_no_other(
    tmp_path: Path, units: Units, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hub_with_readers(tmp_path) as hub:
        hub.tick(now=NOW)
        write_source(tmp_path, "source1", 2)
        coordinator = coordinator_of(hub)
        refuse_once(monkeypatch, coordinator._ledger, "refreshed")
        with pytest.raises(CatalogBusy):
            hub.tick(now=after(seconds=1))
        hub.tick(now=after(seconds=40))
        assert coordinator.is_idle
        assert set(jobs_of(hub).values()) == {"SUCCEEDED"}


def test_a_worker_or_server_that_died_before_its_unit_leaves_the_unit_queued(
    tmp_path: Path, units: Units, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hub_with_readers(tmp_path) as hub:
        hub.set("worker_kind", "process")
        hub.tick(now=NOW)
        write_source(tmp_path, "source1", 2)
        pool = coordinator_of(hub).dispatcher.processes
        assert ProcessPool(hub._runtime).take() is None
        monkeypatch.setattr(pool, "prepare", lambda wanted: wanted)
        addresses: list[tuple[str, bool] | None] = [("sc://nowhere", True), None]
        monkeypatch.setattr(pool, "address", lambda: addresses.pop())
        coordinator = coordinator_of(hub)
        coordinator.begin(after(seconds=1))
        while addresses:
            coordinator.pump(0)
            assert set(coordinator.dispatcher.queue.queued) == {
                "singleton:default.t0",
                "singleton:default.t1",
                "singleton:default.t4",
            }
        coordinator.dispatcher.drop_queued("the test is over")
        assert set(jobs_of(hub).values()) == {"CANCELLED"}


@pytest.mark.parametrize(
    "schedule", ["1h", f"0 {(NOW.hour + 12) % 24} * * *"], ids=["interval", "cron"]
)
def test_a_failed_attempt_is_repeated_whatever_the_schedule(
    tmp_path: Path, units: Units, schedule: str
) -> None:
    """The reader that was held back with it is as due as it was."""
    with hub_with_readers(tmp_path) as hub:
        for name in ("t0", "t4"):
            hub.alter_stream_table(name, schedule=schedule)
        write_source(tmp_path, "source0", 2)
        units.errors["default.t0"] = LOST
        report = hub.tick(now=NOW)
        assert units.taken() == ["default.t0"]
        held = {c.name: c.reason_code for c in report.choices}
        assert held["default.t4"] == "UPSTREAM_FAILED"
        del units.errors["default.t0"]
        hub.tick(now=after(seconds=30))
        assert units.taken() == ["default.t0", "default.t4"]
        hub.tick(now=after(seconds=40))
        assert units.taken() == [], "it succeeded, and its schedule holds again"


def test_an_attempt_is_not_repeated_when_somebody_else_did_its_work(
    tmp_path: Path, units: Units
) -> None:
    with hub_with_readers(tmp_path) as hub:
        hub.alter_stream_table("t1", schedule="1h")
        write_source(tmp_path, "source2", 2)
        units.errors["default.t1"] = LOST
        hub.tick(now=NOW)
        write_source(tmp_path, "source2", 1)  # as if a refresh by hand had read it
        hub.tick(now=after(seconds=30))
        write_source(tmp_path, "source2", 3)
        report = hub.tick(now=after(seconds=60))
        assert units.taken().count("default.t1") == 1
        assert {c.name: c.reason_code for c in report.choices}["default.t1"] == "NOT_DUE"


def test_a_failure_that_is_not_repeated_waits_for_the_schedule(
    tmp_path: Path, units: Units
) -> None:
    with hub_with_readers(tmp_path) as hub:
        hub.alter_stream_table("t1", schedule="1h")
        write_source(tmp_path, "source2", 2)
        units.errors["default.t1"] = QueryFailed("no such column")
        for second in (0, 30):
            hub.tick(now=after(seconds=second))
        assert units.taken().count("default.t1") == 1


def test_what_was_chosen_and_never_queued_is_as_due_as_before(
    tmp_path: Path, units: Units, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hub_with_readers(tmp_path) as hub:
        hub.alter_stream_table("t1", schedule="1h")
        hub.tick(now=NOW)
        write_source(tmp_path, "source2", 2)
        refuse_once(monkeypatch, hub._runtime.store.jobs, "enqueue_all")
        with pytest.raises(CatalogBusy):
            hub.tick(now=after(hours=2))
        hub.tick(now=after(hours=2, seconds=1))
        assert "default.t1" in units.taken()


def test_a_tick_waits_for_the_catalog_once(tmp_path: Path, units: Units) -> None:
    """A tick that skips many, appoints many and runs some writes one transaction."""
    with hub_with_readers(tmp_path) as hub:
        hub.tick(now=NOW)
        hub.gate_source("source0")
        for source in ("source0", "source2"):
            write_source(tmp_path, source, 2)
        begun: list[str] = []
        engine = hub._runtime.store.database.engine
        event.listen(engine, "before_cursor_execute", lambda *said: begun.append(said[2]))
        heard: list[bool] = []
        hub.subscribe(lambda _: heard.append(begun[-1] == "BEGIN IMMEDIATE"))
        coordinator_of(hub).begin(after(minutes=2))
        assert begun.count("BEGIN IMMEDIATE") == 1, begun
        assert heard and not any(heard), "listeners hear of it when it is written"
        skipped = {run.reason_code for run in hub.history() if run.action == "SKIPPED"}
        assert skipped == {"GATED"}
        hub.tick(now=after(minutes=3))
        assert "default.t1" in units.taken()


def test_a_tick_that_could_not_be_written_is_written_by_the_next(
    tmp_path: Path, units: Units, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its transaction is taken back whole: choices, skips, ends of jobs."""
    with hub_with_readers(tmp_path) as hub:
        hub.tick(now=NOW)
        hub.gate_source("source0")
        for source in ("source0", "source2"):
            write_source(tmp_path, source, 2)
        coordinator, ended = coordinator_of(hub), []
        gates = coordinator._recorder.decided
        monkeypatch.setattr(
            coordinator._recorder,
            "decided",
            lambda *made: (
                coordinator.dispatcher.writes.make(lambda: ended.append(1)),
                gates(*made),
            ),
        )
        refuse_once(monkeypatch, hub._runtime.store.jobs, "enqueue_all")
        with pytest.raises(CatalogBusy):
            hub.tick(now=after(minutes=2))
        monkeypatch.setattr(coordinator._recorder, "decided", gates)
        assert ended == [1]
        assert not hub._runtime.store.schedule.all(), "no choice was written"
        assert not [run for run in hub.history() if run.action == "SKIPPED"]
        hub.tick(now=after(minutes=3))
        assert ended == [1, 1], "taken back, and made again"
        skipped = [run.name for run in hub.history() if run.action == "SKIPPED"]
        assert sorted(skipped) == ["default.t0", "default.t4"]
        assert hub._runtime.store.schedule.all()[1].decision_code == "GATED"


def test_many_appointments_at_once_are_one_statement(
    tmp_path: Path, units: Units, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reaping, "REAP_SECONDS", 3600.0)
    with quiet_hub(tmp_path, 300) as hub:
        store = hub._runtime.store
        with store.database.write() as connection:
            connection.execute(update(tables.stream_tables).values(schedule="* * * * *"))
        hub.tick(now=NOW)
        seen: list[str] = []
        event.listen(
            store.database.engine, "before_cursor_execute", lambda *said: seen.append(said[2])
        )
        at = after(minutes=2)
        assert hub.tick(now=at).idle
        assert len(seen) <= 12, seen
        assert {row.last_refresh_at for row in store.tables.all()} == {at}
