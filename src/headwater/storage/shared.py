"""Computes shared parts of a refresh once: on the driver if small, else as blocks of Spark.

Rows on the driver are part of the plan that reads them: Spark knows how many there are, sends them
to where they are joined, and builds no cache. Their values can be told to the scans.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headwater.core.names import quote
from headwater.storage import remote
from headwater.storage.failures import translate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame, SparkSession

SMALL_ROWS = 20_000
"""So many rows of a shared part are kept on the driver."""

_WHOLE = frozenset({"byte", "short", "integer", "long", "date"})


@dataclass
class SharedParts:
    """Named results that the later statements of a refresh read.

    Attributes:
        session: where the names are known.
        small: whether parts are likely to be small. The first that turns out not to be ends this:
            what comes after it is no longer tried twice.
        rows: the number of rows of each part that is on the driver.
    """

    session: SparkSession
    small: bool
    rows: dict[str, int] = field(default_factory=dict)
    _made: list[str] = field(default_factory=list)
    _values: dict[tuple[str, str], set[object]] = field(default_factory=dict)

    def add(self, name: str, sql: str, *, tiny: bool = True) -> None:
        """Compute a query and give the result a name; `tiny` ones are likely to have few rows."""
        self._made.append(name)
        try:
            kept = _on_driver(self.session, self.session.sql(sql)) if self.small and tiny else None
            if kept is None:
                # The cache of Spark does not recognise a plan over changes when it is read again.
                blocks = self.session.sql(sql).localCheckpoint()
                self.small = self.small and not tiny
                kept = _on_driver(self.session, blocks)
                if kept is None:
                    blocks.createOrReplaceTempView(name)
                    return
            kept[0].createOrReplaceTempView(name)
            self.rows[name] = kept[1]
        except Exception as error:
            raise translate(error, sql) from error

    def keep(self, name: str, sql: str) -> None:
        """Compute a query whose result may be large and give it a name."""
        self._made.append(name)
        try:
            self.session.sql(sql).localCheckpoint().createOrReplaceTempView(name)
        except Exception as error:
            raise translate(error, sql) from error

    def name(self, name: str, sql: str, rows: int | None) -> None:
        """Give a result that was computed before a name; `rows` of one that is on the driver."""
        self._made.append(name)
        self.session.sql(sql).createOrReplaceTempView(name)
        if rows is not None:
            self.rows[name] = rows

    def values(self, name: str, columns: Iterable[str]) -> dict[str, set[object]]:
        """The values of some columns of a part; without those that would take long to find."""
        if name not in self._made:
            return {}
        wanted = sorted(columns)
        new = [c for c in wanted if (name, c) not in self._values]
        if new:
            found = self._fetched(name, new) if name in self.rows else self._distinct(name, new)
            self._values |= {(name, column): values for column, values in found.items()}
        return {c: self._values[name, c] for c in wanted if (name, c) in self._values}

    def _fetched(self, name: str, columns: list[str]) -> dict[str, set[object]]:
        """The values of a part that is on the driver."""
        try:
            found = self.session.table(name).select(*(quote(c) for c in columns)).collect()
        except (ValueError, OverflowError):  # a date that Python does not have
            return {}
        return {column: {row[i] for row in found} for i, column in enumerate(columns)}

    def _distinct(self, name: str, columns: list[str]) -> dict[str, set[object]]:
        """The values of whole numbers, which can make ranges however many they are."""
        kinds = {f.name: f.dataType.typeName() for f in self.session.table(name).schema.fields}
        wanted = [c for c in columns if kinds[c] in _WHOLE]
        if not wanted:
            return {}
        sets = ", ".join(f"collect_set({quote(c)}), count_if({quote(c)} IS NULL)" for c in wanted)
        row = self.session.sql(f"SELECT {sets} FROM {quote(name)}").collect()[0]
        return {c: {*row[2 * i], *([None] if row[2 * i + 1] else [])} for i, c in enumerate(wanted)}

    def forget(self) -> None:
        """Drop all names."""
        for name in reversed(self._made):
            self.session.catalog.dropTempView(name)


@contextmanager
def shared_parts(session: SparkSession, *, small: bool) -> Iterator[SharedParts]:
    """Inside, parts can be added and read by name."""
    parts = SharedParts(session, small)
    try:
        yield parts
    finally:
        parts.forget()


def keep_for_all_sessions(session: SparkSession, name: str, sql: str, tiny: bool) -> int | None:
    """Compute a query once for all sessions of this Spark, which read it as `global_temp.name`.

    Returns:
        The number of rows when they are on the driver, where few ones go; `tiny` ones are likely to
        be few.
    """
    try:
        kept = _on_driver(session, session.sql(sql)) if tiny else None
        if kept is None:
            blocks = session.sql(sql).localCheckpoint()
            kept = _on_driver(session, blocks)
            if kept is None:
                blocks.createOrReplaceGlobalTempView(name)
                return None
        kept[0].createOrReplaceGlobalTempView(name)
        return kept[1]
    except Exception as error:
        raise translate(error, sql) from error


def _on_driver(session: SparkSession, frame: DataFrame) -> tuple[Any, int] | None:
    """The rows of a query as part of a plan, and how many; None when there are too many."""
    if remote.is_remote(session):
        return remote.rows_in_plan(session, frame, SMALL_ROWS)
    found = frame._jdf
    rows = found.limit(SMALL_ROWS + 1).collectAsList()
    if rows.size() > SMALL_ROWS:
        return None
    return session._jsparkSession.createDataFrame(rows, found.schema()), int(rows.size())
