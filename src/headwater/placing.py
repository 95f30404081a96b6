"""Errors about a declared query, told at their place in the text the user wrote; for `declaration`.

Spark analyses a text in which tables stand at fixed versions, so its places are not the user's.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from headwater.core.errors import (
    DependencyCycle,
    HeadwaterError,
    InvalidName,
    InvalidOption,
    InvalidQuery,
    Place,
    QueryFailed,
    SqlSyntaxError,
    UnknownColumn,
    UnknownTable,
)
from headwater.core.names import TableName
from headwater.refresh.arms import dependency_graph
from headwater.sql.parse import parse_query, place_at, place_of
from headwater.sql.references import table_references

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headwater.core.spec import StreamTableSpec
    from headwater.refresh.runtime import Runtime

_BY_SPARK = (QueryFailed, SqlSyntaxError, UnknownColumn, UnknownTable)
_OF_PARTITIONS = ("for transform", "number of buckets", "in the partitioning")
_START = Place(1, 1)


@contextmanager
def placing(runtime: Runtime, spec: StreamTableSpec) -> Iterator[None]:
    """Give errors of the block their place in the query of the declaration."""
    try:
        yield
    except HeadwaterError as error:
        raise _placed(runtime, spec, error) from error.__cause__


def _placed(runtime: Runtime, spec: StreamTableSpec, error: HeadwaterError) -> HeadwaterError:
    if error.place is not None and error.sql == spec.query:
        return error
    if isinstance(error, QueryFailed) and any(text in error.what for text in _OF_PARTITIONS):
        hint = "use a transform that fits the type of the column, each column once"
        return InvalidOption(f"partition_by: {error.what}", hint=hint)
    if isinstance(error, _BY_SPARK):
        return _as_written(runtime, spec) or error
    if isinstance(error, DependencyCycle):
        error.place, error.sql = _reference_back(runtime, spec), spec.query
    if isinstance(error, InvalidQuery):
        error.place, error.sql = _column(spec, error.what), spec.query
    return error


def _as_written(runtime: Runtime, spec: StreamTableSpec) -> HeadwaterError | None:
    """What Spark says about the text as it was written; None when it says nothing."""
    with runtime.engine.exclusive() as session:
        try:
            runtime.engine.run(session, spec.query)
        except HeadwaterError as error:
            return error
    return None


def _reference_back(runtime: Runtime, spec: StreamTableSpec) -> Place:
    """Where the query reads the stream table itself, or one that reads it."""
    circle = {spec.name, *dependency_graph(runtime).downstream({spec.name})}
    for reference in table_references(spec.query) or ():
        try:
            name = TableName.parse(".".join(reference.parts[-2:]))
        except InvalidName:
            continue
        if name in circle:
            return place_at(spec.query, reference.start)
    return _START


def _column(spec: StreamTableSpec, what: str) -> Place:
    """Where the result column that a message names is written."""
    for item in parse_query(spec.query).selects:
        if repr(item.alias_or_name) in what:
            return place_of(item, spec.query) or _START
    return _START
