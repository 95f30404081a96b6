"""Writes the change log of a stream table; `sources.change_log` tells what it is.

An attempt logs the rows that its merge reached, as they were before and as they are in the commit
it staged, before that commit is published. So a commit on the line of the table has its changes in
the log, whoever died when.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.core.names import HIDDEN_PREFIX, WEIGHT, literal, quote
from headwater.sources.change_log import ATTEMPT, attempt_of, log_of
from headwater.storage import compact
from headwater.storage.target import columns_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headwater.core.names import TableName
    from headwater.sources.metadata import TableMetadata
    from headwater.sources.tables import TableCatalog
    from headwater.storage.spark import Engine
    from headwater.storage.target import Field

_PROPERTIES = {
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
    "write.distribution-mode": "none",
}


def prepare(
    engine: Engine,
    session: SparkSession,
    tables: TableCatalog,
    metadata: TableMetadata,
    of: TableName,
) -> str | None:
    """Let a stream table have a log with its visible columns; returns the identity of the log.

    A log with other columns is replaced: commits that name the old one are no longer read from it.
    """
    log, wanted = log_of(of), _visible(metadata)
    have = tables.metadata(log)
    if have is not None and _visible(have) != wanted:
        engine.run(session, f"DROP TABLE {log.sql(engine.lake.catalog)} PURGE")
        have = None
    if have is None:
        _create(engine, session, log, wanted)
        have = tables.metadata(log)
    return have.table_uuid if have is not None else None


def _visible(metadata: TableMetadata) -> tuple[Field, ...]:
    return tuple(f for f in columns_of(metadata) if not f.name.startswith(HIDDEN_PREFIX))


def _create(
    engine: Engine, session: SparkSession, log: TableName, fields: tuple[Field, ...]
) -> None:
    catalog = quote(engine.lake.catalog)
    columns = [f"{quote(f.name)} {f.type}" for f in fields]
    columns += [f"{quote(WEIGHT)} BIGINT", f"{quote(ATTEMPT)} STRING"]
    properties = ", ".join(f"{literal(k)} = {literal(v)}" for k, v in _PROPERTIES.items())
    engine.run(session, f"CREATE NAMESPACE IF NOT EXISTS {catalog}.{quote(log.namespace)}")
    engine.run(
        session,
        f"CREATE TABLE {log.sql(engine.lake.catalog)} ({', '.join(columns)}) USING iceberg "
        f"PARTITIONED BY ({quote(ATTEMPT)}) TBLPROPERTIES ({properties})",
    )


def append(
    engine: Engine,
    session: SparkSession,
    metadata: TableMetadata,
    of: TableName,
    *,
    versions: tuple[int, int],
    reached: tuple[str, str],
    attempt: str,
) -> None:
    """Log what a merge changed.

    Args:
        engine: runs it.
        session: knows the stages that the merge read.
        metadata: the stream table.
        of: its name.
        versions: before and after.
        reached: the source of the merge as `s`, and the condition that matches its rows with `t`.
        attempt: the run.
    """
    catalog = engine.lake.catalog
    names = [quote(f.name) for f in _visible(metadata)]
    using, on = reached
    sides = [
        f"SELECT {', '.join(f't.{n}' for n in names)}, CAST({sign} AS BIGINT) AS {quote(WEIGHT)}, "
        f"{literal(attempt)} AS {quote(ATTEMPT)} FROM {of.sql(catalog)} VERSION AS OF {version} "
        f"AS t LEFT SEMI JOIN (\n{using}\n) AS s ON {on}"
        for version, sign in zip(versions, ("-1", "1"), strict=True)
    ]
    columns = ", ".join([*names, quote(WEIGHT), quote(ATTEMPT)])
    into = log_of(of).sql(catalog)
    engine.run(session, f"INSERT INTO {into} ({columns})\n" + "\nUNION ALL\n".join(sides))


def forget(
    engine: Engine, session: SparkSession, tables: TableCatalog, of: TableName, young_ms: int
) -> None:
    """Remove the rows of attempts that no commit of the stream table names any more.

    The attempts in the log are looked up before the commits: each was staged before it was logged,
    so one that no commit names then can never be published.
    """
    log = log_of(of)
    table = log.sql(engine.lake.catalog)
    found = engine.collect(
        session, f"SELECT DISTINCT partition.{quote(ATTEMPT)} AS attempt FROM {table}.`partitions`"
    )
    metadata = tables.metadata(of)
    named = {attempt_of(s) for s in metadata.snapshots} if metadata is not None else set()
    gone = sorted({str(row["attempt"]) for row in found} - named)
    if gone:
        listed = ", ".join(literal(attempt) for attempt in gone)
        engine.run(session, f"DELETE FROM {table} WHERE {quote(ATTEMPT)} IN ({listed})")
    now = tables.metadata(log)
    head = now.current_snapshot_id if now is not None else None
    old = [
        s.snapshot_id
        for s in (now.snapshots if now is not None else ())
        if s.snapshot_id != head and s.timestamp_ms < young_ms
    ]
    if old:
        compact.expire(engine, session, log, old)


def drop(engine: Engine, session: SparkSession, tables: TableCatalog, of: TableName) -> None:
    """Remove the log of a stream table, if it has one."""
    if tables.exists(log_of(of)):
        engine.run(session, f"DROP TABLE {log_of(of).sql(engine.lake.catalog)} PURGE")
