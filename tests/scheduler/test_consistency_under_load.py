"""Writers at full speed below joins and a diamond: versions equal their queries at frontiers."""

from __future__ import annotations

import random
import threading
import time
from typing import TYPE_CHECKING

import pytest

import headwater
from headwater.core.names import TableName
from headwater.storage.head import read_head
from shared_spark import Place, check

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
    """Bookings: what is taken from one side is added to the other, in one batch."""
    rng, done = random.Random(seed), 0
    while time.monotonic() < until:
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
        with place.open(spark) as writing:
            writer = threading.Thread(target=write, args=(writing, 1, until))
            hub.start()
            writer.start()
            writer.join()
        assert hub.stop()
        hub.tick()
        hub.tick()
        check(hub, *QUERIES)
        refreshed = versions(hub, "balance")
        assert len(refreshed) > 2, "it was refreshed while the writer wrote"
        for name in QUERIES:
            for version in versions(hub, name)[-6:]:
                assert hub.verify(name, version=version).equal, (name, version)
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


def arms_agree(hub: headwater.Hub, top: str) -> None:
    """At every version of the top, its arms show the same versions of their base tables."""
    tables = hub._runtime.tables
    metadata = tables.metadata(TableName.parse(top))
    assert metadata is not None
    for version in versions(hub, top):
        frontier = read_head(metadata, version).frontier
        assert frontier is not None
        seen: dict[TableName, set[int | None]] = {}
        for source, read in frontier.sources.items():
            below = tables.metadata(source)
            assert below is not None
            shown = read_head(below, read.snapshot_id).frontier
            for base, at in (shown.base if shown else {source: read}).items():
                seen.setdefault(base, set()).add(at.snapshot_id)
        for base, ats in seen.items():
            # An arm that a later version leaves as it was may name an older one.
            assert frontier.base[base].snapshot_id in ats, (top, version, base)


@pytest.mark.long
@pytest.mark.parametrize("consistency", ["atomic", "none"])
@pytest.mark.parametrize("seconds", [10, 60])
def test_diamonds_and_batches_under_load(
    spark: SparkSession, place: Place, consistency: str, seconds: int
) -> None:
    under_load(spark, place, seconds, consistency)
