"""ORDER BY and LIMIT: an order matters only where a limit cuts it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.core.errors import InvalidQuery
from headwater.sql.build.projection import exactly
from headwater.sql.columns import ref
from headwater.sql.grouping import Limit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headwater.sql.build.context import Context
    from headwater.sql.build.scope import Relation


def ordering_of(
    ast: exp.Expr,
    values: Sequence[exp.Expr],
    resolve: Callable[[exp.Expr], exp.Expr],
    ctx: Context,
) -> tuple[exp.Expr, ...]:
    """The ORDER BY of a query, resolved; empty when nothing depends on it.

    Args:
        ast: the query.
        values: the result columns, for ordinals and ALL.
        resolve: gives expressions over the same node as `values`.
        ctx: the definition.
    """
    clause = ast.args.get("order") or ast.args.get("sort")
    if clause is None:
        return ()
    order = [o for written in clause.expressions for o in _keys(written, values, resolve, ctx)]
    # SORT BY orders the rows of each partition only: a limit behind it takes any of them.
    return tuple(order) if _cuts(ast) and ast.args.get("order") is not None else ()


def limited(relation: Relation, order: Sequence[exp.Expr], ast: exp.Expr, ctx: Context) -> Relation:
    """The relation cut by LIMIT and OFFSET; columns it was ordered by only go away."""
    if not _cuts(ast):
        return relation
    limit, offset = _limit(ast), ast.args.get("offset")
    clause = limit if limit is not None else offset
    _note(relation, order, ast, clause, ctx)
    cut = Limit(
        relation.node,
        tuple(order),
        limit.expression.copy() if limit is not None else None,
        offset.expression.copy() if offset is not None else None,
        place=ctx.place(ast.args.get("order") or clause),
    )
    return exactly(relation.over(cut))


def _cuts(ast: exp.Expr) -> bool:
    return _limit(ast) is not None or ast.args.get("offset") is not None


def _limit(ast: exp.Expr) -> exp.Expr | None:
    """The LIMIT clause; `LIMIT ALL` is none."""
    limit: exp.Expr | None = ast.args.get("limit")
    return None if limit is None or isinstance(limit.expression, exp.Var) else limit


def _keys(
    written: exp.Expr,
    values: Sequence[exp.Expr],
    resolve: Callable[[exp.Expr], exp.Expr],
    ctx: Context,
) -> list[exp.Expr]:
    key = written.this
    if isinstance(key, exp.Var) and key.name.lower() == "all":
        return [_ordered(written, value.copy()) for value in values]
    if isinstance(key, exp.Literal) and not key.is_string:
        text = str(key.this)
        if not text.isdigit() or not 1 <= int(text) <= len(values):
            what = f"ORDER BY {text}: the SELECT list has {len(values)} columns"
            raise ctx.error(InvalidQuery, what, key)
        return [_ordered(written, values[int(text) - 1].copy())]
    return [_ordered(written, resolve(key))]


def _ordered(written: exp.Expr, key: exp.Expr) -> exp.Expr:
    return exp.Ordered(**{**written.args, "this": key})


def _note(
    relation: Relation,
    order: Sequence[exp.Expr],
    ast: exp.Expr,
    clause: exp.Expr | None,
    ctx: Context,
) -> None:
    if not order:
        ctx.note(
            "LIMIT_NO_ORDER",
            "LIMIT without ORDER BY gives any of the rows",
            "add ORDER BY with a unique tie-breaker",
            clause,
        )
        return
    keys = {o.this for o in order}
    if not all(ref(entry.column.name) in keys for entry in relation.visible):
        ctx.note(
            "TIES",
            "rows that are equal in ORDER BY are cut by LIMIT in any order",
            "end ORDER BY with a unique column",
            ast.args.get("order"),
            "info",
        )
