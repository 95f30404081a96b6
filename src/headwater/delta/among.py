"""Asks for the values of a small relation, so that a table joined with it can skip files.

`T ⋈ S ON c = k` equals `σ[c ∈ values of k in S](T) ⋈ S ON c = k` for every join in which rows of T
without a partner do not show. The values are known when the stage S has been computed. Until then
the predicate is a hole, written as a call: `among('S', 'k', c)`. A refresh fills it with a list, a
range, or TRUE.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from headwater.delta.predicates import all_of, equal_columns, plain
from headwater.delta.program import STAGE_PREFIX, TARGET
from headwater.sql.operators import At, Filter, Join, JoinKind, Node, Project, Reference, Scan, ref

AMONG = "__hw_among"
MOST_COLUMNS = 3
"""So many columns of a join are told: more make the text long and skip no more files."""

_NARROWS_LEFT = frozenset({JoinKind.INNER, JoinKind.SEMI, JoinKind.RIGHT})
_NARROWS_RIGHT = frozenset({JoinKind.INNER, JoinKind.SEMI, JoinKind.ANTI, JoinKind.LEFT})
_LISTED = frozenset({"tinyint", "smallint", "int", "bigint", "string", "date"})


def among(stage: str, key: str, column: exp.Expr) -> exp.Expr:
    """The hole: `column` is one of the values of `key` in `stage`."""
    names = [exp.Literal.string(stage), exp.Literal.string(key)]
    return exp.Anonymous(this=AMONG, expressions=[*names, column])


def can_be_listed(kind: str | None) -> bool:
    """Whether values of a type can be written as literals that mean exactly them."""
    return kind in _LISTED


def with_values(join: Join) -> Join:
    """A join of a stored table with a stage, the table told the values of the stage."""
    if join.kind in _NARROWS_LEFT:
        left = _told(join.left, join.right, join)
        if left is not join.left:
            return replace(join, left=left)
    if join.kind in _NARROWS_RIGHT:
        return replace(join, right=_told(join.right, join.left, join))
    return join


def _told(table: Node, other: Node, join: Join) -> Node:
    stage = _stage(other)
    if stage is None or not _is_stored(table):
        return table
    name, origin = stage
    types = {c.name: c.type for c in table.columns}
    pairs = equal_columns(join.condition, table, other)
    holes = [
        among(name, origin[key], ref(column))
        for column, key in pairs
        if key in origin and can_be_listed(types[column])
    ]
    condition = all_of(holes[:MOST_COLUMNS])
    return table if condition is None else Filter(table, condition)


def _stage(node: Node) -> tuple[str, dict[str, str]] | None:
    """The stage a node reads, and where its columns come from there."""
    if isinstance(node, Reference) and node.name.startswith(STAGE_PREFIX):
        return node.name, {c.name: source for source, c in node.fields}
    if isinstance(node, Filter):
        return _stage(node.input)
    if isinstance(node, Project):
        below = _stage(node.input)
        if below is None:
            return None
        name, origin = below
        passed = {c.name: plain(e) for c, e in node.items}
        return name, {n: origin[p] for n, p in passed.items() if p in origin}
    return None


def _is_stored(node: Node) -> bool:
    """Whether a node is a table as it is stored: only there can files be skipped."""
    if isinstance(node, Scan):
        return node.at is not At.DELTA
    return isinstance(node, Reference) and node.name == TARGET
