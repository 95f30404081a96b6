"""The change log of tables whose merges mark rows: their readers are exact and read little."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from headwater.core.names import TableName
from headwater.refresh import maintain, perform
from headwater.sources.change_log import log_of
from headwater.storage import expire
from headwater.storage.write_mode import FIXED, WriteMode
from shared_spark import check, refresh

if TYPE_CHECKING:
    import headwater

pytestmark = pytest.mark.spark

SHAPES = {
    "unique_rows": "SELECT id, g, x, m FROM src",
    "sums": "SELECT g, SUM(x) AS x, COUNT(*) AS n FROM src GROUP BY g",
    "extremes": "SELECT g, MIN(x) AS x, MAX(id) AS n FROM src GROUP BY g",
    "ranks": "SELECT id, g, id * RANK() OVER (PARTITION BY g ORDER BY x) AS x FROM src",
    "bag": "SELECT g, x % 3 AS x FROM src WHERE x > 2",
}
ROUNDS = [
    ["UPDATE src SET x = x + 7 WHERE id IN (3, 14)"],
    [
        "INSERT INTO src VALUES (100, 1, 7, NULL), (101, NULL, NULL, array('k'))",
        "DELETE FROM src WHERE id IN (5, 6) OR g = 4",
    ],
    ["INSERT INTO src VALUES (5, 4, 9, array(NULL, 'a'))"],
]


def prepare(hub: headwater.Hub, shapes: dict[str, str]) -> list[str]:
    """Tables whose merges mark rows, each with a reader of its own; returns the readers."""
    hub.sql("CREATE TABLE src (id BIGINT, g INT, x BIGINT, m ARRAY<STRING>) USING iceberg")
    hub.sql("INSERT INTO src SELECT id, id % 5, id, array('k') FROM range(20)")
    for name, query in shapes.items():
        key = ["id"] if name == "unique_rows" else None
        hub.create_stream_table(name, query, unique_key=key, refresh_mode="INCREMENTAL STRICT")
        marked = f"'{FIXED}' = '{WriteMode.MARK.value}'"
        hub.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ({marked})")
        hub.maintain(name)
    for name in shapes:
        query = f"SELECT g, SUM(x) AS s, COUNT(*) AS n FROM {name} GROUP BY g"
        hub.create_stream_table(f"of_{name}", query, refresh_mode="INCREMENTAL STRICT")
    return [f"of_{name}" for name in shapes]


def logged(hub: headwater.Hub, name: str) -> int:
    log = log_of(TableName.parse(name))
    return int(hub.sql(f"SELECT COUNT(*) FROM {log}").collect()[0][0])


def by_log(done: list[headwater.RefreshResult]) -> list[str]:
    return [r.name.removeprefix("default.") for r in done if "by log" in r.reason]


def test_every_layout_tells_its_changes(hub: headwater.Hub) -> None:
    readers = prepare(hub, SHAPES)
    for number, statements in enumerate(ROUNDS):
        for statement in statements:
            hub.sql(statement)
        for name in SHAPES:
            hub.refresh_stream_table(name)
        done = refresh(hub, *readers)
        if number == 0:
            assert by_log(done) == readers
    # Several commits of each, compaction among them, are one window of its reader.
    hub.sql("UPDATE src SET x = x * 2 WHERE id % 2 = 0")
    hub.refresh([*SHAPES])
    hub.maintain()
    hub.sql("DELETE FROM src WHERE id % 3 = 0")
    hub.sql("INSERT INTO src VALUES (0, 0, 10, NULL), (200, 4, 3, NULL)")
    refresh(hub, *SHAPES)
    assert by_log(refresh(hub, *readers)) == readers


def test_what_is_not_in_the_log_is_found_by_comparing(
    hub: headwater.Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    (reader,) = prepare(hub, {"unique_rows": SHAPES["unique_rows"]})

    # An attempt that died before it was published has left rows in the log: they do not count.
    def die(*_: object) -> None:
        raise RuntimeError("killed")

    hub.sql("UPDATE src SET x = x + 1 WHERE id = 3")
    with monkeypatch.context() as patched:
        patched.setattr(perform, "publish_run", die)
        with pytest.raises(Exception, match="killed"):
            hub.refresh_stream_table("unique_rows")
    assert logged(hub, "unique_rows") == 2
    hub.sql("UPDATE src SET x = x + 1 WHERE id = 4")
    refresh(hub, "unique_rows")
    assert logged(hub, "unique_rows") == 6
    assert "by log" in refresh(hub, reader)[0].reason

    # Everything anew is not logged; nor is what another log had.
    hub.sql("UPDATE src SET x = x + 1 WHERE id = 5")
    hub.refresh_stream_table("unique_rows", full=True)
    assert "by difference" in refresh(hub, reader)[0].reason
    hub.sql("UPDATE src SET x = x + 1 WHERE id = 7")
    refresh(hub, "unique_rows")
    hub.sql(f"DROP TABLE {log_of(TableName.parse('unique_rows'))}")
    hub.sql("UPDATE src SET x = x + 1 WHERE id = 8")
    refresh(hub, "unique_rows")
    assert "by difference" in refresh(hub, reader)[0].reason
    hub.sql("UPDATE src SET x = x + 1 WHERE id = 9")
    refresh(hub, "unique_rows")
    assert "by log" in refresh(hub, reader)[0].reason

    # Nobody reads it any more: nothing is logged.
    before = logged(hub, "unique_rows")
    hub.drop_stream_table(reader)
    hub.sql("UPDATE src SET x = x + 1 WHERE id = 9")
    refresh(hub, "unique_rows")
    assert logged(hub, "unique_rows") == before
    hub.drop_stream_table("unique_rows")
    assert not hub._runtime.tables.exists(log_of(TableName.parse("unique_rows")))


def test_maintenance_forgets_what_no_reader_needs(
    hub: headwater.Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintain, "READ_FOR", timedelta(seconds=-5))
    monkeypatch.setattr(expire.expendable, "__kwdefaults__", {"kept_versions": 1})
    (reader,) = prepare(hub, {"unique_rows": SHAPES["unique_rows"]})
    for number in range(3):
        hub.sql(f"UPDATE src SET x = x + 1 WHERE id = {number}")
        refresh(hub, "unique_rows")
    hub.maintain("unique_rows")
    assert logged(hub, "unique_rows") == 6
    assert "by log" in refresh(hub, reader)[0].reason
    hub.sql("UPDATE src SET x = x + 1 WHERE id = 9")
    refresh(hub, "unique_rows")
    hub.maintain("unique_rows")
    assert logged(hub, "unique_rows") < 8
    assert "by log" in refresh(hub, reader)[0].reason
    check(hub, "unique_rows", reader)
