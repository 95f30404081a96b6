"""Where Spark's optimizer puts NOT.

    NOT (a AND b)   is read as   NOT a OR NOT b        NOT NOT a   is read as   a
    NOT (a OR b)    is read as   NOT a AND NOT b       a = FALSE   is read as   NOT a

It matters where `a` is IN over a subquery: NULL is unknown for NOT IN and false for IN, so that a
value of IN that is negated later would be another one.
"""

from __future__ import annotations

from sqlglot import exp

from headwater.sql.rebuild import bare, wrapped


def moved_inwards(e: exp.Expr) -> exp.Expr | None:
    """The expression with its NOT one step nearer to what is negated; None where it stays."""
    if not isinstance(e, exp.Not):
        return _said(e)
    inner = bare(e.this)
    if isinstance(inner, exp.Not):
        return _copy(inner.this)
    if isinstance(inner, exp.And | exp.Or):
        left, right = (_not(part) for part in (inner.this, inner.expression))
        kind = exp.Or if isinstance(inner, exp.And) else exp.And
        return exp.Paren(this=kind(this=left, expression=right))
    said = _said(inner)
    return _not(said) if said is not None else None


def _said(e: exp.Expr) -> exp.Expr | None:
    """What a comparison with TRUE or FALSE says."""
    if not isinstance(e, exp.EQ | exp.NEQ):
        return None
    sides = [bare(e.this), bare(e.expression)]
    for side, constant in (sides, reversed(sides)):
        if isinstance(constant, exp.Boolean):
            holds = bool(constant.this) is isinstance(e, exp.EQ)
            return exp.Paren(this=_copy(side)) if holds else _not(side)
    return None


def _not(e: exp.Expr) -> exp.Expr:
    return exp.Not(this=wrapped(_copy(e)))


def _copy(e: exp.Expr) -> exp.Expr:
    copied: exp.Expr = e.copy()
    return copied
