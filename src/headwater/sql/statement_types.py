"""The statements we add to Spark SQL, as values: `statements` reads them, the hub runs them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from headwater.core.names import TableName

OptionValue: TypeAlias = str | bool | tuple[str, ...] | None
Scalar: TypeAlias = str | int | float | bool | None
Argument: TypeAlias = Scalar | tuple[Scalar, ...]

EXPLAIN_WHATS = ("plan", "delta", "sql", "cost", "refresh")


@dataclass(frozen=True, slots=True)
class QueryText:
    """The query inside a statement: its text as written, and where it begins (from 1)."""

    text: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Statement:
    """Base of all statements.

    Attributes:
        text: the whole statement as written.
        marks: where the parts stand that an error may be about: offsets of `name`, `function`, of
            the values of options, and of arguments by number or name.
    """

    text: str
    marks: Mapping[str, int] = field(default_factory=dict, kw_only=True, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class CreateStreamTable(Statement):
    """`CREATE [OR REPLACE] STREAM TABLE [IF NOT EXISTS] name … AS query`.

    Attributes:
        options: only the clauses that were written, under the argument names of
            `Hub.create_stream_table` (`initialize` is False after `WITH NO DATA`).
    """

    name: TableName
    query: QueryText
    options: Mapping[str, OptionValue] = field(default_factory=dict)
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class AlterStreamTable(Statement):
    """`ALTER STREAM TABLE name SET (…)` (then `query` is None) or `… AS query`.

    Attributes:
        options: only what was written, under the argument names of `Hub.alter_stream_table`;
            None, or nothing in a list, takes an option away.
    """

    name: TableName
    options: Mapping[str, OptionValue] = field(default_factory=dict)
    query: QueryText | None = None


@dataclass(frozen=True, slots=True)
class SuspendStreamTable(Statement):
    """`ALTER STREAM TABLE name SUSPEND`."""

    name: TableName


@dataclass(frozen=True, slots=True)
class ResumeStreamTable(Statement):
    """`ALTER STREAM TABLE name RESUME`."""

    name: TableName


@dataclass(frozen=True, slots=True)
class DropStreamTable(Statement):
    """`DROP STREAM TABLE [IF EXISTS] name [CASCADE]`."""

    name: TableName
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True)
class RefreshStreamTable(Statement):
    """`REFRESH STREAM TABLE name [FULL]`."""

    name: TableName
    full: bool = False


@dataclass(frozen=True, slots=True)
class ShowStreamTables(Statement):
    """`SHOW STREAM TABLES`."""


@dataclass(frozen=True, slots=True)
class DescribeStreamTable(Statement):
    """`DESCRIBE STREAM TABLE name`."""

    name: TableName


@dataclass(frozen=True, slots=True)
class ExplainStreamTable(Statement):
    """`EXPLAIN STREAM TABLE name [PLAN | DELTA | SQL | COST | REFRESH]`."""

    name: TableName
    what: str = "plan"


@dataclass(frozen=True, slots=True)
class ExplainCreate(Statement):
    """`EXPLAIN [PLAN | DELTA | SQL | COST] CREATE STREAM TABLE …`: nothing is created."""

    create: CreateStreamTable
    what: str = "plan"


@dataclass(frozen=True, slots=True)
class CallFunction(Statement):
    """`CALL headwater.function(1, 'a', name => value)`."""

    function: str
    arguments: tuple[Argument, ...] = ()
    named: Mapping[str, Argument] = field(default_factory=dict)


def query_of(statement: Statement) -> QueryText | None:
    """The query a statement carries, if any."""
    match statement:
        case CreateStreamTable(query=query) | ExplainCreate(create=CreateStreamTable(query=query)):
            return query
        case AlterStreamTable(query=query):
            return query
        case _:
            return None
