"""Answers the compiler's questions from table metadata and the catalog: no Spark.

A definition is resolved once against the tables as they are. Later it is resolved again against
what was seen then: a column added to a source does not change what `SELECT *` means.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headwater.core.names import HIDDEN_PREFIX, TableName
from headwater.sql.lookup import FunctionFact, SourceField

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headwater.refresh.runtime import Runtime


@dataclass
class Seen:
    """What a definition was resolved against."""

    schemas: dict[TableName, tuple[SourceField, ...]] = field(default_factory=dict)
    views: dict[TableName, str] = field(default_factory=dict)


class CatalogLookup:
    """Schemas as they are now. Of stream tables only the visible columns are seen.

    Attributes:
        seen: every answer that was given.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.seen = Seen()
        self.catalog = runtime.lake.catalog

    def fields(self, table: TableName) -> tuple[SourceField, ...] | None:
        """The visible columns of a table."""
        metadata = self._runtime.tables.metadata(table)
        if metadata is None:
            return None
        found = tuple(
            SourceField(f.name, f.type)
            for f in metadata.current_schema.fields
            if not f.name.startswith(HIDDEN_PREFIX)
        )
        self.seen.schemas[table] = found
        return found

    def view(self, name: TableName) -> str | None:
        """The text of a view kept in the Iceberg catalog."""
        text = self._runtime.tables.view_text(name)
        if text is not None:
            self.seen.views[name] = text
        return text

    def function(self, name: str) -> FunctionFact | None:
        """A function registered with the hub."""
        return self._runtime.functions.get(name.lower())

    def names(self) -> Iterable[TableName]:
        """All tables, for suggestions."""
        return self._runtime.tables.table_names()


class SeenLookup:
    """Schemas and views as they were when the definition was resolved first."""

    def __init__(
        self, seen: Seen, functions: Mapping[str, FunctionFact], catalog: str | None = None
    ) -> None:
        self.seen = seen
        self.catalog = catalog
        self._functions = functions

    def fields(self, table: TableName) -> tuple[SourceField, ...] | None:
        """The columns that were there."""
        return self.seen.schemas.get(table)

    def view(self, name: TableName) -> str | None:
        """The text the view had."""
        return self.seen.views.get(name)

    def function(self, name: str) -> FunctionFact | None:
        """A function registered with the hub."""
        return self._functions.get(name.lower())
