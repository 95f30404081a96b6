"""Sees which tables moved: one query per tick for all of them, metadata only where needed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from headwater.catalog.batches import OpenBatches
from headwater.core.errors import HeadwaterError
from headwater.core.names import TableName
from headwater.refresh.pin import View
from headwater.sources.pending import Pending, pending_rows

if TYPE_CHECKING:
    from headwater.core.frontier import SourceVersion
    from headwater.refresh.runtime import Runtime


class Watch:
    """The tables of the lake as the last look showed them.

    Attributes:
        locations: metadata location of every table.
        open_batches: batches that were open at the last look.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._rows: list[tuple[str, str, str]] = []
        self._versions: dict[TableName, SourceVersion | None] = {}
        self._held_back: set[TableName] = set()
        self._pending: dict[tuple[TableName, int | None, int | None], Pending] = {}
        self.locations: dict[TableName, str] = {}
        self.open_batches = OpenBatches()

    def look(self) -> frozenset[TableName]:
        """Look once; returns the tables that may have moved since the look before."""
        self.open_batches = self._runtime.store.batches.look()
        rows = self._runtime.tables.listing()
        moved: set[TableName] = set(self._held_back)
        if rows != self._rows:  # as lists first: the same rows come in the same order
            before, after = frozenset(self._rows), frozenset(rows)
            came, gone = after - before, before - after
            for namespace, name, _ in gone:
                table = self._runtime.tables.listed(namespace, name)
                self.locations.pop(table, None)
                moved.add(table)
            for namespace, name, location in came:
                table = self._runtime.tables.listed(namespace, name)
                self.locations[table] = location
                moved.add(table)
            self._rows = rows
        for table in moved:
            self._versions.pop(table, None)
        self._held_back.clear()
        return frozenset(moved)

    def view(self) -> View:
        """The last look, for pinning."""
        return View(self._runtime.tables, self.locations, self.open_batches)

    def version(self, name: TableName) -> SourceVersion | None:
        """The newest version of a table that may be read; None when it is gone or unreadable."""
        if name not in self._versions:
            self._versions[name] = self._read(name)
        return self._versions[name]

    def pending(self, name: TableName, since: int | None) -> Pending:
        """Changed rows after a version, as far as commits tell."""
        version = self.version(name)
        if version is None or version.snapshot_id == since:
            return Pending()
        key = (name, since, version.snapshot_id)
        if key not in self._pending:
            if len(self._pending) > 10_000:
                self._pending.clear()
            metadata = self.view().metadata(name)
            self._pending[key] = pending_rows(metadata, since, version.snapshot_id)
        return self._pending[key]

    def moved_at(self, name: TableName, since: int | None) -> datetime | None:
        """When the first change after a version was made; None when there is none.

        Where commits have expired it is the newest one: the change waits at least since then.
        """
        version = self.version(name)
        if version is None or version.snapshot_id in (None, since):
            return None
        metadata = self.view().metadata(name)
        if metadata is None:
            return None
        between = metadata.snapshots_between(since, version.snapshot_id)
        if between is None:
            between = tuple(metadata.ancestry(version.snapshot_id))[:1]
        times = [s.timestamp_ms for s in between if s.operation != "replace"]
        return datetime.fromtimestamp(min(times) / 1000, UTC) if times else None

    def _read(self, name: TableName) -> SourceVersion | None:
        try:
            version = self.view().version(name)
            metadata = self.view().metadata(name)
            if metadata is not None and metadata.version != version:
                self._held_back.add(name)  # moves when the batch closes, without a commit
        except HeadwaterError:
            if name in self.locations:
                self._held_back.add(name)  # looked at again, without a commit
            return None
        return version
