"""The physical layout of a stream table, from the shape of its query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.core.errors import InvalidOption
from headwater.delta.apply.row_ids import numbered_as_written
from headwater.delta.apply.unique import checked_rows
from headwater.delta.physical import physical
from headwater.delta.program import ROW_ID, Layout, LayoutKind
from headwater.sql.render import to_sql

__all__ = ["Layout", "LayoutKind", "layout"]

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headwater.delta.physical import Root
    from headwater.sql.definition import Definition
    from headwater.sql.operators import Node


def layout(definition: Definition, *, unique_key: Sequence[str] = ()) -> Layout:
    """Decide which columns are stored and how rows are identified."""
    key = _as_written(definition, unique_key)
    root = physical(definition, key)
    return Layout(
        visible=root.visible,
        hidden=(*root.hidden, ROW_ID) if root.bag else root.hidden,
        key=(ROW_ID,) if root.bag else root.key,
        bag=root.bag,
        apply=root.kind.value,
        initial=to_sql(initial_rows(root), definition.sources, pretty=True),
        kind=root.kind,
        unique_key=key,
    )


def initial_rows(root: Root) -> Node:
    """All stored rows at the new version."""
    if root.bag:
        return numbered_as_written(root.tree)
    return checked_rows(root.tree, root.key) if root.kind is LayoutKind.UNIQUE else root.tree


def _as_written(definition: Definition, unique_key: Sequence[str]) -> tuple[str, ...]:
    """The key in the spelling of the query: names of columns are the same in any case."""
    names = {name.lower(): name for name, _ in definition.output}
    unknown = [k for k in unique_key if k.lower() not in names]
    if unknown:
        raise InvalidOption(
            f"unique_key names {', '.join(unknown)}, which the query does not give",
            hint=f"use some of {', '.join(names.values())}",
        )
    return tuple(names[k.lower()] for k in unique_key)
