"""Arguments of aggregate and window functions: plain columns, computed ones projected below."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.sql.build.pending import attach, has_pending
from headwater.sql.columns import names_in, ref
from headwater.sql.rebuild import bare, rebuild, rebuild_parts

if TYPE_CHECKING:
    from headwater.sql.build.context import Context
    from headwater.sql.columns import Column
    from headwater.sql.node import Node

WRAPPERS = (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)

_STRUCTURE = (exp.Distinct, exp.Order, exp.Ordered, exp.WindowSpec)


def unwrapped(call: exp.Expr) -> exp.Expr:
    """The function of a call, without FILTER, WITHIN GROUP and IGNORE NULLS around it."""
    while isinstance(call, WRAPPERS):
        call = call.this
    return call


class Arguments:
    """Makes calls whose arguments are columns, remembering what must be projected for them.

    Attributes:
        node: the input, with the subqueries of arguments evaluated over it.
        computed: the columns to project.
    """

    def __init__(self, node: Node, ctx: Context) -> None:
        self.node = node
        self.computed: list[tuple[Column, exp.Expr]] = []
        self._ctx = ctx
        self._known: dict[exp.Expr, str] = {}

    def projected(self, call: exp.Expr) -> exp.Expr:
        """The call with each computed argument replaced by a column; FILTER stays as it is."""
        if not isinstance(call, (*WRAPPERS, exp.Window)):
            return rebuild_parts(call, self._change)
        function = call.this
        return rebuild_parts(
            call, lambda e: self.projected(e) if e is function else rebuild(e, self._change)
        )

    def column(self, expression: exp.Expr, wanted: str) -> str:
        """The name of an input column that holds the value of `expression`."""
        if isinstance(expression, exp.Column) and expression.name in self.node.names:
            return expression.name
        if expression not in self._known:
            self.node, (value,) = attach(self.node, [expression], self._ctx)
            column = self._ctx.computed(wanted, value)
            self.computed.append((column, value))
            self._known[expression] = column.name
        return self._known[expression]

    def _change(self, e: exp.Expr) -> exp.Expr | None:
        if isinstance(e, exp.Where):
            self.node, (predicate,) = attach(self.node, [e.this], self._ctx)
            return exp.Where(this=predicate)
        if isinstance(e, exp.Column):
            return e.copy()
        if isinstance(e, _STRUCTURE) or not (names_in(e) or has_pending(e)):
            return None
        return ref(self.column(bare(e), "arg"))
