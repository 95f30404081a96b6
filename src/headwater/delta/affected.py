"""Finds the keys at which a node's content can have changed; the S of every key-scoped rule.

Any superset of the changed keys is right, so the search goes down to the sources wherever the key
columns can be followed, instead of working out the delta of everything in between: a new row of
the input of an aggregate names the group it falls into without the aggregate being computed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headwater.core.errors import PlanBug
from headwater.delta.careful import failing
from headwater.delta.change import renamed, settled
from headwater.delta.context import has_clock
from headwater.delta.predicates import equal_columns, plain
from headwater.delta.restrict import partition_columns
from headwater.sql.operators import (
    Aggregate,
    Apply,
    Column,
    Distinct,
    Filter,
    Generate,
    Join,
    JoinKind,
    Lateral,
    Node,
    Project,
    Reshape,
    Scan,
    SetOperation,
    Union,
    Window,
    names_in,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headwater.delta.context import DeltaContext

Columns = tuple[str, ...]


def affected(node: Node, columns: Sequence[str], ctx: DeltaContext) -> Node:
    """The distinct values of `columns` at which `node` may have changed, as a key relation."""
    parts = _parts(node, tuple(columns), ctx)
    if not parts:
        raise PlanBug("affected keys of a relation that does not change")
    schema = tuple(Column(c.name, c.type) for c in parts[0].columns)
    tree = parts[0] if len(parts) == 1 else Union(tuple(parts), schema)
    return ctx.share(Distinct(ctx.keys(tree, columns)))


def _parts(node: Node, columns: Columns, ctx: DeltaContext) -> list[Node]:
    """Relations with exactly `columns`; their union covers every change."""
    if not ctx.changed(node):
        return []
    if not _is_linear(node):
        search = _SEARCHES.get(type(node))
        found = search(node, columns, ctx) if search else None
        if found is not None:
            return found
    delta = settled(ctx.change(node))
    return [renamed(ctx.share(delta.tree), {c: c for c in columns})]


def _is_linear(node: Node) -> bool:
    """Whether the delta itself is the cheapest way to the keys."""
    linear = isinstance(node, (Scan, Filter, Project, Union, Generate))
    return linear and all(_is_linear(child) for child in node.inputs)


def _follow(child: Node, names: Columns, columns: Columns, ctx: DeltaContext) -> list[Node]:
    found = _parts(child, names, ctx)
    if names == columns:
        return found
    return [renamed(part, dict(zip(names, columns, strict=True))) for part in found]


def _unchanged_names(node: Node, columns: Columns, ctx: DeltaContext) -> list[Node] | None:
    child = node.inputs[0]
    return _parts(child, columns, ctx) if set(columns) <= set(child.names) else None


def _filter(node: Filter, columns: Columns, ctx: DeltaContext) -> list[Node] | None:
    return None if has_clock(node) else _parts(node.input, columns, ctx)


def _project(node: Project, columns: Columns, ctx: DeltaContext) -> list[Node] | None:
    items = {c.name: (c, e) for c, e in node.items}
    sources = [plain(items[c][1]) for c in columns]
    if all(sources) and len(set(sources)) == len(sources):
        return _follow(node.input, tuple(str(s) for s in sources), columns, ctx)
    wanted = [items[c] for c in columns]
    used = {n for _, e in wanted for n in names_in(e)}
    needed = tuple(n for n in node.input.names if n in used)
    fails = failing(node.input.columns)
    if not needed or any(fails(e) for _, e in wanted):
        return None
    return [Project(part, tuple(wanted)) for part in _parts(node.input, needed, ctx)]


def _aggregate(node: Aggregate, columns: Columns, ctx: DeltaContext) -> list[Node] | None:
    if node.sets is None:
        return _parts(node.input, columns, ctx) if set(columns) <= set(node.keys) else None
    if node.grouping is None or not set(columns) <= {*node.keys, node.grouping.name}:
        return None
    levels = [
        Aggregate(part, node.keys, (), node.sets, node.grouping)
        for part in _parts(node.input, node.keys, ctx)
    ]
    return [renamed(level, {c: c for c in columns}) for level in levels]


def _window(node: Window, columns: Columns, ctx: DeltaContext) -> list[Node] | None:
    inside = set(columns) <= set(partition_columns(node))
    return _parts(node.input, columns, ctx) if inside else None


def _reshape(node: Reshape, columns: Columns, ctx: DeltaContext) -> list[Node] | None:
    return _parts(node.input, columns, ctx) if set(columns) <= set(node.keys) else None


def _by_position(
    node: Union | SetOperation, columns: Columns, ctx: DeltaContext
) -> list[Node] | None:
    places = [node.names.index(c) for c in columns]
    found: list[Node] = []
    for branch in node.inputs:
        names = tuple(branch.names[i] for i in places)
        if len(set(names)) < len(names):
            return None
        found += _follow(branch, names, columns, ctx)
    return found


def _join(node: Join, columns: Columns, ctx: DeltaContext) -> list[Node] | None:
    pairs = equal_columns(node.condition, node.left, node.right)
    to_left = {n: n for n in node.left.names}
    to_right = {n: n for n in node.right.names}
    match node.kind:
        case JoinKind.INNER:
            to_left |= {r: a for a, r in pairs}
            to_right |= dict(pairs)
        case JoinKind.LEFT | JoinKind.SEMI | JoinKind.ANTI:
            to_right = dict(pairs)
        case JoinKind.RIGHT:
            to_left = {r: a for a, r in pairs}
        case _:
            return None
    found: list[Node] = []
    for side, names in ((node.left, to_left), (node.right, to_right)):
        if not ctx.changed(side):
            continue
        there = [names[c] for c in columns if c in names]
        if len(set(there)) < len(columns):
            return None
        found += _follow(side, tuple(there), columns, ctx)
    own = to_left if node.kind is not JoinKind.RIGHT else to_right
    return found if node.kind is JoinKind.INNER or set(columns) <= set(own) else None


def _outer_only(node: Apply | Lateral, columns: Columns, ctx: DeltaContext) -> list[Node] | None:
    return None if ctx.changed(node.inputs[1]) else _unchanged_names(node, columns, ctx)


_SEARCHES: dict[type[Node], Callable[[Any, Columns, DeltaContext], list[Node] | None]] = {
    Filter: _filter,
    Project: _project,
    Distinct: _unchanged_names,
    Generate: _unchanged_names,
    Apply: _outer_only,
    Lateral: _outer_only,
    Join: _join,
    Union: _by_position,
    SetOperation: _by_position,
    Aggregate: _aggregate,
    Window: _window,
    Reshape: _reshape,
}
