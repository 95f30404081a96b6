"""The choice between a delta and everything, on Spark: told, shared, exact either way."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import text

from headwater.catalog.costs import Cost
from headwater.catalog.history import Outcome
from headwater.core.names import TableName
from headwater.core.spec import Action
from shared_spark import Place, check, refresh

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    import headwater

pytestmark = pytest.mark.spark

APPEND = "default.src:APPEND"


def prepare(hub: headwater.Hub, **options: str) -> None:
    hub.sql("CREATE TABLE src (id BIGINT, g INT, x BIGINT) USING iceberg")
    hub.sql("INSERT INTO src SELECT id, id % 7, id FROM range(100)")
    hub.create_stream_table("t", "SELECT g, SUM(x) AS s FROM src GROUP BY g", **options)


def pretend(hub: headwater.Hub, name: str = "t", *, ms_per_byte: float, full_ms: float) -> None:
    """Make the table an hour old, with a full refresh and eight deltas that took so long."""
    store = hub._runtime.store
    row = store.tables.get(TableName.parse(name))
    now = hub._runtime.clock()
    with store.database.write() as connection:
        connection.execute(text("DELETE FROM hw_costs WHERE stream_table_id = :id"), {"id": row.id})
        old = (now - timedelta(hours=1)).isoformat(timespec="microseconds")
        connection.execute(text("UPDATE hw_stream_tables SET created_at = :old"), {"old": old})
    for i in range(9):
        size = 100 * i
        is_full = i == 0
        cost = Cost(
            is_full=is_full,
            specialisation="full" if is_full else APPEND,
            apply="overwrite" if is_full else "merge",
            planned_bytes=size,
            planned_rows=None,
            source_bytes=hub_bytes(hub),
            warmth=2,
            duration_ms=full_ms if is_full else size * ms_per_byte,
        )
        run = store.history.begin(row)
        action = Action.FULL if is_full else Action.INCREMENTAL
        store.history.finish(
            run, Outcome(action, "CHANGES", "", row.frontier, row.version, cost=cost)
        )


def hub_bytes(hub: headwater.Hub) -> int:
    metadata = hub._runtime.tables.metadata(TableName.parse("src"))
    assert metadata is not None
    snapshot = metadata.snapshot(metadata.current_snapshot_id)
    assert snapshot is not None
    return snapshot.count("total-files-size")


def test_a_dear_delta_becomes_a_full_refresh_in_every_process(
    spark: SparkSession, place: Place
) -> None:
    with place.open(spark) as hub:
        prepare(hub)
        pretend(hub, ms_per_byte=100, full_ms=1000)
    with place.open(spark) as hub:  # it never refreshed the table
        hub.sql("INSERT INTO src VALUES (1000, 1, 1)")
        told = hub.explain("t", "cost").to_dict()
        assert told["action"] == "FULL"
        assert told["predicted_full_ms"] >= 1000
        assert told["predicted_incremental_ms"] > 1.5 * told["predicted_full_ms"]
        assert told["slope"] == pytest.approx(100)
        (done,) = refresh(hub, "t")
        assert (done.action, done.reason_code) == ("FULL", "PREDICTED_COST_EXCEEDS_FULL")
        assert hub.history("t")[0].reason_code == "PREDICTED_COST_EXCEEDS_FULL"
        (advice,) = hub.threshold_advice()
        assert (advice.name, advice.specialisation, advice.samples) == ("default.t", APPEND, 8)
        assert advice.slope == pytest.approx(100)
        assert advice.intercept == pytest.approx(0)
        assert (advice.last_action, advice.last_reason_code) == (
            "FULL",
            "PREDICTED_COST_EXCEEDS_FULL",
        )
        assert advice.last_right is True
        assert advice.last_expected_ms == told["predicted_incremental_ms"]
        assert advice.last_ms is not None
        assert advice.last_ms < advice.last_expected_ms


@pytest.mark.parametrize(
    ("mode", "strict", "action"),
    [
        ("INCREMENTAL", None, "FULL"),
        ("INCREMENTAL STRICT", None, "INCREMENTAL"),
        ("AUTO", True, "INCREMENTAL"),
    ],
)
def test_modes(hub: headwater.Hub, mode: str, strict: bool | None, action: str) -> None:
    prepare(hub, refresh_mode=mode)
    pretend(hub, ms_per_byte=100, full_ms=1000)
    hub.sql("INSERT INTO src VALUES (1000, 1, 1)")
    assert hub.refresh_stream_table("t", strict=strict).action == action
    check(hub, "t")


@pytest.mark.parametrize("workers", [0, 4])
def test_it_is_the_same_serially_and_in_parallel(hub: headwater.Hub, workers: int) -> None:
    prepare(hub)
    hub.create_stream_table("u", "SELECT g, COUNT(*) AS n FROM src GROUP BY g")
    for name in ("t", "u"):
        pretend(hub, name, ms_per_byte=100, full_ms=1000)
    hub.set("max_parallel_workers", workers)
    hub.sql("INSERT INTO src VALUES (1000, 1, 1)")
    done = hub.refresh(["t", "u"])
    assert [r.reason_code for r in done] == ["PREDICTED_COST_EXCEEDS_FULL"] * 2
    check(hub, "t", "u")


def test_everyday_changes_of_a_new_table_stay_deltas(hub: headwater.Hub) -> None:
    prepare(hub)
    for i in range(5):
        hub.sql(f"INSERT INTO src SELECT id, 1, {i} FROM range({2 + i})")
        (done,) = refresh(hub, "t")
        assert (done.action, done.reason_code) == ("INCREMENTAL", "CHANGES")
    hub.sql("UPDATE src SET x = 5 WHERE id = 3")
    assert refresh(hub, "t")[0].action == "INCREMENTAL"
    advice = hub.threshold_advice()
    assert [a.specialisation for a in advice] == ["default.src:MIXED", APPEND]
    assert [a.samples for a in advice] == [1, 5]
    assert all("younger" in a.reason for a in advice)
    assert advice[0].last_full_ms is not None
    (stats,) = hub.refresh_stats()
    assert (stats.incremental_refreshes, stats.full_refreshes) == (6, 1)
    frame = hub.sql("CALL headwater.threshold_advice()").collect()
    assert [r["samples"] for r in frame] == [1, 5]
