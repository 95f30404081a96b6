"""Moves main of a table to a staged snapshot by compare-and-swap, without Spark.

A commit of Iceberg is a new metadata document and the swap of the catalog row from the old
document's location to the new one's. Publishing changes nothing in the document but main and the
logs, so it needs no knowledge of the format version, and keeps every key it does not know. The row
is swapped only if nobody committed in between; then the table is looked at again.
"""

from __future__ import annotations

import gzip
import random
import time
import uuid
from typing import TYPE_CHECKING, Any

import msgspec

from headwater.core.errors import CatalogBusy, RefreshConflict, StorageDamaged
from headwater.sources.metadata import MAIN

if TYPE_CHECKING:
    from headwater.core.names import TableName
    from headwater.sources.database import Database
    from headwater.sources.files import Files
    from headwater.sources.metadata import TableMetadata
    from headwater.sources.tables import JdbcTables

ATTEMPTS = 12

KEPT_DOCUMENTS = 20
"""So many metadata documents before the newest stay readable; older ones are removed."""

_FIRST_PAUSE = 0.005
_LONGEST_PAUSE = 0.5
_SUFFIX = ".metadata.json"
_SWAP = (
    "UPDATE iceberg_tables SET metadata_location = ?, previous_metadata_location = ?"
    " WHERE catalog_name = ? AND table_namespace = ? AND table_name = ? AND metadata_location = ?"
)


class MainCommits:
    """Commits to the main of tables in one catalog.

    Args:
        tables: tells what a table is like now.
        database: has `iceberg_tables`.
        files: reads and writes metadata documents.
    """

    def __init__(self, tables: JdbcTables, database: Database, files: Files) -> None:
        self._tables = tables
        self._database = database
        self._files = files

    def publish(self, name: TableName, *, expect_main: int | None, snapshot_id: int) -> None:
        """Set main from `expect_main` to `snapshot_id`; see `TableCatalog`."""
        for attempt in range(ATTEMPTS):
            _pause(attempt)
            location = self._tables.location(name)
            metadata = self._tables.metadata_at(name, location) if location is not None else None
            if location is None or metadata is None:
                raise StorageDamaged(
                    f"table {name} is gone", hint="create the stream table again, or drop it"
                )
            if _is_published(metadata, snapshot_id):
                return
            _check(name, metadata, expect_main, snapshot_id)
            if self._set_main(name, location, snapshot_id):
                return
        raise RefreshConflict(
            f"{name}: the commit could not be published in {ATTEMPTS} attempts",
            hint="refresh again; look for a job that keeps writing to this table",
        )

    def _set_main(self, name: TableName, location: str, snapshot_id: int) -> bool:
        """Commit once; False when somebody else's commit came first, or no answer came.

        Without an answer the new document may be the table's: it is left where it is, and the next
        look at the table tells.
        """
        try:
            document = msgspec.json.decode(self._files.read(location))
        except FileNotFoundError:
            return False
        after = next_location(location)
        moved = with_main(document, location, snapshot_id, int(time.time() * 1000))
        content = msgspec.json.encode(moved)
        self._files.write(after, gzip.compress(content) if ".gz." in after else content)
        table = (self._tables.catalog, name.namespace, name.name)
        try:
            swapped = self._database.update(_SWAP, (after, location, *table, location))
        except CatalogBusy:
            return False
        if not swapped:
            self._files.remove(after)
            return False
        for entry in (document.get("metadata-log") or ())[: 1 - KEPT_DOCUMENTS]:
            self._files.remove(entry["metadata-file"])
        return True


def with_main(
    document: dict[str, Any], location: str, snapshot_id: int, now_ms: int
) -> dict[str, Any]:
    """A metadata document whose main is at a snapshot that it lists.

    Args:
        document: the metadata as it is.
        location: where it is.
        snapshot_id: the snapshot that main is set to.
        now_ms: the time; never before that of the document.
    """
    before_ms = document["last-updated-ms"]
    updated_ms = max(now_ms, before_ms)
    refs = document.get("refs") or {}
    main = {**refs.get(MAIN, {"type": "branch"}), "snapshot-id": snapshot_id}
    entry = {"timestamp-ms": updated_ms, "snapshot-id": snapshot_id}
    file = {"timestamp-ms": before_ms, "metadata-file": location}
    return {
        **document,
        "last-updated-ms": updated_ms,
        "current-snapshot-id": snapshot_id,
        "refs": {**refs, MAIN: main},
        "snapshot-log": [*(document.get("snapshot-log") or ()), entry],
        "metadata-log": [*(document.get("metadata-log") or ()), file][-KEPT_DOCUMENTS:],
    }


def next_location(location: str) -> str:
    """Where the document after this one goes: the same folder, the next number, a new id."""
    folder, _, file = location.rpartition("/")
    number = file.partition("-")[0]
    version = int(number) + 1 if number.isdigit() else 1
    packed = ".gz" if file.endswith(f".gz{_SUFFIX}") else ""
    return f"{folder}/{version:05d}-{uuid.uuid4()}{packed}{_SUFFIX}"


def _is_published(metadata: TableMetadata, snapshot_id: int) -> bool:
    main = metadata.current_snapshot_id
    return any(s.snapshot_id == snapshot_id for s in metadata.ancestry(main))


def _check(
    name: TableName, metadata: TableMetadata, expect_main: int | None, snapshot_id: int
) -> None:
    """Refuse when main moved, or the staged commit does not stand on it."""
    main = metadata.current_snapshot_id
    if main != expect_main:
        raise RefreshConflict(
            f"{name}: main is at {main}, this run started from {expect_main}",
            hint="refresh again: the run starts from the newer version",
        )
    staged = metadata.snapshot(snapshot_id)
    if staged is None:
        raise RefreshConflict(
            f"{name}: the staged version {snapshot_id} is gone",
            hint="refresh again: somebody expired what this run had staged",
        )
    if staged.parent_id != expect_main:
        raise RefreshConflict(
            f"{name}: {snapshot_id} was not written on top of {expect_main}",
            hint="refresh again: the run starts from the newer version",
        )


def _pause(attempt: int) -> None:
    if attempt:
        longest = min(_FIRST_PAUSE * 2**attempt, _LONGEST_PAUSE)
        time.sleep(random.uniform(longest / 2, longest))  # noqa: S311 - spreads retries
