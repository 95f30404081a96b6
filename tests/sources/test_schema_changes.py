"""Schema changes of a source: by field id, used columns only; old versions in the pinned schema."""

from __future__ import annotations

import pytest
from sources_lake import Lake, Table

from headwater.sources.source import How, Kind

pytestmark = pytest.mark.spark


@pytest.fixture
def table(lake: Lake) -> Table:
    table = lake.table("(id int, name string, spare string, point struct<x:int,y:int>)")
    table.sql(
        "INSERT INTO {t} VALUES (1, 'a', 's', named_struct('x', 1, 'y', 2)), (2, 'b', 's', NULL)"
    )
    return table


def test_unused_columns_may_come_and_go(table: Table) -> None:
    since, columns = table.at, table.used("id", "name")
    table.sql(
        "ALTER TABLE {t} ADD COLUMN extra date FIRST",
        "ALTER TABLE {t} DROP COLUMN spare",
        "INSERT INTO {t} (id, name) VALUES (3, 'c')",
        "DELETE FROM {t} WHERE id = 1",
    )
    window = table.check(since, columns)
    assert (window.kind, window.how, window.schema_change) == (Kind.MIXED, How.CHANGES, None)
    assert table.check(since, columns, without=frozenset({How.CHANGES})).how is How.DIFFERENCE


def test_schema_change_alone_is_no_change_of_rows(table: Table) -> None:
    since, columns = table.at, table.used("id", "name")
    table.sql("ALTER TABLE {t} ADD COLUMN extra date")
    assert table.at != since
    assert table.window(since, columns).kind is Kind.NONE


@pytest.mark.parametrize(
    ("statements", "code", "column"),
    [
        (["ALTER TABLE {t} DROP COLUMN name"], "SOURCE_COLUMN_DROPPED", "name"),
        (["ALTER TABLE {t} RENAME COLUMN name TO title"], "SOURCE_COLUMN_RENAMED", "name"),
        (["ALTER TABLE {t} ALTER COLUMN id TYPE bigint"], "SOURCE_COLUMN_RETYPED", "id"),
        (
            ["ALTER TABLE {t} DROP COLUMN name", "ALTER TABLE {t} ADD COLUMN name string"],
            "SOURCE_COLUMN_DROPPED",
            "name",
        ),
        (
            [
                "ALTER TABLE {t} RENAME COLUMN name TO title",
                "ALTER TABLE {t} RENAME COLUMN spare TO name",
            ],
            "SOURCE_COLUMN_RENAMED",
            "name",
        ),
        (["ALTER TABLE {t} ADD COLUMN point.z int"], "SOURCE_COLUMN_RETYPED", "point"),
        (
            ["ALTER TABLE {t} DROP COLUMN point.y", "ALTER TABLE {t} ADD COLUMN point.y int"],
            "SOURCE_COLUMN_RETYPED",
            "point",
        ),
    ],
)
def test_used_column_changed(table: Table, statements: list[str], code: str, column: str) -> None:
    since, columns = table.at, table.used("id", "name", "point")
    table.sql(*statements)
    for _ in range(2):
        window = table.window(since, columns)
        assert (window.kind, window.how, window.sql) == (Kind.GAP, How.FULL, None)
        assert window.schema_change is not None
        assert (window.schema_change.code, window.schema_change.column) == (code, column)
        assert window.reason_code == code
        table.sql("INSERT INTO {t} (id) VALUES (9)")


def test_replacing_the_table_keeps_ids_of_equal_columns(table: Table) -> None:
    since, columns = table.at, table.used("id", "name")
    table.sql("CREATE OR REPLACE TABLE {t} USING iceberg AS SELECT 'x' AS name, 5 AS id")
    assert table.check(since, columns).reason_code == "SOURCE_REPLACED"
    table.sql("CREATE OR REPLACE TABLE {t} USING iceberg AS SELECT 'x' AS name, 5L AS id")
    change = table.window(since, columns).schema_change
    assert change is not None
    assert change.code == "SOURCE_COLUMN_RETYPED"


def test_pinned_read_shows_columns_added_after_the_commit(table: Table) -> None:
    """A schema change makes no version: the pin is the old commit with the new schema."""
    table.sql(
        "ALTER TABLE {t} ADD COLUMN extra decimal(5,1)",
        "ALTER TABLE {t} RENAME COLUMN name TO title",
        "ALTER TABLE {t} DROP COLUMN spare",
        "ALTER TABLE {t} ALTER COLUMN id TYPE bigint",
        "ALTER TABLE {t} ADD COLUMN point.z string",
        "ALTER TABLE {t} DROP COLUMN point.x",
    )
    expected = table.lake.spark.sql(f"SELECT * FROM {table.name.sql(table.lake.catalog)}")
    frame = table.lake.spark.sql(f"SELECT * FROM {table.source.snapshot(table.at)}")
    assert frame.dtypes == expected.dtypes
    assert sorted(map(str, frame.collect())) == sorted(map(str, expected.collect()))
    assert "title" in frame.columns


def test_window_from_a_pin_with_a_newer_schema(table: Table) -> None:
    table.sql(
        "ALTER TABLE {t} ADD COLUMN extra int", "ALTER TABLE {t} ALTER COLUMN id TYPE bigint",
        "ALTER TABLE {t} ADD COLUMN point.z int",
    )  # fmt: skip
    since = table.at
    table.sql(
        "INSERT INTO {t} (id, extra) VALUES (3, 30)",
        "UPDATE {t} SET extra = 1 WHERE id = 1",
    )
    assert table.check(since).how is How.CHANGES
    assert table.check(since, without=frozenset({How.CHANGES})).how is How.DIFFERENCE


def test_nested_columns_in_arrays_and_maps(lake: Lake) -> None:
    table = lake.table("(id int, items array<struct<a:int>>, tags map<string, struct<b:int>>)")
    table.sql(
        "INSERT INTO {t} VALUES (1, array(named_struct('a', 1), NULL),"
        " map('k', named_struct('b', 2))), (2, NULL, NULL)"
    )
    table.sql(
        "ALTER TABLE {t} ADD COLUMN items.element.c string",
        "ALTER TABLE {t} ADD COLUMN tags.value.d int",
    )
    expected = table.lake.spark.sql(f"SELECT * FROM {table.name.sql(table.lake.catalog)}")
    frame = table.lake.spark.sql(f"SELECT * FROM {table.source.snapshot(table.at)}")
    assert frame.dtypes == expected.dtypes
    assert sorted(map(str, frame.collect())) == sorted(map(str, expected.collect()))


def test_schema_moved_after_the_pin(table: Table) -> None:
    """The changelog reads with the newest schema, although the pin has an older one."""
    since, columns = table.at, table.used("id", "name")
    table.sql("INSERT INTO {t} (id, name) VALUES (3, 'c')")
    until = table.at
    table.sql("ALTER TABLE {t} RENAME COLUMN name TO title")
    window = table.source.window(since, until, columns)
    assert window.how is How.CHANGES
    assert window.schema_id != until.schema_id
    assert table.netted(window, columns) == {("3", "c"): 1}
    table.sql("ALTER TABLE {t} DROP COLUMN title", "ALTER TABLE {t} ADD COLUMN name string")
    window = table.source.window(since, until, columns)
    assert (window.how, window.reason_code) == (How.DIFFERENCE, "SCHEMA_MOVED")
    assert table.netted(window, columns) == {("3", "c"): 1}


def test_schema_no_longer_recorded(table: Table) -> None:
    since, columns = table.at, table.used("id", "name")
    table.sql("ALTER TABLE {t} ADD COLUMN extra int", "INSERT INTO {t} (id) VALUES (3)")
    table.call(
        "expire_snapshots",
        "older_than => TIMESTAMP '2999-01-01 00:00:00', clean_expired_metadata => true",
    )
    assert table.metadata.schema(since.schema_id) is None
    window = table.window(since, columns)
    assert (window.kind, window.reason_code) == (Kind.GAP, "SCHEMA_EXPIRED")
    assert window.schema_change is None


def test_empty_table_has_its_columns(lake: Lake) -> None:
    table = lake.table(
        "(`odd name` decimal(7,2), ts timestamp, n timestamp_ntz, s struct<`a b`:int>)"
    )
    frame = lake.spark.sql(f"SELECT * FROM {table.source.snapshot(table.at)}")
    assert frame.collect() == []
    assert frame.dtypes == lake.spark.sql(f"SELECT * FROM {table.name.sql(lake.catalog)}").dtypes
