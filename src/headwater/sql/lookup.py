"""What the compiler asks about the world: schemas, view texts, registered functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headwater.core.names import TableName
    from headwater.sql.inline import SqlFunction


@dataclass(frozen=True, slots=True)
class SourceField:
    """A column of a source; `type` is Spark's type text in lower case, e.g. `decimal(10,2)`."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class FunctionFact:
    """What is known of a registered function; `body` if it is written in SQL."""

    deterministic: bool = True
    aggregate: bool = False
    body: SqlFunction | None = None


class Lookup(Protocol):
    """Answers about tables, views and functions at the time of definition."""

    def fields(self, table: TableName) -> tuple[SourceField, ...] | None:
        """The columns of a table; None if there is no such table."""

    def view(self, name: TableName) -> str | None:
        """The text of a plain view; None if there is no such view."""

    def function(self, name: str) -> FunctionFact | None:
        """A user-defined function; None for built-in and unknown ones."""


class NamedLookup(Lookup, Protocol):
    """A lookup that can also list names, for better messages."""

    def names(self) -> Iterable[TableName]:
        """All tables and views that can be read."""
