"""Iceberg types as Spark writes them; the lowest step of `sources`, used when schemas are read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from headwater.core.errors import StorageDamaged

if TYPE_CHECKING:
    from collections.abc import Iterator

IcebergType = str | dict[str, Any]
"""A primitive by its name, or a struct, list or map as the metadata document has it."""

_PRIMITIVE = {
    "boolean": "boolean",
    "int": "int",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "date": "date",
    "time": "bigint",
    "timestamp": "timestamp_ntz",
    "timestamptz": "timestamp",
    "timestamp_ns": "timestamp_ntz",
    "timestamptz_ns": "timestamp",
    "string": "string",
    "uuid": "string",
    "binary": "binary",
    "variant": "variant",
    "unknown": "void",
}
_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_FIXED = re.compile(r"fixed\[\s*\d+\s*\]")
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def spark_type(kind: IcebergType) -> str:
    """Spark's type text, in the form of `DataType.simpleString`.

    Names of struct fields that are not plain identifiers are quoted, so that the text can be used
    in a CAST.

    >>> spark_type("decimal(10, 2)")
    'decimal(10,2)'
    >>> spark_type({"type": "list", "element": "timestamptz"})
    'array<timestamp>'
    """
    if isinstance(kind, str):
        return _primitive(kind)
    match kind.get("type"):
        case "struct":
            inner = (f"{_field_name(f['name'])}:{spark_type(f['type'])}" for f in kind["fields"])
            return f"struct<{','.join(inner)}>"
        case "list":
            return f"array<{spark_type(kind['element'])}>"
        case "map":
            return f"map<{spark_type(kind['key'])},{spark_type(kind['value'])}>"
        case other:
            raise StorageDamaged(f"unknown column type {other!r} in table metadata")


def _primitive(name: str) -> str:
    known = _PRIMITIVE.get(name)
    if known is not None:
        return known
    decimal = _DECIMAL.fullmatch(name)
    if decimal is not None:
        return f"decimal({decimal[1]},{decimal[2]})"
    if _FIXED.fullmatch(name):
        return "binary"
    if name.startswith(("geometry", "geography")):
        return "binary"
    raise StorageDamaged(f"unknown column type {name!r} in table metadata")


def _field_name(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else "`" + name.replace("`", "``") + "`"


def nested_ids(kind: IcebergType) -> Iterator[int]:
    """The field ids inside a type, in order: equal text with other ids is another column."""
    if isinstance(kind, str):
        return
    for field in kind.get("fields", ()):
        yield field["id"]
        yield from nested_ids(field["type"])
    for part in ("element", "key", "value"):
        if part in kind:
            yield kind[f"{part}-id"]
            yield from nested_ids(kind[part])
