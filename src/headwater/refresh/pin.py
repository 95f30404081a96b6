"""Chooses the new frontier of a refresh: one version per source, from one look at the catalog.

One query reads the metadata location of every table, so the versions are those of one instant.
Commits of a batch that is still open, or that was not known to be closed before that look, are
left out in every table: a batch is seen whole or not at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headwater.core.errors import SourceMissing
from headwater.core.frontier import Frontier, SourceVersion
from headwater.storage.head import Head, read_head
from headwater.storage.stage import BATCH

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headwater.core.names import TableName
    from headwater.refresh.definitions import Stored
    from headwater.refresh.runtime import Runtime
    from headwater.sources.metadata import TableMetadata
    from headwater.sources.tables import TableCatalog


@dataclass(frozen=True, slots=True)
class View:
    """The metadata of all tables at one instant."""

    tables: TableCatalog
    locations: Mapping[TableName, str]
    open_batches: frozenset[str]

    @classmethod
    def take(cls, runtime: Runtime) -> View:
        """Look once. Batches are read first: what is closed by then is complete in the look."""
        open_batches = runtime.store.batches.open_ids()
        return cls(runtime.tables, runtime.tables.locations(), open_batches)

    def metadata(self, name: TableName) -> TableMetadata | None:
        """The metadata of a table at that instant; None when it was not there."""
        location = self.locations.get(name)
        return None if location is None else self.tables.metadata_at(name, location)

    def version(self, name: TableName) -> SourceVersion:
        """The newest version that may be read."""
        metadata = self.metadata(name)
        if metadata is None:
            raise SourceMissing(
                f"source table {name} is missing",
                hint="create it again with the same columns, or drop the stream table",
            )
        version = metadata.version
        if not self.open_batches:
            return version
        usable = version.snapshot_id
        for snapshot in metadata.ancestry(version.snapshot_id):
            if snapshot.summary.get(BATCH) in self.open_batches:
                usable = snapshot.parent_id
        return SourceVersion(version.table_id, usable, version.schema_id)


@dataclass(frozen=True, slots=True)
class Pin:
    """The new frontier, and the view it was read from.

    Attributes:
        conflicts: base tables that the stream tables among the sources show at different versions.
    """

    view: View
    frontier: Frontier
    conflicts: tuple[TableName, ...] = ()


def pin(
    view: View,
    stored: Stored,
    current: Frontier | None,
    *,
    clock: int | None,
    fixed: Mapping[TableName, SourceVersion] | None = None,
    advanced: Callable[[TableName, Head], Frontier | None],
) -> Pin:
    """Pin one version per source.

    Args:
        view: the look at the catalog.
        stored: which sources, and which of them are stream tables.
        current: the frontier of the stream table now.
        clock: the instant for temporal filters.
        fixed: versions chosen before, for refreshes that belong together.
        advanced: the frontier that a stream table's head equals, as far as it is known.
    """
    versions: dict[TableName, SourceVersion] = {}
    base: dict[TableName, SourceVersion] = {}
    conflicts: set[TableName] = set()
    for name in stored.sources:
        versions[name] = _version(view, name, current, fixed)
        below = {name: versions[name]}
        if name in stored.stream_tables:
            metadata = view.metadata(name)
            frontier = advanced(name, read_head(metadata)) if metadata is not None else None
            below = dict(frontier.base) if frontier is not None else {}
        for table, version in below.items():
            if base.setdefault(table, version).snapshot_id != version.snapshot_id:
                conflicts.add(table)
    frontier = Frontier(versions, base, clock, stored.views)
    return Pin(view, frontier, tuple(sorted(conflicts)))


def _version(
    view: View,
    name: TableName,
    current: Frontier | None,
    fixed: Mapping[TableName, SourceVersion] | None,
) -> SourceVersion:
    newest = view.version(name)
    chosen = (fixed or {}).get(name)
    if chosen is None or chosen == newest:
        return newest
    before = current.sources.get(name) if current is not None else None
    metadata = view.metadata(name)
    if before is None or metadata is None or before.table_id != chosen.table_id:
        return chosen
    ahead = metadata.snapshots_between(chosen.snapshot_id, before.snapshot_id)
    return before if ahead else chosen
