"""Change windows of a real table: netted, each is rows at the end minus rows at the start."""

from __future__ import annotations

import pytest
from sources_lake import Lake, Table

from headwater.core.errors import SourceMissing, VersionExpired
from headwater.sources.source import How, Kind

pytestmark = pytest.mark.spark

COLUMNS = "(id bigint, name string, amount decimal(10,2))"
ROWS = "INSERT INTO {t} VALUES (1, 'a', 1.50), (2, 'b', 2.50), (2, 'b', 2.50), (3, NULL, NULL)"
MERGE = (
    "MERGE INTO {t} t USING (SELECT 1L AS id, 'm' AS name UNION ALL SELECT 9L, 'n') s"
    " ON t.id = s.id"
    " WHEN MATCHED THEN UPDATE SET name = s.name"
    " WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, s.name)"
)
COMPACT = "options => map('rewrite-all', 'true')"


@pytest.fixture
def table(lake: Lake) -> Table:
    table = lake.table(COLUMNS)
    table.sql(ROWS)
    return table


def test_same_version(table: Table) -> None:
    window = table.check(table.at)
    assert (window.kind, window.how, window.reason_code) == (Kind.NONE, How.NONE, "NO_CHANGES")
    assert window.sql is None
    assert window.planned_bytes == 0
    assert window.total_records == 4


def test_append(table: Table) -> None:
    since = table.at
    table.sql("INSERT INTO {t} VALUES (4, 'd', 4)", "INSERT INTO {t} VALUES (1, 'a', 1.50)")
    window = table.check(since)
    assert (window.kind, window.how, window.reason_code) == (Kind.APPEND, How.CHANGES, "APPENDS")
    assert (window.added_records, window.deleted_records, window.total_records) == (2, 0, 6)
    assert len(window.snapshots) == 2
    assert window.snapshots[-1] == table.at.snapshot_id
    assert window.planned_bytes > 0
    assert window.schema_id == 0
    assert not window.needs_netting


def test_append_of_many_rows_is_read_as_append(lake: Lake) -> None:
    table = lake.table("AS SELECT id, id % 7 AS k FROM range(10)")
    since = table.at
    table.sql("INSERT INTO {t} SELECT id, id % 7 FROM range(200000)")
    window = table.check(since)
    assert (window.kind, window.how) == (Kind.APPEND, How.APPEND)
    assert window.added_records == 200_000


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE {t} SET name = 'z' WHERE id = 2",
        "DELETE FROM {t} WHERE id = 1",
        MERGE,
        "INSERT OVERWRITE {t} VALUES (2, 'b', 2.50), (7, 'g', 7)",
        "TRUNCATE TABLE {t}",
        "DELETE FROM {t}",
    ],
)
def test_mixed(table: Table, statement: str) -> None:
    since = table.at
    table.sql("INSERT INTO {t} VALUES (5, 'e', 5)", statement, "INSERT INTO {t} VALUES (6, 'f', 6)")
    window = table.check(since)
    assert (window.kind, window.how, window.reason_code) == (Kind.MIXED, How.CHANGES, "CHANGES")
    assert window.needs_netting
    assert window.deleted_records
    assert len(window.snapshots) == 3


def test_rows_that_come_and_go_cancel(table: Table) -> None:
    since = table.at
    table.sql("INSERT INTO {t} VALUES (5, 'e', 5)", "DELETE FROM {t} WHERE id = 5")
    window = table.check(since)
    assert window.kind is Kind.MIXED
    assert table.netted(window, table.used()) == {}


def test_used_columns_only(table: Table) -> None:
    since = table.at
    table.sql(MERGE)
    window = table.check(since, table.used("name"))
    assert window.sql is not None
    assert "amount" not in window.sql
    table.check(since, [])


def test_compaction_is_no_change(table: Table) -> None:
    table.sql("INSERT INTO {t} VALUES (4, 'd', 4)")
    since = table.at
    table.call("rewrite_data_files", COMPACT)
    assert table.at != since
    window = table.check(since)
    assert (window.kind, window.reason_code) == (Kind.NONE, "COMPACTION_ONLY")


def test_appends_around_compaction(table: Table) -> None:
    since = table.at
    table.sql("INSERT INTO {t} VALUES (4, 'd', 4)")
    table.call("rewrite_data_files", COMPACT)
    table.sql("INSERT INTO {t} VALUES (5, 'e', 5)")
    assert table.check(since).kind is Kind.APPEND
    assert table.check(since, without=frozenset({How.CHANGES})).how is How.APPEND


def test_commits_without_rows(table: Table) -> None:
    since = table.at
    table.sql("INSERT INTO {t} SELECT * FROM {t} WHERE false", "DELETE FROM {t} WHERE id = 77")
    assert table.at != since
    window = table.check(since)
    assert (window.kind, window.reason_code) == (Kind.NONE, "NO_CHANGES")
    table.sql("INSERT INTO {t} VALUES (5, 'e', 5)")
    assert table.check(since).kind is Kind.APPEND


def test_first_rows_of_an_empty_table(lake: Lake) -> None:
    table = lake.table(COLUMNS)
    since = table.at
    assert since.snapshot_id is None
    assert table.check(since).kind is Kind.NONE
    table.sql(ROWS, "INSERT INTO {t} VALUES (5, 'e', 5)")
    window = table.check(since)
    assert (window.kind, window.how, window.reason_code) == (Kind.APPEND, How.APPEND, "FIRST_ROWS")
    table.sql(MERGE)
    window = table.check(since)
    assert (window.kind, window.how, window.reason_code) == (
        Kind.APPEND, How.DIFFERENCE, "FIRST_ROWS",
    )  # fmt: skip


def test_rollback(table: Table) -> None:
    first = table.at
    table.sql("INSERT INTO {t} VALUES (5, 'e', 5)")
    since = table.at
    table.call("rollback_to_snapshot", f"snapshot_id => {first.snapshot_id}")
    window = table.check(since)
    assert (window.kind, window.how, window.reason_code) == (
        Kind.MIXED, How.DIFFERENCE, "SOURCE_ROLLED_BACK",
    )  # fmt: skip
    assert window.added_records is None
    table.sql("INSERT INTO {t} VALUES (6, 'f', 6)")
    assert table.check(since).reason_code == "SOURCE_ROLLED_BACK"


def test_create_or_replace(table: Table) -> None:
    since = table.at
    table.sql(
        "CREATE OR REPLACE TABLE {t} (id bigint, name string, amount decimal(10,2)) USING iceberg"
    )
    window = table.check(since)
    assert (window.kind, window.how, window.reason_code) == (
        Kind.MIXED, How.DIFFERENCE, "SOURCE_REPLACED",
    )  # fmt: skip
    table.sql(ROWS)
    assert table.check(since).reason_code == "SOURCE_REPLACED"


def test_create_or_replace_as_select(table: Table) -> None:
    since, columns = table.at, table.used("id", "name")
    table.sql("CREATE OR REPLACE TABLE {t} USING iceberg AS SELECT 1L AS id, 'r' AS name")
    window = table.check(since, columns)
    assert (window.how, window.reason_code) == (How.DIFFERENCE, "SOURCE_REPLACED")


def test_drop_and_create(table: Table) -> None:
    since, columns = table.at, table.used()
    table.sql("DROP TABLE {t}", f"CREATE TABLE {{t}} {COLUMNS} USING iceberg", ROWS)
    window = table.window(since, columns)
    assert (window.kind, window.how, window.reason_code) == (
        Kind.GAP, How.FULL, "SOURCE_RECREATED",
    )  # fmt: skip
    assert window.sql is None
    assert window.schema_change is None
    assert [r.how for r in window.refused] == [How.CHANGES, How.DIFFERENCE]
    with pytest.raises(VersionExpired):
        table.source.snapshot(since)


def test_drop_and_create_without_a_used_column(table: Table) -> None:
    since, columns = table.at, table.used()
    table.sql("DROP TABLE {t}", "CREATE TABLE {t} (id bigint, name string) USING iceberg")
    change = table.window(since, columns).schema_change
    assert change is not None
    assert (change.code, change.column) == ("SOURCE_COLUMN_DROPPED", "amount")


def test_dropped_table(table: Table) -> None:
    table.sql("DROP TABLE {t}")
    with pytest.raises(SourceMissing):
        table.source.latest()


def expire(table: Table, *snapshots: int) -> None:
    ids = ", ".join(f"{s}L" for s in snapshots)
    table.call("expire_snapshots", f"snapshot_ids => array({ids})")


def test_expired_start_of_appends(table: Table) -> None:
    since, before = table.at, table.rows(table.at, table.used())
    table.sql("INSERT INTO {t} VALUES (5, 'e', 5)", "INSERT INTO {t} VALUES (6, 'f', 6)")
    expire(table, since.snapshot_id or 0)
    assert table.metadata.snapshot(since.snapshot_id) is None
    assert table.check(since, before=before).kind is Kind.APPEND
    window = table.check(since, before=before, without=frozenset({How.CHANGES}))
    assert window.how is How.APPEND


def test_expired_start_of_updates(table: Table) -> None:
    since = table.at
    table.sql("UPDATE {t} SET name = 'z' WHERE id = 2")
    expire(table, since.snapshot_id or 0)
    window = table.window(since)
    assert (window.kind, window.how, window.reason_code) == (
        Kind.GAP, How.FULL, "SNAPSHOT_EXPIRED",
    )  # fmt: skip


def test_expired_snapshot_between(table: Table) -> None:
    since = table.at
    table.sql("INSERT INTO {t} VALUES (5, 'e', 5)")
    between = table.at.snapshot_id or 0
    table.sql("DELETE FROM {t} WHERE id = 1")
    expire(table, between)
    window = table.check(since)
    assert (window.kind, window.how, window.reason_code) == (
        Kind.MIXED, How.DIFFERENCE, "SNAPSHOT_EXPIRED",
    )  # fmt: skip


def test_expired_start_and_between(table: Table) -> None:
    since = table.at
    table.sql("INSERT INTO {t} VALUES (5, 'e', 5)")
    between = table.at.snapshot_id or 0
    table.sql("INSERT INTO {t} VALUES (6, 'f', 6)")
    expire(table, since.snapshot_id or 0, between)
    window = table.window(since)
    assert (window.kind, window.reason_code) == (Kind.GAP, "SNAPSHOT_EXPIRED")


def test_expired_end(table: Table) -> None:
    since = table.at
    table.sql("INSERT INTO {t} VALUES (5, 'e', 5)")
    until = table.at
    table.sql("INSERT INTO {t} VALUES (6, 'f', 6)")
    expire(table, until.snapshot_id or 0)
    with pytest.raises(VersionExpired):
        table.source.window(since, until, table.used())


def test_partition_spec_change(table: Table) -> None:
    since = table.at
    table.sql(
        "INSERT INTO {t} VALUES (5, 'e', 5)",
        "ALTER TABLE {t} ADD PARTITION FIELD bucket(4, id)",
        "INSERT INTO {t} VALUES (6, 'f', 6)",
        "DELETE FROM {t} WHERE id IN (1, 6)",
    )
    assert table.check(since).how is How.CHANGES
    spec = table.metadata.partition_spec
    assert [(f.name, f.transform) for f in spec.fields] == [("id_bucket_4", "bucket[4]")]


@pytest.mark.parametrize("version", ["2", "3"])
def test_merge_on_read(lake: Lake, version: str) -> None:
    table = lake.table(
        COLUMNS,
        properties=f"'format-version'='{version}', 'write.delete.mode'='merge-on-read',"
        " 'write.update.mode'='merge-on-read', 'write.merge.mode'='merge-on-read'",
    )
    table.sql("INSERT INTO {t} SELECT id, 'x', 1 FROM range(100)")
    start = table.at
    table.sql("DELETE FROM {t} WHERE id = 7", MERGE)
    window = table.check(start)
    assert (window.kind, window.how, window.reason_code) == (
        Kind.MIXED, How.DIFFERENCE, "DELETE_FILES",
    )  # fmt: skip
    assert window.deleted_records
    since = table.at
    table.sql("INSERT INTO {t} VALUES (500, 'e', 5)")
    window = table.check(since)
    assert (window.kind, window.how, window.reason_code) == (Kind.APPEND, How.APPEND, "APPENDS")
    assert [r.code for r in window.refused] == ["DELETE_FILES"]
    since = table.at
    table.call(
        "rewrite_data_files", "options => map('rewrite-all', 'true', 'delete-file-threshold', '1')"
    )
    assert table.check(since).reason_code == "COMPACTION_ONLY"
    assert table.check(start).how is How.DIFFERENCE
    since = table.at
    assert table.metadata.snapshot(since.snapshot_id).summary["total-delete-files"] == "0"  # type: ignore[union-attr]
    table.sql("INSERT INTO {t} VALUES (501, 'e', 5)")
    assert table.check(since).how is How.CHANGES


def test_many_rewrites_are_read_as_difference(lake: Lake) -> None:
    table = lake.table("AS SELECT id, 'x' AS name FROM range(0, 40000, 1, 1)")
    since = table.at
    table.sql(*(f"UPDATE {{t}} SET name = 'y' WHERE id = {key}" for key in (1, 2, 3)))
    window = table.check(since)
    assert (window.kind, window.how, window.reason_code) == (
        Kind.MIXED, How.DIFFERENCE, "REWRITES_DOMINATE",
    )  # fmt: skip
    assert window.changed_records == 240_000


def test_small_rewrite_of_a_large_table_is_read_as_changes(lake: Lake) -> None:
    table = lake.table("AS SELECT id, 'x' AS name FROM range(0, 300000, 1, 1)")
    table.sql("INSERT INTO {t} SELECT id, 'n' FROM range(300000, 330000, 1, 1)")
    since = table.at
    table.sql("UPDATE {t} SET name = 'y' WHERE id = 300001")
    window = table.check(since)
    assert (window.how, window.changed_records) == (How.CHANGES, 60_000)


def test_ways_that_failed_are_not_taken_again(table: Table) -> None:
    since = table.at
    table.sql("DELETE FROM {t} WHERE id = 1")
    window = table.check(since, without=frozenset({How.CHANGES}))
    assert (window.how, window.reason_code) == (How.DIFFERENCE, "READ_FAILED")
    window = table.window(since, without=frozenset({How.CHANGES, How.DIFFERENCE}))
    assert (window.kind, window.reason_code) == (Kind.GAP, "READ_FAILED")


def test_batches(table: Table) -> None:
    since = table.at
    key = "spark.sql.iceberg.snapshot-property.hw.batch"
    try:
        for batch in ("b1", "b1", "b2"):
            table.lake.spark.conf.set(key, batch)
            table.sql("INSERT INTO {t} VALUES (5, 'e', 5)")
    finally:
        table.lake.spark.conf.unset(key)
    assert table.window(since).batches == ("b1", "b2")


def test_staged_branch_is_not_seen(table: Table) -> None:
    since = table.at
    table.sql("ALTER TABLE {t} CREATE BRANCH side", "ALTER TABLE {t} SET TBLPROPERTIES ('a'='b')")
    table.sql("INSERT INTO {t}.branch_side VALUES (8, 'h', 8)")
    assert table.at == since


def test_columns_named_like_the_changelog(lake: Lake) -> None:
    table = lake.table("(id bigint, _change_type string)")
    table.sql("INSERT INTO {t} VALUES (1, 'a'), (2, 'b')")
    since = table.at
    table.sql("DELETE FROM {t} WHERE id = 1")
    window = table.check(since)
    assert (window.how, window.reason_code) == (How.DIFFERENCE, "RESERVED_COLUMN")
