"""Damage below a hub: told as an error with a hint, content kept, and gone once it is mended."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import headwater
from headwater.core import errors
from headwater.core.errors import HeadwaterError
from shared_spark import Place, check, rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::headwater.HeadwaterWarning"),
]


@pytest.fixture
def made(spark: SparkSession, place: Place) -> Place:
    """A source `src`, stream tables `t` over it and `u` over `other`; one change waits in `src`."""
    with place.open(spark) as hub:
        hub.sql("CREATE TABLE src (id BIGINT, g INT, word STRING) USING iceberg")
        hub.sql("CREATE TABLE other (id BIGINT) USING iceberg")
        hub.sql("INSERT INTO src VALUES (1, 1, '1'), (2, 2, '2')")
        hub.sql("INSERT INTO other VALUES (1)")
        hub.create_stream_table("t", "SELECT g, sum(id) AS s FROM src GROUP BY g")
        hub.create_stream_table("u", "SELECT id, 0 AS zero FROM other", unique_key="id")
        hub.sql("INSERT INTO src VALUES (3, 2, '3')")
    return place


def refused(do: Callable[[], object], kind: type[HeadwaterError]) -> HeadwaterError:
    with pytest.raises(HeadwaterError) as caught:
        do()
    assert type(caught.value) is kind, caught.value
    assert caught.value.hint
    assert "Exception" not in caught.value.what
    return caught.value


def in_catalog(place: Place, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(place.folder / "headwater.db")) as database, database:
        database.execute(statement, values)


def newest_metadata(place: Place, table: str) -> Path:
    with closing(sqlite3.connect(place.folder / "iceberg.db")) as database:
        found = database.execute(
            "SELECT metadata_location FROM iceberg_tables WHERE table_name = ?", (table,)
        ).fetchone()
    return Path(found[0].removeprefix("file:"))


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("definition", "{"),
        ("frontier", "nonsense"),
        ("status", "ODD"),
        ("refresh_mode", "ODD"),
        ("tags", "[1]"),
        ("layout", "[]"),
    ],
)
def test_unreadable_catalog_row(spark: SparkSession, made: Place, column: str, value: str) -> None:
    read = f"SELECT {column} FROM hw_stream_tables WHERE name = 't'"
    write = f"UPDATE hw_stream_tables SET {column} = ? WHERE name = 't'"
    with closing(sqlite3.connect(made.folder / "headwater.db")) as database:
        (before,) = database.execute(read).fetchone()
    in_catalog(made, write, value)
    with made.open(spark) as hub:
        error = refused(lambda: hub.refresh_stream_table("t"), errors.CatalogDamaged)
        assert column in error.what
        assert hub.status("u")[0].status == "ACTIVE"
        assert hub.refresh_stream_table("u").action == "NO_DATA"
        assert rows(hub, "t") == [(1, 1), (2, 2)]
    in_catalog(made, write, before)
    with made.open(spark) as hub:
        hub.refresh_stream_table("t")
        assert rows(hub, "t") == [(1, 1), (2, 5)]
        check(hub, "t")


def test_catalog_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "headwater.db").write_bytes(b"this is no database" * 1000)
    with headwater.connect(tmp_path) as hub, pytest.raises(HeadwaterError) as caught:
        hub.status()
    assert caught.value.code in ("HW4004", "HW5006")
    assert caught.value.hint


@pytest.mark.parametrize("table", ["src", "t"])
def test_missing_metadata_file(spark: SparkSession, made: Place, table: str) -> None:
    file = newest_metadata(made, table)
    aside = file.rename(file.with_suffix(".aside"))
    with made.open(spark) as hub:
        error = refused(lambda: hub.refresh_stream_table("t"), errors.StorageDamaged)
        assert f"default.{table}" in error.what
        refused(lambda: hub.table(table), errors.StorageDamaged)
        assert hub.refresh_stream_table("u").action == "NO_DATA"
    aside.rename(file)
    with made.open(spark) as hub:
        assert hub.refresh_stream_table("t").action in ("INCREMENTAL", "FULL")
        assert rows(hub, "t") == [(1, 1), (2, 5)]


def test_a_stream_table_without_metadata_can_be_repaired_or_dropped(
    spark: SparkSession, made: Place
) -> None:
    for table in ("t", "u"):
        newest_metadata(made, table).unlink()
    with made.open(spark) as hub:
        hub.repair_stream_table("t")
        assert rows(hub, "t") == [(1, 1), (2, 5)]
        check(hub, "t")
        hub.drop_stream_table("u")
        assert [row.name for row in hub.status()] == ["default.t"]
        hub.create_stream_table("u", "SELECT id FROM other")


def test_missing_data_file(spark: SparkSession, made: Place) -> None:
    files = sorted(Path(made.warehouse, "default/src/data").glob("*.parquet"))
    asides = [file.rename(file.with_suffix(".aside")) for file in files]
    with made.open(spark, settings={"max_consecutive_errors": 100}) as hub:
        refused(lambda: hub.refresh_stream_table("t"), errors.StorageDamaged)
        refused(lambda: hub.refresh_stream_table("t", full=True), errors.StorageDamaged)
        refused(lambda: hub.create_stream_table("new", "SELECT id FROM src"), errors.StorageDamaged)
        assert rows(hub, "t") == [(1, 1), (2, 2)]
        assert [row.name for row in hub.status()] == ["default.t", "default.u"]
    for file, aside in zip(files, asides, strict=True):
        aside.rename(file)
    with made.open(spark) as hub:
        hub.refresh_stream_table("t")
        assert rows(hub, "t") == [(1, 1), (2, 5)]
        check(hub, "t")


def test_missing_table_behind_a_stream_table(spark: SparkSession, made: Place) -> None:
    with made.open(spark) as hub:
        hub.sql("DROP TABLE t")
        error = refused(lambda: hub.refresh_stream_table("t"), errors.StorageDamaged)
        assert "repair_stream_table" in error.hint
        refused(lambda: hub.verify("t"), errors.StorageDamaged)
        hub.repair_stream_table("t")
        assert rows(hub, "t") == [(1, 1), (2, 5)]
        check(hub, "t")


def test_missing_data_of_a_stream_table(spark: SparkSession, made: Place) -> None:
    for file in Path(made.warehouse, "default/t/data").glob("*.parquet"):
        file.unlink()
    with made.open(spark) as hub:
        refused(lambda: hub.verify("t"), errors.StorageDamaged)
        assert hub.refresh_stream_table("t").action == "FULL"
        assert rows(hub, "t") == [(1, 1), (2, 5)]
        check(hub, "t")


def test_missing_and_changed_sources(spark: SparkSession, made: Place) -> None:
    with made.open(spark) as hub:
        hub.sql("DROP TABLE other")
        refused(lambda: hub.refresh_stream_table("u"), errors.SourceMissing)
        hub.sql("ALTER TABLE src RENAME COLUMN g TO h")
        error = refused(lambda: hub.refresh_stream_table("t"), errors.SourceSchemaChanged)
        assert "default.src" in error.what
        assert rows(hub, "t") == [(1, 1), (2, 2)]
        assert rows(hub, "u") == [(1, 0)]


def test_broken_promises(spark: SparkSession, made: Place) -> None:
    """A key that stops being unique, and what happens after three failures."""
    with made.open(spark) as hub:
        hub.sql("INSERT INTO other VALUES (1), (2)")
        for _ in range(3):
            error = refused(lambda: hub.refresh_stream_table("u"), errors.UniqueKeyViolated)
            assert "id" in error.what
            assert rows(hub, "u") == [(1, 0)]
        refused(lambda: hub.refresh_stream_table("u"), errors.StreamTableSuspended)
        (status,) = hub.status("u")
        assert (status.status, status.consecutive_errors) == ("SUSPENDED", 3)
        assert str(status.last_error).startswith("HW3003")
        hub.sql("DELETE FROM other WHERE id = 1")
        hub.resume_stream_table("u")
        hub.refresh_stream_table("u")
        assert rows(hub, "u") == [(2, 0)]
        check(hub, "u")


def test_refused_full_refresh(spark: SparkSession, made: Place) -> None:
    with made.open(spark) as hub:
        hub.alter_stream_table("t", refresh_mode="INCREMENTAL STRICT")
        hub.sql("DELETE FROM t WHERE g = 1")
        refused(lambda: hub.refresh_stream_table("t"), errors.FullRefreshRefused)
        assert rows(hub, "t") == [(2, 2)]
        assert hub.refresh_stream_table("t", full=True).action == "FULL"
        check(hub, "t")
