"""Recomputes a stream table at its recorded frontier and compares, as bags."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.core.errors import RefreshAwaited, StorageDamaged
from headwater.core.names import quote
from headwater.core.results import VerifyReport
from headwater.refresh.compare import compare
from headwater.refresh.definitions import resolved_for
from headwater.refresh.oracle import oracle
from headwater.refresh.pin import View
from headwater.refresh.plan import current_frontier
from headwater.storage.head import read_head

if TYPE_CHECKING:
    from headwater.core.names import TableName
    from headwater.refresh.runtime import Runtime


def verify(runtime: Runtime, name: TableName, version: int | None = None) -> VerifyReport:
    """Compare a stream table with its query.

    Args:
        runtime: the hub's parts.
        name: the stream table.
        version: a published version of it; None checks the content as it is now, whoever wrote it.
    """
    row = runtime.store.tables.get(name)
    view = View.take(runtime)
    metadata = view.metadata(name)
    if metadata is None:
        raise StorageDamaged(
            f"the table behind stream table {name} is missing",
            hint=f"run repair_stream_table('{name}')",
        )
    head = read_head(metadata, version)
    frontier = current_frontier(row if version is None else None, head)
    if frontier is None:
        raise StorageDamaged(
            f"{name} has no content of its own to verify", hint=f"refresh {name} first"
        )
    if row.needs_reinit and head.definition_hash != row.definition_hash:
        raise RefreshAwaited(
            f"the content of {name} is older than its definition: {row.reinit_reason}",
            hint=f"refresh {name}, then verify it",
        )
    resolved = resolved_for(runtime, row)
    expected = oracle(runtime, resolved, view).at(frontier)
    columns = ", ".join(quote(column) for column, _ in row.columns)
    # Spark may name an expression without an alias other than the stream table does.
    expected = f"SELECT * FROM (\n{expected}\n) AS `__hw_q`({columns})"
    stored = name.sql(runtime.lake.catalog)
    if head.main is not None:
        stored += f" VERSION AS OF {head.main}"
    with runtime.engine.exclusive() as session:
        found = compare(
            runtime.engine, session, row.columns, expected, f"SELECT {columns} FROM {stored}"
        )
    return VerifyReport(
        name=str(name),
        equal=found.equal,
        missing=found.missing,
        unexpected=found.unexpected,
        frontier=frontier.versions(),
        sample=found.sample,
    )
