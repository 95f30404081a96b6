"""What `*` stands for: the columns of the scope, of one relation, or the fields of a struct."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.core.errors import InvalidQuery, UnknownColumn
from headwater.sql.columns import ref
from headwater.sql.pipes import SET_BY_PIPE
from headwater.sql.types import struct_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headwater.sql.build.context import Context
    from headwater.sql.build.scope import Entry, Scope

    Resolve = Callable[[exp.Expr], exp.Expr]


def is_star(e: object) -> bool:
    """Whether an expression is `*` or `something.*`."""
    return isinstance(e, exp.Star) or (isinstance(e, exp.Column) and isinstance(e.this, exp.Star))


def starred(
    written: exp.Expr, scope: Scope, ctx: Context, resolve: Resolve
) -> Iterator[tuple[str, exp.Expr]]:
    """The names and resolved values a star stands for; `resolve` is for the names before it."""
    star = written.this if isinstance(written, exp.Column) else written
    qualifier = tuple(p.name.lower() for p in _owner(written))
    entries = [
        entry
        for entry in scope.entries
        if (entry.belongs(qualifier) if qualifier else not entry.hidden)
    ]
    if qualifier and not entries:
        yield from _struct_star(written, star, ctx, resolve)
        return
    if not scope.entries:
        raise ctx.error(InvalidQuery, "* needs a FROM clause", written)
    dropped = _excepted(star, entries, ctx)
    values = _set_by_pipe(star, entries, ctx)
    for entry in entries:
        if entry.name.lower() in values:
            yield entry.name, resolve(values[entry.name.lower()])
        elif id(entry) not in dropped:
            column = ref(entry.column.name)
            if star._meta:
                column.this.meta.update(star._meta)
            yield entry.name, column


def _owner(written: exp.Expr) -> list[exp.Identifier]:
    return (
        [p for p in written.parts if isinstance(p, exp.Identifier)]
        if isinstance(written, exp.Column)
        else []
    )


def _excepted(star: exp.Expr, entries: list[Entry], ctx: Context) -> set[int]:
    """The entries that EXCEPT names, each by its name or with that of its relation."""
    dropped = set()
    for part in _except_names(star, ctx):
        *qualifier, name = (p.name.lower() for p in _path(part))
        found = [
            entry
            for entry in entries
            if entry.name.lower() == name and (not qualifier or entry.belongs(tuple(qualifier)))
        ]
        if not found:
            shown = ".".join(p.name for p in _path(part))
            hint = "a field of a struct cannot be left out: name the columns" if qualifier else ""
            raise ctx.error(UnknownColumn, f"EXCEPT names no column {shown!r}", part, hint)
        dropped |= {id(entry) for entry in found}
    return dropped


def _path(part: exp.Expr) -> list[exp.Expr]:
    return part.parts if isinstance(part, exp.Column | exp.Dot) else [part]


def _set_by_pipe(star: exp.Expr, entries: list[Entry], ctx: Context) -> dict[str, exp.Expr]:
    """The new values of columns, by name."""
    values = {part.alias.lower(): part.this for part in star.args.get("replace") or ()}
    for name in values:
        if sum(entry.name.lower() == name for entry in entries) != 1:
            raise ctx.error(UnknownColumn, f"SET names no single column {name!r}", values[name])
    return values


def _except_names(star: exp.Expr, ctx: Context) -> list[exp.Expr]:
    for other in ("replace", "rename"):
        if star.args.get(other) and not star.meta.get(SET_BY_PIPE):
            what = f"* {other.upper()} is not Spark SQL"
            raise ctx.error(InvalidQuery, what, star, "use * EXCEPT (…) and name the columns")
    return list(star.args.get("except_") or ())


def _struct_star(
    written: exp.Expr, star: exp.Expr, ctx: Context, resolve: Resolve
) -> Iterator[tuple[str, exp.Expr]]:
    parts = _owner(written)
    column = exp.Column(**dict(zip(("this", "table", "db"), reversed(parts), strict=False)))
    value = resolve(column)
    fields = struct_fields(ctx.type_of(value))
    if fields is None:
        what = f"{'.'.join(p.name for p in parts)!r} is neither a table nor a struct"
        raise ctx.error(UnknownColumn, what, written)
    dropped = {part.name.lower() for part in _except_names(star, ctx)}
    unknown = dropped - {name.lower() for name, _ in fields}
    if unknown:
        raise ctx.error(UnknownColumn, f"EXCEPT names no field {min(unknown)!r}", written)
    for name, _ in fields:
        if name.lower() in dropped:
            continue
        yield name, exp.Dot(this=value.copy(), expression=exp.to_identifier(name, quoted=True))
