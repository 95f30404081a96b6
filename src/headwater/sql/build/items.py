"""The SELECT list: stars expanded, names given, earlier aliases usable in later items."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.core.errors import InvalidQuery, UnknownColumn
from headwater.sql.build.expressions import Resolver
from headwater.sql.columns import ref
from headwater.sql.types import struct_fields

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from headwater.sql.build.context import Context
    from headwater.sql.build.scope import Entry, Scope

_OPERATORS: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
}
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
        if _is_star(written):
            items.extend(_star(written, scope, ctx))
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
    """The name of an item without alias: its column, or its text where that can be a name."""
    text = _text(written)
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
    return e.sql("spark", normalize_functions="lower", comments=False)


def _is_star(e: exp.Expr) -> bool:
    return isinstance(e, exp.Star) or (isinstance(e, exp.Column) and isinstance(e.this, exp.Star))


def _star(written: exp.Expr, scope: Scope, ctx: Context) -> Iterator[Item]:
    star = written.this if isinstance(written, exp.Column) else written
    qualifier = tuple(p.name.lower() for p in _owner(written))
    entries = [
        entry
        for entry in scope.entries
        if (entry.belongs(qualifier) if qualifier else not entry.hidden)
    ]
    if qualifier and not entries:
        yield from _struct_star(written, scope, ctx)
        return
    if not scope.entries:
        raise ctx.error(InvalidQuery, "SELECT * needs a FROM clause", written)
    dropped = _excepted(star, entries, ctx)
    for entry in entries:
        if entry.name.lower() not in dropped:
            column = ref(entry.column.name)
            if star._meta:
                column.this.meta.update(star._meta)
            yield Item(entry.name, column, written)


def _owner(written: exp.Expr) -> list[exp.Identifier]:
    return (
        [p for p in written.parts if isinstance(p, exp.Identifier)]
        if isinstance(written, exp.Column)
        else []
    )


def _excepted(star: exp.Expr, entries: list[Entry], ctx: Context) -> set[str]:
    names = {entry.name.lower() for entry in entries}
    dropped = set()
    for part in star.args.get("except_") or ():
        if part.name.lower() not in names:
            raise ctx.error(UnknownColumn, f"EXCEPT names no column {part.name!r}", part)
        dropped.add(part.name.lower())
    return dropped


def _struct_star(written: exp.Expr, scope: Scope, ctx: Context) -> Iterator[Item]:
    parts = _owner(written)
    column = exp.Column(**dict(zip(("this", "table", "db"), reversed(parts), strict=False)))
    value = Resolver(scope, ctx)(column)
    fields = struct_fields(ctx.type_of(value))
    if fields is None:
        what = f"{'.'.join(p.name for p in parts)!r} is neither a table nor a struct"
        raise ctx.error(UnknownColumn, what, written)
    for name, _ in fields:
        field = exp.Dot(this=value.copy(), expression=exp.to_identifier(name, quoted=True))
        yield Item(name, field, written)
