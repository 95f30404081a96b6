"""Columns across schema changes: which used column changed, and how to read an old version.

Columns are the same when their field ids are the same. A name that was dropped and added again is
another column, although nothing but the id shows it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headwater.core.errors import PlanBug
from headwater.core.names import literal, quote
from headwater.sources.source import SchemaChange
from headwater.sources.types import spark_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from headwater.sources.metadata import Field, Schema
    from headwater.sources.source import UsedColumn
    from headwater.sources.types import IcebergType

DROPPED = "SOURCE_COLUMN_DROPPED"
RENAMED = "SOURCE_COLUMN_RENAMED"
RETYPED = "SOURCE_COLUMN_RETYPED"


def used_column_change(
    old: Schema, new: Schema, columns: Iterable[UsedColumn]
) -> SchemaChange | None:
    """The first used column that is not the same column in `new`."""
    for column in columns:
        before = old.field(column.name)
        change = _gone(column.name) if before is None else _field_change(column.name, before, new)
        if change is not None:
            return change
    return None


def used_name_change(new: Schema, columns: Iterable[UsedColumn]) -> SchemaChange | None:
    """The same by name and type text, for a table whose old field ids are not known any more."""
    for column in columns:
        now = new.field(column.name)
        if now is None:
            return _gone(column.name)
        if column.type and _flat(now.type) != _flat(column.type):
            return _retyped(column.name, column.type, now.type)
    return None


def _field_change(name: str, before: Field, new: Schema) -> SchemaChange | None:
    now = new.by_id.get(before.id)
    if now is None:
        if new.field(name) is None:
            return _gone(name)
        return SchemaChange(
            DROPPED, name, f"column {name} was dropped; another column has its name now"
        )
    if now.name.casefold() != before.name.casefold():
        return SchemaChange(RENAMED, name, f"column {name} is now called {now.name}")
    if now.type != before.type or now.nested_ids != before.nested_ids:
        return _retyped(name, before.type, now.type)
    return None


def _gone(name: str) -> SchemaChange:
    return SchemaChange(DROPPED, name, f"column {name} was dropped")


def _retyped(name: str, before: str, now: str) -> SchemaChange:
    if before == now:
        return SchemaChange(RETYPED, name, f"a field inside column {name} was dropped and added")
    return SchemaChange(RETYPED, name, f"column {name} was {before} and is {now}")


def _flat(type_text: str) -> str:
    return type_text.replace(" ", "").replace("`", "").casefold()


def same_columns(read: Schema, want: Schema) -> bool:
    """Whether `want` is what a reader of `read` sees: the same names, types and ids."""
    return read is want or read.fields == want.fields


def projection(read: Schema, want: Schema, names: Sequence[str] | None = None) -> list[str]:
    """SELECT items that give the columns of `want` out of rows read with `read`.

    Args:
        read: the schema Spark uses for the read; the older one.
        want: the schema whose columns are asked for.
        names: columns of `want`; all of them by default.
    """
    fields = want.fields if names is None else tuple(_known(want, names))
    return [f"{_column(read.by_id.get(f.id), f)} AS {quote(f.name)}" for f in fields]


def renamed_projection(read: Schema, want: Schema, names: Sequence[str]) -> list[str] | None:
    """The same where only names may differ; None when a column is gone or has another type."""
    items = []
    for field in _known(want, names):
        now = read.by_id.get(field.id)
        if now is None or now.iceberg_type != field.iceberg_type:
            return None
        items.append(f"{quote(now.name)} AS {quote(field.name)}")
    return items


def empty_rows(schema: Schema) -> str:
    """A sub-select with the columns of a schema and no rows."""
    items = ", ".join(f"CAST(NULL AS {f.type}) AS {quote(f.name)}" for f in schema.fields)
    return f"(SELECT {items} WHERE false)"


def _known(schema: Schema, names: Sequence[str]) -> Iterable[Field]:
    for name in names:
        field = schema.field(name)
        if field is None:
            raise PlanBug(f"column {name} is not in schema {schema.schema_id} of its source")
        yield field


def _column(have: Field | None, want: Field) -> str:
    if have is None:
        return _default(want.initial_default, want.iceberg_type)
    return _value(quote(have.name), have.iceberg_type, want.iceberg_type)


def _value(text: str, have: IcebergType, want: IcebergType, depth: int = 0) -> str:
    """An expression that turns a value of type `have` into `want`, field by field."""
    if have == want:
        return text
    if isinstance(have, str) or isinstance(want, str) or have.get("type") != want.get("type"):
        return f"CAST({text} AS {spark_type(want)})"
    item = f"`__hw_e{depth}`"
    match want["type"]:
        case "struct":
            return _struct(text, have, want, depth)
        case "list":
            inner = _value(item, have["element"], want["element"], depth + 1)
            return f"transform({text}, {item} -> {inner})"
        case _:
            key = _value(item, have["key"], want["key"], depth + 1)
            value = _value(item, have["value"], want["value"], depth + 1)
            keys = f"transform(map_keys({text}), {item} -> {key})"
            return f"map_from_arrays({keys}, transform(map_values({text}), {item} -> {value}))"


def _struct(text: str, have: dict[str, Any], want: dict[str, Any], depth: int) -> str:
    inside = {field["id"]: field for field in have["fields"]}
    parts = []
    for field in want["fields"]:
        old = inside.get(field["id"])
        if old is None:
            value = _default(field.get("initial-default"), field["type"])
        else:
            value = _value(f"{text}.{quote(old['name'])}", old["type"], field["type"], depth)
        parts.append(f"{literal(field['name'])}, {value}")
    built = f"named_struct({', '.join(parts)})"
    return f"CASE WHEN {text} IS NOT NULL THEN {built} END"


def _default(value: object, kind: IcebergType) -> str:
    """What rows written before a column was added show in it."""
    target = spark_type(kind)
    if value is None or isinstance(value, dict | list):
        return f"CAST(NULL AS {target})"
    if target == "binary":
        return f"unhex({literal(str(value))})"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"CAST({literal(text)} AS {target})"
