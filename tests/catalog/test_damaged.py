"""Rows and files that cannot be read: a named error, never a bare one."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from catalog_samples import TOTALS, execute, new

from headwater.catalog.database import Database
from headwater.catalog.jobs import NewJob, UnitKind
from headwater.catalog.store import Store
from headwater.core.errors import CatalogBusy, CatalogDamaged, CatalogUnavailable

_STREAM_TABLE = [
    ("layout", "{"),
    ("layout", "[]"),
    ("columns", '{"a": 1}'),
    ("definition", "null"),
    ("unique_key", "[1]"),
    ("tags", ""),
    ("frontier", '{"sources": {"a b c": ["u", 1, 0]}}'),
    ("frontier", '{"sources": 5}'),
    ("frontier", "\x01\x02"),
    ("status", "ASLEEP"),
    ("tier", "lukewarm"),
    ("refresh_mode", "SOMETIMES"),
    ("last_action", "MAYBE"),
]


@pytest.mark.parametrize(("column", "value"), _STREAM_TABLE)
def test_a_damaged_stream_table_is_named(store: Store, column: str, value: str) -> None:
    store.tables.add(new())
    execute(store.database, f"UPDATE hw_stream_tables SET {column} = :value", value=value)
    for read in (lambda: store.tables.get(TOTALS), store.tables.all, store.status_rows):
        with pytest.raises(CatalogDamaged, match=rf"hw_stream_tables row .*'totals'.*{column}"):
            read()


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("created_at", "yesterday"),
        ("generation", "four"),
        ("append_only", "maybe"),
        ("query", b"\xff"),
    ],
)
def test_sqlite_columns_of_any_type_are_checked(tmp_path: Path, column: str, value: object) -> None:
    with Store(f"sqlite:///{tmp_path}/headwater.db") as store:
        store.tables.add(new())
        execute(store.database, f"UPDATE hw_stream_tables SET {column} = :value", value=value)
        with pytest.raises(CatalogDamaged, match=column):
            store.tables.get(TOTALS)


def test_damage_in_the_other_tables_is_named(store: Store) -> None:
    row = store.tables.add(new())
    store.history.begin(row)
    store.settings.put("enabled", True)
    store.jobs.enqueue(NewJob("u", UnitKind.SINGLETON, ("t",), 1))
    store.intents.add("u", [])
    store.leases.acquire("leader", "a", timedelta(minutes=1))
    for table, column, read in (
        ("hw_history", "strategy", lambda: store.history.runs()),
        ("hw_history", "status", lambda: store.history.runs()),
        ("hw_dependencies", "source_type", lambda: store.tables.dependencies()),
        ("hw_settings", "value", lambda: store.settings.all()),
        ("hw_jobs", "members", lambda: store.jobs.all()),
        ("hw_jobs", "unit_kind", lambda: store.jobs.all()),
        ("hw_publish_intents", "members", lambda: store.intents.pending()),
    ):
        execute(store.database, f"UPDATE {table} SET {column} = '{{broken'")
        with pytest.raises(CatalogDamaged, match=rf"{table} row .*column {column}"):
            read()


def test_a_missing_table_is_damage(store: Store) -> None:
    store.tables.add(new())
    execute(store.database, "ALTER TABLE hw_settings RENAME TO gone")
    try:
        with pytest.raises(CatalogDamaged):
            store.settings.all()
    finally:
        execute(store.database, "ALTER TABLE gone RENAME TO hw_settings")


def test_a_hub_without_its_counter_is_damage(store: Store) -> None:
    store.generation()
    execute(store.database, "DELETE FROM hw_meta WHERE hub = :hub", hub=store.hub)
    with pytest.raises(CatalogDamaged, match="hw_meta"):
        store.generation()


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "headwater.db").write_bytes(b"not a database at all" * 100)
    with Store(f"sqlite:///{tmp_path}/headwater.db") as store, pytest.raises(CatalogDamaged):
        store.tables.all()


def test_a_database_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "headwater.db"
    with Store(f"sqlite:///{path}") as store:
        store.tables.add(new())
        execute(store.database, "DELETE FROM hw_settings")
    for side in (path.with_name("headwater.db-wal"), path.with_name("headwater.db-shm")):
        side.unlink(missing_ok=True)
    path.write_bytes(path.read_bytes()[:6000] + b"\xff" * 3000)
    with Store(f"sqlite:///{path}") as store, pytest.raises(CatalogDamaged):
        store.tables.all()


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path}/none/headwater.db")
    with pytest.raises(CatalogUnavailable, match="unable to open"):
        store.tables.all()


@pytest.mark.parametrize(
    "url", ["", "nonsense", "mysql://x/y", "sqlite://", "sqlite:///:memory:", "sqlite:///"]
)
def test_addresses_that_cannot_be_a_catalog(url: str) -> None:
    with pytest.raises(CatalogUnavailable):
        Database(url, hub="default")


def test_a_server_that_is_not_there_and_no_password_in_the_message() -> None:
    url = "postgresql://hw:s3cret@127.0.0.1:1/none"
    store = Store(url, busy_seconds=2)
    with pytest.raises((CatalogUnavailable, CatalogBusy)) as failed:
        store.tables.all()
    assert "s3cret" not in str(failed.value)
    assert "s3cret" not in store.database.url


def test_locked_too_long_is_busy(store: Store, store_url: str) -> None:
    store.tables.add(new())
    with Store(store_url, hub=store.hub, busy_seconds=0.3) as waiting:
        waiting.generation()
        with store.database.write() as connection:
            from headwater.catalog.generation import bump

            bump(connection, store.hub, store.database.now(connection))
            with pytest.raises(CatalogBusy) as busy:
                waiting.tables.update(TOTALS, schedule="1m")
    assert busy.value.kind == "transient"
    assert store.tables.get(TOTALS).spec.schedule == "5m"
