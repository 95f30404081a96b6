"""Moves main of a table to a staged snapshot by compare-and-swap, without Spark where possible.

One PyIceberg commit states what main must be and sets it. The catalog row is swapped only if nobody
wrote metadata in between. PyIceberg does not write format version 3: there a branch is made at the
staged snapshot and main is fast-forwarded to it by commands that the caller runs in Spark.
"""

from __future__ import annotations

import random
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from headwater.core.errors import RefreshConflict, SparkUnavailable, StorageDamaged
from headwater.sources.database import BUSY_SECONDS
from headwater.sources.metadata import MAIN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headwater.core.names import TableName
    from headwater.sources.metadata import TableMetadata

ATTEMPTS = 12
_NEWEST_FORMAT = 2
_FIRST_PAUSE = 0.005
_LONGEST_PAUSE = 0.5
_IMPORTING = threading.Lock()


class RefCommands(Protocol):
    """Spark statements on branches, for tables that PyIceberg cannot write."""

    def create_branch(self, name: TableName, branch: str, *, snapshot_id: int) -> None:
        """`ALTER TABLE … CREATE BRANCH IF NOT EXISTS branch AS OF VERSION snapshot_id`."""

    def fast_forward(self, name: TableName, branch: str) -> None:
        """`CALL system.fast_forward(table, 'main', branch)`."""

    def drop_branch(self, name: TableName, branch: str) -> None:
        """`ALTER TABLE … DROP BRANCH IF EXISTS branch`."""


class MainCommits:
    """Commits to the main of tables in one catalog.

    Args:
        catalog: name of the catalog, as `iceberg_tables` has it.
        url: SQLAlchemy URL of the database.
        properties: FileIO properties for remote warehouses.
    """

    def __init__(self, catalog: str, url: str, properties: Mapping[str, str]) -> None:
        self._name = catalog
        self._url = url
        self._properties = dict(properties)
        self._opened: Any = None
        self._lock = threading.Lock()

    def publish(
        self,
        name: TableName,
        look: Callable[[], TableMetadata | None],
        *,
        expect_main: int | None,
        snapshot_id: int,
        spark: RefCommands | None,
    ) -> None:
        """Set main from `expect_main` to `snapshot_id`; see `TableCatalog`."""
        last: Exception | None = None
        for attempt in range(ATTEMPTS):
            _pause(attempt)
            metadata = _present(name, look())
            if _is_published(metadata, snapshot_id):
                return
            _check(name, metadata, expect_main, snapshot_id)
            if metadata.format_version > _NEWEST_FORMAT:
                last = _forwarded(name, _needed(name, spark), snapshot_id)
            else:
                last = self._set_main(name, expect_main, snapshot_id)
            if last is None:
                return
        raise RefreshConflict(
            f"{name}: the commit could not be published in {ATTEMPTS} attempts: {last}",
            hint="refresh again; look for a job that keeps writing to this table",
        ) from last

    def _set_main(
        self, name: TableName, expect_main: int | None, snapshot_id: int
    ) -> Exception | None:
        update = _updates()
        must = update.AssertRefSnapshotId(ref=MAIN, snapshot_id=expect_main)
        at = update.SetSnapshotRefUpdate(ref_name=MAIN, type="branch", snapshot_id=snapshot_id)
        return self._commit(name, (must,), (at,))

    def _commit(self, name: TableName, requirements: Any, updates: Any) -> Exception | None:
        """Commit once; the failure, when it may be due to somebody else's commit or a lost answer.

        The caller looks at the table again: only that tells whether the commit arrived.
        """
        from pyiceberg.exceptions import CommitFailedException
        from sqlalchemy.exc import OperationalError

        try:
            catalog = self.open()
            table = catalog.load_table((name.namespace, name.name))
            catalog.commit_table(table, requirements, updates)
        except (CommitFailedException, OperationalError, FileNotFoundError) as error:
            return error
        return None

    def open(self) -> Any:
        """The PyIceberg catalog, loaded at the first call."""
        with self._lock:
            if self._opened is None:
                _updates()
                from pyiceberg.catalog.sql import SqlCatalog

                properties = {"uri": _pyiceberg_url(self._url), "init_catalog_tables": "false"}
                self._opened = SqlCatalog(self._name, **{**self._properties, **properties})
            return self._opened


def _updates() -> Any:
    """PyIceberg's commit vocabulary. Its modules form a ring: one thread imports at a time."""
    with _IMPORTING:
        from pyiceberg.catalog import sql  # noqa: F401 - must come first
        from pyiceberg.table import update

        return update


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


def _present(name: TableName, metadata: TableMetadata | None) -> TableMetadata:
    if metadata is None:
        raise StorageDamaged(
            f"table {name} is gone", hint="create the stream table again, or drop it"
        )
    return metadata


def _forwarded(name: TableName, spark: RefCommands, snapshot_id: int) -> Exception | None:
    """Publish in Spark; a failure is judged by what the table looks like afterwards."""
    branch = f"hw_publish_{snapshot_id}"
    try:
        spark.create_branch(name, branch, snapshot_id=snapshot_id)
        spark.fast_forward(name, branch)
    except Exception as error:
        return error
    finally:
        # A branch that cannot be dropped now is litter, not a failure.
        with suppress(Exception):
            spark.drop_branch(name, branch)
    return None


def _needed(name: TableName, spark: RefCommands | None) -> RefCommands:
    if spark is None:
        raise SparkUnavailable(
            f"{name} has format version 3: its branches can only be moved by Spark",
            hint="run this in a process with a Spark session",
        )
    return spark


def _pause(attempt: int) -> None:
    if attempt:
        longest = min(_FIRST_PAUSE * 2**attempt, _LONGEST_PAUSE)
        time.sleep(random.uniform(longest / 2, longest))  # noqa: S311 - spreads retries


def _pyiceberg_url(url: str) -> str:
    """The URL with a long wait for locks: SQLAlchemy's SQLite driver would give up after 5 s."""
    if url.startswith("sqlite"):
        return f"{url.partition('?')[0]}?timeout={BUSY_SECONDS}"
    scheme, _, rest = url.partition("://")
    return f"postgresql+psycopg://{rest}" if "+" not in scheme else url
