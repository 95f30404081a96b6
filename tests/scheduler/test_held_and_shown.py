"""What the scheduler holds back, and what it shows of it: gates, fuses, lags, arguments."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from bench.quiet_hub import write_source
from failing_units import NOW, Units, after, hub_with_readers
from test_tick import NOW as NOON
from test_tick import SECOND, codes, name, state, table

import headwater
from headwater.core.errors import InvalidOption
from headwater.core.frontier import Frontier, SourceVersion
from headwater.core.results import RefreshResult
from headwater.graph.units import UnitTraits
from headwater.operations import scheduler_of
from headwater.scheduler.daemon import LEADER_LEASE
from headwater.scheduler.execute import UnitResult
from headwater.scheduler.tick import tick
from headwater.scheduler.tick_state import Retry

T2 = name("t2")


def shown(hub: headwater.Hub) -> str | None:
    """The reason that is stored for t2."""
    store = hub._runtime.store
    return store.schedule.all()[store.tables.get(T2).id].decision_code


def chosen(hub: headwater.Hub, **time: float) -> dict[str, str]:
    """The reason codes of one tick."""
    return {c.name: c.reason_code for c in hub.tick(now=after(**time)).choices}


def skipped(_: object, run: Any, **__: Any) -> UnitResult:
    """A refresh that found it should not be made now."""
    results = [
        RefreshResult(
            name=str(member), action="SKIPPED", reason_code="ARMS_DISAGREE", reason="not yet",
            rows_inserted=0, rows_deleted=0, delta_rows=0, duration_ms=1.0, frontier={},
            version=None, run_id="r", spark_jobs=0, strategy=(), apply="",
        )
        for member in run.members
    ]  # fmt: skip
    return UnitResult(tuple(results))


def blow_and_reset(hub: headwater.Hub, folder: Path) -> None:
    """The fuse of t2 blows, and somebody lets the flood pass."""
    hub.tick(now=NOW)
    hub.set_fuse("t2", 5)
    write_source(folder, "source2", 2)
    assert chosen(hub, seconds=40)["default.t2"] == "FUSE_BLOWN"
    hub.reset_fuse("t2")


def test_a_table_that_is_quiet_after_a_restart_no_longer_shows_an_old_reason(
    tmp_path: Path, units: Units
) -> None:
    with hub_with_readers(tmp_path) as hub:
        hub.tick(now=NOW)
        hub.gate_source("source2")
        hub.tick(now=after(seconds=1))
        assert shown(hub) == "GATED"
    with headwater.connect(tmp_path) as hub:
        hub.ungate_source("source2")
        hub.tick(now=after(seconds=2))
        assert shown(hub) == "NO_CHANGES"


def test_a_scheduler_that_leads_again_goes_on_from_what_others_left(
    tmp_path: Path, units: Units
) -> None:
    with hub_with_readers(tmp_path) as hub, headwater.connect(tmp_path) as other:
        first, second = scheduler_of(hub), scheduler_of(other)
        assert first.daemon._take_lead()
        first.tick(NOW)
        first.daemon._renewed = -LEADER_LEASE.total_seconds()
        hub._runtime.store.leases.release(first.daemon._lease)

        assert second.daemon._take_lead()
        assert not first.daemon._take_lead()
        other.gate_source("source2")
        second.tick(after(seconds=1))
        other.ungate_source("source2")
        assert shown(hub) == "GATED"
        second.daemon.stop(drain=True)

        assert first.daemon._take_lead()
        first.tick(after(seconds=2))
        assert shown(hub) == "NO_CHANGES"


def test_another_schedule_must_keep_the_service_level(tmp_path: Path) -> None:
    def declared(hub: headwater.Hub) -> tuple[str, str]:
        return hub.status("t1")[0].schedule, hub.status("t1")[0].tier

    with hub_with_readers(tmp_path) as hub:
        hub.alter_stream_table("t1", sla="30 seconds")
        assert declared(hub) == ("calculated", "cold")
        with pytest.raises(InvalidOption, match=r"an SLA of 30s cannot be kept"):
            hub.alter_stream_table("t1", schedule="1h")
        assert declared(hub) == ("calculated", "cold")
        hub.alter_stream_table("t1", schedule="10s")
        assert declared(hub) == ("10s", "warm")
        hub.alter_stream_table("t1", schedule="10s", comment="as it was")
        hub.alter_stream_table("t1", schedule="1h", sla=None)
        assert declared(hub) == ("1h", "warm")


def test_a_gate_on_a_stream_table_holds_its_readers(tmp_path: Path, units: Units) -> None:
    with hub_with_readers(tmp_path) as hub:
        hub.tick(now=NOW)
        hub.gate_source("t0")
        write_source(tmp_path, "t0", 2)
        assert chosen(hub, seconds=40) == {"default.t4": "GATED"}
        assert units.taken() == []
        hub.ungate_source("t0")
        hub.tick(now=after(seconds=80))
        assert units.taken() == ["default.t4"]


def test_a_refresh_that_was_skipped_leaves_the_flood_to_pass(
    tmp_path: Path, units: Units, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hub_with_readers(tmp_path) as hub:
        blow_and_reset(hub, tmp_path)
        monkeypatch.setattr("headwater.scheduler.dispatcher.run_unit", skipped)
        for second in (80, 120):
            assert chosen(hub, seconds=second)["default.t2"] == "SOURCES_CHANGED"


def test_a_refresh_by_hand_that_took_the_flood_in_arms_the_fuse_again(
    tmp_path: Path, units: Units
) -> None:
    with hub_with_readers(tmp_path) as hub:
        blow_and_reset(hub, tmp_path)
        rows = hub._runtime.store.tables
        read = {**rows.get(T2).frontier.sources}  # type: ignore[union-attr]
        read[name("source2")] = SourceVersion("uuid-source2", 2, 0)
        rows.update(T2, frontier=Frontier(read, read), schedule="30s")
        hub.tick(now=after(seconds=80))
        units.taken()
        write_source(tmp_path, "source2", 4)
        assert chosen(hub, seconds=120)["default.t2"] == "FUSE_BLOWN"
        assert "default.t2" not in units.taken()


def test_the_lag_of_a_table_counts_from_the_change_it_waits_for(
    tmp_path: Path, units: Units
) -> None:
    with hub_with_readers(tmp_path) as hub:
        write_source(tmp_path, "source2", 2)
        place = tmp_path / "metadata" / "source2-2.json"
        document = json.loads(place.read_text())
        for snapshot, ago in zip(document["snapshots"], (86_400, 30), strict=True):
            snapshot["timestamp-ms"] = int((time.time() - ago) * 1000)
        place.write_text(json.dumps(document))
        lags = {row.stream_table: row.freshness_lag_s for row in hub.sla_summary()}
        assert lags["default.t3"] == 0
        for reader in ("default.t1", "default.t2"):
            lag = lags[reader]
            assert lag is not None
            assert 29 <= lag < 60


@pytest.mark.parametrize(
    "call",
    [
        lambda hub: hub.set_fuse("t0", 10**30),
        lambda hub: hub.tick(now="x"),
        lambda hub: hub.create_refresh_group("g", 5),
        lambda hub: hub.create_refresh_group("g" * 500, ["t0", "t1"]),
        lambda hub: hub.parallel_job_status(-5),
    ],
    ids=["fuse", "instant", "members", "long name", "age"],
)
def test_what_no_catalog_can_keep_is_refused_with_a_hint(
    tmp_path: Path, call: Callable[[headwater.Hub], object]
) -> None:
    with hub_with_readers(tmp_path) as hub, pytest.raises(InvalidOption) as refused:
        call(hub)
    assert refused.value.hint


def test_jobs_of_any_age_can_be_asked_for(tmp_path: Path, units: Units) -> None:
    with hub_with_readers(tmp_path) as hub:
        hub.tick(now=NOW)
        write_source(tmp_path, "source3", 2)
        hub.tick(now=after(seconds=1))
        assert len(hub.parallel_job_status(10**12)) == 2


@pytest.mark.parametrize("why", ["busy", "retries"])
def test_an_appointment_is_not_used_up_before_what_is_read_has_come(why: str) -> None:
    """A pure tick: `top` is asked by the clock, and a change of `low` is on its way."""
    low = table("low", moved="s")
    top = table("top", "0 12 * * *", last_at=NOON - timedelta(hours=3))
    apart = {t.name: UnitTraits(atomic=False, calculated=False) for t in (low, top)}
    later = Retry(1, NOON - SECOND, NOON + SECOND)
    waiting: dict[str, Any] = {
        "busy": {"busy": frozenset({low.name})},
        "retries": {"retries": {"singleton:default.low": later}},
    }
    reads = {"low": "s", "top": "low"}
    made = tick(state(reads, low, top, traits=apart, **waiting[why]), NOON)
    assert codes(made)["top"] == "NO_CHANGES"
    assert made.looked == ()
    assert tick(state(reads, top, traits=apart), NOON).looked == (top.name,)
