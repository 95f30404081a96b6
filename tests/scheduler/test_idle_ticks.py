"""A tick with nothing to do: one look, few queries, whatever the number of stream tables."""

from __future__ import annotations

import socket
import sqlite3
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from urllib.request import urlopen

import pytest
from bench.idle_tick import count_looks
from bench.quiet_hub import _row, quiet_hub, write_source
from ddl_process import new
from sqlalchemy import event, insert

from headwater import Hub
from headwater.catalog import tables
from headwater.core.names import TableName
from headwater.core.spec import Tier
from headwater.graph.units import Unit, UnitKind
from headwater.operations import scheduler_of
from headwater.scheduler import reaping, workers
from headwater.scheduler.ledger import shape_of
from headwater.scheduler.tick_state import Decisions

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def decided(hub: Hub, now: datetime = NOW) -> Decisions:
    """The decisions of the next tick, which are not carried out."""
    coordinator = scheduler_of(hub).coordinator
    limits = coordinator._limits()
    made = coordinator._decide(now, limits)
    coordinator._ledger.previous = now
    return made


def statements(hub: Hub) -> list[str]:
    seen: list[str] = []

    @event.listens_for(hub._runtime.store.database.engine, "before_cursor_execute")
    def _(conn: object, cursor: object, statement: str, *_: object) -> None:
        seen.append(statement)

    return seen


@pytest.mark.parametrize(("every", "most"), [(3600.0, 8), (0.0, 12)], ids=["plain", "reaping"])
@pytest.mark.parametrize("count", [20, 1000])
def test_the_queries_of_an_idle_tick_do_not_grow_with_the_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int, every: float, most: int
) -> None:
    """Each second or third tick also looks for what dead processes left."""
    with quiet_hub(tmp_path, count) as hub:
        hub.tick()
        monkeypatch.setattr(reaping, "REAP_SECONDS", every)
        looks, seen = count_looks(hub), statements(hub)
        report = hub.tick()
        assert report.idle
        assert len(looks) == 1, "one query looks for changes of all sources"
        assert len(seen) <= most, seen
        assert not any("FROM hw_stream_tables" in s for s in seen), "no row is read again"
        assert not hub._runtime.engine.running, "no Spark"


@pytest.mark.timed
def test_an_idle_tick_of_a_thousand_tables_takes_milliseconds(tmp_path: Path) -> None:
    """The mark is 20 ms on a quiet machine; one that reads each table again takes 200."""
    with quiet_hub(tmp_path, 1000, cron=100) as hub:
        hub.tick()
        times = []
        for _ in range(15):
            started = time.perf_counter()
            assert hub.tick().idle
            times.append(time.perf_counter() - started)
        assert median(times) < 0.1, sorted(times)


def test_idle_ticks_share_one_row_of_the_history(tmp_path: Path) -> None:
    with quiet_hub(tmp_path, 30) as hub:
        for second in range(5):
            hub.tick(now=NOW + timedelta(seconds=second))
        (row,) = hub.history()
        assert (row.name, row.action, row.reason_code) == ("*", "NO_DATA", "IDLE_TICK")
        assert "30 looked at" in (row.reason or "")


def test_a_source_that_moved_wakes_its_readers_and_nobody_else(tmp_path: Path) -> None:
    with quiet_hub(tmp_path, 40) as hub:
        hub.tick(now=NOW)
        write_source(tmp_path, "source3", 2)
        looks = count_looks(hub)
        made = decided(hub)
        readers = {f"default.t{i}" for i in range(40) if i % 10 in (2, 3)}
        assert {str(n) for n in made.choices} == readers
        assert all(c.code == "SOURCES_CHANGED" for c in made.choices.values())
        assert "default.source3 changed" in made.choices[TableName.parse("t2")].reason
        assert len(looks) == 1


def test_ten_sources_of_a_table_are_one_look(tmp_path: Path) -> None:
    with quiet_hub(tmp_path, 1, sources=10) as hub:
        with hub._runtime.store.database.write() as connection:
            row = _row(1, *(f"source{number}" for number in range(10)))
            connection.execute(insert(tables.stream_tables), [row])
        hub.tick(now=NOW)
        for number in range(10):
            write_source(tmp_path, f"source{number}", 2)
        looks = count_looks(hub)
        choice = decided(hub).choices[TableName.parse("t1")]
        assert (choice.code, len(looks)) == ("SOURCES_CHANGED", 1)
        assert "and 7 more changed" in choice.reason


def test_a_table_with_an_appointment_is_looked_at_when_it_comes(tmp_path: Path) -> None:
    with quiet_hub(tmp_path, 3, cron=1) as hub:
        looked = hub.tick(now=NOW)
        assert looked.skipped == {"default.t0": "NO_CHANGES"}, "it passed at six o'clock"
        assert hub.tick(now=NOW + timedelta(hours=17)).choices == ()
        write_source(tmp_path, "source0", 2)
        report = hub.tick(now=NOW + timedelta(hours=17, minutes=1))
        assert report.skipped == {"default.t0": "NOT_DUE"}, "its change waits for six o'clock"
        report = hub.tick(now=NOW + timedelta(hours=18))
        assert [c.name for c in report.choices if c.refresh] == ["default.t0"]


def test_a_source_that_is_gone_is_not_passed_over(tmp_path: Path) -> None:
    with quiet_hub(tmp_path, 10) as hub:
        hub.tick(now=NOW)
        with sqlite3.connect(tmp_path / "iceberg.db") as connection:
            connection.execute("DELETE FROM iceberg_tables WHERE table_name = 'source4'")
        connection.close()
        made = decided(hub)
        assert {str(n.name): c.refresh for n, c in made.choices.items()} == {"t3": True, "t4": True}


def test_settings_and_declarations_are_seen_at_the_next_tick(tmp_path: Path) -> None:
    with quiet_hub(tmp_path, 10) as hub:
        hub.tick(now=NOW)
        write_source(tmp_path, "source1", 2)
        hub.alter_stream_table("t0", tier="frozen")
        hub.gate_source("source2")
        made = decided(hub)
        assert {str(n.name): c.code for n, c in made.choices.items()} == {
            "t0": "FROZEN",
            "t1": "GATED",
            "t2": "GATED",
        }
        hub.ungate_source("source2")
        hub.alter_stream_table("t0", tier="hot")
        made = decided(hub)
        assert {str(n.name): c.code for n, c in made.choices.items()} == {
            "t0": "SOURCES_CHANGED",
            "t1": "SOURCES_CHANGED",
        }
        hub.set("enabled", False)
        hub._runtime.setting.resolved(fresh=True)  # type: ignore[attr-defined]
        assert {c.code for c in decided(hub).choices.values()} == {"DISABLED"}


def test_a_changed_definition_does_not_build_the_whole_graph_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[TableName] = []

    def counted(kind: UnitKind, members: tuple[TableName, ...]) -> Unit:
        built.extend(members)
        return make(kind, members)

    make = Unit.of

    with quiet_hub(tmp_path, 300) as hub:
        hub.tick(now=NOW)
        tables = hub._runtime.store.tables
        monkeypatch.setattr(Unit, "of", counted)
        hub.set("enabled", False)
        hub.alter_stream_table("t1", schedule="7m")
        hub.alter_stream_table("t2", tier="cold")
        tables.remove(TableName.parse("t3"))
        tables.add(new(TableName.parse("more"), [TableName.parse("t4")]))
        hub.tick(now=NOW + timedelta(seconds=1))
        assert sorted(name.name for name in built) == ["more", "t1", "t4"], "no other is built"
        ledger = scheduler_of(hub).coordinator._ledger
        full = shape_of(hub._runtime.store, ledger.outlines)
        assert ledger.shape.graph.sources == full.graph.sources
        assert set(ledger.shape.units.units) == set(full.units.units)
        built.clear()
        hub.alter_stream_table("t2", tier="hot")
        hub.tick(now=NOW + timedelta(seconds=2))
        assert built == []


def test_a_fuse_blows_once_and_lets_one_refresh_pass_after_its_reset(tmp_path: Path) -> None:
    events: list[object] = []
    with quiet_hub(tmp_path, 10) as hub:
        hub.subscribe(events.append)
        hub.set_fuse("t0", 15)
        hub.tick(now=NOW)
        write_source(tmp_path, "source0", 3)
        name = TableName.parse("t0")
        hub.gate_source("source9")  # t9 reads source0 too, and there is no Spark here
        report = hub.tick(now=NOW + timedelta(seconds=1))
        choice = next(c for c in report.choices if c.name == "default.t0")
        assert choice.reason_code == "FUSE_BLOWN"
        assert "20 changed rows" in choice.reason
        assert [type(e).__name__ for e in events if "Fuse" in type(e).__name__] == ["FuseEvent"]
        hub.tick(now=NOW + timedelta(seconds=2))
        assert [type(e).__name__ for e in events if "Fuse" in type(e).__name__] == ["FuseEvent"]
        assert hub.status("t0")[0].decision_code == "FUSE_BLOWN"
        hub.reset_fuse("t0")
        assert decided(hub).choices[name].code == "SOURCES_CHANGED"
        with pytest.raises(Exception, match="has not blown"):
            hub.reset_fuse("t0")


def test_counters_of_a_service_level_survive_a_restart(tmp_path: Path) -> None:
    with quiet_hub(tmp_path, 3) as hub:
        hub._runtime.store.tables.update(
            TableName.parse("t1"), freshness_deadline_ms=30_000, tier=Tier.COLD
        )
        for minute in range(3):
            hub.tick(now=NOW + timedelta(minutes=minute))
        assert hub.status("t1")[0].tier == "cold", "two ticks were late so far"
    with quiet_hub(tmp_path, 0) as hub:
        hub.tick(now=NOW + timedelta(minutes=4))
        tier = hub.status("t1")[0].tier
        hub.tick(now=NOW + timedelta(minutes=5))
        assert "warm" in (tier, hub.status("t1")[0].tier)


def test_a_refresh_that_failed_leaves_its_table_late(tmp_path: Path) -> None:
    """The target is missing: every refresh fails, and does not count as fresh."""
    name = TableName.parse("t0")
    with quiet_hub(tmp_path, 1) as hub:
        hub.set("max_consecutive_errors", 100)
        hub._runtime.store.tables.update(name, freshness_deadline_ms=30_000, tier=Tier.WARM)
        hub.alter_stream_table("t0", schedule="10s")
        hub.tick(now=NOW)
        write_source(tmp_path, "source0", 2)
        for number in range(1, 6):
            report = hub.tick(now=NOW + timedelta(seconds=20 * number))
            assert report.failed == ("default.t0",)
        assert hub.status("t0")[0].tier == "hot", "late for more than its deadline, three times"


def test_a_pool_of_four_stays_and_runs_what_is_due(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "IDLE_SECONDS", 0.05)
    with quiet_hub(tmp_path, 3) as hub:
        hub.set("worker_pool_size", 4)
        hub.set("max_consecutive_errors", 100)
        hub.tick(now=NOW)
        pool = scheduler_of(hub).coordinator.dispatcher.workers
        names = {t.name for t in pool._threads.values()}
        assert len(names) == 4
        write_source(tmp_path, "source0", 2)
        write_source(tmp_path, "source3", 2)
        for minute in range(1, 4):
            report = hub.tick(now=NOW + timedelta(minutes=minute))
            assert len(report.failed) == 2, "they ran: their own files are missing"
            time.sleep(0.15)
            assert {t.name for t in pool._threads.values()} == names, "the same, however idle"
        assert hub.worker_pool_status()[0].idle_workers == 4
        assert pool._started == 4, "no task started one"


def test_a_refresh_far_slower_than_its_service_level_is_told(tmp_path: Path) -> None:
    events: list[object] = []
    with quiet_hub(tmp_path, 1) as hub:
        hub.subscribe(lambda e: events.append(e) if "Breach" in type(e).__name__ else None)
        name = TableName.parse("t0")
        hub._runtime.store.tables.update(name, freshness_deadline_ms=30_000)
        hub.tick(now=NOW)
        recorder = scheduler_of(hub).coordinator._recorder
        recorder.took(name, timedelta(seconds=32), NOW)
        assert events == []
        recorder.took(name, timedelta(seconds=40), NOW)
        recorder.took(name, timedelta(seconds=40), NOW + timedelta(minutes=4))
        (event,) = events
        assert (event.name, event.deadline_ms) == ("predicted_sla_breach", 30_000)  # type: ignore[attr-defined]
        assert event.expected_ms == pytest.approx(44_000)  # type: ignore[attr-defined]
        recorder.took(name, timedelta(seconds=40), NOW + timedelta(minutes=6))
        assert len(events) == 2


def test_pressure_is_an_event_once_and_a_gauge_always(tmp_path: Path) -> None:
    events: list[object] = []
    with quiet_hub(tmp_path, 10) as hub:
        hub.subscribe(lambda e: events.append(e) if "Backpressure" in type(e).__name__ else None)
        hub.set("buffer_alert_threshold", 1000)
        hub.set("metrics_port", free_port())
        for number in range(10):
            hub.alter_stream_table(f"t{number}", schedule="52w")
        hub.tick(now=NOW)
        write_source(tmp_path, "source0", 150)
        for second in range(1, 6):
            hub.tick(now=NOW + timedelta(seconds=second))
        (event,) = events
        assert (event.name, event.source) == ("change_buffer_backpressure", "default.source0")  # type: ignore[attr-defined]
        assert (event.pending_rows, event.consecutive_cycles, event.threshold) == (1490, 3, 1000)  # type: ignore[attr-defined]
        hub.start()
        port = hub.settings()["metrics_port"].value
        with urlopen(f"http://127.0.0.1:{port}/metrics") as page:
            text = page.read().decode()
        hub.stop()
        assert 'headwater_source_pending_rows{hub="default",source="default.source0"} 1490' in text
        assert 'headwater_source_pressure_ticks{hub="default",source="default.source0"} ' in text


def test_pressure_that_went_is_told_when_it_comes_again(tmp_path: Path) -> None:
    events: list[object] = []
    pending = 'headwater_source_pending_rows{hub="default",source="default.source0"} 1490'
    ticks = "headwater_source_pressure_ticks{"
    with quiet_hub(tmp_path, 1) as hub:
        hub.subscribe(lambda e: events.append(e) if "Backpressure" in type(e).__name__ else None)
        hub.alter_stream_table("t0", schedule="52w")
        metrics = scheduler_of(hub).coordinator.metrics
        hub.tick(now=NOW)
        write_source(tmp_path, "source0", 150)
        told = []
        for second, threshold in enumerate([1000] * 4 + [1490] + [1000] * 4, start=1):
            hub.set("buffer_alert_threshold", threshold)
            hub.tick(now=NOW + timedelta(seconds=second))
            told.append(len(events))
            assert pending in metrics.text(), "a gauge, also below the threshold"
            assert (ticks in metrics.text()) is (threshold == 1000)
        assert told == [0, 0, 1, 1, 1, 1, 1, 2, 2]
        hub.set("backpressure_consecutive_limit", 0)
        for second in range(10, 15):
            hub.tick(now=NOW + timedelta(seconds=second))
        assert len(events) == 2, "0 never tells it"


def test_an_update_makes_pressure_and_blows_no_fuse(tmp_path: Path) -> None:
    """It rewrote files of 1,200 rows: so many must be looked at, one of them may have changed."""
    update = {"operation": "overwrite", "added-records": "1200", "deleted-records": "1200"}
    events: list[object] = []
    with quiet_hub(tmp_path, 2) as hub:
        hub.subscribe(lambda e: events.append(e) if "Backpressure" in type(e).__name__ else None)
        hub.set("buffer_alert_threshold", 1000)
        hub.set_fuse("t0", 15)
        hub.alter_stream_table("t0", schedule="52w")
        hub.tick(now=NOW)
        write_source(tmp_path, "source0", 2, last=update)
        for second in range(1, 6):
            report = hub.tick(now=NOW + timedelta(seconds=second))
            assert report.skipped["default.t0"] == "NOT_DUE"
        (event,) = events
        assert (event.source, event.pending_rows) == ("default.source0", 1200)  # type: ignore[attr-defined]


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
