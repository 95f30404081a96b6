"""Somebody else's rows in a stream table: found by verify, mended by the next refresh or repair."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headwater.core.errors import FullRefreshRefused
from shared_spark import check, rows

if TYPE_CHECKING:
    import headwater

pytestmark = pytest.mark.spark


@pytest.fixture
def counted(hub: headwater.Hub) -> headwater.Hub:
    hub.sql("CREATE TABLE src (g INT, x INT) USING iceberg")
    hub.sql("INSERT INTO src VALUES (1, 1), (2, 2)")
    hub.create_stream_table("t", "SELECT g, x FROM src")
    return hub


def test_row_on_top_is_found_and_mended(counted: headwater.Hub) -> None:
    counted.sql("INSERT INTO t VALUES (9, 9, 'smuggled')")
    report = counted.verify("t")
    assert (report.equal, report.missing, report.unexpected) == (False, 0, 1)
    result = counted.refresh_stream_table("t")
    assert (result.action, result.reason_code) == ("FULL", "FOREIGN_WRITE")
    assert "not written by a refresh" in result.reason
    check(counted, "t")


def test_row_below_our_commit_is_found(counted: headwater.Hub) -> None:
    """A commit that looks like ours, on top of somebody else's."""
    counted.sql("INSERT INTO src VALUES (3, 3)")
    counted.refresh_stream_table("t")
    own = counted.sql(
        "SELECT summary FROM hw.default.t.snapshots ORDER BY committed_at DESC LIMIT 1"
    ).collect()[0][0]
    counted.sql("INSERT INTO t VALUES (9, 9, 'smuggled')")
    session = counted.spark
    stamped = {k: v for k, v in own.items() if k.startswith("hw.")}
    try:
        for key, value in stamped.items():
            session.conf.set(f"spark.sql.iceberg.snapshot-property.{key}", value)
        counted.sql("INSERT INTO t SELECT g, x, 'late' FROM src WHERE false")
    finally:
        for key in stamped:
            session.conf.unset(f"spark.sql.iceberg.snapshot-property.{key}")
    assert counted.verify("t").unexpected == 1
    result = counted.refresh_stream_table("t")
    assert (result.action, result.reason_code) == ("FULL", "FOREIGN_WRITE")
    check(counted, "t")


def test_row_below_a_compaction_is_found(counted: headwater.Hub) -> None:
    counted.sql("INSERT INTO t VALUES (9, 9, 'smuggled')")
    counted.sql(
        "CALL hw.system.rewrite_data_files(table => 'default.t', "
        "options => map('min-input-files','2'))"
    )
    assert counted.verify("t").unexpected == 1
    assert counted.refresh_stream_table("t").reason_code == "FOREIGN_WRITE"
    check(counted, "t")


def test_deleted_row_is_missing_and_repair_mends_it(counted: headwater.Hub) -> None:
    counted.sql("DELETE FROM t WHERE g = 1")
    report = counted.verify("t")
    assert (report.missing, report.unexpected) == (1, 0)
    result = counted.repair_stream_table("t")
    assert result.action == "REINITIALIZE"
    assert result.reason == "a repair was asked for"
    check(counted, "t")
    assert counted.refresh_stream_table("t").action == "NO_DATA"


def test_strict_refuses_to_mend_by_a_full_refresh(counted: headwater.Hub) -> None:
    counted.alter_stream_table("t", refresh_mode="INCREMENTAL STRICT")
    counted.sql("INSERT INTO t VALUES (9, 9, 'smuggled')")
    with pytest.raises(FullRefreshRefused, match="FOREIGN_WRITE"):
        counted.refresh_stream_table("t")
    assert len(rows(counted, "t")) == 3
    assert counted.refresh_stream_table("t", full=True).action == "FULL"
    check(counted, "t")


def test_dropped_storage_is_repaired(counted: headwater.Hub) -> None:
    counted.sql("DROP TABLE t PURGE")
    with pytest.raises(Exception, match="missing"):
        counted.refresh_stream_table("t")
    counted.repair_stream_table("t")
    check(counted, "t")
