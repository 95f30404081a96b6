"""The declared order of stored rows: kept by full refreshes and compaction, exact under merges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headwater.core.errors import InvalidOption
from headwater.core.names import TableName
from headwater.core.spec import Way
from headwater.refresh import conf
from shared_spark import check, refresh

if TYPE_CHECKING:
    import headwater

pytestmark = pytest.mark.spark


def stored(hub: headwater.Hub, column: str) -> list[object]:
    """A column as it lies on disk, file by file in the order of their least values."""
    text = f"SELECT {column} AS c, _file AS f, _pos AS p FROM hw.default.t"
    found = hub.spark.sql(text).collect()
    files: dict[str, list[tuple[int, object]]] = {}
    for row in found:
        files.setdefault(row.f, []).append((row.p, row.c))
    parts = [[c for _, c in sorted(rows)] for rows in files.values()]
    return [c for part in sorted(parts, key=lambda p: repr(p[0])) for c in part]


def is_sorted(values: list[object]) -> bool:
    return values == sorted(values)  # type: ignore[type-var]


def test_rows_lie_in_the_declared_order(
    hub: headwater.Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conf, "SMALL_TARGET_FILES", 0)
    monkeypatch.setattr(conf, "SMALL_TARGET_ROWS", 0)
    hub.sql(
        "CREATE TABLE src USING iceberg AS SELECT id, 1000 + (id * 7) % 100 AS x FROM range(100)"
    )
    hub.sql(
        "CREATE STREAM TABLE t REFRESH_MODE INCREMENTAL STRICT UNIQUE KEY (id) SORTED BY (X) "
        "AS SELECT id, x FROM src"
    )
    assert is_sorted(stored(hub, "x"))
    assert not is_sorted(stored(hub, "id"))
    described = {r["property"]: r["value"] for r in hub.sql("DESCRIBE STREAM TABLE t").collect()}
    assert described["sort_by"] == '["X"]'

    # Neighbouring keys lie all over the table: the merge looks for their files.
    hub.sql("UPDATE src SET x = x + 1 WHERE id < 3")
    (done,) = refresh(hub, "t")
    assert [s["strategy"] for s in done.strategy if s["node"] == "Merge"] == [Way.SEEK.value]

    for number in range(5):
        hub.sql(f"INSERT INTO src VALUES ({200 - number}, {1500 - number})")
        refresh(hub, "t")
    (row,) = hub.maintain("t")
    assert row.files_after == 1
    assert is_sorted(stored(hub, "x"))

    with pytest.raises(InvalidOption, match="sort_by: no column 'y' in the result"):
        hub.alter_stream_table("t", sort_by="y")
    hub.alter_stream_table("t", sort_by=None)
    hub.sql("UPDATE src SET x = x + 1 WHERE id < 3")
    (done,) = refresh(hub, "t")
    assert [s["strategy"] for s in done.strategy if s["node"] == "Merge"] == [Way.TOLD.value]
    hub.alter_stream_table("t", sort_by=["id"])
    hub.refresh_stream_table("t", full=True)
    assert is_sorted(stored(hub, "id"))
    check(hub, "t")
    assert hub._runtime.store.tables.get(TableName.parse("t")).spec.sort_by == ("id",)


def test_a_bag_has_an_order_too(hub: headwater.Hub) -> None:
    hub.sql("CREATE TABLE src USING iceberg AS SELECT 1000 + (id * 7) % 50 AS x FROM range(100)")
    hub.create_stream_table("t", "SELECT x, 'a' AS a FROM src", sort_by=["x"])
    assert is_sorted(stored(hub, "x"))
    hub.sql("DELETE FROM src WHERE x = 1007")
    refresh(hub, "t")
