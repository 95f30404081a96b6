"""Maintenance on Spark: fewer files and snapshots, the same rows, and no refresh that notices."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from headwater.core.errors import StreamTableNotFound
from headwater.core.names import TableName
from headwater.refresh import maintain
from headwater.storage import compact, expire
from headwater.storage.sizing import MIB
from headwater.storage.stage import Stamp, staged
from shared_spark import check, refresh, rows

if TYPE_CHECKING:
    import headwater

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing counts as young, and two versions stay."""
    monkeypatch.setattr(maintain, "READ_FOR", timedelta(seconds=-5))
    monkeypatch.setattr(expire.expendable, "__kwdefaults__", {"kept_versions": 2})


def prepare(hub: headwater.Hub) -> None:
    hub.sql("CREATE TABLE src (id BIGINT, g INT, x BIGINT) USING iceberg")
    hub.sql("INSERT INTO src VALUES (1, 1, 1)")
    hub.create_stream_table("plain", "SELECT id, g, x FROM src")
    hub.create_stream_table("totals", "SELECT g, SUM(x) AS s FROM plain GROUP BY g")
    hub.create_stream_table("aside", "SELECT g, COUNT(*) AS n FROM src GROUP BY g")


def snapshots(hub: headwater.Hub, name: str) -> int:
    metadata = hub._runtime.tables.metadata(TableName.parse(name))
    assert metadata is not None
    return len(metadata.snapshots)


def stage_only(hub: headwater.Hub, name: str) -> None:
    """A commit of a run that died before it published."""
    engine = hub._runtime.engine
    with engine.exclusive() as session, staged(session, Stamp("died", "{}", "x", None)):
        engine.run(session, f"INSERT INTO hw.default.{name} SELECT * FROM hw.default.{name}")


def test_maintenance_is_no_change_and_no_foreign_write(hub: headwater.Hub) -> None:
    prepare(hub)
    for i in range(2, 8):
        hub.sql(f"INSERT INTO src VALUES ({i}, {i % 2}, {i})")
        refresh(hub, "plain")
    stage_only(hub, "plain")
    before = rows(hub, "plain")
    source = snapshots(hub, "src")

    (told,) = hub.maintain("plain")

    assert (told.files_before, told.files_after, told.files_rewritten) == (7, 1, 7)
    assert told.staged_removed == 1
    # `totals` stopped at the first version: everything since then stays for its window.
    assert (told.versions_expired, told.snapshots_before) == (0, 8)
    assert rows(hub, "plain") == before
    assert snapshots(hub, "src") == source
    assert hub.refresh_stream_table("plain").action == "NO_DATA"
    check(hub, "plain", "totals", "aside")
    assert refresh(hub, "totals")[0].action == "INCREMENTAL"

    hub.refresh("*")
    together = hub.tables(["plain", "totals", "aside"])
    assert together["aside"].agg({"n": "sum"}).collect()[0][0] == 7
    hub.sql("INSERT INTO src VALUES (8, 1, 8)")
    refresh(hub, "plain")
    (told,) = hub.maintain("plain")
    assert told.versions_expired > 0
    assert told.snapshots_after < told.snapshots_before
    (again,) = hub.maintain("plain")
    assert (again.reason, again.files_rewritten) == ("there was nothing to do", 0)

    assert refresh(hub, "totals")[0].action == "INCREMENTAL"
    assert refresh(hub, "aside")[0].action == "INCREMENTAL"
    hub.sql("DELETE FROM src WHERE id < 3")
    assert [r.action for r in hub.refresh("*")] == ["INCREMENTAL"] * 3
    check(hub, "plain", "totals", "aside")


def test_files_are_put_together_in_the_order_of_the_key(hub: headwater.Hub) -> None:
    hub.sql("CREATE TABLE odd (`a b` BIGINT, `c``d` INT) USING iceberg")
    for i in range(6):
        hub.sql(f"INSERT INTO odd VALUES ({7 * i % 6}, {i})")
    name = TableName.parse("odd")
    metadata = hub._runtime.tables.metadata(name)
    assert metadata is not None
    engine = hub._runtime.engine
    with engine.exclusive() as session:
        assert compact.rewrite(engine, session, name, metadata, ["a b", "c`d"], MIB) == 6
    stored = [r["a b"] for r in hub.sql("SELECT `a b` FROM odd").collect()]
    assert stored == sorted(stored)


@pytest.mark.long
def test_all_of_them_and_never_a_source(hub: headwater.Hub) -> None:
    hub.sql("CREATE TABLE src (id BIGINT) USING iceberg")
    hub.create_stream_table("none", "SELECT id FROM src", initialize=False)
    hub.create_stream_table("some", "SELECT COUNT(*) AS n FROM src")
    told = {row.name: row for row in hub.maintain()}
    assert told["default.none"].reason == "there is no content"
    assert told["default.some"].reason == "there was nothing to do"
    with pytest.raises(StreamTableNotFound):
        hub.maintain("src")
