"""Pushes "these columns take a value of that key set" down a tree, as deep as it commutes.

`restrict(n, C, S)` equals `n LEFT SEMI JOIN S ON C <=> S`, but reads less: the semi-join moves
below every operator that works key by key, onto both sides of equi-joins, and ends at the scans
where it selects few rows. Where a column cannot go further the semi-join stays at that place.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from headwater.delta.change import passed
from headwater.delta.grouping_sets import branches, set_keys
from headwater.delta.predicates import equal_columns, matches, plain
from headwater.sql.operators import (
    Aggregate,
    Apply,
    Distinct,
    Filter,
    Generate,
    Join,
    JoinKind,
    Lateral,
    Node,
    Project,
    Reshape,
    SetOperation,
    SubqueryKind,
    Union,
    Window,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_MEMBERSHIP = (SubqueryKind.IN, SubqueryKind.NOT_IN)


def restrict(node: Node, columns: Sequence[str], keys: Node) -> Node:
    """The rows of `node` whose `columns` are in `keys` (by position, NULL equal to NULL)."""
    if not columns:
        return node
    push = _PUSHES.get(type(node))
    pushed = push(node, tuple(columns), keys) if push else None
    return pushed if pushed is not None else _selected(node, columns, keys)


def partition_columns(node: Window) -> tuple[str, ...]:
    """The columns every function of a window node is partitioned by."""
    common: list[str] | None = None
    for _, call in node.calls:
        window = call.find(exp.Window)
        listed = [plain(e) for e in (window.args.get("partition_by") or ())] if window else []
        names = [n for n in listed if n is not None]
        common = names if common is None else [n for n in common if n in names]
    return tuple(dict.fromkeys(common or ()))


def _selected(node: Node, columns: Sequence[str], keys: Node) -> Node:
    if not any(isinstance(n, Apply) and n.kind in _MEMBERSHIP for n in node.walk()):
        return Join(node, keys, JoinKind.SEMI, matches(columns, keys.names))
    # Spark moves a semi-join below the value of NOT IN, where it forgets that NULL is unknown.
    # Columns of an inner join are seen above it: no other selection by these keys may name them.
    taken = {name for part in node.walk() for name in part.names}
    suffix = next(i for i in count(1) if taken.isdisjoint(f"{k}_{i}" for k in keys.names))
    renamed = tuple((replace(k, name=f"{k.name}_{suffix}"), k.ref) for k in keys.columns)
    single = Project(Distinct(keys), renamed)
    joined = Join(node, single, JoinKind.INNER, matches(columns, single.names))
    return Project(joined, passed(node.columns))


def _below(
    child: Node, columns: Sequence[str], keys: Node, names: Mapping[str, str]
) -> tuple[Node, bool]:
    """Restrict a child by those columns that have a name there; tells whether all had one."""
    kept = [(names[c], k) for c, k in zip(columns, keys.columns, strict=True) if c in names]
    if not kept:
        return child, False
    whole = len(kept) == len(columns)
    part = keys if whole else Project(keys, passed([k for _, k in kept]))
    return restrict(child, [c for c, _ in kept], part), whole


def _through(
    node: Node, columns: Sequence[str], keys: Node, names: Mapping[str, str]
) -> Node | None:
    """Restrict the first input by the columns it has; the rest is selected above."""
    child, whole = _below(node.inputs[0], columns, keys, names)
    if child is node.inputs[0]:
        return None
    pushed = node.with_inputs((child, *node.inputs[1:]))
    return pushed if whole else _selected(pushed, columns, keys)


def _same(names: Sequence[str]) -> dict[str, str]:
    return {n: n for n in names}


def _first_input(node: Node, columns: tuple[str, ...], keys: Node) -> Node | None:
    return _through(node, columns, keys, _same(node.inputs[0].names))


def _project(node: Project, columns: tuple[str, ...], keys: Node) -> Node | None:
    merged = _coalesced(node, columns, keys)
    if merged is not None:
        return merged
    names = {c.name: n for c, e in node.items if (n := plain(e)) in node.input.names and n}
    return _through(node, columns, keys, names)


def _coalesced(node: Project, columns: tuple[str, ...], keys: Node) -> Node | None:
    """`COALESCE(l.k, r.k)` above a full join on `l.k = r.k`: each side by its own key."""
    join = node.input
    if not (isinstance(join, Join) and join.kind is JoinKind.FULL):
        return None
    pairs = set(equal_columns(join.condition, join.left, join.right))
    items = {c.name: e for c, e in node.items}
    sides: list[tuple[str, str]] = []
    for column in columns:
        expression = items[column].unnest()
        if not (isinstance(expression, exp.Coalesce) and len(expression.expressions) == 1):
            return None
        a, b = plain(expression.this), plain(expression.expressions[0])
        pair = (a, b) if (a, b) in pairs else (b, a)
        if a is None or b is None or pair not in pairs:
            return None
        sides.append((str(pair[0]), str(pair[1])))
    left = restrict(join.left, [a for a, _ in sides], keys)
    right = restrict(join.right, [b for _, b in sides], keys)
    return replace(node, input=replace(join, left=left, right=right))


def _join(node: Join, columns: tuple[str, ...], keys: Node) -> Node | None:
    pairs = equal_columns(node.condition, node.left, node.right)
    left_names, right_names = _same(node.left.names), _same(node.right.names)
    exact_left, exact_right = True, True
    match node.kind:
        case JoinKind.INNER:
            left_names |= {r: a for a, r in pairs}
            right_names |= dict(pairs)
        case JoinKind.LEFT | JoinKind.SEMI | JoinKind.ANTI:
            right_names, exact_right = dict(pairs), False
        case JoinKind.RIGHT:
            left_names, exact_left = {r: a for a, r in pairs}, False
        case _:
            return None
    left, all_left = _below(node.left, columns, keys, left_names)
    right, all_right = _below(node.right, columns, keys, right_names)
    if left is node.left and right is node.right:
        return None
    pushed = replace(node, left=left, right=right)
    exact = (all_left and exact_left) or (all_right and exact_right)
    return pushed if exact else _selected(pushed, columns, keys)


def _by_position(node: Union | SetOperation, columns: tuple[str, ...], keys: Node) -> Node:
    places = [node.names.index(c) for c in columns]
    inputs = [restrict(b, [b.names[i] for i in places], keys) for b in node.inputs]
    return node.with_inputs(inputs)


def _aggregate(node: Aggregate, columns: tuple[str, ...], keys: Node) -> Node | None:
    if node.sets is None:
        return _through(node, columns, keys, _same(node.keys))
    if node.grouping is None or set(columns) != {*node.keys, node.grouping.name}:
        always = [k for k in node.keys if all(k in s for s in node.sets)]
        return _through(node, columns, keys, _same(always))
    parts = []
    for number, (grouped, branch) in enumerate(branches(node)):
        wanted = set_keys(keys, dict(zip(columns, keys.names, strict=True)), node, number)
        parts.append(branch(restrict(node.input, grouped, wanted)))
    return parts[0] if len(parts) == 1 else Union(tuple(parts), node.columns)


def _window(node: Window, columns: tuple[str, ...], keys: Node) -> Node | None:
    return _through(node, columns, keys, _same(partition_columns(node)))


def _reshape(node: Reshape, columns: tuple[str, ...], keys: Node) -> Node | None:
    return _through(node, columns, keys, _same(node.keys))


_PUSHES: dict[type[Node], Callable[[Any, tuple[str, ...], Node], Node | None]] = {
    Filter: _first_input,
    Project: _project,
    Distinct: _first_input,
    Generate: _first_input,
    Apply: _first_input,
    Lateral: _first_input,
    Join: _join,
    Union: _by_position,
    SetOperation: _by_position,
    Aggregate: _aggregate,
    Window: _window,
    Reshape: _reshape,
}
