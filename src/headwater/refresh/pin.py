"""Chooses the new frontier of a refresh: one version per source, from one look at the catalog.

One query reads the metadata location of every table, so the versions are those of one instant.
Commits of a batch that is still open, or that was not known to be closed before that look, are
left out in every table: a batch is seen whole or not at all. Members of a group that is being
published are seen as they will be, all of them, from the moment that the group is committed to.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from headwater.core.errors import SourceMissing
from headwater.core.frontier import Frontier, SourceVersion
from headwater.storage.head import Head, read_head
from headwater.storage.stage import BATCH

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headwater.catalog.batches import OpenBatches
    from headwater.core.names import TableName
    from headwater.refresh.definitions import Stored
    from headwater.refresh.runtime import Runtime
    from headwater.sources.metadata import TableMetadata
    from headwater.sources.tables import TableCatalog


_RECENT_MS = 60_000
"""How far the clocks of writers may be apart from that of the catalog."""


@dataclass(frozen=True, slots=True)
class View:
    """The metadata of all tables at one instant."""

    tables: TableCatalog
    locations: Mapping[TableName, str]
    open_batches: OpenBatches
    staged: Mapping[TableName, int] = field(default_factory=dict)

    @classmethod
    def take(cls, runtime: Runtime) -> View:
        """Look once. Batches are read first: what is closed by then is complete in the look.

        Groups are read before and after the look: one that was committed to or completed meanwhile
        may be half in it, so the look is taken again.
        """
        open_batches = runtime.store.batches.look()
        while True:
            before = runtime.store.intents.look()
            locations = runtime.tables.locations()
            if runtime.store.intents.look() == before:
                return cls(runtime.tables, locations, open_batches, before.staged)

    def with_staged(self, staged: Mapping[TableName, int]) -> View:
        """The view in which these staged commits are the content of their tables."""
        return replace(self, staged={**self.staged, **staged})

    def metadata(self, name: TableName) -> TableMetadata | None:
        """The metadata of a table at that instant; None when it was not there."""
        location = self.locations.get(name)
        metadata = None if location is None else self.tables.metadata_at(name, location)
        head = self.staged.get(name)
        if metadata is None or head is None or head == metadata.current_snapshot_id:
            return metadata
        if metadata.snapshot(head) is None:  # read before the commit was staged
            metadata = self.tables.metadata(name)
        known = metadata is not None and metadata.snapshot(head) is not None
        return metadata.with_head(head) if metadata is not None and known else metadata

    def version(self, name: TableName) -> SourceVersion:
        """The newest version that may be read."""
        metadata = self.metadata(name)
        if metadata is None:
            raise SourceMissing(
                f"source table {name} is missing",
                hint="create it again with the same columns, or drop the stream table",
            )
        version = metadata.version
        usable = version.snapshot_id
        recent = self.open_batches.at_ms - _RECENT_MS
        for snapshot in metadata.ancestry(version.snapshot_id):
            if self.open_batches.may_hold(snapshot.summary.get(BATCH)):
                usable = snapshot.parent_id
            elif not self.open_batches.ids and snapshot.timestamp_ms < recent:
                break  # no batch that began after the look can lie below
        return SourceVersion(version.table_id, usable, version.schema_id)


@dataclass(frozen=True, slots=True)
class Circle:
    """Stream tables that read each other, while they are refreshed round by round.

    Attributes:
        members: all of them.
        base: the version of each base table below them.
        empty: members that count as empty, because they are not computed yet.
    """

    members: frozenset[TableName] = frozenset()
    base: Mapping[TableName, SourceVersion] = field(default_factory=dict)
    empty: frozenset[TableName] = frozenset()


NO_CIRCLE = Circle()


@dataclass(frozen=True, slots=True)
class Pin:
    """The new frontier, and the view it was read from.

    Attributes:
        conflicts: base tables that the stream tables among the sources show at different versions,
            or at versions of which one holds a batch and another does not.
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
    arms: Mapping[TableName, Frontier] | None = None,
    advanced: Callable[[TableName, Head], Frontier | None],
    circle: Circle = NO_CIRCLE,
) -> Pin:
    """Pin one version per source.

    Args:
        view: the look at the catalog.
        stored: which sources, and which of them are stream tables.
        current: the frontier of the stream table now.
        clock: the instant for temporal filters.
        fixed: versions chosen before, for refreshes that belong together.
        arms: what stream tables among them hold at these versions.
        advanced: the frontier that a stream table's head equals, as far as it is known.
        circle: the circle that the stream table is in; its members agree when it has settled.
    """
    versions: dict[TableName, SourceVersion] = {}
    base: dict[TableName, SourceVersion] = {}
    conflicts: set[TableName] = set()
    for name in stored.sources:
        versions[name] = _version(view, name, current, fixed)
        if name in circle.members:
            if name in circle.empty:
                versions[name] = replace(versions[name], snapshot_id=None)
            continue
        below = {name: versions[name]}
        if name in stored.stream_tables:
            frontier = _held(view, name, versions[name], fixed or {}, arms or {}, advanced)
            below = dict(frontier.base) if frontier is not None else {}
        for table, version in below.items():
            if base.setdefault(table, version).snapshot_id != version.snapshot_id:
                conflicts.add(table)
    if stored.stream_tables and len(base) > 1:
        conflicts |= half_batches(view, base)
    for table, version in circle.base.items():
        base.setdefault(table, version)
    frontier = Frontier(versions, base, clock, stored.views)
    return Pin(view, frontier, tuple(sorted(conflicts)))


def _held(
    view: View,
    name: TableName,
    version: SourceVersion,
    fixed: Mapping[TableName, SourceVersion],
    arms: Mapping[TableName, Frontier],
    advanced: Callable[[TableName, Head], Frontier | None],
) -> Frontier | None:
    """What a stream table holds at the version that is read of it."""
    if name in arms and version == fixed.get(name):
        return arms[name]
    metadata = view.metadata(name)
    if metadata is None:
        return None
    return advanced(name, read_head(metadata, version.snapshot_id))


def half_batches(view: View, base: Mapping[TableName, SourceVersion]) -> set[TableName]:
    """Base tables whose version lacks a batch that the version of another one holds.

    Versions pinned by one look hold all of a batch or nothing of it. Stream tables that are read
    together may have been refreshed to different looks.
    """
    lacking = {table: _batches_after(view, table, version) for table, version in base.items()}
    if not any(lacking.values()):
        return set()
    holding: dict[TableName, set[str]] = {}
    for table, version in base.items():
        metadata = view.metadata(table)
        line = metadata.ancestry(version.snapshot_id) if metadata is not None else ()
        holding[table] = {snapshot.summary.get(BATCH, "") for snapshot in line}
    return {
        table
        for table, missing in lacking.items()
        if any(missing & held for other, held in holding.items() if other != table)
    }


def _batches_after(view: View, table: TableName, version: SourceVersion) -> set[str]:
    """The batches of a base table that a version of it does not hold."""
    metadata = view.metadata(table)
    found: set[str] = set()
    for snapshot in metadata.ancestry(metadata.current_snapshot_id) if metadata is not None else ():
        if snapshot.snapshot_id == version.snapshot_id:
            break
        found.add(snapshot.summary.get(BATCH, ""))
    return found - {""}


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
