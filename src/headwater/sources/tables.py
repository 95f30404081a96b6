"""The tables of the lake as the catalog database lists them: locations, metadata, publishing.

No Spark: one query finds all tables, and metadata files are read once per location.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Protocol

from headwater.core.errors import StorageDamaged
from headwater.core.names import TableName
from headwater.sources.database import open_database
from headwater.sources.files import IcebergFiles
from headwater.sources.metadata import parse_metadata
from headwater.sources.publish import MainCommits
from headwater.sources.views import parse_view

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from headwater.sources.database import Row
    from headwater.sources.files import Files
    from headwater.sources.metadata import TableMetadata

CACHED_TABLES = 4096
CACHED_OF_TABLE = 3
"""Parsed documents that are kept, and how many of one table: each of its commits makes one more."""

FEW_TABLES = 50
"""Up to this many tables are asked for by name; above it, one query reads them all."""

_TABLES = """CREATE TABLE IF NOT EXISTS iceberg_tables(\
catalog_name VARCHAR(255) NOT NULL,\
table_namespace VARCHAR(255) NOT NULL,\
table_name VARCHAR(255) NOT NULL,\
metadata_location VARCHAR(1000),\
previous_metadata_location VARCHAR(1000), \
iceberg_type VARCHAR(5),\
PRIMARY KEY (catalog_name, table_namespace, table_name))"""
_NAMESPACES = """CREATE TABLE IF NOT EXISTS iceberg_namespace_properties(\
catalog_name VARCHAR(255) NOT NULL,\
namespace VARCHAR(255) NOT NULL,\
property_key VARCHAR(255),\
property_value VARCHAR(1000),\
PRIMARY KEY (catalog_name, namespace, property_key))"""

_IS_TABLE = "(iceberg_type = 'TABLE' OR iceberg_type IS NULL)"
_ALL = (
    "SELECT table_namespace, table_name, metadata_location FROM iceberg_tables"
    f" WHERE catalog_name = ? AND {_IS_TABLE}"
)
_FORGET = (
    "DELETE FROM iceberg_tables WHERE catalog_name = ?"
    " AND table_namespace = ? AND table_name = ? AND metadata_location = ?"
)
_EXACT = "AND table_namespace = ? AND table_name = ?"
_ANY_CASE = "AND LOWER(table_namespace) = ? AND LOWER(table_name) = ?"
_VIEWS = (
    "SELECT table_namespace, table_name FROM iceberg_tables"
    " WHERE catalog_name = ? AND iceberg_type = 'VIEW'"
)
_VIEW = (
    "SELECT table_namespace, table_name, metadata_location FROM iceberg_tables"
    " WHERE catalog_name = ? AND iceberg_type = 'VIEW'"
)


class MetadataByName(Protocol):
    """Whatever can tell the metadata of a table."""

    def metadata(self, name: TableName) -> TableMetadata | None:
        """Metadata of one table; None if there is no such table."""


class TableCatalog(MetadataByName, Protocol):
    """What the rest of Headwater asks about tables, and what it does to them without Spark."""

    def locations(self, names: Collection[TableName] | None = None) -> dict[TableName, str]:
        """Metadata location of every table, in one query.

        Args:
            names: tables the caller cares about; others may be left out.
        """

    def listing(self) -> list[tuple[str, str, str]]:
        """Namespace, name and metadata location of every table, as they stand in the catalog."""

    def location(self, name: TableName) -> str | None:
        """Metadata location of one table; None if there is no such table."""

    def spelled(self, name: TableName) -> TableName:
        """The name with the spelling the catalog has."""

    def listed(self, namespace: str, name: str) -> TableName:
        """A name of `listing`."""

    def metadata(self, name: TableName) -> TableMetadata | None:
        """Newest metadata of one table; None if there is no such table."""

    def metadata_at(self, name: TableName, location: str) -> TableMetadata | None:
        """Metadata at a location just learned; newer when that file has been removed since."""

    def table_names(self) -> frozenset[TableName]:
        """All tables."""

    def views(self) -> frozenset[TableName]:
        """All Iceberg views, which are not tables."""

    def exists(self, name: TableName) -> bool:
        """Whether there is such a table."""

    def view_text(self, name: TableName) -> str | None:
        """The query of an Iceberg view as Spark wrote it; None if there is no such view."""

    def forget(self, name: TableName) -> None:
        """Take a table out of the catalog; its files stay where they are."""

    def publish(self, name: TableName, *, expect_main: int | None, snapshot_id: int) -> None:
        """Make a staged snapshot the table's content: all of it or nothing.

        Main must be `expect_main`, and the staged snapshot must stand on it. Metadata that moved
        without main (a branch, a property) is no conflict. Publishing what is published already
        does nothing, so that a caller who does not know whether it succeeded may ask again.

        Args:
            name: the stream table.
            expect_main: the snapshot the run started from; None if the table was empty.
            snapshot_id: the staged commit.

        Raises:
            RefreshConflict: main moved, or the staged commit is gone; nothing was changed.
        """

    def close(self) -> None:
        """Close this thread's connection; the next use opens it again."""


class JdbcTables:
    """Tables of an Iceberg JDBC catalog (schema V1) on SQLite or PostgreSQL.

    Names are found without regard to case, as Spark finds columns. Of two tables whose names differ
    in nothing else, the one in lower case is meant.

    Args:
        url: SQLAlchemy URL of the database that has `iceberg_tables`.
        catalog: name of the catalog in that database; Spark's catalog has the same name.
        files: reads and writes metadata files.
        properties: FileIO properties for remote warehouses.
        cached: how many parsed metadata documents are kept.
    """

    def __init__(
        self,
        url: str,
        catalog: str,
        *,
        files: Files | None = None,
        properties: Mapping[str, str] | None = None,
        cached: int = CACHED_TABLES,
    ) -> None:
        self.catalog = catalog
        self._database = open_database(url)
        self._files = files or IcebergFiles(properties)
        self._commits = MainCommits(self, self._database, self._files)
        self._cache = _Cache(cached)
        self._spelled: dict[TableName, TableName] = {}

    def create_schema(self) -> None:
        """Create the catalog tables as Iceberg 1.12 does, once, before two drivers race for it."""
        self._database.prepare()
        columns = self._database.columns("iceberg_tables")
        statements = [_TABLES, _NAMESPACES]
        if columns and "iceberg_type" not in columns:
            statements.append("ALTER TABLE iceberg_tables ADD COLUMN iceberg_type VARCHAR(5)")
        self._database.change(statements)

    def locations(self, names: Collection[TableName] | None = None) -> dict[TableName, str]:
        """Metadata location of every table, or of a few, in one query."""
        statement, parameters = _ALL, [self.catalog]
        if names is not None and len(names) <= FEW_TABLES:
            if not names:
                return {}
            pairs = ", ".join(["(?, ?)"] * len(names))
            statement = f"{_ALL} AND (table_namespace, table_name) IN (VALUES {pairs})"
            for name in names:
                parameters += self.spelled(name).spelled
        rows = self._database.fetch(statement, parameters)
        found = {self.listed(ns, name): where for ns, name, where in _lower_last(rows)}
        for name in (n for n in names or () if n not in found):
            row = self._find(_ALL, name)
            if row is not None:
                found[self.listed(*row[:2])] = row[2]
        return {name: where for name, where in found.items() if where is not None}

    def listing(self) -> list[tuple[str, str, str]]:
        """Every table in one query, without reading names: a tick compares rows by the thousand."""
        return self._database.fetch(_ALL, [self.catalog])

    def location(self, name: TableName) -> str | None:
        """Metadata location of one table."""
        found = self._find(_ALL, name)
        return found[2] if found is not None else None

    def spelled(self, name: TableName) -> TableName:
        """The name with the spelling the catalog had when it was last read."""
        return self._spelled.get(name, name)

    def listed(self, namespace: str, name: str) -> TableName:
        """A name as it stands in the catalog; its spelling is remembered."""
        found = TableName.listed(namespace, name)
        if found.spelling is not None:
            self._spelled[found] = found
        elif self._spelled:
            self._spelled.pop(found, None)
        return found

    def _find(self, statement: str, name: TableName) -> Row | None:
        """The row of a table or view: by its name, else by its name in another case."""
        exact = dict.fromkeys((name.spelled, self.spelled(name).spelled))
        tries = [
            *((_EXACT, spelled) for spelled in exact),
            (_ANY_CASE, (name.namespace, name.name)),
        ]
        for columns, spelled in tries:
            rows = self._database.fetch(f"{statement} {columns}", (self.catalog, *spelled))
            if rows:
                self.listed(*rows[0][:2])
                return rows[0]
        return None

    def metadata(self, name: TableName) -> TableMetadata | None:
        """Newest metadata of one table."""
        location = self.location(name)
        return self.metadata_at(name, location) if location is not None else None

    def metadata_at(self, name: TableName, location: str) -> TableMetadata | None:
        """Metadata at a location just learned.

        Writers may remove old metadata files: when this one is gone, the catalog is asked again.
        """
        while True:
            found = self._cache.get(location)
            if found is not None:
                return found
            try:
                content = self._files.read(location)
            except FileNotFoundError as error:
                newer = self.location(name)
                if newer is None:
                    return None
                if newer == location:
                    raise StorageDamaged(
                        f"metadata file of {name} is missing: {location}",
                        hint="restore the file, or drop the table and create it again",
                    ) from error
                location = newer
                continue
            parsed = parse_metadata(content, location=location)
            self._cache.put(name, location, parsed)
            return parsed

    def table_names(self) -> frozenset[TableName]:
        """All tables."""
        return frozenset(self.locations())

    def views(self) -> frozenset[TableName]:
        """All Iceberg views."""
        rows = self._database.fetch(_VIEWS, (self.catalog,))
        return frozenset(TableName.listed(namespace, name) for namespace, name in rows)

    def exists(self, name: TableName) -> bool:
        """Whether there is such a table."""
        return self.location(name) is not None

    def view_text(self, name: TableName) -> str | None:
        """The query of an Iceberg view."""
        found = self._find(_VIEW, name)
        if found is None:
            return None
        location = found[2]
        try:
            return parse_view(self._files.read(location), location=location)
        except FileNotFoundError as error:
            raise StorageDamaged(f"metadata file of view {name} is missing: {location}") from error

    def forget(self, name: TableName) -> None:
        """Take a table out of the catalog."""
        found = self._find(_ALL, name)
        if found is not None:
            self._database.update(_FORGET, (self.catalog, *found))

    def publish(self, name: TableName, *, expect_main: int | None, snapshot_id: int) -> None:
        """Make a staged snapshot the table's content."""
        self._commits.publish(name, expect_main=expect_main, snapshot_id=snapshot_id)

    def close(self) -> None:
        """Close this thread's connection."""
        self._database.close()


def _lower_last(rows: list[Row]) -> list[Row]:
    """Rows in an order in which the last one of a name is the one in lower case.

    Tables of nested namespaces have no name that Headwater could write.
    """
    flat = [row for row in rows if "." not in row[0]]
    return sorted(flat, key=lambda row: (row[0].islower(), row[1].islower()))


class _Cache:
    """The parsed documents used last, by location; few of one table, whose commits make many."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._items: OrderedDict[str, tuple[TableName, TableMetadata]] = OrderedDict()
        self._of_table: dict[TableName, list[str]] = {}
        self._lock = threading.Lock()

    def get(self, location: str) -> TableMetadata | None:
        with self._lock:
            found = self._items.get(location)
            if found is None:
                return None
            self._items.move_to_end(location)
            return found[1]

    def put(self, name: TableName, location: str, metadata: TableMetadata) -> None:
        with self._lock:
            if location in self._items:
                self._drop(location)
            self._items[location] = (name, metadata)
            same = self._of_table.setdefault(name, [])
            same.append(location)
            if len(same) > CACHED_OF_TABLE:
                self._drop(same[0])
            if len(self._items) > self._size:
                self._drop(next(iter(self._items)))

    def _drop(self, location: str) -> None:
        name, _ = self._items.pop(location)
        same = self._of_table[name]
        same.remove(location)
        if not same:
            del self._of_table[name]
