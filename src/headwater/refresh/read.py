"""Reads stream tables as users see them: visible columns, and versions that fit together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.core.errors import RefreshConflict, UnknownTable
from headwater.core.names import TableName, quote
from headwater.refresh.pin import View
from headwater.refresh.plan import current_frontier
from headwater.storage.head import read_head

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame

    from headwater.core.frontier import Frontier
    from headwater.refresh.runtime import Runtime
    from headwater.sources.metadata import TableMetadata


def read_table(runtime: Runtime, name: TableName, version: int | None = None) -> DataFrame:
    """The visible columns of a table, at a version or at the newest."""
    metadata = runtime.tables.metadata(name)
    if metadata is None:
        raise UnknownTable(f"there is no table {name}", hint="see status() and SHOW TABLES")
    if version is None:
        # A group that is being published is seen whole from the moment it is committed to.
        version = runtime.store.intents.look().staged.get(name)
    if version is None:
        version = _before_new_columns(runtime, name, metadata)
    head = metadata.snapshot(version)
    schema = metadata.schema(head.schema_id) if head and head.schema_id is not None else None
    fields = (schema or metadata.current_schema).fields
    shown = [f.name for f in fields if not f.name.startswith("__hw_")]
    at = "" if version is None else f" VERSION AS OF {int(version)}"
    columns = ", ".join(quote(c) for c in shown)
    text = f"SELECT {columns} FROM {runtime.tables.spelled(name).sql(runtime.lake.catalog)}{at}"
    return runtime.engine.run(runtime.engine.user, text)


def _before_new_columns(runtime: Runtime, name: TableName, metadata: TableMetadata) -> int | None:
    """The content of a stream table that has new columns and no rows for them yet; else None."""
    head = metadata.snapshot(metadata.current_snapshot_id)
    if head is None or head.schema_id in (None, metadata.current_schema_id):
        return None
    row = runtime.store.tables.find(name)
    return head.snapshot_id if row is not None and row.needs_reinit else None


def read_tables(runtime: Runtime, names: Sequence[str]) -> dict[str, DataFrame]:
    """Several stream tables at versions that agree on the base tables they share."""
    view = View.take(runtime)
    tables = [TableName.parse(n) for n in names]
    candidates = {name: _versions(runtime, view, name) for name in tables}
    chosen = _agreeing(tables, candidates)
    if chosen is None:
        raise RefreshConflict(
            f"no versions of {', '.join(map(str, tables))} agree on their sources",
            hint="refresh them together: hub.refresh([...])",
        )
    return {
        given: read_table(runtime, name, chosen[name])
        for given, name in zip(names, tables, strict=True)
    }


def _versions(
    runtime: Runtime, view: View, name: TableName
) -> list[tuple[int | None, Mapping[TableName, int | None]]]:
    """Published versions, newest first, each with the base versions it shows.

    What an empty delta has carried on holds for its new frontier and for that of its commit.
    """
    row = runtime.store.tables.get(name)
    metadata = view.metadata(name)
    if metadata is None:
        raise UnknownTable(f"there is no table {name}", hint="see status()")
    found: list[tuple[int | None, Mapping[TableName, int | None]]] = []
    for snapshot in metadata.ancestry(metadata.current_snapshot_id):
        head = read_head(metadata, snapshot.snapshot_id)
        if not head.intact:
            continue
        is_newest = snapshot.snapshot_id == metadata.current_snapshot_id
        holds = [current_frontier(row, head)] if is_newest else []
        for frontier in (*holds, head.frontier):
            shows = _shows(frontier)
            if shows is not None and (snapshot.snapshot_id, shows) not in found:
                found.append((snapshot.snapshot_id, shows))
    return found


def _shows(frontier: Frontier | None) -> Mapping[TableName, int | None] | None:
    if frontier is None:
        return None
    return {base: version.snapshot_id for base, version in frontier.base.items()}


def _agreeing(
    tables: Sequence[TableName],
    candidates: Mapping[TableName, Sequence[tuple[int | None, Mapping[TableName, int | None]]]],
) -> dict[TableName, int | None] | None:
    """The first combination, newest first, in which shared base tables have one version."""

    def search(
        rest: Sequence[TableName], seen: dict[TableName, int | None]
    ) -> list[int | None] | None:
        if not rest:
            return []
        for version, shows in candidates[rest[0]]:
            if all(seen.get(base, at) == at for base, at in shows.items()):
                below = search(rest[1:], {**seen, **shows})
                if below is not None:
                    return [version, *below]
        return None

    versions = search(tables, {})
    return None if versions is None else dict(zip(tables, versions, strict=True))
