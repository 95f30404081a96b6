"""Computes shared parts of a refresh once: on the driver if small, else as blocks of Spark.

Rows on the driver are part of the plan that reads them: Spark knows how many there are, sends them
to where they are joined, and builds no cache. Their values can be told to the scans.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headwater.storage import remote
from headwater.storage.failures import translate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import SparkSession

SMALL_ROWS = 2_000
"""So many rows of a shared part are kept on the driver."""


@dataclass
class SharedParts:
    """Named results that the later statements of a refresh read.

    Attributes:
        session: where the names are known.
        small: whether parts are likely to be small. The first that is not ends the attempt.
        rows: the number of rows of each part that is on the driver.
    """

    session: SparkSession
    small: bool
    rows: dict[str, int] = field(default_factory=dict)
    _made: list[str] = field(default_factory=list)

    def add(self, name: str, sql: str) -> None:
        """Compute a query and give the result a name."""
        self._made.append(name)
        try:
            self.small = self.small and self._kept(name, sql)
            if not self.small:
                # The cache of Spark does not recognise a plan over changes when it is read again.
                self.session.sql(sql).localCheckpoint().createOrReplaceTempView(name)
        except Exception as error:
            raise translate(error, sql) from error

    def values(self, name: str, columns: Iterable[str]) -> dict[str, set[object]] | None:
        """The values of some columns of a part; None when it is not on the driver."""
        if name not in self.rows:
            return None
        wanted = sorted(columns)
        try:
            found = self.session.table(name).select(*(f"`{c}`" for c in wanted)).collect()
        except (ValueError, OverflowError):  # a date that Python does not have
            return None
        return {column: {row[i] for row in found} for i, column in enumerate(wanted)}

    def forget(self) -> None:
        """Drop all names."""
        for name in reversed(self._made):
            self.session.catalog.dropTempView(name)

    def _kept(self, name: str, sql: str) -> bool:
        """Keep a result on the driver, unless it has too many rows."""
        frame = _on_driver(self.session, sql)
        if frame is None:
            return False
        frame[0].createOrReplaceTempView(name)
        self.rows[name] = frame[1]
        return True


@contextmanager
def shared_parts(session: SparkSession, *, small: bool) -> Iterator[SharedParts]:
    """Inside, parts can be added and read by name."""
    parts = SharedParts(session, small)
    try:
        yield parts
    finally:
        parts.forget()


def keep_for_all_sessions(session: SparkSession, name: str, sql: str, small: bool) -> int | None:
    """Compute a query once for all sessions of this Spark, which read it as `global_temp.name`.

    Returns:
        The number of rows when they are on the driver, where `small` ones go.
    """
    try:
        frame = _on_driver(session, sql) if small else None
        if frame is not None:
            frame[0].createOrReplaceGlobalTempView(name)
            return frame[1]
        session.sql(sql).localCheckpoint().createOrReplaceGlobalTempView(name)
    except Exception as error:
        raise translate(error, sql) from error
    return None


def _on_driver(session: SparkSession, sql: str) -> tuple[Any, int] | None:
    """The rows of a query as part of a plan, and how many; None when there are too many."""
    if remote.is_remote(session):
        return remote.rows_in_plan(session, sql, SMALL_ROWS)
    frame = session.sql(sql)._jdf
    rows = frame.limit(SMALL_ROWS + 1).collectAsList()
    if rows.size() > SMALL_ROWS:
        return None
    return session._jsparkSession.createDataFrame(rows, frame.schema()), int(rows.size())
