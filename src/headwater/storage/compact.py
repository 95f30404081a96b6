"""The statements of maintenance: compaction and expiry, by Iceberg's procedures.

Compaction commits a `replace`: neither a change for readers nor a foreign write.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.core.names import literal, quote

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from pyspark.sql import SparkSession

    from headwater.core.names import TableName
    from headwater.sources.metadata import TableMetadata
    from headwater.storage.spark import Engine

LARGE_BYTES = 1024 * 1024 * 1024
"""Above this size a file is rewritten for its deleted rows only when they are many."""


def rewrite(
    engine: Engine,
    session: SparkSession,
    name: TableName,
    metadata: TableMetadata,
    key: Sequence[str],
    file_bytes: int,
) -> int:
    """Bring files to a size, sorted by the key where there is one; returns files rewritten."""
    head = metadata.snapshot(metadata.current_snapshot_id)
    options = {"min-input-files": "2", "target-file-size-bytes": str(file_bytes)}
    if head is not None and head.count("total-files-size") <= LARGE_BYTES:
        options["delete-file-threshold"] = "1"
    listed = ", ".join(f"{literal(k)}, {literal(v)}" for k, v in options.items())
    arguments = [f"table => {literal(str(name))}", f"options => map({listed})"]
    if key:
        order = ", ".join(f"{quote(column)} ASC NULLS FIRST" for column in key)
        arguments += ["strategy => 'sort'", f"sort_order => {literal(order)}"]
    rows = engine.collect(session, _call(engine, "rewrite_data_files", arguments))
    return int(rows[0]["rewritten_data_files_count"]) if rows else 0


def set_properties(
    engine: Engine, session: SparkSession, name: TableName, properties: Mapping[str, str]
) -> None:
    """Change table properties, which coming writes follow."""
    table = name.sql(engine.lake.catalog)
    pairs = ", ".join(f"{literal(k)} = {literal(v)}" for k, v in properties.items())
    engine.run(session, f"ALTER TABLE {table} SET TBLPROPERTIES ({pairs})")


def expire(
    engine: Engine, session: SparkSession, name: TableName, snapshots: Collection[int]
) -> None:
    """Remove snapshots and the files that only they need.

    Iceberg removes by age too unless it is told an instant before all snapshots.
    """
    ids = ", ".join(str(int(s)) for s in snapshots)
    arguments = [
        f"table => {literal(str(name))}",
        "older_than => TIMESTAMP '1970-01-02 00:00:00'",
        f"snapshot_ids => array({ids})",
    ]
    engine.collect(session, _call(engine, "expire_snapshots", arguments))


def _call(engine: Engine, procedure: str, arguments: Sequence[str]) -> str:
    return f"CALL {quote(engine.lake.catalog)}.system.{procedure}({', '.join(arguments)})"
