"""The settings that say how ticks run: one by one, planned, pinned, slowed down; seen at once."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from bench.quiet_hub import write_source
from failing_units import NOW, Units, after, coordinator_of, hub_with_readers

import headwater
from headwater.core.results import RefreshResult
from headwater.observe.events import TickEvent
from headwater.observe.logs import line
from headwater.scheduler import daemon
from headwater.scheduler.execute import UnitResult
from headwater.scheduler.tick_state import UnitRun

RUN_UNIT = "headwater.scheduler.dispatcher.run_unit"


def move_everything(folder: Path, version: int = 2) -> None:
    for number in range(5):
        write_source(folder, f"source{number}", version)


def choices(hub: headwater.Hub, **time_: float) -> dict[str, str]:
    report = hub.tick(now=after(**time_))
    return {c.name.removeprefix("default."): c.reason_code for c in report.choices}


def test_a_dry_run_tells_units_and_order_and_starts_no_worker(tmp_path: Path, units: Units) -> None:
    with hub_with_readers(tmp_path) as hub:
        told: list[TickEvent] = []
        hub.subscribe(lambda e: told.append(e) if isinstance(e, TickEvent) else None)
        hub.set("parallel_refresh_mode", "dry_run")
        hub.alter_stream_table("t1", tier="cold")
        hub.tick(now=NOW)
        move_everything(tmp_path)
        report = hub.tick(now=after(seconds=40))
        (planned,) = told
        names = [key.removeprefix("singleton:") for key in planned.units]
        assert names == [f"default.t{n}" for n in (0, 2, 3, 4, 1)], "the cold one comes last"
        assert units.ran == names, "it ran in the order it told"
        assert sorted(report.units) == sorted(planned.units)
        logged = line(planned)
        assert logged is not None
        assert logged[0] == "tick"
        assert (logged[1]["units"], logged[1]["mode"]) == (planned.units, "dry_run")
        assert coordinator_of(hub).dispatcher.workers._started == 0
        assert hub.worker_pool_status()[0].parallel_mode == "dry_run"


def test_a_job_names_the_table_it_begins_with(tmp_path: Path, units: Units) -> None:
    with hub_with_readers(tmp_path) as hub:
        hub.create_refresh_group("pair", ["t3", "t4"])
        hub.tick(now=NOW)
        move_everything(tmp_path)
        hub.tick(now=after(seconds=40))
        ids = {str(row.name): row.id for row in hub._runtime.store.tables.all()}
        jobs = hub._runtime.store.jobs.all()
        assert sorted(len(job.members) for job in jobs) == [1, 1, 1, 2]
        assert all(job.root_id == ids[job.members[0]] for job in jobs)


def test_units_that_wait_for_several_ticks_are_told_once(tmp_path: Path, units: Units) -> None:
    with hub_with_readers(tmp_path) as hub:
        told: list[TickEvent] = []
        hub.subscribe(lambda e: told.append(e) if isinstance(e, TickEvent) else None)
        hub.tick(now=NOW)
        coordinator = coordinator_of(hub)
        for second, source in enumerate(("source3", "source3", "source1", "source1")):
            write_source(tmp_path, source, 2 + second)
            coordinator.begin(after(seconds=40 + second))
        names = [[key.removeprefix("singleton:default.") for key in e.units] for e in told]
        assert names == [["t2", "t3"], ["t0", "t1", "t4"]]


@pytest.mark.parametrize(
    ("setting", "value", "workers"),
    [
        ("parallel_refresh_mode", "off", 0),
        ("parallel_refresh_mode", "dry_run", 0),
        ("max_parallel_workers", 0, 0),
        ("max_parallel_workers", 1, 1),
        ("max_parallel_workers", 2, 2),
        ("max_dynamic_refresh_workers", 2, 2),
    ],
)
def test_no_more_units_run_at_once_than_the_settings_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, value: object, workers: int
) -> None:
    """Without a worker the tick itself runs them, whatever `worker_pool_size` says."""
    lock, running, most, threads = threading.Lock(), 0, 0, set[int]()

    def run(*_: object, **__: object) -> UnitResult:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
            threads.add(threading.get_ident())
        time.sleep(0.05)
        with lock:
            running -= 1
        return UnitResult()

    monkeypatch.setattr(RUN_UNIT, run)
    with hub_with_readers(tmp_path) as hub:
        if not workers:
            hub.set("worker_pool_size", 4)
        hub.set(setting, value)
        hub.tick(now=NOW)
        move_everything(tmp_path)
        assert len(hub.tick(now=after(seconds=40)).units) == 5
        assert (coordinator_of(hub).dispatcher.workers._started > 0) is (workers > 0)
    assert most == max(1, workers)
    assert (threads == {threading.get_ident()}) is (workers == 0)


def test_what_another_process_sets_counts_at_the_next_tick(tmp_path: Path, units: Units) -> None:
    with hub_with_readers(tmp_path) as hub, headwater.connect(tmp_path) as other:
        hub.tick(now=NOW)
        other.set("enabled", False)
        write_source(tmp_path, "source3", 2)
        assert choices(hub, seconds=1) == {"t2": "DISABLED", "t3": "DISABLED"}
        assert units.taken() == []
        other.set("enabled", True)
        other.set("max_parallel_workers", 0)
        assert choices(hub, seconds=40) == {"t2": "SOURCES_CHANGED", "t3": "SOURCES_CHANGED"}
        assert units.taken() == ["default.t2", "default.t3"]
        assert coordinator_of(hub).dispatcher.workers._started == 0


def test_versions_are_pinned_unless_the_setting_says_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pinned: list[Any] = []

    def run(*_: object, fixed: Any, **__: object) -> UnitResult:
        pinned.append(fixed)
        return UnitResult()

    monkeypatch.setattr(RUN_UNIT, run)
    with hub_with_readers(tmp_path) as hub:
        hub.tick(now=NOW)
        write_source(tmp_path, "source3", 2)
        report = hub.tick(now=after(seconds=40))
        versions = {"default.source2": 1, "default.source3": 2, "default.source4": 1}
        assert report.versions == versions
        assert hub._runtime.store.ticks.versions(report.tick or 0) == versions
        assert {n.name: v.snapshot_id for n, v in pinned[0].items()} == {
            name.removeprefix("default."): version for name, version in versions.items()
        }
        assert all(each == pinned[0] for each in pinned), "all refreshes of a tick read the same"
        pinned.clear()
        hub.set("tick_watermark_enabled", False)
        report = hub.tick(now=after(seconds=80))
        assert pinned == [None, None]
        assert report.versions == hub._runtime.store.ticks.versions(report.tick or 0) == {}


def test_a_table_slower_than_its_schedule_is_asked_less_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its schedule is 30 s; its refreshes change nothing, so that there is always work."""
    took = {"ms": 29_000.0}

    def run(_: object, run: UnitRun, **__: Any) -> UnitResult:
        results = tuple(
            RefreshResult(str(m), "FULL", "X", "x", 0, 0, 0, took["ms"], {}, 1, "r", 0, (), "none")
            for m in run.members
        )
        return UnitResult(results)

    monkeypatch.setattr(RUN_UNIT, run)
    with hub_with_readers(tmp_path) as hub:
        hub.tick(now=NOW)
        write_source(tmp_path, "source3", 2)
        at = 40
        assert choices(hub, seconds=at)["t2"] == "SOURCES_CHANGED"
        for gap in (60, 120, 240, 240):
            assert choices(hub, seconds=at + gap - 1)["t2"] == "NOT_DUE"
            at += gap
            assert choices(hub, seconds=at)["t2"] == "SOURCES_CHANGED"
        took["ms"] = 28_000.0
        at += 240
        assert choices(hub, seconds=at)["t2"] == "SOURCES_CHANGED"
        assert choices(hub, seconds=at + 30)["t2"] == "SOURCES_CHANGED", "it is quick again"


def test_tables_are_maintained_beside_the_ticks(
    tmp_path: Path, units: Units, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = threading.Event()
    monkeypatch.setattr(daemon, "_MAINTAIN_SECONDS", 0.1)
    monkeypatch.setattr(daemon, "maintain", lambda _: done.set())
    with hub_with_readers(tmp_path) as hub:
        hub.set("scheduler_interval_ms", 100)
        hub.start()
        assert not done.wait(0.5), "not while no Spark runs: there was nothing to do"
        monkeypatch.setattr(type(hub._runtime.engine), "running", property(lambda _: True))
        assert done.wait(10)
        assert hub.stop()
