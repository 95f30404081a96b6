"""Plain SQL on the database that holds `iceberg_tables`: SQLite or PostgreSQL, no ORM, no Spark.

One connection per thread and process; reads are single statements, writes short transactions.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import unquote

from headwater.core.errors import CatalogBusy, CatalogDamaged, InvalidOption

if TYPE_CHECKING:
    from collections.abc import Sequence

BUSY_SECONDS = 30

Row = tuple[Any, ...]


class Database(Protocol):
    """What `JdbcTables` needs of a database; parameters are marked with `?`."""

    def fetch(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Run one query."""

    def update(self, statement: str, parameters: Sequence[object]) -> int:
        """Run one statement that changes rows, once; how many it changed.

        Raises:
            CatalogBusy: there was no answer; the rows may have been changed or not.
        """

    def change(self, statements: Sequence[str]) -> None:
        """Run statements in one transaction."""

    def columns(self, table: str) -> set[str]:
        """Column names of a table; empty when there is no such table."""

    def prepare(self) -> None:
        """Settings that stay with the database."""

    def close(self) -> None:
        """Close the connection of this thread."""


def open_database(url: str) -> Database:
    """A database by its SQLAlchemy URL."""
    scheme, _, rest = url.partition("://")
    match scheme.partition("+")[0]:
        case "sqlite":
            path = unquote(rest.partition("?")[0]).removeprefix("/")
            if path and path != ":memory:":
                return SqliteDatabase(Path(path))
        case "postgresql" | "postgres":
            return PostgresDatabase(f"postgresql://{rest}")
    raise InvalidOption(
        f"cannot use {scheme}: as a table catalog",
        hint="use sqlite:////path/to/iceberg.db or postgresql+psycopg://user@host/database",
    )


class _PerThread(threading.local):
    connection: Any = None
    process: int = 0


class SqliteDatabase:
    """A file shared with Spark's JDBC driver, in WAL mode."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._own = _PerThread()

    def fetch(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Run one query."""
        try:
            return self._connection().execute(statement, tuple(parameters)).fetchall()
        except sqlite3.DatabaseError as error:
            raise self._translated(error) from error

    def update(self, statement: str, parameters: Sequence[object]) -> int:
        """Run one statement that changes rows."""
        try:
            return self._connection().execute(statement, tuple(parameters)).rowcount
        except sqlite3.DatabaseError as error:
            raise self._translated(error) from error

    def change(self, statements: Sequence[str]) -> None:
        """Run statements in one transaction that takes the write lock at once."""
        connection = self._connection()
        try:
            connection.execute("BEGIN IMMEDIATE")
            try:
                for statement in statements:
                    connection.execute(statement)
                connection.execute("COMMIT")
            except BaseException:
                connection.execute("ROLLBACK")
                raise
        except sqlite3.DatabaseError as error:
            raise self._translated(error) from error

    def columns(self, table: str) -> set[str]:
        """Column names of a table."""
        return {row[0] for row in self.fetch("SELECT name FROM pragma_table_info(?)", (table,))}

    def prepare(self) -> None:
        """Make the file and set WAL: readers and one writer do not block each other."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.fetch("PRAGMA journal_mode=WAL")

    def close(self) -> None:
        """Close the connection of this thread."""
        if self._own.connection is not None and self._own.process == os.getpid():
            self._own.connection.close()
        self._own.connection = None

    def _connection(self) -> sqlite3.Connection:
        own = self._own
        if own.connection is None or own.process != os.getpid():
            own.connection = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None)
            own.process = os.getpid()
        return own.connection  # type: ignore[no-any-return]

    def _translated(self, error: sqlite3.DatabaseError) -> CatalogBusy | CatalogDamaged:
        text = str(error)
        if "locked" in text or "busy" in text:
            return CatalogBusy(f"table catalog {self.path} is busy: {text}")
        return CatalogDamaged(f"table catalog {self.path} cannot be used: {text}", hint=_HINT)


class PostgresDatabase:
    """A shared server; psycopg is imported at the first use."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._own = _PerThread()

    def fetch(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Run one query; a connection the server has closed is opened again once."""
        import psycopg

        text = statement.replace("?", "%s").encode()
        try:
            try:
                return self._connection().execute(text, tuple(parameters)).fetchall()  # type: ignore[no-any-return]
            except psycopg.OperationalError:
                self.close()
                return self._connection().execute(text, tuple(parameters)).fetchall()  # type: ignore[no-any-return]
        except psycopg.Error as error:
            raise self._translated(error) from error

    def update(self, statement: str, parameters: Sequence[object]) -> int:
        """Run one statement that changes rows; never twice, as its answer may have been lost."""
        import psycopg

        text = statement.replace("?", "%s").encode()
        try:
            return int(self._connection().execute(text, tuple(parameters)).rowcount)
        except psycopg.OperationalError as error:
            self.close()
            raise self._translated(error) from error
        except psycopg.Error as error:
            raise self._translated(error) from error

    def change(self, statements: Sequence[str]) -> None:
        """Run statements in one transaction, one caller at a time."""
        import psycopg

        try:
            connection = self._connection()
            with connection.transaction():
                connection.execute(b"SELECT pg_advisory_xact_lock(%d)" % _SCHEMA_LOCK)
                for statement in statements:
                    connection.execute(statement.encode())
        except psycopg.Error as error:
            raise self._translated(error) from error

    def columns(self, table: str) -> set[str]:
        """Column names of a table on the search path."""
        statement = (
            "SELECT attname FROM pg_attribute"
            " WHERE attrelid = to_regclass(?) AND attnum > 0 AND NOT attisdropped"
        )
        return {row[0] for row in self.fetch(statement, (table,))}

    def prepare(self) -> None:
        """Nothing stays with the database."""

    def close(self) -> None:
        """Close the connection of this thread."""
        if self._own.connection is not None and self._own.process == os.getpid():
            self._own.connection.close()
        self._own.connection = None

    def _connection(self) -> Any:
        import psycopg

        own = self._own
        if own.connection is None or own.process != os.getpid() or own.connection.closed:
            own.connection = psycopg.connect(
                self.url, autocommit=True, connect_timeout=BUSY_SECONDS
            )
            own.process = os.getpid()
        return own.connection

    def _translated(self, error: Exception) -> CatalogBusy | CatalogDamaged:
        import psycopg

        what = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        if isinstance(error, psycopg.OperationalError):
            return CatalogBusy(f"table catalog does not answer: {what}")
        return CatalogDamaged(f"table catalog cannot be used: {what}", hint=_HINT)


_SCHEMA_LOCK = 0x48575443
_HINT = "check that the URL names the Iceberg catalog database and that create_schema() has run"
