"""Every version of a stream table equals its query at one frontier, however writers interleave."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

import headwater
from headwater.refresh import run
from shared_spark import Place, check

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def versions(hub: headwater.Hub, table: str) -> list[int]:
    found = hub.sql(
        f"SELECT snapshot_id FROM hw.default.{table}.history WHERE is_current_ancestor"
    ).collect()
    return [r.snapshot_id for r in found]


def test_two_joined_sources_written_all_the_time(spark: SparkSession, place: Place) -> None:
    with place.open(spark) as hub, place.open(spark) as writer:
        hub.sql("CREATE TABLE l (id BIGINT, k INT) USING iceberg")
        hub.sql("CREATE TABLE r (k INT, v BIGINT) USING iceberg")
        hub.sql("INSERT INTO l VALUES (0, 0)")
        hub.sql("INSERT INTO r VALUES (0, 0)")
        hub.create_stream_table("j", "SELECT l.id, r.v FROM l JOIN r ON l.k = r.k")
        hub.create_stream_table("a", "SELECT k, COUNT(*) AS n FROM l GROUP BY k")
        stop = threading.Event()
        failed: list[BaseException] = []

        def write() -> None:
            try:
                for i in range(1, 10_000):
                    if stop.is_set():
                        return
                    writer.sql(f"INSERT INTO l VALUES ({i}, {i % 3})")
                    writer.sql(f"INSERT INTO r VALUES ({i % 3}, {i})")
                    if i % 4 == 0:
                        writer.sql(f"DELETE FROM l WHERE id = {i - 1}")
                        writer.sql(f"UPDATE r SET v = v + 1 WHERE k = {i % 3}")
            except BaseException as error:
                failed.append(error)

        thread = threading.Thread(target=write)
        thread.start()
        until = time.monotonic() + 60
        while len(versions(hub, "j")) < 6 and time.monotonic() < until:
            hub.refresh("*")
        stop.set()
        thread.join()
        assert not failed
        hub.refresh("*")
        for table in ("j", "a"):
            seen = versions(hub, table)
            assert len(seen) >= 5
            for version in seen:
                assert hub.verify(table, version=version).equal, (table, version)


def test_batches_are_never_seen_half(spark: SparkSession, place: Place) -> None:
    """Transfers: the sum over two tables is always zero at every version."""
    with place.open(spark) as hub, place.open(spark) as writer:
        hub.sql("CREATE TABLE debit (id INT, x BIGINT) USING iceberg")
        hub.sql("CREATE TABLE credit (id INT, x BIGINT) USING iceberg")
        hub.create_stream_table(
            "balance",
            "SELECT SUM(x) AS total, COUNT(*) AS n FROM "
            "(SELECT x FROM debit UNION ALL SELECT -x FROM credit)",
        )
        stop = threading.Event()
        batches = [0]

        def write() -> None:
            while not stop.is_set():
                i = batches[0] = batches[0] + 1
                with writer.batch():
                    writer.sql(f"INSERT INTO debit VALUES ({i}, {i})")
                    time.sleep(0.02)
                    writer.sql(f"INSERT INTO credit VALUES ({i}, {i})")

        thread = threading.Thread(target=write)
        thread.start()
        until = time.monotonic() + 60
        while len(versions(hub, "balance")) < 6 and time.monotonic() < until:
            hub.refresh_stream_table("balance")
        stop.set()
        thread.join()
        hub.refresh_stream_table("balance")
        check(hub, "balance")
        seen = versions(hub, "balance")
        assert len(seen) >= 5
        for version in seen:
            row = hub.table("balance", version=version).collect()[0]
            assert row.total in (0, None), (version, row)
            assert row.n % 2 == 0
        assert hub.table("balance").collect()[0].n == 2 * batches[0]


def test_an_open_batch_holds_back_every_table_it_wrote(hub: headwater.Hub) -> None:
    hub.sql("CREATE TABLE a (x INT) USING iceberg")
    hub.sql("CREATE TABLE b (x INT) USING iceberg")
    hub.create_stream_table("t", "SELECT x FROM a UNION ALL SELECT x FROM b")
    with hub.batch():
        hub.sql("INSERT INTO a VALUES (1)")
        assert hub.refresh_stream_table("t").action == "NO_DATA"
        hub.sql("INSERT INTO b VALUES (2)")
        assert hub.table("t").count() == 0
    assert hub.refresh_stream_table("t").rows_inserted == 2
    check(hub, "t")


def test_a_batch_left_by_an_error_is_held_back_until_it_is_finished(hub: headwater.Hub) -> None:
    hub.sql("CREATE TABLE a (x INT) USING iceberg")
    hub.sql("CREATE TABLE b (x INT) USING iceberg")
    hub.create_stream_table("t", "SELECT SUM(x) AS s FROM (SELECT x FROM a UNION SELECT -x FROM b)")
    with pytest.raises(ZeroDivisionError), hub.batch():
        raise ZeroDivisionError
    with (
        pytest.warns(headwater.HeadwaterWarning, match=r"BATCH_LEFT: .* written default\.a:"),
        pytest.raises(ZeroDivisionError),
        hub.batch(),
    ):
        hub.sql("INSERT INTO a VALUES (1)")
        raise ZeroDivisionError
    hub.sql("INSERT INTO a VALUES (2)")
    assert hub.refresh_stream_table("t").action == "NO_DATA"
    with hub.batch():
        hub.sql("INSERT INTO b VALUES (1), (2)")
        assert hub.refresh_stream_table("t").action == "NO_DATA"
    hub.refresh_stream_table("t")
    check(hub, "t")
    assert [r.s for r in hub.table("t").collect()] == [0]


def test_tables_reads_versions_that_agree(hub: headwater.Hub) -> None:
    hub.sql("CREATE TABLE src (g INT, x INT) USING iceberg")
    hub.sql("INSERT INTO src VALUES (1, 1)")
    hub.create_stream_table("one", "SELECT COUNT(*) AS n FROM src")
    hub.create_stream_table("two", "SELECT g, COUNT(*) AS n FROM src GROUP BY g")
    hub.sql("INSERT INTO src VALUES (1, 2), (2, 2)")
    hub.refresh_stream_table("one")
    frames = hub.tables(["one", "two"])
    assert frames["one"].collect()[0].n == sum(r.n for r in frames["two"].collect()) == 1
    hub.refresh_stream_table("two")
    frames = hub.tables(["one", "two"])
    assert frames["one"].collect()[0].n == sum(r.n for r in frames["two"].collect()) == 3
    hub.create_stream_table("three", "SELECT g, x FROM src WHERE g > 5")
    hub.sql("INSERT INTO src VALUES (3, 3)")
    assert hub.refresh_stream_table("three").reason_code == "EMPTY_DELTA"
    frames = hub.tables(["three", "one"])
    assert frames["one"].collect()[0].n == 3, "its content holds before and after the empty delta"


def test_diamond_arms_are_brought_together(hub: headwater.Hub) -> None:
    hub.sql("CREATE TABLE src (g INT, x INT) USING iceberg")
    hub.sql("INSERT INTO src VALUES (1, 1)")
    hub.create_stream_table("left_arm", "SELECT g, COUNT(*) AS n FROM src GROUP BY g")
    hub.create_stream_table("right_arm", "SELECT g, SUM(x) AS s FROM src GROUP BY g")
    query = "SELECT l.g, l.n, r.s FROM left_arm l JOIN right_arm r ON l.g = r.g"
    hub.create_stream_table("top", query)
    hub.sql("INSERT INTO src VALUES (1, 1), (2, 1)")
    hub.refresh_stream_table("left_arm")
    hub.refresh_stream_table("top")
    check(hub, "top", "left_arm", "right_arm")
    assert all(r.n == r.s for r in hub.table("top").collect())
    assert hub.table("top").count() == 2


def test_arms_that_never_stand_still_do_not_hold_back_what_reads_them(
    hub: headwater.Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody writes and refreshes one arm whenever the other one has just been brought along."""
    for table in ("debit", "credit"):
        hub.sql(f"CREATE TABLE {table} (id INT, x INT) USING iceberg")
    hub.create_stream_table("debits", "SELECT id, SUM(x) AS x FROM debit GROUP BY id")
    hub.create_stream_table("credits", "SELECT id, SUM(x) AS x FROM credit GROUP BY id")
    query = "SELECT d.id, d.x - c.x AS b, d.x FROM debits d JOIN credits c ON d.id = c.id"
    hub.create_stream_table("balance", query)
    aligned, moved = run.align_arms, []

    def book() -> None:
        with hub.batch():
            for table in ("debit", "credit"):
                hub.sql(f"INSERT INTO {table} VALUES (1, 1)")

    def overtaken(*arguments: Any) -> Any:
        found = aligned(*arguments)
        if len(moved) < 20:
            book()
            moved.append(hub.refresh_stream_table("credits").action)
        return found

    book()
    hub.refresh_stream_table("credits")
    monkeypatch.setattr(run, "align_arms", overtaken)
    result = hub.refresh_stream_table("balance")
    assert (result.action, moved) == ("INCREMENTAL", ["INCREMENTAL"])
    assert [tuple(r) for r in hub.table("balance").collect()] == [(1, 0, 1)]
    check(hub, "balance", "debits", "credits")
    hub.refresh("*")
    assert [tuple(r) for r in hub.table("balance").collect()] == [(1, 0, 2)]
    check(hub, "balance", "debits", "credits")
