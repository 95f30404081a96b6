"""Change windows that several refreshes of one round read: scanned once, then read by name.

A window is shared when at least two of the chosen stream tables stand at the same version of its
source. It is read with all columns that any of them uses, unless its size makes the columns that a
reader has no use for cost more than reading it again. Rows that commits only copied are netted out,
once for all. Few rows are kept on the driver, more as blocks of Spark. Whatever cannot be shared is
read by each as ever.
"""

from __future__ import annotations

import threading
import uuid
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from headwater.core.errors import HeadwaterError
from headwater.core.names import WEIGHT, quote
from headwater.observe.events import ScanEvent
from headwater.refresh.definitions import Stored
from headwater.refresh.windows import TINY_BYTES, in_one_task, netted
from headwater.storage.shared import keep_for_all_sessions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from headwater.catalog.rows import StreamTableRow
    from headwater.core.frontier import SourceVersion
    from headwater.core.names import TableName
    from headwater.refresh.runtime import Runtime
    from headwater.sources.iceberg import IcebergSource
    from headwater.sources.source import Window
    from headwater.sql.lookup import SourceField

    _Key = tuple[TableName, SourceVersion, SourceVersion]

MOST_BYTES = 64 * 1024 * 1024
"""Above this size nothing is shared: the blocks would fill the memory."""

WORTH = 1.5
"""Columns that all readers read together, over those of the shared scan, that make it pay."""


@dataclass
class SharedScans:
    """The windows of one round.

    Attributes:
        readers: how many stream tables stand at a version of a source.
        used: the columns that any of them uses.
        columns_read: how many columns they read in all.
        made: scans that were made so far.
    """

    runtime: Runtime
    readers: Counter[tuple[TableName, int | None]]
    used: dict[TableName, dict[str, SourceField]]
    columns_read: Counter[TableName]
    made: int = 0
    _views: dict[_Key, tuple[str, int | None] | None] = field(default_factory=dict)
    _locks: dict[_Key, threading.Lock] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def read(
        self, source: IcebergSource, window: Window, since: SourceVersion, until: SourceVersion
    ) -> tuple[str, int | None] | None:
        """The rows of a window out of a shared scan, and how many if they are on the driver.

        None when the window is not shared.
        """
        key = (source.name, since, until)
        if self.readers[source.name, since.snapshot_id] < 2 or not self._pays(source, window):
            return None
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self._views:
                self._views[key] = self._scanned(source, window, since, until)
            view = self._views[key]
        if view is None:
            return None
        columns = ", ".join(quote(name) for name in (*window.columns, WEIGHT))
        return f"(SELECT {columns} FROM {view[0]})", view[1]

    def forget(self) -> None:
        """Drop what is kept."""
        views = [view[0] for view in self._views.values() if view is not None]
        self._views.clear()
        if views:
            with self.runtime.engine.exclusive() as session:
                for view in views:
                    session.catalog.dropGlobalTempView(view.partition(".")[2])

    def _pays(self, source: IcebergSource, window: Window) -> bool:
        if window.planned_bytes <= TINY_BYTES:
            return True
        union = len(self.used[source.name])
        return (
            window.planned_bytes <= MOST_BYTES and self.columns_read[source.name] >= WORTH * union
        )

    def _scanned(
        self, source: IcebergSource, window: Window, since: SourceVersion, until: SourceVersion
    ) -> tuple[str, int | None] | None:
        columns = tuple(self.used[source.name].values())
        try:
            whole = source.window(since, until, columns)
            if whole.sql is None or (whole.kind, whole.how) != (window.kind, window.how):
                return None
            name = f"__hw_window_{uuid.uuid4().hex}"
            with self.runtime.engine.exclusive() as session:
                tiny = whole.planned_bytes <= TINY_BYTES
                query = netted(in_one_task(whole, whole.sql), whole)
                rows = keep_for_all_sessions(session, name, query, tiny)
        except HeadwaterError:
            return None  # each reads it for itself, and tells what is wrong with it
        with self._lock:
            self.made += 1
        count = self.readers[source.name, since.snapshot_id]
        self.runtime.events.emit(ScanEvent(str(source.name), count, rows))
        return f"global_temp.{name}", rows


@contextmanager
def sharing(runtime: Runtime, rows: Iterable[StreamTableRow]) -> Iterator[Runtime]:
    """Inside, refreshes of these stream tables with the runtime given share their windows."""
    if not runtime.setting("adaptive_batch_coalescing"):
        yield runtime
        return
    scans = SharedScans(runtime, Counter(), {}, Counter())
    for row in rows:
        try:
            used = Stored.read(row.definition).used
        except (HeadwaterError, LookupError, TypeError, ValueError):
            continue  # its own refresh tells what is wrong with it
        for name, fields in used.items():
            version = row.frontier.sources.get(name) if row.frontier is not None else None
            if version is not None:
                scans.readers[name, version.snapshot_id] += 1
                scans.used.setdefault(name, {}).update({f.name: f for f in fields})
                scans.columns_read[name] += len(fields)
    try:
        yield replace(runtime, scans=scans)
    finally:
        scans.forget()
