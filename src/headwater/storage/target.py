"""The Iceberg table behind a stream table: created empty, evolved in place, dropped.

Rows only ever arrive through `storage.stage`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from headwater.core.errors import InvalidOption, InvalidQuery
from headwater.core.names import literal, quote
from headwater.storage.sizing import SMALLEST, TARGET_FILE_BYTES
from headwater.storage.write_mode import FORMAT, MERGE_MODE, WriteMode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession
    from pyspark.sql.types import DataType, StructType

    from headwater.core.names import TableName
    from headwater.sources.metadata import TableMetadata
    from headwater.storage.spark import Engine

PROPERTIES = {
    FORMAT: "2",
    "write.wap.enabled": "true",
    MERGE_MODE: WriteMode.COPY.value,
    "write.delete.mode": "copy-on-write",
    "write.update.mode": "copy-on-write",
    "write.distribution-mode": "none",
    "headwater.stream-table": "true",
}

_UNSTORABLE = re.compile(r"\b(?:void|interval|variant|time|geometry|geography)\b(?!:)")
"""Types that Iceberg tables of this format lack; a field of a struct may have such a name."""

_TRANSFORMS = {"years", "months", "days", "hours", "bucket", "truncate"}


@dataclass(frozen=True, slots=True)
class Field:
    """A physical column: name and Spark type text."""

    name: str
    type: str


def fields_of(schema: StructType) -> tuple[Field, ...]:
    """The columns of an analysed query, with types that Iceberg can store."""
    return tuple(Field(f.name, _storable(f.name, f.dataType)) for f in schema.fields)


def columns_of(metadata: TableMetadata) -> tuple[Field, ...]:
    """The columns a table has."""
    return tuple(Field(f.name, f.type) for f in metadata.current_schema.fields)


def _storable(name: str, kind: DataType) -> str:
    text = str(kind.simpleString())
    if _UNSTORABLE.search(text):
        raise InvalidQuery(
            f"column {name!r} has type {text}, which a table cannot store",
            hint=f"cast it in the query, e.g. CAST({name} AS STRING) AS {name}",
        )
    return text


def create(
    engine: Engine,
    session: SparkSession,
    name: TableName,
    fields: Sequence[Field],
    *,
    partition_by: Sequence[str] = (),
    comment: str | None = None,
    file_bytes: int = SMALLEST,
) -> None:
    """Create the table without rows; its files are to have about `file_bytes`."""
    columns = ", ".join(f"{quote(f.name)} {f.type}" for f in fields)
    catalog = engine.lake.catalog
    partition = ", ".join(partition_term(text, [f.name for f in fields]) for text in partition_by)
    wanted = {**PROPERTIES, TARGET_FILE_BYTES: str(file_bytes)}
    properties = ", ".join(f"{literal(k)} = {literal(v)}" for k, v in wanted.items())
    engine.run(session, f"CREATE NAMESPACE IF NOT EXISTS {quote(catalog)}.{quote(name.namespace)}")
    engine.run(
        session,
        f"CREATE TABLE {name.sql(catalog)} ({columns}) USING iceberg"
        + (f" PARTITIONED BY ({partition})" if partition else "")
        + (f" COMMENT {literal(comment)}" if comment else "")
        + f" TBLPROPERTIES ({properties})",
    )


def partition_term(text: str, columns: Sequence[str]) -> str:
    """One partition column or transform, rebuilt from its parsed form so that nothing slips in."""
    known = {c.lower(): c for c in columns if not c.startswith("__hw_")}
    hint = "use a column of the result, or years|months|days|hours(c), bucket(n, c), truncate(n, c)"
    try:
        parsed = parse_one(text, read="spark")
    except SqlglotError:
        raise InvalidOption(f"partition_by: cannot read {text!r}", hint=hint) from None
    if isinstance(parsed, exp.Column) and not parsed.table:
        if parsed.name.lower() in known:
            return quote(known[parsed.name.lower()])
        raise InvalidOption(f"partition_by: no column {parsed.name!r} in the result", hint=hint)
    function = text.partition("(")[0].strip().lower()
    arguments = list(parsed.find_all(exp.Column))
    numbers = [n.name for n in parsed.find_all(exp.Literal) if n.is_int]
    if function not in _TRANSFORMS or len(arguments) != 1 or len(numbers) > 1:
        raise InvalidOption(f"partition_by: {text!r} is not a partition transform", hint=hint)
    column = arguments[0].name.lower()
    if column not in known:
        raise InvalidOption(f"partition_by: no column {column!r} in the result", hint=hint)
    return f"{function}({', '.join([*numbers, quote(known[column])])})"


def evolve(
    engine: Engine,
    session: SparkSession,
    name: TableName,
    have: Sequence[Field],
    want: Sequence[Field],
) -> None:
    """Bring the columns of an existing table to `want`, in that order.

    A column whose type changes is dropped and added again: the full refresh that follows writes
    every row. Those who read the table by other means than the hub may see NULLs in changed columns
    until that refresh is published, so it must have been computed before.
    """
    table = name.sql(engine.lake.catalog)
    wanted = {f.name.lower(): f for f in want}
    kept = {f.name.lower() for f in have if wanted.get(f.name.lower()) == f}
    for column in have:
        if column.name.lower() not in kept and len(have) > 1:
            if len(kept) == 0 and column == have[-1]:
                engine.run(session, f"ALTER TABLE {table} ADD COLUMN `__hw_evolving` int")
            engine.run(session, f"ALTER TABLE {table} DROP COLUMN {quote(column.name)}")
    previous = "FIRST"
    for column in want:
        if column.name.lower() in kept:
            engine.run(session, f"ALTER TABLE {table} ALTER COLUMN {quote(column.name)} {previous}")
        else:
            engine.run(
                session,
                f"ALTER TABLE {table} ADD COLUMN {quote(column.name)} {column.type} {previous}",
            )
        previous = f"AFTER {quote(column.name)}"
