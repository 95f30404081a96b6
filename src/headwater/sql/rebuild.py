"""Copies sqlglot expressions while changing parts of them; nothing is edited in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    Change = Callable[[exp.Expr], exp.Expr | None]

_ATOMS = (exp.Column, exp.Literal, exp.Func, exp.Paren, exp.Boolean, exp.Null, exp.Dot, exp.Bracket)


def rebuild(expression: exp.Expr, change: Change) -> exp.Expr:
    """A copy in which every part for which `change` gives a replacement is replaced.

    Parents are asked first; a replacement is taken as it is.
    """
    replaced = change(expression)
    if replaced is not None:
        return replaced
    return rebuild_parts(expression, change)


def rebuild_parts(expression: exp.Expr, change: Change) -> exp.Expr:
    """A copy of `expression` itself with `change` applied below it."""
    args = {key: _rebuilt(value, change) for key, value in expression.args.items()}
    copy = expression.__class__(**args)
    if expression._meta:
        copy.meta.update(expression._meta)
    return copy


def _rebuilt(value: Any, change: Change) -> Any:
    if isinstance(value, exp.Expr):
        return rebuild(value, change)
    if isinstance(value, list):
        return [_rebuilt(part, change) for part in value]
    return value


def wrapped(expression: exp.Expr) -> exp.Expr:
    """The expression in parentheses unless it stands by itself, to be put inside another."""
    return expression if isinstance(expression, _ATOMS) else exp.Paren(this=expression)


def bare(expression: exp.Expr) -> exp.Expr:
    """The expression without parentheses around it."""
    while isinstance(expression, exp.Paren):
        expression = expression.this
    return expression


def conjuncts(predicate: exp.Expr | None) -> Iterator[exp.Expr]:
    """The parts of a conjunction, from left to right."""
    if predicate is None:
        return
    inner = bare(predicate)
    if isinstance(inner, exp.And):
        yield from conjuncts(inner.this)
        yield from conjuncts(inner.expression)
    else:
        yield inner


def conjunction(parts: Iterable[exp.Expr]) -> exp.Expr | None:
    """The parts joined by AND; None if there are none."""
    result: exp.Expr | None = None
    for part in parts:
        operand = exp.Paren(this=part) if isinstance(part, exp.Or) else part
        result = operand if result is None else exp.And(this=result, expression=operand)
    return result


def replaced(expression: exp.Expr, by: Sequence[tuple[exp.Expr, exp.Expr]]) -> exp.Expr:
    """A copy in which each structurally equal part of the first kind is the second."""
    table = {bare(old): new for old, new in by}
    return rebuild(expression, lambda part: table.get(bare(part)))
