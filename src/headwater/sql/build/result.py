"""The result columns of a SELECT block, and the columns it is ordered by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.core.errors import InvalidQuery
from headwater.sql.build.scope import Entry, Relation
from headwater.sql.columns import Column, ref
from headwater.sql.rebuild import bare
from headwater.sql.relations import Project

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headwater.sql.build.context import Context
    from headwater.sql.build.items import Item
    from headwater.sql.node import Node


class Result:
    """Projects the items of a SELECT list.

    A column that is passed on unchanged keeps its name in the tree, unless it is shown twice.
    """

    def __init__(self, node: Node, items: Sequence[Item], ctx: Context) -> None:
        self._node = node
        self._ctx = ctx
        self._inputs = {column.name: column for column in node.columns}
        self._made: dict[str, tuple[Column, exp.Expr]] = {}
        self._known: dict[exp.Expr, str] = {}
        self._entries = tuple(
            Entry(item.name, self._add(bare(item.value), item.name)) for item in items
        )

    def sort_key(self, ordered: exp.Expr, *, may_hide: bool) -> exp.Expr:
        """An ORDER BY key over the result; one that is not selected becomes a hidden column."""
        value = bare(ordered.this)
        if value not in self._known:
            if not may_hide:
                raise self._ctx.error(
                    InvalidQuery,
                    "ORDER BY of SELECT DISTINCT must use selected columns",
                    ordered,
                )
            self._add(value, "sort_key")
        return exp.Ordered(**{**ordered.args, "this": ref(self._known[value])})

    def relation(self) -> Relation:
        """The projected relation; no projection where it would change nothing."""
        items = tuple(self._made.values())
        plain = all(isinstance(v, exp.Column) and v.name == c.name for c, v in items)
        if plain and len(items) == len(self._node.columns):
            return Relation(self._node, self._entries)
        return Relation(Project(self._node, items), self._entries)

    def _add(self, value: exp.Expr, name: str) -> Column:
        column = self._inputs.get(value.name) if isinstance(value, exp.Column) else None
        if column is None or column.name in self._made:
            column = self._ctx.computed(name, value)
        self._made[column.name] = (column, value)
        self._known.setdefault(value, column.name)
        return column
