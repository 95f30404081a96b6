"""Refreshes that compute windows first, tell scans the values and sort large tables, on Spark.

The sizes from which that pays are set to nothing, so that small tables go the same ways.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headwater.core.names import TableName
from headwater.refresh import among, conf, order, windows
from headwater.storage import shared
from shared_spark import refresh

if TYPE_CHECKING:
    from collections.abc import Collection

    import headwater

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def at_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "WORTH_SKIPPING", 0)
    monkeypatch.setattr(order, "WORTH_SKIPPING", 0)
    monkeypatch.setattr(conf, "SMALL_TARGET_FILES", 0)
    monkeypatch.setattr(conf, "SMALL_TARGET_ROWS", 0)


QUERIES = {
    "revenue": "SELECT o.day, SUM(l.x) AS s FROM o JOIN l ON o.ok = l.ok GROUP BY o.day",
    "sizes": "SELECT n, COUNT(*) AS m FROM (SELECT ck, COUNT(*) AS n FROM o GROUP BY 1) GROUP BY 1",
    "idle": "SELECT c.name FROM c WHERE NOT EXISTS (SELECT 1 FROM o WHERE o.ck = c.ck)",
    "named": "SELECT c.name, o.day FROM c LEFT JOIN o ON o.ck = c.ck",
    "big": "SELECT l.ok, SUM(l.x) AS s FROM l GROUP BY l.ok HAVING SUM(l.x) > 10",
    "per_order": "SELECT ok, SUM(x) AS s, COUNT(*) AS n FROM l GROUP BY ok",
}


def prepare(hub: headwater.Hub) -> None:
    hub.sql("CREATE TABLE o (ok BIGINT, ck INT, day INT) USING iceberg")
    hub.sql("CREATE TABLE l (ok BIGINT, x BIGINT) USING iceberg")
    hub.sql("CREATE TABLE c (ck INT, name STRING) USING iceberg")
    hub.sql("INSERT INTO o SELECT id, id % 7, id % 5 FROM range(0, 400, 1, 4)")
    hub.sql("INSERT INTO l SELECT id % 420, id % 11 FROM range(0, 1500, 1, 4) ORDER BY 1")
    hub.sql("INSERT INTO c VALUES (0, 'a'), (1, 'b'), (5, NULL), (50, 'never'), (NULL, 'none')")
    for name, query in QUERIES.items():
        hub.create_stream_table(name, query, refresh_mode="INCREMENTAL STRICT")
    hub.create_stream_table(
        "keyed", "SELECT ok, ck, day FROM o", unique_key=["ok"], refresh_mode="INCREMENTAL STRICT"
    )


def change(hub: headwater.Hub, number: int) -> None:
    """New rows, copies of rows, NULL keys, updates, and rows that go, in several commits."""
    low = 100 * number
    hub.sql(f"INSERT INTO o SELECT id, id % 9, NULL FROM range({1000 + low}, {1020 + low}, 1, 1)")
    hub.sql(f"INSERT INTO l SELECT id, 3 FROM range({1000 + low}, {1020 + low}, 1, 1)")
    hub.sql(f"INSERT INTO l SELECT ok, x FROM l WHERE ok BETWEEN {low} AND {low + 3}")
    hub.sql(f"INSERT INTO l VALUES (NULL, {number}), (NULL, NULL)")
    hub.sql(f"DELETE FROM o WHERE ok BETWEEN {low + 20} AND {low + 30}")
    hub.sql(f"UPDATE l SET x = x + 1 WHERE ok BETWEEN {low + 25} AND {low + 40}")
    hub.sql(f"UPDATE o SET ck = NULL WHERE ok = {low + 41}")


@pytest.mark.parametrize("rows", [shared.SMALL_ROWS, pytest.param(5, marks=pytest.mark.long)])
def test_every_way_is_exact(hub: headwater.Hub, monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    monkeypatch.setattr(shared, "SMALL_ROWS", rows)
    prepare(hub)
    change(hub, 1)
    results = refresh(hub, *QUERIES, "keyed")
    assert {r.action for r in results} == {"INCREMENTAL"}


def test_rows_are_looked_up_where_values_lie_far_apart(
    hub: headwater.Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up = []
    real = among.are_sparse

    def counting(values: Collection[object]) -> bool:
        looked_up.append(found := real(values))
        return found

    monkeypatch.setattr(among, "MOST_LISTED", 0)
    monkeypatch.setattr(among, "SPARSE", 0)
    monkeypatch.setattr(among, "are_sparse", counting)
    prepare(hub)
    change(hub, 1)
    results = refresh(hub, *QUERIES, "keyed")
    assert {r.action for r in results} == {"INCREMENTAL"}
    assert any(looked_up)


@pytest.mark.long
def test_together_they_share_netted_windows(hub: headwater.Hub) -> None:
    prepare(hub)
    change(hub, 2)
    hub.refresh("*")
    assert all(hub.verify(name).equal for name in (*QUERIES, "keyed"))


def test_a_large_table_is_written_in_the_order_of_its_key(hub: headwater.Hub) -> None:
    hub.sql("CREATE TABLE src USING iceberg AS SELECT id, id * 7919 % 5000 AS k FROM range(5000)")
    hub.create_stream_table("sorted", "SELECT k, id FROM src", unique_key=["k"])
    stored = [row.k for row in hub.spark.sql("SELECT k FROM hw.default.sorted").collect()]
    assert stored == sorted(stored)
    metadata = hub._runtime.tables.metadata(TableName.parse("sorted"))
    assert metadata is not None
    assert metadata.properties["write.target-file-size-bytes"] == str(1024 * 1024)
