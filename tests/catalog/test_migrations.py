"""Migrations: in place, all versions, at the same time, never backwards."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from catalog_samples import ORDERS, TOTALS, child, done, execute, new
from sqlalchemy import Connection, Engine, inspect, text

from headwater.catalog import schema
from headwater.catalog.database import Database
from headwater.catalog.indexes import INDEXES
from headwater.catalog.store import Store
from headwater.catalog.tables import HEAD, VERSION_TABLE, metadata
from headwater.core.errors import CatalogDamaged, CatalogTooNew

_FIRST_ROWS = [
    "INSERT INTO hw_hubs VALUES ('default', '2026-01-01T00:00:00.000000+00:00')",
    "INSERT INTO hw_meta VALUES ('default', 17, '0.0.1', '2026-01-01T00:00:00.000000+00:00')",
    """INSERT INTO hw_stream_tables (hub, namespace, name, query, definition_hash, generation,
         schedule, refresh_mode, status, tier, unique_key, partition_by, append_only,
         diamond_consistency, diamond_schedule_policy, tags, incremental, is_populated,
         needs_reinit, consecutive_errors, layout, columns, definition, frontier, created_at,
         updated_at)
       VALUES ('default', 'default', 'totals', 'SELECT 1 AS a', 'abc', 4, '5m', 'AUTO', 'ACTIVE',
         'cold', '["a"]', '[]', false, 'atomic', 'fastest', '["old"]', true, true, false, 0, '{}',
         '[["a","int"]]', '{}', '{"sources":{"default.orders":["u",5,0]}}',
         '2026-01-01T00:00:00.000000+00:00', '2026-01-01T00:00:00.000000+00:00')""",
    """INSERT INTO hw_dependencies SELECT 'default', id, 'default', 'orders', 'TABLE', '[]'
       FROM hw_stream_tables""",
    """INSERT INTO hw_history (hub, run_id, stream_table_id, name, status, action, initiated_by,
         started_at, finished_at, rows_inserted, rows_deleted, delta_rows, spark_jobs, repeats,
         host, pid, process_started)
       SELECT 'default', 'r1', id, 'default.totals', 'COMPLETED', 'FULL', 'MANUAL',
         '2026-01-01T00:00:00.000000+00:00', '2026-01-01T00:00:01.000000+00:00', 1, 0, 1, 2, 1,
         'h', 1, 'x' FROM hw_stream_tables""",
    """INSERT INTO hw_settings VALUES
         ('default', 'log_format', '"json"', '2026-01-01T00:00:00.000000+00:00')""",
    """INSERT INTO hw_jobs (hub, dag_version, unit_key, unit_kind, members, status, scheduler_pid,
         attempt_no, enqueued_at, lease_token)
       VALUES ('default', 3, 'default.totals', 'table', '["default.totals"]', 'SUCCEEDED', 1, 1,
         '2026-01-01T00:00:00.000000+00:00', 2)""",
    """INSERT INTO hw_leases VALUES ('default', 'leader', 'me', 9,
         '2026-01-01T00:00:00.000000+00:00', 'h', 1, 'x')""",
    """INSERT INTO hw_publish_intents (hub, unit_key, members, status, created_at)
       VALUES ('default', 'a+b', '{}', 'DONE', '2026-01-01T00:00:00.000000+00:00')""",
]
_NEW_ROWS = {
    "0001": _FIRST_ROWS,
    "0002": [
        "UPDATE hw_stream_tables SET downstream_publication = 'feed'",
        """INSERT INTO hw_templates (hub, stream_table_id, generation, specialisation, payload,
             created_at)
           SELECT 'default', id, 4, 'append', CAST('abc' AS {bytes}),
             '2026-01-01T00:00:00.000000+00:00' FROM hw_stream_tables""",
    ],
    "0003": [
        """INSERT INTO hw_batches
           VALUES ('default', 'b1', '2026-01-01T00:00:00.000000+00:00', 'h', 1, 'x')""",
    ],
    "0004": [
        """INSERT INTO hw_costs (hub, stream_table_id, generation, measured_at, is_full,
             reason_code, specialisation, apply, planned_bytes, delta_rows, source_bytes, warmth,
             duration_ms)
           SELECT 'default', id, 4, '2026-01-01T00:00:00.000000+00:00', false, 'DELTA', 'append',
             'merge', 100, 7, 9000, 3, 12.5 FROM hw_stream_tables""",
    ],
    "0005": [
        """INSERT INTO hw_schedule_state (hub, stream_table_id, sla_misses, sla_spare, fuse_state)
           SELECT 'default', id, 2, 1, 'INTACT' FROM hw_stream_tables""",
        """INSERT INTO hw_source_gates
           VALUES ('default', 'default', 'orders', '2026-01-01T00:00:00.000000+00:00')""",
        """INSERT INTO hw_refresh_groups
           VALUES ('default', 'pair', '["default.totals"]', '2026-01-01T00:00:00.000000+00:00')""",
        """INSERT INTO hw_ticks (hub, started_at, versions, units, host, pid)
           VALUES ('default', '2026-01-01T00:00:00.000000+00:00', '{}', 1, 'h', 1)""",
    ],
    "0006": ["UPDATE hw_costs SET way = 'SEEK', files = 9, files_rewritten = 2"],
    "0007": ["""UPDATE hw_stream_tables SET sort_by = '["a"]'"""],
}
"""What each version of the schema can hold and the one before it could not."""


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    with (
        engine.connect().execution_options(headwater_write=True) as connection,
        connection.begin(),
    ):
        yield connection


def insert_rows(engine: Engine, revision: str) -> None:
    """Fill every table of a version of the schema."""
    binary = "BYTEA" if engine.dialect.name == "postgresql" else "BLOB"
    with writing(engine) as connection:
        for since, statements in _NEW_ROWS.items():
            for statement in statements if since <= revision else ():
                connection.exec_driver_sql(statement.replace("{bytes}", binary))


def stored_rows(engine: Engine, columns: Mapping[str, list[str]]) -> dict[str, list[Any]]:
    """The rows of tables, in these of their columns."""
    with engine.connect() as connection:
        return {
            table: sorted(
                (tuple(row) for row in connection.execute(text(f"SELECT {names} FROM {table}"))),
                key=repr,
            )
            for table, names in ((t, ", ".join(f'"{c}"' for c in cs)) for t, cs in columns.items())
        }


def columns_of(engine: Engine) -> dict[str, list[str]]:
    found = inspect(engine)
    tables = set(found.get_table_names()) - {VERSION_TABLE}
    return {table: [c["name"] for c in found.get_columns(table)] for table in tables}


@pytest.mark.parametrize("revision", schema.known_revisions())
def test_a_catalog_of_every_version_is_upgraded_in_place_and_keeps_its_rows(
    fresh_url: str, revision: str
) -> None:
    engine = Database(fresh_url, hub="default").bare_engine()
    schema.upgrade(engine, revision, fresh_url)
    insert_rows(engine, revision)
    columns = columns_of(engine)
    before = stored_rows(engine, columns)
    assert [table for table, found in before.items() if not found] == []
    schema.ensure(engine, fresh_url)
    assert columns_of(engine).keys() >= columns.keys()
    assert stored_rows(engine, columns) == before
    engine.dispose()

    with Store(fresh_url) as store:
        row = store.tables.get(TOTALS)
        assert (row.generation, row.tier, row.spec.tags) == (4, "cold", ("old",))
        assert row.frontier is not None
        assert row.frontier.versions() == {"default.orders": 5}
        assert row.downstream_publication == (None if revision == "0001" else "feed")
        assert [d.source for _, d in store.tables.dependencies()] == [ORDERS]
        assert [r.run_id for r in store.history.runs()] == ["r1"]
        assert store.settings.all() == {"log_format": "json"}
        assert store.generation() == 17
        assert store.versions().agree
        assert store.templates.put(row.id, row.generation, "mixed", b"new table works")


def test_every_version_of_the_schema_has_rows_of_its_own() -> None:
    assert tuple(_NEW_ROWS) == tuple(schema.known_revisions())


@pytest.mark.parametrize("revision", schema.known_revisions())
def test_every_released_schema_upgrades_to_what_the_code_expects(
    fresh_url: str, revision: str
) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    engine = Database(fresh_url, hub="default").bare_engine()
    schema.upgrade(engine, revision, fresh_url)
    schema.ensure(engine, fresh_url)
    with engine.connect() as connection:
        assert schema.stored_revision(connection) == HEAD
        options = {"version_table": VERSION_TABLE, "compare_type": True}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, metadata) == []
        found = inspect(connection)
        indexes = {i["name"] for t in metadata.tables for i in found.get_indexes(t)}
        assert {index.name for index in INDEXES} <= indexes
        assert all(t.startswith("hw_") for t in found.get_table_names())
    engine.dispose()


def test_the_newest_migration_is_the_one_the_code_needs() -> None:
    assert schema.known_revisions()[-1] == HEAD


def test_migrations_can_be_taken_back(fresh_url: str) -> None:
    from alembic import command

    engine = Database(fresh_url, hub="default").bare_engine()
    schema.ensure(engine, fresh_url)
    with writing(engine) as connection:
        config = schema.alembic_config()
        config.attributes["connection"] = connection
        command.downgrade(config, "base")
    assert inspect(engine).get_table_names() == [VERSION_TABLE]
    engine.dispose()


def test_a_newer_catalog_is_refused_untouched(fresh_url: str) -> None:
    with Store(fresh_url) as store:
        store.tables.add(new())
        execute(store.database, f"UPDATE {VERSION_TABLE} SET version_num = '9001'")
    with Store(fresh_url) as late:
        with pytest.raises(CatalogTooNew, match=r"schema 9001.*knows up to") as refused:
            late.tables.all()
        assert "upgrade the headwater package" in str(refused.value)
    engine = Database(fresh_url, hub="default").bare_engine()
    with engine.connect() as connection:
        assert schema.stored_revision(connection) == "9001"
    engine.dispose()


def test_a_version_table_without_a_version_is_damage(fresh_url: str) -> None:
    with Store(fresh_url) as store:
        store.generation()
        execute(store.database, f"DELETE FROM {VERSION_TABLE}")
    with Store(fresh_url) as late, pytest.raises(CatalogDamaged, match="0 rows"):
        late.generation()


def test_processes_may_open_a_fresh_catalog_at_once(fresh_url: str) -> None:
    code = """
import sys
from headwater.catalog.indexes import INDEXES
from headwater.catalog.store import Store
print("ready", flush=True)
sys.stdin.readline()
with Store(sys.argv[1], hub=sys.argv[2]) as store:
    store.settings.put("by_" + sys.argv[3], 1)
    print(store.versions().agree)
"""
    openers = [child(code, fresh_url, f"hub{n % 2}", n) for n in range(4)]
    for opener in openers:
        assert opener.stdout is not None
        opener.stdout.readline()
    for opener in openers:
        assert opener.stdin is not None
        opener.stdin.write("go\n")
        opener.stdin.flush()
    assert [done(opener) for opener in openers] == ["True"] * 4
    with Store(fresh_url, hub="hub0") as store:
        assert store.hubs() == ("hub0", "hub1")
        assert set(store.settings.all()) == {"by_0", "by_2"}


def test_alembic_is_loaded_only_to_migrate(fresh_url: str) -> None:
    code = """
import sys
from headwater.catalog.indexes import INDEXES
from headwater.catalog.store import Store
with Store(sys.argv[1]) as store:
    store.tables.all()
print("alembic" in sys.modules)
"""
    assert done(child(code, fresh_url)) == "True"
    assert done(child(code, fresh_url)) == "False"


def test_reading_an_embedded_catalog_loads_no_other_dialect(tmp_path: Path) -> None:
    code = """
import sys
from headwater.catalog.store import Store
with Store(sys.argv[1]) as store:
    store.tables.all()
print(any("postgresql" in m for m in sys.modules), "psycopg" in sys.modules)
"""
    url = f"sqlite:///{tmp_path}/headwater.db"
    done(child(code, url))
    assert done(child(code, url)) == "False False"


def test_a_failing_migration_leaves_the_old_schema(
    fresh_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Database(fresh_url, hub="default").bare_engine()
    schema.upgrade(engine, "0001", fresh_url)
    from alembic import op

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr(op, "add_column", broken)
    with pytest.raises(RuntimeError, match="no"):
        schema.ensure(engine, fresh_url)
    monkeypatch.undo()
    assert not inspect(engine).has_table("hw_templates"), "all of a migration or nothing"
    schema.ensure(engine, fresh_url)
    assert inspect(engine).has_table("hw_templates")
    engine.dispose()


def test_migrations_are_part_of_the_package() -> None:
    assert (schema.MIGRATIONS / "env.py").is_file()
    assert schema.MIGRATIONS.is_relative_to(next(iter(sys.modules["headwater"].__path__)))
