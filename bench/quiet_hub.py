"""A hub of many stream tables that have nothing to do: rows and metadata files, without Spark."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

from sqlalchemy import insert

import headwater
from headwater.catalog import tables
from headwater.core.frontier import Frontier, SourceVersion
from headwater.core.names import TableName

SNAPSHOT = 1
_AT = "2026-01-01T00:00:00.000000+00:00"


def quiet_hub(folder: Path, count: int, sources: int = 10, cron: int = 0) -> headwater.Hub:
    """A hub with `count` stream tables, each over two of the sources, all of them fresh.

    The first `cron` of them have an appointment once a day.
    """
    hub = headwater.connect(folder)
    names = [f"source{i}" for i in range(sources)]
    for name in names:
        write_source(folder, name, SNAPSHOT)
    _add(folder, [(f"t{i}", f"file:/nowhere/t{i}.json") for i in range(count)])
    with hub._runtime.store.database.write() as connection:
        rows = [_row(i, names[i % sources], names[(i + 1) % sources]) for i in range(count)]
        for row in rows[:cron]:
            row["schedule"] = "0 6 * * *"
        for start in range(0, count, 500):
            connection.execute(insert(tables.stream_tables), rows[start : start + 500])
    return hub


def write_source(
    folder: Path, name: str, snapshot: int, last: dict[str, str] | None = None
) -> None:
    """A version of a source: a metadata file, and the row that names it.

    Each commit adds ten rows, unless `last` is the summary of the last one.
    """
    usual = {"operation": "append", "added-records": "10"}
    place = folder / "metadata" / f"{name}-{snapshot}.json"
    place.parent.mkdir(exist_ok=True)
    document = {
        "format-version": 2,
        "table-uuid": f"uuid-{name}",
        "location": str(folder / name),
        "current-schema-id": 0,
        "schemas": [{"schema-id": 0, "type": "struct", "fields": []}],
        "current-snapshot-id": snapshot,
        "snapshots": [
            {
                "snapshot-id": number,
                "timestamp-ms": number,
                **({"parent-snapshot-id": number - 1} if number > 1 else {}),
                "summary": usual if last is None or number < snapshot else last,
            }
            for number in range(1, snapshot + 1)
        ],
    }
    place.write_text(json.dumps(document))
    _add(folder, [(name, f"file:{place}")])


def _add(folder: Path, named: list[tuple[str, str]]) -> None:
    with sqlite3.connect(folder / "iceberg.db") as connection:
        connection.executemany(
            "INSERT OR REPLACE INTO iceberg_tables (catalog_name, table_namespace, table_name,"
            " metadata_location, iceberg_type) VALUES ('hw', 'default', ?, ?, 'TABLE')",
            named,
        )
    connection.close()


def _row(number: int, *sources: str) -> dict[str, object]:
    versions = {TableName.parse(s): SourceVersion(f"uuid-{s}", SNAPSHOT, 0) for s in sources}
    definition = {"sources": [f"default.{s}" for s in sources], "uses_clock": False}
    return {
        "hub": "default",
        "namespace": "default",
        "name": f"t{number}",
        "query": "SELECT 1",
        "definition_hash": "x",
        "generation": 1,
        "schedule": "calculated" if number % 2 else "30s",
        "refresh_mode": "AUTO",
        "status": "ACTIVE",
        "unique_key": "[]",
        "partition_by": "[]",
        "append_only": False,
        "diamond_consistency": "none",
        "diamond_schedule_policy": "fastest",
        "tags": "[]",
        "incremental": True,
        "is_populated": True,
        "needs_reinit": False,
        "consecutive_errors": 0,
        "last_refresh_at": _AT,
        "layout": "{}",
        "columns": "[]",
        "definition": json.dumps(definition),
        "frontier": Frontier(versions, versions).to_json(),
        "created_at": _AT,
        "updated_at": _AT,
    }
