"""Moves conjuncts of filters down into inner joins, where they become join conditions.

`FROM a, b WHERE a.k = b.k` and `FROM a JOIN b ON a.k = b.k` get the same tree: rules look for
equi keys in join conditions only. A conjunct that can fail stays where it was written: below the
join it would meet rows that the join drops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.sql.build.clock import has_clock_hole
from headwater.sql.columns import names_in
from headwater.sql.node import transform
from headwater.sql.rebuild import bare, conjunction, conjuncts
from headwater.sql.relations import Filter, Join, JoinKind
from headwater.sql.totality import can_fail

if TYPE_CHECKING:
    from headwater.core.errors import Place
    from headwater.sql.node import Node

_LEFT_ONLY = (JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)


def pushed(tree: Node) -> Node:
    """The tree with filters moved into the inner joins below them."""
    return transform(tree, _push)


def _push(node: Node) -> Node:
    if not isinstance(node, Filter) or not isinstance(node.input, Join | Filter):
        return node
    parts = [p for c in conjuncts(node.predicate) for p in _factored(c)]
    return _placed(node.input, parts, node.place)


def _placed(node: Node, parts: list[exp.Expr], place: Place | None) -> Node:
    if not parts:
        return node
    if isinstance(node, Filter):
        parts = [*conjuncts(node.predicate), *parts]
        return _placed(node.input, parts, node.place or place)
    if isinstance(node, Join) and node.kind is JoinKind.INNER:
        return _into_inner(node, parts, place)
    if isinstance(node, Join) and node.kind in _LEFT_ONLY:
        return _into_left(node, parts, place)
    return _filter(node, parts, place)


def _into_inner(node: Join, parts: list[exp.Expr], place: Place | None) -> Node:
    left: list[exp.Expr] = []
    right: list[exp.Expr] = []
    both: list[exp.Expr] = []
    above: list[exp.Expr] = []
    for part in parts:
        used = names_in(part)
        if _fails(part, node):
            above.append(part)
            continue
        mine, theirs = used & set(node.left.names), used & set(node.right.names)
        if mine and not theirs:
            left.append(part)
        elif theirs and not mine:
            right.append(part)
        elif mine and theirs and not has_clock_hole(part):
            both.append(part)
        else:
            above.append(part)
    joined = Join(
        _placed(node.left, left, place),
        _placed(node.right, right, place),
        node.kind,
        conjunction([*conjuncts(node.condition), *both]),
        place=node.place,
    )
    return _filter(joined, above, place)


def _into_left(node: Join, parts: list[exp.Expr], place: Place | None) -> Node:
    """Below the preserved side of an outer join, and below a semi or anti join."""
    right = set(node.right.names) if node.kind is JoinKind.LEFT else set()
    left = [
        p
        for p in parts
        if names_in(p) & set(node.left.names) and not (names_in(p) & right or _fails(p, node))
    ]
    above = [p for p in parts if p not in left]
    joined = Join(
        _placed(node.left, left, place), node.right, node.kind, node.condition, place=node.place
    )
    return _filter(joined, above, place)


def _fails(part: exp.Expr, node: Node) -> bool:
    return can_fail(part, {c.name: c.type for c in node.columns}.get)


def _filter(node: Node, parts: list[exp.Expr], place: Place | None) -> Node:
    predicate = conjunction(parts)
    return node if predicate is None else Filter(node, predicate, place=place)


def _factored(part: exp.Expr) -> list[exp.Expr]:
    """`(a AND x) OR (a AND y)` as `a` and `x OR y`: a join key may hide in every branch."""
    if not isinstance(part, exp.Or):
        return [part]
    branches = [list(conjuncts(branch)) for branch in _disjuncts(part)]
    shared = [c for c in branches[0] if all(c in branch for branch in branches[1:])]
    if not shared:
        return [part]
    rest = [[c for c in branch if c not in shared] for branch in branches]
    if not all(rest):
        return shared
    either: exp.Expr | None = None
    for branch in rest:
        one = exp.Paren(this=conjunction(branch))
        either = one if either is None else exp.Or(this=either, expression=one)
    return [*shared, either] if either is not None else shared


def _disjuncts(part: exp.Expr) -> list[exp.Expr]:
    inner = bare(part)
    if isinstance(inner, exp.Or):
        return [*_disjuncts(inner.this), *_disjuncts(inner.expression)]
    return [inner]
