"""Lets a refresh log what it changes, where readers could find out only by comparing versions.

That is the case where merges mark rows and other stream tables read the table. A full refresh is
not logged: its readers compare the versions before and after, as the log would have to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.delta.statements import parts_of_merge
from headwater.sources.change_log import entry
from headwater.storage import change_log
from headwater.storage.stage import staged_by, written
from headwater.storage.write_mode import MERGE_MODE, WriteMode

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headwater.core.names import TableName
    from headwater.refresh.runtime import Runtime
    from headwater.refresh.stages import Planned
    from headwater.storage.stage import Stamp


def is_logged(runtime: Runtime, planned: Planned) -> bool:
    """Whether readers of the stream table need a log of what this refresh changes."""
    metadata = runtime.tables.metadata(planned.table)
    if planned.decision.is_full or planned.parent is None or metadata is None:
        return False
    marks = metadata.properties.get(MERGE_MODE) == WriteMode.MARK.value
    return marks and has_readers(runtime, planned.table)


def has_readers(runtime: Runtime, name: TableName) -> bool:
    """Whether another stream table reads this one."""
    arrows = runtime.store.tables.dependencies()
    return any(arrow.source == name and reader != name for reader, arrow in arrows)


def log_entry(runtime: Runtime, planned: Planned, statement: str, attempt: str) -> str:
    """What the commit of a refresh says of its log, which is made if need be; empty without one."""
    metadata = runtime.tables.metadata(planned.table)
    if metadata is None or parts_of_merge(statement) is None:
        return ""
    with runtime.engine.exclusive() as session:
        log_id = change_log.prepare(
            runtime.engine, session, runtime.tables, metadata, planned.table
        )
    return entry(log_id, attempt) if log_id is not None else ""


def log_changes(
    runtime: Runtime, session: SparkSession, planned: Planned, stamp: Stamp, statement: str
) -> None:
    """Log what a staged merge changed; nothing when it changed nothing."""
    metadata = runtime.tables.metadata(planned.table)
    commit = staged_by(metadata, stamp.run_id) if metadata is not None else None
    reached = parts_of_merge(statement)
    if metadata is None or commit is None or reached is None or planned.parent is None:
        return
    if not written(commit).nothing:
        change_log.append(
            runtime.engine,
            session,
            metadata,
            planned.table,
            versions=(planned.parent, commit.snapshot_id),
            reached=reached,
            attempt=stamp.run_id,
        )
