"""Reads join and correlation predicates: conjuncts, and which columns they make equal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.sql.operators import names_in, ref
from headwater.sql.select_block import conjunction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headwater.sql.operators import Column, Node

_INTEGRAL = frozenset({"tinyint", "smallint", "int", "integer", "bigint"})


def conjuncts(condition: exp.Expr | None) -> tuple[exp.Expr, ...]:
    """The parts of a condition that must all be true."""
    if condition is None:
        return ()
    bare = condition.unnest()
    if not isinstance(bare, exp.And):
        return (bare,)
    return (*conjuncts(bare.left), *conjuncts(bare.right))


def all_of(parts: Sequence[exp.Expr]) -> exp.Expr | None:
    """The conjunction of the parts, None when there are none."""
    return conjunction([p.copy() for p in parts]) if parts else None


def matches(columns: Sequence[str], keys: Sequence[str]) -> exp.Expr:
    """Columns equal keys, NULL equal to NULL."""
    return conjunction(
        exp.NullSafeEQ(this=ref(c), expression=ref(k)) for c, k in zip(columns, keys, strict=True)
    )


def equal_columns(
    condition: exp.Expr | None, left: Node, right: Node
) -> tuple[tuple[str, str], ...]:
    """Pairs (left column, right column) that the condition makes equal.

    Only pairs of one type: `string = int` compares after a cast, so equal rows may hold values
    that differ, and a key set of one side says nothing about the other.
    """
    lefts = {c.name: c for c in left.columns}
    rights = {c.name: c for c in right.columns}
    pairs = []
    for part in conjuncts(condition):
        if not isinstance(part, (exp.EQ, exp.NullSafeEQ)):
            continue
        a, b = part.left.unnest(), part.right.unnest()
        if not (isinstance(a, exp.Column) and isinstance(b, exp.Column)):
            continue
        if a.name in rights and b.name in lefts:
            a, b = b, a
        if a.name in lefts and b.name in rights and _alike(lefts[a.name], rights[b.name]):
            pairs.append((a.name, b.name))
    return tuple(pairs)


def plain(expression: exp.Expr) -> str | None:
    """The name of the column an expression passes on unchanged."""
    bare = expression.unnest()
    return bare.name if isinstance(bare, exp.Column) else None


def uses_only(expression: exp.Expr, names: frozenset[str]) -> bool:
    """Whether an expression refers to no other columns."""
    return names_in(expression) <= names


def _alike(a: Column, b: Column) -> bool:
    return a.type == b.type or {a.type, b.type} <= _INTEGRAL
