"""Column pruning: every node gives only what is used above it, scans read only used columns.

Updates of columns that a query does not use then vanish when changes are netted. A relation of
which only the number of rows matters has no columns at all; that is legal for any node.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headwater.sql.columns import names_in
from headwater.sql.grouping import Aggregate, Reshape, Window
from headwater.sql.nesting import Apply, Lateral, Opaque, Recursive, Reference, SubqueryKind
from headwater.sql.relations import Distinct, Project, Scan, SetOperation, Union, Values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sqlglot import exp

    from headwater.sql.node import Node

    Names = frozenset[str]


def pruned(node: Node, needed: Names) -> Node:
    """The node giving at least the columns `needed`, and little else."""
    rule = _RULES.get(type(node))
    if rule is not None:
        return rule(node, needed)
    return _generic(node, needed)


def used_in(node: Node) -> Names:
    """The names used in any expression of a tree."""
    return frozenset(n for part in node.walk() for n in _names(part.expressions))


def _names(expressions: Iterable[exp.Expr]) -> Names:
    return frozenset(n for e in expressions for n in names_in(e))


def _generic(node: Node, needed: Names) -> Node:
    """Filters, joins, limits, generators: what they need themselves, and what is asked of them."""
    wanted = needed | _names(node.expressions)
    return _over(node, [pruned(child, wanted) for child in node.inputs])


def _over(node: Node, inputs: list[Node]) -> Node:
    if all(new is old for new, old in zip(inputs, node.inputs, strict=True)):
        return node
    return node.with_inputs(inputs)


def _whole(node: Node, needed: Names) -> Node:
    """Nodes whose result depends on all columns of their inputs."""
    return _over(node, [pruned(child, frozenset(child.names)) for child in node.inputs])


def _scan(node: Scan, needed: Names) -> Node:
    return replace(node, fields=tuple(f for f in node.fields if f[1].name in needed))


def _reference(node: Reference, needed: Names) -> Node:
    return replace(node, fields=tuple(f for f in node.fields if f[1].name in needed))


def _values(node: Values, needed: Names) -> Node:
    kept = [i for i, column in enumerate(node.schema) if column.name in needed]
    kept = kept or list(range(len(node.schema)))[:1]  # VALUES has no rows without columns.
    rows = tuple(tuple(row[i] for i in kept) for row in node.rows)
    return replace(node, rows=rows, schema=tuple(node.schema[i] for i in kept))


def _project(node: Project, needed: Names) -> Node:
    items = tuple(item for item in node.items if item[0].name in needed)
    below = pruned(node.input, _names(e for _, e in items))
    return replace(node, input=below, items=items)


def _union(node: Union, needed: Names) -> Node:
    kept = [i for i, column in enumerate(node.schema) if column.name in needed]
    if len(kept) == len(node.schema):
        return _whole(node, needed)
    branches = tuple(_positions(branch, kept) for branch in node.branches)
    return replace(node, branches=branches, schema=tuple(node.schema[i] for i in kept))


def _positions(branch: Node, kept: list[int]) -> Node:
    columns = [branch.columns[i] for i in kept]
    narrow = pruned(branch, frozenset(c.name for c in columns))
    if narrow.columns == tuple(columns):
        return narrow
    return Project(narrow, tuple((c, c.ref) for c in columns))


def _aggregate(node: Aggregate, needed: Names) -> Node:
    calls = tuple(call for call in node.calls if call[0].name in needed)
    if not calls and not node.keys and node.sets is None:
        calls = node.calls[:1]
    below = pruned(node.input, frozenset(node.keys) | _names(e for _, e in calls))
    return replace(node, input=below, calls=calls)


def _window(node: Window, needed: Names) -> Node:
    calls = tuple(call for call in node.calls if call[0].name in needed)
    if not calls:
        return pruned(node.input, needed)
    return replace(
        node, input=pruned(node.input, needed | _names(e for _, e in calls)), calls=calls
    )


def _apply(node: Apply, needed: Names) -> Node:
    if node.output.name not in needed:
        return pruned(node.input, needed)
    inside = pruned(node.subquery, _value_names(node))
    wanted = needed | _names(node.operands) | used_in(inside)
    return replace(node, input=pruned(node.input, wanted), subquery=inside)


def _value_names(node: Apply) -> Names:
    return frozenset() if node.kind is SubqueryKind.EXISTS else frozenset(node.subquery.names)


def _lateral(node: Lateral, needed: Names) -> Node:
    condition = (node.condition,) if node.condition is not None else ()
    wanted = needed | _names(condition)
    right = pruned(node.right, wanted)
    return replace(node, left=pruned(node.left, wanted | used_in(right)), right=right)


_RULES: dict[type[Node], Callable[..., Node]] = {
    Scan: _scan,
    Reference: _reference,
    Values: _values,
    Project: _project,
    Union: _union,
    SetOperation: _whole,
    Distinct: _whole,
    Reshape: _whole,
    Recursive: _whole,
    Opaque: lambda node, needed: node,
    Aggregate: _aggregate,
    Window: _window,
    Apply: _apply,
    Lateral: _lateral,
}
