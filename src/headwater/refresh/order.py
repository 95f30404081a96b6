"""The order in which the rows of a stream table are stored: as declared, else that of its key.

In the order of the key a merge of neighbouring keys touches few files. An order that readers filter
by lets them skip files instead; merges then look for theirs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.core.names import quote
from headwater.refresh.conf import target_of
from headwater.refresh.outlook import WORTH_SKIPPING
from headwater.storage.sizing import SORTED_FROM

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headwater.catalog.rows import StreamTableRow
    from headwater.delta.program import Layout
    from headwater.refresh.runtime import Runtime
    from headwater.refresh.stages import Planned
    from headwater.sources.metadata import TableMetadata
    from headwater.storage.target import Field


def in_order(
    runtime: Runtime, planned: Planned, layout: Layout, query: str, fields: Sequence[Field]
) -> str:
    """The rows of a whole table in its order: as declared, and by its key where it is large."""
    declared = runtime.store.tables.get(planned.table).spec.sort_by
    metadata = runtime.tables.metadata(planned.table)
    if metadata is None or metadata.partition_spec.fields:
        return query
    large = (
        target_of(runtime, planned).rows >= SORTED_FROM
        if planned.own is not None
        else planned.outlook.source_bytes >= WORTH_SKIPPING
    )
    by_key = layout.key if large and not layout.bag else ()
    kinds = {f.name.lower(): f.type for f in fields}
    order = [quote(c) for c in declared or by_key if _has_order(kinds.get(c.lower()))]
    return f"SELECT * FROM (\n{query}\n) ORDER BY {', '.join(order)}" if order else query


def _has_order(kind: str | None) -> bool:
    return kind is not None and not kind.startswith(("map", "array", "struct", "variant"))


def sort_key(row: StreamTableRow, metadata: TableMetadata) -> tuple[str, ...]:
    """The columns that compaction sorts by; hidden ones count, they are what a merge looks for."""
    stored = {f.name.lower(): f for f in metadata.current_schema.fields}
    found = (stored.get(c.lower()) for c in row.spec.sort_by or row.layout.get("key", ()))
    return tuple(f.name for f in found if f is not None and _has_order(f.type))


def is_by_key(row: StreamTableRow) -> bool:
    """Whether neighbouring keys lie in neighbouring rows."""
    declared, key = row.spec.sort_by, row.layout.get("key", ())
    return not declared or [declared[0].lower()] == [c.lower() for c in key[:1]]
