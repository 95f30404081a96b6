"""Computes shared parts of a refresh once: on the driver if small, else in the cache of Spark.

Rows on the driver are part of the plan that reads them: Spark knows how many there are, sends them
to where they are joined, and builds no cache.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from headwater.storage.failures import translate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import SparkSession

SMALL_ROWS = 2_000
"""So many rows of a shared part are kept on the driver."""


@contextmanager
def computed_once(
    session: SparkSession, parts: Sequence[tuple[str, str]], *, small: bool
) -> Iterator[frozenset[str]]:
    """Inside, each part can be read by its name; yields the parts that are known to be empty.

    Args:
        session: where the names are known.
        parts: names and queries; a query may read the parts before it.
        small: whether the parts are likely to be small. The first that is not ends the attempt.
    """
    made: list[str] = []
    empty: set[str] = set()
    try:
        for name, sql in parts:
            made.append(name)
            rows = _kept(session, name, sql) if small else None
            if rows is None:
                small = False
                _cached(session, name, sql)
            elif rows == 0:
                empty.add(name)
        yield frozenset(empty)
    finally:
        for name in reversed(made):
            session.sql(f"UNCACHE TABLE IF EXISTS `{name}`")
            session.catalog.dropTempView(name)


def _kept(session: SparkSession, name: str, sql: str) -> int | None:
    """Keep a result on the driver and tell its size; None when it has too many rows."""
    try:
        frame = session.sql(sql)._jdf
        rows = frame.limit(SMALL_ROWS + 1).collectAsList()
    except Exception as error:
        raise translate(error, sql) from error
    if rows.size() > SMALL_ROWS:
        return None
    java = session._jsparkSession
    java.createDataFrame(rows, frame.schema()).createOrReplaceTempView(name)
    return int(rows.size())


def _cached(session: SparkSession, name: str, sql: str) -> None:
    try:
        session.sql(f"CACHE TABLE `{name}` AS {sql}")
    except Exception as error:
        raise translate(error, sql) from error
