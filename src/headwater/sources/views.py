"""The metadata document of one Iceberg view: its query, as the compiler inlines it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from headwater.core.errors import StorageDamaged
from headwater.core.names import DEFAULT_NAMESPACE, quote

if TYPE_CHECKING:
    from headwater.sql.references import TableReference

_QUERY_COLUMNS = "spark.query-column-names"


class _Representation(msgspec.Struct, frozen=True):
    type: str
    sql: str = ""
    dialect: str = ""


class _Version(msgspec.Struct, frozen=True, rename="kebab"):
    version_id: int
    representations: tuple[_Representation, ...] = ()
    schema_id: int = 0
    default_namespace: tuple[str, ...] = ()


class _Column(msgspec.Struct, frozen=True):
    name: str


class _Columns(msgspec.Struct, frozen=True, rename="kebab"):
    fields: tuple[_Column, ...] = ()
    schema_id: int = 0


class _View(msgspec.Struct, frozen=True, rename="kebab"):
    current_version_id: int
    versions: tuple[_Version, ...]
    schemas: tuple[_Columns, ...] = ()
    properties: dict[str, str] = {}


_DECODER = msgspec.json.Decoder(_View)


def parse_view(content: bytes, *, location: str = "") -> str:
    """The query of the view, with the view's own column names where it gave them."""
    try:
        view = _DECODER.decode(content)
    except msgspec.MsgspecError as error:
        raise StorageDamaged(f"view metadata {location} cannot be read: {error}") from error
    for version in view.versions:
        if version.version_id == view.current_version_id:
            for found in version.representations:
                if found.type == "sql" and found.dialect.lower() == "spark":
                    return _with_names(view, version, _qualified(version, found.sql))
    raise StorageDamaged(
        f"view metadata {location} has no query for Spark",
        hint="create the view again from Spark, or name its tables in the query",
    )


def _qualified(version: _Version, query: str) -> str:
    """The query with names of one part in the namespace in which the view was made."""
    namespace = version.default_namespace
    if len(namespace) != 1 or namespace[0].lower() == DEFAULT_NAMESPACE:
        return query
    from headwater.sql.references import substitute  # commands that only read load no parser

    def inside(reference: TableReference) -> str | None:
        if len(reference.parts) > 1:
            return None
        return f"{quote(namespace[0])}.{quote(reference.name)} {reference.travel}".strip()

    return substitute(query, inside) or query


def _with_names(view: _View, version: _Version, query: str) -> str:
    """Wrap the query when `CREATE VIEW v (a, b)` gave it other names."""
    names: list[str] = []
    for schema in view.schemas:
        if schema.schema_id == version.schema_id:
            names = [column.name for column in schema.fields]
    inner = view.properties.get(_QUERY_COLUMNS, "")
    if not inner or not names or inner.split(",") == names:
        return query
    return f"SELECT * FROM ({query}) AS `__hw_v` ({', '.join(map(quote, names))})"
