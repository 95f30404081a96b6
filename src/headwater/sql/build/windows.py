"""Window functions: their inputs projected below, the functions, expressions over them above.

An aggregate `OVER ()` has one value for all rows: it becomes a cross join with the aggregate of the
whole input, so that rows change only when that value does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.sql.build.aggregates import is_aggregate
from headwater.sql.build.calls import Arguments, unwrapped
from headwater.sql.build.projection import extended
from headwater.sql.columns import ref
from headwater.sql.functions import ORDER_DEPENDENT, TIE_DEPENDENT, function_name
from headwater.sql.grouping import Aggregate, Window
from headwater.sql.rebuild import rebuild
from headwater.sql.relations import Join
from headwater.sql.renew import renewed
from headwater.sql.select_block import substituted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headwater.sql.build.context import Context
    from headwater.sql.columns import Column
    from headwater.sql.node import Node


def windowed(
    node: Node, expressions: Sequence[exp.Expr], labels: Mapping[exp.Expr, str], ctx: Context
) -> tuple[Node, list[exp.Expr]]:
    """Compute the window functions in some expressions over `node`.

    `labels` says what the query calls its result columns.

    Returns:
        The node with a column per function, and the expressions over it.
    """
    if not any(e.find(exp.Window) for e in expressions):
        return node, list(expressions)
    arguments = Arguments(node, ctx)
    calls: dict[exp.Expr, tuple[Column, exp.Expr]] = {}
    places = []

    def change(e: exp.Expr) -> exp.Expr | None:
        if not isinstance(e, exp.Window):
            return None
        if e not in calls:
            function = unwrapped(e.this)
            _check_ties(e, function, ctx)
            places.append(ctx.place(e))
            call = arguments.projected(e)
            label = labels.get(e) or function_name(function)
            calls[e] = (ctx.computed(label, call), call)
        return ref(calls[e][0].name)

    rewritten = [rebuild(e, change) for e in expressions]
    below = extended(arguments.node, arguments.computed)
    whole = [(c, call.this) for c, call in calls.values() if _is_of_all(call, ctx)]
    again = renewed(below, ctx.session.names.fresh) if whole else None
    if again is None:
        return Window(below, tuple(calls.values()), place=places[0]), rewritten
    copy, names = again
    columns = {old: ref(new) for old, new in names.items()}
    total = Aggregate(copy, (), tuple((c, substituted(call, columns)) for c, call in whole))
    rest = tuple((c, call) for c, call in calls.values() if not _is_of_all(call, ctx))
    made = Window(below, rest, place=places[0]) if rest else below
    return Join(made, total, place=places[0]), rewritten


def _is_of_all(call: exp.Expr, ctx: Context) -> bool:
    """Whether a call is an aggregate over all rows, whatever their order."""
    if any(call.args.get(part) for part in ("partition_by", "order", "spec", "alias")):
        return False
    name = function_name(unwrapped(call.this))
    return is_aggregate(call.this, ctx) and name not in (TIE_DEPENDENT | ORDER_DEPENDENT)


def _check_ties(e: exp.Expr, function: exp.Expr, ctx: Context) -> None:
    name = function_name(function)
    if name not in TIE_DEPENDENT:
        return
    ctx.note(
        "WINDOW_TIES",
        f"{name}() is not determined where rows are equal in its ORDER BY",
        "order by something unique in each partition",
        e,
        "info" if e.args.get("order") else "warning",
    )
