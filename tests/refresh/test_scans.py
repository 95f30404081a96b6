"""Tables refreshed together read a change window once; the rows are those each would have read."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from headwater.core.names import TableName
from headwater.observe.events import ScanEvent
from headwater.refresh.scans import MOST_BYTES, SharedScans
from headwater.refresh.windows import TINY_BYTES
from headwater.sources.iceberg import IcebergSource
from headwater.sources.source import How, Kind, Window
from headwater.sql.lookup import SourceField
from shared_spark import check

if TYPE_CHECKING:
    import headwater

pytestmark = pytest.mark.spark

NAMES = ("sums", "plain", "joined", "ranks")


def prepare(hub: headwater.Hub) -> list[ScanEvent]:
    hub.sql("CREATE TABLE src (id BIGINT, g INT, x BIGINT, c STRING) USING iceberg")
    hub.sql("CREATE TABLE dim (g INT, name STRING) USING iceberg")
    hub.sql("INSERT INTO src SELECT id, id % 3, id, 'a' FROM range(20)")
    hub.sql("INSERT INTO dim VALUES (0, 'zero'), (1, 'one')")
    hub.create_stream_table("sums", "SELECT g, SUM(x) AS s FROM src GROUP BY g")
    hub.create_stream_table("plain", "SELECT id, c FROM src WHERE x > 3")
    hub.create_stream_table("joined", "SELECT src.id, dim.name FROM src JOIN dim ON src.g = dim.g")
    hub.create_stream_table(
        "ranks", "SELECT id, RANK() OVER (PARTITION BY g ORDER BY x) AS r FROM src"
    )
    seen: list[ScanEvent] = []
    hub.subscribe(lambda event: seen.append(event) if isinstance(event, ScanEvent) else None)
    return seen


def test_one_scan_per_source_and_round(hub: headwater.Hub) -> None:
    kept = hub.spark.sql("SHOW VIEWS IN global_temp").collect()  # of processes that were killed
    seen = prepare(hub)
    hub.sql("INSERT INTO src VALUES (100, 1, 7, 'b'), (101, 2, NULL, NULL)")
    hub.sql("INSERT INTO dim VALUES (2, 'two')")
    assert {r.action for r in hub.refresh("*")} == {"INCREMENTAL"}
    check(hub, *NAMES)
    assert [(e.table, e.readers, e.rows) for e in seen] == [("default.src", 4, 2)]
    hub.sql("UPDATE src SET x = x + 1 WHERE id < 4")
    hub.sql("DELETE FROM src WHERE id = 7")
    assert {r.action for r in hub.refresh(["sums", "plain", "ranks"])} == {"INCREMENTAL"}
    check(hub, "sums", "plain", "ranks")
    assert len(seen) == 2

    # `joined` stands at an older version than the others: it reads its own window.
    hub.sql("INSERT INTO src VALUES (102, 0, 1, 'd')")
    hub.refresh("*")
    check(hub, *NAMES)
    assert [e.readers for e in seen] == [4, 3, 3]
    assert hub.spark.sql("SHOW VIEWS IN global_temp").collect() == kept

    hub.set("adaptive_batch_coalescing", False)
    hub.sql("INSERT INTO src VALUES (103, 1, 7, 'e')")
    assert {r.action for r in hub.refresh("*")} == {"INCREMENTAL"}
    check(hub, *NAMES)
    assert len(seen) == 3, "it can be switched off"


@pytest.mark.long
def test_a_column_that_changed_for_one_of_them_is_no_trouble_for_the_others(
    hub: headwater.Hub,
) -> None:
    seen = prepare(hub)
    hub.sql("ALTER TABLE src DROP COLUMN c")
    hub.sql("INSERT INTO src VALUES (100, 1, 7)")
    with pytest.raises(Exception, match="HW4001"):
        hub.refresh("*")
    check(hub, "sums", "joined", "ranks")
    assert hub.refresh_stream_table("sums").action == "NO_DATA"
    assert seen == []


@pytest.mark.parametrize(
    ("size", "union", "read", "pays"),
    [
        (TINY_BYTES, 50, 51, True),
        (TINY_BYTES + 1, 50, 74, False),
        (TINY_BYTES + 1, 50, 75, True),
        (MOST_BYTES, 2, 20, True),
        (MOST_BYTES + 1, 2, 20, False),
    ],
)
def test_columns_are_put_together_only_where_that_pays(
    hub: headwater.Hub, size: int, union: int, read: int, pays: bool
) -> None:
    """`read` columns that all readers use together, `union` that the shared scan would have."""
    name = TableName.parse("src")
    used = {f"c{i}": SourceField(f"c{i}", "int") for i in range(union)}
    scans = SharedScans(hub._runtime, Counter(), {name: used}, Counter({name: read}))
    window = Window(Kind.APPEND, How.APPEND, "APPENDS", "", planned_bytes=size)
    source = IcebergSource(name, hub._runtime.tables, "hw")
    assert scans._pays(source, window) is pays


def test_one_scan_per_source_and_tick(hub: headwater.Hub) -> None:
    seen = prepare(hub)
    hub.sql("INSERT INTO src VALUES (100, 1, 7, 'b'), (101, 2, NULL, NULL)")
    hub.tick()
    check(hub, *NAMES)
    assert [(e.table, e.readers, e.rows) for e in seen] == [("default.src", 4, 2)]
    assert all(hub.refresh_stream_table(name).action == "NO_DATA" for name in NAMES)
