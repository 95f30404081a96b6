"""Finds sources that moved, without Spark: one query for all tables, metadata only where needed.

The first step of every refresh and of every tick; an idle one ends here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from headwater.core.frontier import SourceVersion
    from headwater.core.names import TableName
    from headwater.sources.tables import TableCatalog


def latest_versions(
    tables: TableCatalog, names: Collection[TableName]
) -> dict[TableName, SourceVersion | None]:
    """The newest version of each table, as of one look at the catalog; None where it is gone."""
    locations = tables.locations(names)
    found: dict[TableName, SourceVersion | None] = {}
    for name in names:
        location = locations.get(name)
        metadata = tables.metadata_at(name, location) if location is not None else None
        found[name] = metadata.version if metadata is not None else None
    return found


def changed(
    tables: TableCatalog, versions: Mapping[TableName, SourceVersion]
) -> dict[TableName, SourceVersion | None]:
    """The sources whose newest version is not the one given, with the newest one.

    A source that is gone is there with None. A moved version is a candidate only: its window may
    turn out to be empty (compaction, commits without rows, a column nobody uses).
    """
    newest = latest_versions(tables, versions)
    return {name: now for name, now in newest.items() if now != versions[name]}
