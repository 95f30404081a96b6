"""Answers the compiler's questions from table metadata and the catalog: no Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.sql.lookup import FunctionFact, SourceField

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headwater.core.names import TableName
    from headwater.refresh.runtime import Runtime


class CatalogLookup:
    """Schemas as they are now. Of stream tables only the visible columns are seen."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def fields(self, table: TableName) -> tuple[SourceField, ...] | None:
        """The visible columns of a table."""
        metadata = self._runtime.tables.metadata(table)
        if metadata is None:
            return None
        return tuple(
            SourceField(f.name, f.type)
            for f in metadata.current_schema.fields
            if not f.name.startswith("__hw_")
        )

    def view(self, name: TableName) -> str | None:
        """The text of a view kept in the Iceberg catalog."""
        return self._runtime.tables.view_text(name)

    def function(self, name: str) -> FunctionFact | None:
        """A function registered with the hub."""
        return self._runtime.functions.get(name.lower())

    def names(self) -> Iterable[TableName]:
        """All tables, for suggestions."""
        return self._runtime.tables.table_names()
