"""The connection to the catalog database: short transactions on SQLite or PostgreSQL.

Everything above speaks SQLAlchemy Core through `read` and `write`; nothing else opens a connection.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from headwater.catalog import failures, hubs, schema, turnstile
from headwater.core.errors import CatalogUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

BUSY_SECONDS = 30.0
_POOL = {"pool_size": 5, "max_overflow": 40, "pool_timeout": BUSY_SECONDS}


class Database:
    """One catalog database. Opening costs nothing until the first transaction.

    Attributes:
        hub: the hub that is opened; it is made at its first use.
        url: the address without its password, for messages.
        dialect: "sqlite" (the embedded file) or "postgresql".
    """

    def __init__(self, url: str | URL, *, hub: str, busy_seconds: float = BUSY_SECONDS) -> None:
        self.hub = hub
        self._url = _address(url)
        self._busy_seconds = busy_seconds
        self._engine: Engine | None = None
        self._owner = os.getpid()
        self._opening = threading.Lock()
        self._joined = threading.local()
        self.url = self._url.render_as_string(hide_password=True)
        self.dialect = self._url.get_backend_name()

    @property
    def engine(self) -> Engine:
        """The engine; at the first use the schema is brought up to date and the hub made."""
        if self._engine is not None and self._owner == os.getpid():
            return self._engine
        with self._opening:
            if self._engine is not None and self._owner != os.getpid():
                # Connections of the parent process must not be used or closed in its child.
                self._engine.dispose(close=False)
                self._engine = None
            if self._engine is None:
                engine = self.bare_engine()
                with self._translating():
                    schema.ensure(engine, self.url)
                    hubs.introduce(engine, self.hub)
                self._engine, self._owner = engine, os.getpid()
            return self._engine

    def bare_engine(self) -> Engine:
        """An engine without any look at the schema."""
        try:
            return _engine(self._url, self._busy_seconds)
        except ModuleNotFoundError as error:
            raise CatalogUnavailable(
                f"the driver for {self.url} is missing: {error.name}",
                hint="pip install 'headwater[postgres]'",
            ) from None

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that sees one state of the catalog and changes nothing."""
        joined = getattr(self._joined, "connection", None)
        if joined is not None:
            yield joined
            return
        engine = self.engine
        with self._translating(), engine.connect() as connection:
            yield connection

    @contextmanager
    def write(self, *, durable: bool = False) -> Iterator[Connection]:
        """A transaction that holds the write lock from its start; commits at the end.

        Args:
            durable: the commit must survive a power failure. SQLite otherwise only promises to
                survive the death of the process, which is all that copies of snapshots need.
        """
        joint = getattr(self._joined, "joint", None)
        if joint is not None and not durable:
            with self._joining(joint) as connection:
                yield connection
            return
        engine = self.engine
        with self._translating(), engine.connect() as connection:
            connection = connection.execution_options(headwater_write=True)
            with (
                _synchronous(connection, full=durable and self.dialect == "sqlite"),
                self._turn(),
                connection.begin(),
            ):
                yield connection

    @contextmanager
    def together(self) -> Iterator[None]:
        """Writes of this thread inside are one transaction, from the first of them on.

        So there is one wait for the write lock. A write that fails takes back only what it did;
        an error that leaves this block takes back all of them.
        """
        if getattr(self._joined, "joint", None) is not None:
            yield
            return
        with ExitStack() as joint:
            self._joined.joint, self._joined.connection = joint, None
            try:
                yield
            finally:
                self._joined.joint = self._joined.connection = None

    @contextmanager
    def _joining(self, joint: ExitStack) -> Iterator[Connection]:
        """One write of a joint transaction, which begins with the first.

        If the first fails, there is nothing else to keep; only later ones need a savepoint.
        """
        connection: Connection | None = self._joined.connection
        if connection is not None:
            with self._translating(), connection.begin_nested():
                yield connection
            return
        self._joined.joint = None
        try:
            connection = joint.enter_context(self.write())
        finally:
            self._joined.joint = joint
        self._joined.connection = connection
        try:
            with self._translating():
                yield connection
        except BaseException as error:
            self._joined.connection = None
            joint.pop_all().__exit__(type(error), error, error.__traceback__)
            raise

    def now(self, connection: Connection) -> datetime:
        """The clock of the database: one clock for all hosts that share it."""
        if self.dialect == "sqlite":
            return datetime.now(UTC)
        stamp: datetime = connection.execute(text("SELECT clock_timestamp()")).scalar_one()
        return stamp.astimezone(UTC)

    def close(self) -> None:
        """Close every connection; the next use opens them again."""
        with self._opening:
            if self._engine is not None:
                self._engine.dispose(close=self._owner == os.getpid())
            self._engine = None

    def _turn(self) -> AbstractContextManager[None]:
        """The turn of a writer; PostgreSQL has row locks and needs none."""
        if self.dialect != "sqlite":
            return nullcontext()
        return turnstile.passing(self._url.database or "")

    @contextmanager
    def _translating(self) -> Iterator[None]:
        try:
            yield
        except (SQLAlchemyError, sqlite3.Error) as error:  # hooks of the pool raise bare ones
            raise failures.translated(error, self.url) from error


def _address(url: str | URL) -> URL:
    try:
        address = make_url(url)
    except ArgumentError:
        raise CatalogUnavailable(
            "the address of the catalog cannot be read",
            hint="use sqlite:///path/headwater.db or postgresql+psycopg://user@host/database",
        ) from None
    if address.drivername in ("postgres", "postgresql"):
        address = address.set(drivername="postgresql+psycopg")
    backend = address.get_backend_name()
    if backend not in ("sqlite", "postgresql"):
        raise CatalogUnavailable(
            f"a catalog cannot live in {backend!r}", hint="use SQLite or PostgreSQL"
        )
    if backend == "sqlite" and address.database in (None, "", ":memory:"):
        raise CatalogUnavailable(
            "a catalog in memory cannot be shared between threads and processes",
            hint="use sqlite:///path/headwater.db",
        )
    return address


def _engine(url: URL, busy_seconds: float) -> Engine:
    milliseconds = int(busy_seconds * 1000)
    if url.get_backend_name() == "postgresql":
        options = f"-c lock_timeout={milliseconds} -c timezone=UTC -c application_name=headwater"
        return create_engine(
            url,
            connect_args={"options": options, "connect_timeout": int(busy_seconds) or 1},
            pool_pre_ping=True,
            hide_parameters=True,
            **_POOL,
        )
    engine = create_engine(
        url,
        connect_args={"timeout": busy_seconds, "isolation_level": None},
        hide_parameters=True,
        **_POOL,
    )
    event.listen(engine, "connect", lambda raw, _: _prepare_sqlite(raw, busy_seconds))
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(raw: Any, busy_seconds: float) -> None:
    deadline = time.monotonic() + busy_seconds
    raw.execute("PRAGMA foreign_keys = ON")
    raw.execute("PRAGMA synchronous = NORMAL")
    while raw.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            raw.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            # The switch to WAL does not wait for other openers by itself.
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("headwater_write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@contextmanager
def _synchronous(connection: Connection, *, full: bool) -> Iterator[None]:
    if not full:
        yield
        return
    raw = connection.connection.cursor()
    raw.execute("PRAGMA synchronous = FULL")
    try:
        yield
    finally:
        raw.execute("PRAGMA synchronous = NORMAL")


def sqlite_url(path: Path) -> str:
    """The address of an embedded catalog file."""
    return f"sqlite:///{path.resolve()}"
