"""Finds the outer rows a changed subquery can concern, through the equalities that tie them.

In `WHERE e.dept = d.id` inside a subquery over e, a changed row of e concerns only outer rows with
that id. Each changed source of the subquery must lie below such a filter; one that does not can
concern every outer row.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from sqlglot import exp

from headwater.delta.careful import careful
from headwater.delta.change import passed
from headwater.delta.predicates import all_of, conjuncts, matches, plain, uses_only
from headwater.delta.restrict import restrict
from headwater.sql.operators import (
    Column,
    Distinct,
    Filter,
    Join,
    JoinKind,
    Node,
    Project,
    Union,
    names_in,
    transform,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headwater.delta.context import DeltaContext


class Tie(NamedTuple):
    """Rows of `relation` concern outer rows where each inner expression equals its outer one."""

    relation: Node
    inner: tuple[exp.Expr, ...]
    outer: tuple[str, ...]


class Concerned(NamedTuple):
    """Old outer rows a change can concern, and the columns that select them: none for all."""

    rows: Node
    columns: tuple[str, ...]


def concerned_rows(outer: Node, subquery: Node, ctx: DeltaContext) -> Concerned:
    """The rows of the old outer relation that a change of the subquery can concern."""
    old = ctx.old(outer)
    ties = _ties(subquery, frozenset(outer.names), ctx)
    if not ties or len({t.outer for t in ties}) > 1:
        return Concerned(old, ())
    columns = ties[0].outer
    names = ctx.fresh(len(columns))
    parts = [_keys(tie, names, ctx) for tie in ties]
    keys = parts[0] if len(parts) == 1 else Union(tuple(parts), parts[0].columns)
    found = ctx.share(Distinct(keys))
    return Concerned(Join(old, found, JoinKind.SEMI, matches(columns, names)), columns)


def narrowed(subquery: Node, keys: Node, columns: Sequence[str]) -> Node:
    """The subquery reading only inner rows that outer rows with these key values can reach.

    `keys` has one column per outer column. Without this the engine would aggregate the whole
    inner table to look up a few outer rows.
    """
    outer = frozenset(columns)
    by_outer = dict(zip(columns, keys.columns, strict=True))

    def narrow(node: Node) -> Node:
        if not isinstance(node, Filter) or _is_correlated(node.input, outer):
            return node
        inside = frozenset(node.input.names)
        parts = [_equality(part, inside, outer) for part in conjuncts(node.predicate)]
        pairs = [(name, p[1]) for p in parts if p and (name := plain(p[0])) is not None]
        if not pairs:
            return node
        wanted = Project(keys, passed([by_outer[o] for _, o in dict(pairs).items()]))
        return replace(node, input=restrict(node.input, list(dict(pairs)), wanted))

    return transform(subquery, narrow)


def at_both_versions(
    subquery: Node, rows: Node, columns: Sequence[str], ctx: DeltaContext
) -> tuple[Node, Node]:
    """The new and the old subquery for these outer rows, which these columns tie to it, if any."""
    new, old = ctx.new(subquery), ctx.old(subquery)
    if not columns:
        return new, old
    keys = ctx.keys(ctx.share(rows), columns)
    return narrowed(new, keys, columns), narrowed(old, keys, columns)


def _keys(tie: Tie, names: tuple[str, ...], ctx: DeltaContext) -> Node:
    delta, guard = careful(ctx.change(tie.relation), tie.inner)
    items = tuple((Column(n), guard(e).copy()) for n, e in zip(names, tie.inner, strict=True))
    return Project(delta.tree, items)


def outer_columns(outer: Node, subquery: Node) -> tuple[str, ...]:
    """The columns of the outer relation that a subquery refers to."""
    used = {n for node in subquery.walk() for e in node.expressions for n in names_in(e)}
    return tuple(n for n in outer.names if n in used)


def _ties(node: Node, outer: frozenset[str], ctx: DeltaContext) -> list[Tie] | None:
    """One tie per changed part; None when some change is not tied by an equality."""
    if not ctx.changed(node):
        return []
    own = _tie(node, outer)
    if own is not None:
        return [own]
    if not node.inputs:
        return None
    found: list[Tie] = []
    for child in node.inputs:
        below = _ties(child, outer, ctx)
        if below is None:
            return None
        found += below
    return found


def _tie(node: Node, outer: frozenset[str]) -> Tie | None:
    """The tie an inner relation has through its own condition."""
    if isinstance(node, Filter):
        relation, condition = node.input, node.predicate
    elif isinstance(node, Join) and node.kind is JoinKind.INNER and node.condition is not None:
        relation, condition = Join(node.left, node.right), node.condition
    else:
        return None
    if _is_correlated(relation, outer):
        return None
    inside = frozenset(relation.names)
    parts = conjuncts(condition)
    pairs = [pair for part in parts if (pair := _equality(part, inside, outer))]
    if not pairs:
        return None
    own = all_of([p for p in parts if uses_only(p, inside)])
    pairs.sort(key=lambda pair: pair[1])
    reduced = Filter(relation, own) if own is not None else relation
    if isinstance(relation, Join) and own is not None:
        reduced = Join(relation.left, relation.right, JoinKind.INNER, own)
    return Tie(reduced, tuple(e for e, _ in pairs), tuple(o for _, o in pairs))


def _equality(
    part: exp.Expr, inside: frozenset[str], outer: frozenset[str]
) -> tuple[exp.Expr, str] | None:
    if not isinstance(part, (exp.EQ, exp.NullSafeEQ)):
        return None
    for inner, other in ((part.left, part.right), (part.right, part.left)):
        bare = other.unnest()
        if isinstance(bare, exp.Column) and bare.name in outer and uses_only(inner, inside):
            return inner, bare.name
    return None


def _is_correlated(node: Node, outer: frozenset[str]) -> bool:
    return any(names_in(e) & outer for n in node.walk() for e in n.expressions)
