"""Replaces the declaration of a stream table so that it can be taken back; for `declaration`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.core.spec import Status
from headwater.refresh.decide import QUERY_CHANGED
from headwater.refresh.lifecycle import OPTIONS, change
from headwater.storage.target import columns_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headwater.catalog.rows import Dependency, StreamTableRow
    from headwater.core.spec import StreamTableSpec
    from headwater.refresh.runtime import Runtime
    from headwater.storage.target import Field

_STATE = (
    "definition_hash",
    "layout",
    "columns",
    "definition",
    "incremental",
    "freshness_deadline_ms",
    "status",
    "consecutive_errors",
    "last_error_code",
    "last_error_message",
    "last_error_at",
    "needs_reinit",
    "reinit_reason",
)


def replace_declaration(
    runtime: Runtime, row: StreamTableRow, spec: StreamTableSpec
) -> Callable[[], None]:
    """Give a stream table another declaration; one that was suspended goes on with it.

    Returns:
        What takes all of it back, unless content of the new declaration has been published.
    """
    arrows = [dependency for _, dependency in runtime.store.tables.dependencies(row.name)]
    before = _storage(runtime, row)
    change(runtime, row, spec)
    if row.status is Status.SUSPENDED:
        runtime.store.tables.update(row.name, status=Status.ACTIVE, consecutive_errors=0)

    def take_back() -> None:
        now = _storage(runtime, row)
        if now[0] == before[0]:
            _restore(runtime, row, arrows, is_refitted=now != before)

    return take_back


def _storage(runtime: Runtime, row: StreamTableRow) -> tuple[int | None, tuple[Field, ...]]:
    """The version and the columns that the stored table has."""
    metadata = runtime.tables.metadata(row.name)
    if metadata is None:
        return None, ()
    return metadata.current_snapshot_id, columns_of(metadata)


def _restore(
    runtime: Runtime, row: StreamTableRow, arrows: Sequence[Dependency], *, is_refitted: bool
) -> None:
    """Let the catalog say what it said; storage that has other columns by now is filled anew."""
    values = {name: getattr(row, name) for name in _STATE}
    values |= {name: getattr(row.spec, name) for name in ("query", "unique_key", *OPTIONS)}
    if is_refitted:
        values |= {"needs_reinit": True, "reinit_reason": f"{QUERY_CHANGED} back"}
    runtime.store.tables.update(row.name, dependencies=arrows, **values)
