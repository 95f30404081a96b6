"""Writers at full speed below joins and a diamond: versions equal their queries at frontiers."""

from __future__ import annotations

import random
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

import headwater
from headwater.core.names import TableName
from headwater.refresh.definitions import resolved_for
from headwater.refresh.oracle import oracle
from headwater.refresh.pin import View
from headwater.storage.head import read_head
from shared_spark import Place, check, rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

QUERIES = {
    "debits": "SELECT account, SUM(amount) AS d FROM debit GROUP BY account",
    "credits": "SELECT account, SUM(amount) AS c FROM credit GROUP BY account",
    "balance": "SELECT d.account, d.d - c.c AS b, d.d FROM debits d JOIN credits c "
    "ON d.account = c.account",
    "large": "SELECT account, amount FROM debit WHERE amount > 5",
    "pairs": "SELECT l.account, d.d FROM large l JOIN debits d ON l.account = d.account",
}


def prepare(hub: headwater.Hub, consistency: str) -> None:
    for table in ("debit", "credit"):
        hub.sql(f"CREATE TABLE {table} (account INT, amount INT) USING iceberg")
        hub.sql(f"INSERT INTO {table} SELECT CAST(id AS INT), 10 FROM range(5)")
    for name, query in QUERIES.items():
        hub.create_stream_table(name, query, diamond_consistency=consistency)


def write(hub: headwater.Hub, seed: int, until: float) -> int:
    """Bookings: what is taken from one side is added to the other, in one batch.

    A slow machine gets some time more, until something was refreshed meanwhile.
    """
    rng, done = random.Random(seed), 0
    while time.monotonic() < until or (
        len(versions(hub, "balance")) < 4 and time.monotonic() < until + 120
    ):
        account, amount = rng.randrange(5), rng.randrange(1, 9)
        with hub.batch():
            hub.sql(f"INSERT INTO debit VALUES ({account}, {amount})")
            hub.sql(f"INSERT INTO credit VALUES ({account}, {amount})")
        done += 1
    return done


def under_load(spark: SparkSession, place: Place, seconds: float, consistency: str) -> None:
    with place.open(spark, settings={"scheduler_interval_ms": 100}) as hub:
        prepare(hub, consistency)
        until = time.monotonic() + seconds
        with place.open(spark) as one, place.open(spark) as two:
            hub.start()
            with ThreadPoolExecutor(2) as pool:
                written = [pool.submit(write, w, n, until) for n, w in enumerate((one, two))]
            assert all(w.result() > 0 for w in written)
        assert hub.stop()
        hub.tick()
        hub.tick()
        check(hub, *QUERIES)
        refreshed = versions(hub, "balance")
        assert len(refreshed) > 2, "it was refreshed while the writers wrote"
        for name in QUERIES:
            assert wrong_versions(hub, name) == []
        for version in refreshed:
            shown = {r[1] for r in hub.table("balance", version=version).collect()}
            assert shown == {0}, f"half a batch is seen in version {version}: {shown}"
        arms_agree(hub, "pairs")
        arms_agree(hub, "balance")


def versions(hub: headwater.Hub, name: str) -> list[int]:
    """The versions of a stream table, oldest first."""
    metadata = hub._runtime.tables.metadata(TableName.parse(name))
    assert metadata is not None
    found = [s.snapshot_id for s in metadata.ancestry(metadata.current_snapshot_id)]
    return found[::-1]


def wrong_versions(hub: headwater.Hub, name: str) -> list[int]:
    """The versions of a stream table that are not its query at their frontiers."""
    runtime, table = hub._runtime, TableName.parse(name)
    row, metadata = runtime.store.tables.get(table), runtime.tables.metadata(table)
    assert metadata is not None
    asked = oracle(runtime, resolved_for(runtime, row), View.take(runtime))
    columns = ", ".join(column for column, _ in row.columns)
    texts = []
    for version in versions(hub, name):
        frontier = read_head(metadata, version).frontier
        assert frontier is not None
        stored = f"SELECT {columns} FROM {table.sql('hw')} VERSION AS OF {version}"
        texts.append(
            f"SELECT {version} AS version, n FROM ({differing(asked.at(frontier), stored)})"
        )
    wrong: list[int] = []
    for start in range(0, len(texts), 8):
        found = hub.sql(" UNION ALL ".join(texts[start : start + 8])).collect()
        assert len(found) == len(texts[start : start + 8])
        wrong += [r.version for r in found if r.n]
    return wrong


def differing(one: str, other: str) -> str:
    """How many rows two queries do not share."""
    missing, unexpected = f"({one}) EXCEPT ALL ({other})", f"({other}) EXCEPT ALL ({one})"
    return f"SELECT COUNT(*) AS n FROM (({missing}) UNION ALL ({unexpected}))"


def arms_agree(hub: headwater.Hub, top: str) -> None:
    """At every version of the top, all its arms show the base tables as its frontier does."""
    tables = hub._runtime.tables
    metadata = tables.metadata(TableName.parse(top))
    assert metadata is not None
    for version in versions(hub, top):
        frontier = read_head(metadata, version).frontier
        assert frontier is not None
        for arm, read in frontier.sources.items():
            below = tables.metadata(arm)
            assert below is not None
            shown = read_head(below, read.snapshot_id).frontier
            assert shown is not None
            for base, at in shown.base.items():
                meant = frontier.base[base].snapshot_id
                if at.snapshot_id != meant:
                    # An arm that later versions leave as it was may name an older one.
                    assert is_unchanged(hub, arm, read.snapshot_id, base, meant), (top, version)


def is_unchanged(
    hub: headwater.Hub, arm: TableName, version: int | None, base: TableName, at: int | None
) -> bool:
    """Whether a version of an arm is its query at another version of its base table, too."""
    row = hub._runtime.store.tables.get(arm)
    query = row.spec.query.replace(f"FROM {base.name}", f"FROM {base.name} VERSION AS OF {at}")
    columns = ", ".join(column for column, _ in row.columns)
    stored = f"SELECT {columns} FROM {arm.sql('hw')} VERSION AS OF {version}"
    return bool(hub.sql(differing(query, stored)).collect()[0].n == 0)


@pytest.mark.long
@pytest.mark.parametrize("consistency", ["atomic", "none"])
@pytest.mark.parametrize("seconds", [10, 60])
def test_diamonds_and_batches_under_load(
    spark: SparkSession, place: Place, consistency: str, seconds: int
) -> None:
    under_load(spark, place, seconds, consistency)


def test_arms_that_stand_still_do_not_hold_back_what_reads_them(hub: headwater.Hub) -> None:
    """Compaction, empty windows and a slow arm; only an arm that fails lets the top wait."""
    hub.sql("CREATE TABLE src (id INT, x INT) USING iceberg")
    hub.sql("INSERT INTO src VALUES (1, 1), (2, 2)")
    names = ("sums", "slow", "top")
    each = {"diamond_consistency": "none"}
    hub.create_stream_table("sums", "SELECT id, SUM(x) AS s FROM src GROUP BY id", **each)  # type: ignore[arg-type]
    hub.create_stream_table(
        "slow",
        "SELECT id, 10 / x AS y FROM src WHERE x < 5",
        schedule="52w",
        **each,  # type: ignore[arg-type]
    )
    query = "SELECT a.id, a.s, b.y FROM sums a JOIN slow b ON a.id = b.id"
    hub.create_stream_table("top", query, **each)  # type: ignore[arg-type]
    hub.sql("INSERT INTO src VALUES (1, 9)")  # an empty window for the slow arm
    hub.sql("CALL hw.system.rewrite_data_files(table => 'default.src', "
            "options => map('rewrite-all', 'true'))")  # fmt: skip
    report = hub.tick(now=datetime.now(UTC) + timedelta(seconds=5))
    assert "default.top" in report.refreshed
    check(hub, *names)
    for table in ("slow", "sums"):
        hub.sql(f"CALL hw.system.rewrite_data_files(table => 'default.{table}', "
                "options => map('rewrite-all', 'true'))")  # fmt: skip
    hub.sql("INSERT INTO src VALUES (2, 3)")
    report = hub.tick(now=datetime.now(UTC) + timedelta(seconds=5))
    assert "default.top" in report.refreshed, "the slow arm was brought along"
    assert "default.slow" not in report.refreshed
    check(hub, *names)
    before = rows(hub, "top")
    hub.sql("INSERT INTO src VALUES (2, 0)")  # the slow arm divides by it
    report = hub.tick(now=datetime.now(UTC) + timedelta(seconds=5))
    (skipped,) = [r for r in report.results if r.name == "default.top"]
    assert (skipped.action, skipped.reason_code) == ("SKIPPED", "ARMS_DISAGREE")
    assert "default.slow" in skipped.reason
    assert rows(hub, "top") == before
    assert hub.history("top", limit=1)[0].reason_code == "ARMS_DISAGREE"
    assert wrong_versions(hub, "top") == []
    arms_agree(hub, "top")
    hub.sql("DELETE FROM src WHERE x = 0")
    hub.resume_stream_table("slow")
    report = hub.tick(now=datetime.now(UTC) + timedelta(seconds=5))
    assert "default.top" in report.refreshed
    check(hub, *names)
