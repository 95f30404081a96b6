"""The SELECT list: stars expanded, names given, earlier aliases usable in later items."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.sql.build.expressions import Resolver
from headwater.sql.build.stars import is_star, starred
from headwater.sql.dialect import HeadwaterSpark
from headwater.sql.functions import function_name
from headwater.sql.rebuild import bare

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headwater.sql.build.context import Context
    from headwater.sql.build.scope import Scope

_OPERATORS: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
}
_TIME_WINDOWS = ("window", "session_window")
_PLAIN_NAME = re.compile(r"[A-Za-z_(][\w ()*+\-/,<>=%]{0,126}")


@dataclass(frozen=True)
class Item:
    """One column of a SELECT list.

    Attributes:
        name: its visible name.
        value: the expression, resolved.
        aliased: the user gave the name.
        names: the names of all columns of a generator (`posexplode(x) AS (p, e)`).
        ast: the item as written, for messages.
    """

    name: str
    value: exp.Expr
    ast: exp.Expr
    aliased: bool = False
    names: tuple[str, ...] = ()

    def over(self, value: exp.Expr) -> Item:
        """The same item with its value expressed over another node."""
        return replace(self, value=value)


def select_items(
    ast: exp.Select, scope: Scope, ctx: Context, windows: Mapping[str, exp.Expr]
) -> tuple[Item, ...]:
    """The items of a SELECT list, resolved over the FROM clause."""
    items: list[Item] = []
    aliases: dict[str, exp.Expr] = {}
    resolve = Resolver(scope, ctx, aliases=aliases, windows=windows)
    for written in ast.expressions:
        if is_star(written):
            found = starred(written, scope, ctx, Resolver(scope, ctx))
            items.extend(Item(name, value, written) for name, value in found)
            continue
        item = _item(written, len(items), resolve)
        items.append(item)
        if item.aliased:
            aliases.setdefault(item.name.lower(), item.value)
    return tuple(items)


def _item(written: exp.Expr, position: int, resolve: Resolver) -> Item:
    if isinstance(written, exp.Aliases):
        names = tuple(part.name for part in written.expressions)
        return Item(names[0], resolve(written.this), written, aliased=True, names=names)
    if isinstance(written, exp.Alias):
        return Item(written.alias, resolve(written.this), written, aliased=True)
    return Item(column_name(written, position), resolve(written), written)


def column_name(written: exp.Expr, position: int) -> str:
    """The name of an item without alias: its column, or its text where that can be a name.

    A time window is called as its function, `window`.
    """
    call = function_name(written)
    if call in _TIME_WINDOWS:
        return call
    text = _text(written)
    if isinstance(bare(written), exp.Column | exp.Dot):
        return text
    return text if _PLAIN_NAME.fullmatch(text) else f"_c{position}"


def _text(e: exp.Expr) -> str:
    """An expression as Spark would call the column."""
    if isinstance(e, exp.Column):
        return e.name
    if isinstance(e, exp.Dot):
        return str(e.expression.name)
    if isinstance(e, exp.Paren | exp.Cast):
        return _text(e.this)
    if isinstance(e, exp.Count) and isinstance(e.this, exp.Star):
        return "count(1)"
    operator = _OPERATORS.get(type(e))
    if operator is not None:
        return f"({_text(e.this)} {operator} {_text(e.expression)})"
    return e.sql(HeadwaterSpark, normalize_functions="lower", comments=False)
