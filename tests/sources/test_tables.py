"""Tables as the catalog database lists them, on SQLite and PostgreSQL."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sources_lake import Lake

from headwater.core.errors import CatalogBusy, CatalogDamaged, InvalidOption, StorageDamaged
from headwater.core.frontier import SourceVersion
from headwater.core.names import TableName
from headwater.sources import database as database_module
from headwater.sources.database import Database, PostgresDatabase, SqliteDatabase, open_database
from headwater.sources.detect import changed, latest_versions
from headwater.sources.files import IcebergFiles
from headwater.sources.tables import CACHED_OF_TABLE, JdbcTables
from headwater.sources.views import parse_view

ORDERS = TableName("default", "orders")


def document(uuid: str, snapshot: int) -> bytes:
    return json.dumps(
        {
            "format-version": 2,
            "table-uuid": uuid,
            "location": "/w",
            "schemas": [{"schema-id": 0, "type": "struct", "fields": []}],
            "current-schema-id": 0,
            "current-snapshot-id": snapshot,
            "snapshots": [{"snapshot-id": snapshot, "timestamp-ms": 1}],
        }
    ).encode()


class Rig:
    """A catalog database and a folder of metadata files."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.folder = folder
        self.tables = JdbcTables(url, "hw")
        self.database: Database = open_database(url)
        self.tables.create_schema()

    def put(
        self, name: str, snapshot: int, *, catalog: str = "hw", kind: str | None = "TABLE"
    ) -> str:
        namespace, _, table = name.rpartition(".")
        path = self.folder / f"{name}-{snapshot}.metadata.json"
        path.write_bytes(document(name, snapshot))
        kind_text = "NULL" if kind is None else f"'{kind}'"
        key = f"catalog_name='{catalog}' AND table_namespace='{namespace}' AND table_name='{table}'"
        self.database.change(
            [
                f"DELETE FROM iceberg_tables WHERE {key}",
                "INSERT INTO iceberg_tables VALUES"
                f" ('{catalog}', '{namespace}', '{table}', '{path}', NULL, {kind_text})",
            ]
        )
        return str(path)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def rig(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Rig]:
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'db' / 'iceberg.db'}"
    else:
        url = request.getfixturevalue("postgres_url")
    rig = Rig(url, tmp_path)
    yield rig
    rig.database.change(["DELETE FROM iceberg_tables"])
    rig.database.close()
    rig.tables.close()


def test_locations(rig: Rig) -> None:
    expected = {
        ORDERS: rig.put("default.orders", 1),
        TableName("sales", "old"): rig.put("sales.old", 1, kind=None),
    }
    rig.put("default.orders", 9, catalog="other")
    rig.put("default.some_view", 1, kind="VIEW")
    rig.put("a.b.nested", 1)
    assert rig.tables.locations() == expected
    assert rig.tables.table_names() == set(expected)
    assert rig.tables.locations([ORDERS, TableName("no", "where")]) == {ORDERS: expected[ORDERS]}
    assert rig.tables.locations([]) == {}
    assert rig.tables.views() == {TableName("default", "some_view")}
    assert rig.tables.location(ORDERS) == expected[ORDERS]
    assert rig.tables.exists(ORDERS)
    assert not rig.tables.exists(TableName("default", "some_view"))
    assert rig.tables.metadata(TableName("default", "none")) is None


def test_names_are_found_without_regard_to_case(rig: Rig) -> None:
    capital = TableName("sales", "lineitem")
    location = rig.put("Sales.LineItem", 1)
    assert rig.tables.location(capital) == location
    assert rig.tables.locations([capital]) == {capital: location}
    assert rig.tables.locations() == {capital: location}
    assert rig.tables.spelled(capital).sql("hw") == "`hw`.`Sales`.`LineItem`"
    plain = rig.put("sales.lineitem", 2)
    assert rig.tables.locations() == {capital: plain}
    assert rig.tables.location(capital) == plain
    assert rig.tables.spelled(capital).sql("hw") == "`hw`.`sales`.`lineitem`"


def test_metadata_is_read_once_per_location(rig: Rig) -> None:
    location = rig.put("default.orders", 1)
    first = rig.tables.metadata(ORDERS)
    assert first is not None
    assert first.current_snapshot_id == 1
    Path(location).unlink()
    assert rig.tables.metadata(ORDERS) is first
    rig.put("default.orders", 2)
    second = rig.tables.metadata(ORDERS)
    assert second is not None
    assert second.current_snapshot_id == 2


def test_metadata_file_removed_by_a_newer_commit(rig: Rig) -> None:
    """Between the query and the read a commit may remove the file."""
    stale = rig.put("default.orders", 1)
    rig.put("default.orders", 2)
    Path(stale).unlink()
    metadata = rig.tables.metadata_at(ORDERS, stale)
    assert metadata is not None
    assert metadata.current_snapshot_id == 2
    rig.database.change(["DELETE FROM iceberg_tables"])
    assert rig.tables.metadata_at(ORDERS, stale) is None


def test_missing_metadata_file(rig: Rig) -> None:
    Path(rig.put("default.orders", 1)).unlink()
    with pytest.raises(StorageDamaged, match=r"default\.orders"):
        rig.tables.metadata(ORDERS)


def test_cache_is_bounded(tmp_path: Path) -> None:
    reads: list[str] = []

    class Counting(IcebergFiles):
        def read(self, location: str) -> bytes:
            reads.append(location)
            return super().read(location)

    rig = Rig(f"sqlite:///{tmp_path / 'iceberg.db'}", tmp_path)
    tables = JdbcTables(rig.url, "hw", files=Counting(), cached=2)
    names = [TableName("default", n) for n in ("a", "b", "c")]
    for name in names:
        rig.put(str(name), 1)
    for name in (*names, names[2], names[1], names[0], names[1]):
        tables.metadata(name)
    assert [Path(r).name[8] for r in reads] == ["a", "b", "c", "a"]


def test_old_documents_of_a_table_are_forgotten(tmp_path: Path) -> None:
    rig = Rig(f"sqlite:///{tmp_path / 'iceberg.db'}", tmp_path)
    other = TableName("default", "other")
    rig.put(str(other), 1)
    assert rig.tables.metadata(other) is not None
    for snapshot in range(1, 30):
        rig.put(str(ORDERS), snapshot)
        assert rig.tables.metadata(ORDERS) is not None
    assert len(rig.tables._cache._items) == CACHED_OF_TABLE + 1
    held = rig.tables._cache._of_table
    assert [Path(place).name for place in held[ORDERS]] == [
        f"{ORDERS}-{snapshot}.metadata.json" for snapshot in (27, 28, 29)
    ]
    assert len(held[other]) == 1


def test_changed(rig: Rig) -> None:
    names = [TableName("default", n) for n in ("a", "b", "c")]
    for name in names:
        rig.put(str(name), 1)
    pinned = latest_versions(rig.tables, names)
    versions: dict[TableName, SourceVersion] = {n: v for n, v in pinned.items() if v is not None}
    assert changed(rig.tables, versions) == {}
    rig.put("default.b", 2)
    rig.database.change(["DELETE FROM iceberg_tables WHERE table_name = 'c'"])
    assert changed(rig.tables, versions) == {
        names[1]: SourceVersion("default.b", 2, 0),
        names[2]: None,
    }


def test_idle_look_is_one_query_and_no_file(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [TableName("default", f"t{number}") for number in range(60)]
    for name in names:
        rig.put(str(name), 1)
    versions = {n: v for n, v in latest_versions(rig.tables, names).items() if v is not None}
    queries: list[str] = []
    kind = type(rig.database)
    fetch = kind.fetch

    def counted(self: Any, statement: str, parameters: Any = ()) -> Any:
        queries.append(statement)
        return fetch(self, statement, parameters)

    monkeypatch.setattr(kind, "fetch", counted)
    monkeypatch.setattr(IcebergFiles, "read", lambda *_: pytest.fail("a file was read"))
    assert changed(rig.tables, versions) == {}
    assert changed(rig.tables, {n: versions[n] for n in names[:3]}) == {}
    assert len(queries) == 2


def test_create_schema_again_changes_nothing(rig: Rig) -> None:
    rig.put("default.orders", 1)
    rig.tables.create_schema()
    assert rig.tables.exists(ORDERS)


def test_create_schema_from_many_threads(rig: Rig) -> None:
    rig.database.change(["DROP TABLE iceberg_tables", "DROP TABLE iceberg_namespace_properties"])
    failures: list[BaseException] = []

    def create() -> None:
        tables = JdbcTables(rig.url, "hw")
        try:
            tables.create_schema()
        except BaseException as error:
            failures.append(error)
        finally:
            tables.close()

    threads = [threading.Thread(target=create) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert rig.tables.locations() == {}


def test_old_catalog_schema_is_completed(rig: Rig) -> None:
    rig.database.change(["ALTER TABLE iceberg_tables DROP COLUMN iceberg_type"])
    with pytest.raises(CatalogDamaged):
        rig.tables.locations()
    rig.tables.create_schema()
    assert rig.tables.locations() == {}


@pytest.mark.spark
def test_schema_is_what_iceberg_creates(lake: Lake, tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours.db", tmp_path / "theirs.db"
    JdbcTables(f"sqlite:///{ours}", "hw").create_schema()
    prefix = "spark.sql.catalog.fresh"
    for key, value in {
        "": "org.apache.iceberg.spark.SparkCatalog",
        ".type": "jdbc",
        ".uri": f"jdbc:sqlite:{theirs}",
        ".jdbc.schema-version": "V1",
        ".warehouse": str(tmp_path),
    }.items():
        lake.spark.conf.set(prefix + key, value)
    lake.spark.sql("CREATE NAMESPACE fresh.default")

    def tables(path: Path) -> list[Any]:
        with sqlite3.connect(path) as connection:
            return connection.execute(
                "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name"
            ).fetchall()

    assert tables(ours) == tables(theirs)
    with sqlite3.connect(ours) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


@pytest.mark.spark
@pytest.mark.postgres
def test_schema_is_what_iceberg_creates_on_postgres(
    lake: Lake, postgres_server: Any, tmp_path: Path
) -> None:
    """Spark works on the schema we made, and would have made the same."""
    names = [postgres_server.create_database() for _ in range(2)]
    tables = JdbcTables(postgres_server.url(names[0]), "pg0")
    tables.create_schema()
    shapes = []
    for number, name in enumerate(names):
        prefix = f"spark.sql.catalog.pg{number}"
        for key, value in {
            "": "org.apache.iceberg.spark.SparkCatalog",
            ".type": "jdbc",
            ".uri": f"jdbc:postgresql://{postgres_server.host}:{postgres_server.port}/{name}",
            ".jdbc.user": "postgres",
            ".jdbc.schema-version": "V1",
            ".warehouse": str(tmp_path),
        }.items():
            lake.spark.conf.set(prefix + key, value)
        lake.spark.sql(f"CREATE NAMESPACE pg{number}.default")
        lake.spark.sql(f"CREATE TABLE pg{number}.default.t USING iceberg AS SELECT 1 AS id")
        shapes.append(
            open_database(postgres_server.url(name)).fetch(
                "SELECT table_name, ordinal_position, column_name, data_type, is_nullable,"
                " character_maximum_length FROM information_schema.columns"
                " WHERE table_schema = 'public' ORDER BY 1, 2"
            )
        )
    assert shapes[0] == shapes[1]
    metadata = tables.metadata(TableName("default", "t"))
    assert metadata is not None
    assert metadata.current_snapshot_id is not None


@pytest.mark.spark
def test_views(lake: Lake) -> None:
    view = TableName("default", "v_plain")
    lake.spark.sql(
        f"CREATE VIEW {view.sql(lake.catalog)} AS SELECT id AS k, 1 AS one FROM range(3)"
    )
    assert lake.tables.view_text(view) == "SELECT id AS k, 1 AS one FROM range(3)"
    renamed = TableName("default", "v_renamed")
    lake.spark.sql(f"CREATE VIEW {renamed.sql(lake.catalog)} (a, b) AS SELECT id, 1 FROM range(3)")
    text = lake.tables.view_text(renamed)
    assert text is not None
    assert lake.spark.sql(text).columns == ["a", "b"]
    assert {view, renamed} <= lake.tables.views()
    assert not lake.tables.exists(view)
    assert lake.tables.metadata(view) is None
    assert lake.tables.view_text(ORDERS) is None


def test_a_view_reads_the_namespace_it_was_made_in() -> None:
    query = "WITH c AS (SELECT 1 AS k) SELECT o.id FROM orders o JOIN lines USING (id), c, b.u"
    document = {
        "current-version-id": 1,
        "versions": [
            {
                "version-id": 1,
                "default-namespace": ["sales"],
                "representations": [{"type": "sql", "sql": query, "dialect": "spark"}],
            }
        ],
    }
    assert parse_view(json.dumps(document).encode()) == (
        "WITH c AS (SELECT 1 AS k) SELECT o.id FROM `sales`.`orders` o "
        "JOIN `sales`.`lines` AS `lines` USING (id), c, b.u"
    )


def test_busy_catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(f"sqlite:///{tmp_path / 'iceberg.db'}", tmp_path)
    monkeypatch.setattr(database_module, "BUSY_SECONDS", 0.2)
    other = sqlite3.connect(tmp_path / "iceberg.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    waiting = SqliteDatabase(tmp_path / "iceberg.db")
    with pytest.raises(CatalogBusy):
        waiting.change(["DELETE FROM iceberg_tables"])
    assert rig.tables.locations() == {}
    other.execute("ROLLBACK")
    waiting.change(["DELETE FROM iceberg_tables"])


@pytest.mark.postgres
def test_connection_closed_by_the_server(postgres_url: str, tmp_path: Path) -> None:
    rig = Rig(postgres_url, tmp_path)
    assert rig.tables.locations() == {}
    rig.database.fetch(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    time.sleep(0.1)
    assert rig.tables.locations() == {}


def test_unusable_catalog(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_bytes(b"not a database, but long enough to have a header" * 20)
    with pytest.raises(CatalogDamaged):
        JdbcTables(f"sqlite:///{tmp_path / 'x.db'}", "hw").locations()
    with pytest.raises(InvalidOption):
        JdbcTables("mysql://h/db", "hw")
    with pytest.raises(InvalidOption):
        JdbcTables("sqlite://", "hw")
    unreachable = PostgresDatabase("postgresql://nobody@127.0.0.1:1/none")
    with pytest.raises(CatalogBusy):
        unreachable.fetch("SELECT 1")
