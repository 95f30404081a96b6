"""Generators: functions that make rows (explode and its kin), wherever SQL lets them stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.core.errors import InvalidQuery
from headwater.sql.build.expressions import Resolver
from headwater.sql.build.pending import attach
from headwater.sql.build.scope import Entry, Relation, Scope
from headwater.sql.columns import ref
from headwater.sql.functions import GENERATORS, function_name
from headwater.sql.grouping import Generate
from headwater.sql.types import element_types, struct_fields

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headwater.sql.build.context import Context
    from headwater.sql.build.items import Item
    from headwater.sql.columns import Column
    from headwater.sql.node import Node

    Shape = list[tuple[str, str | None]]

_OUTER = "_outer"
_PAIR = 2
_MAPS = ("map", "map_from_arrays", "map_from_entries", "map_concat", "map_filter", "str_to_map")


def is_generator(e: exp.Expr) -> bool:
    """Whether an expression is a call of a generator."""
    return function_name(e) in GENERATORS


def lateral_views(source: Relation, ast: exp.Select, outer: Scope | None, ctx: Context) -> Relation:
    """The LATERAL VIEW clauses of a block, each over what came before."""
    for view in ast.args.get("laterals") or ():
        keep = bool(view.args.get("outer"))
        source = generator_table(source, view, Scope(source.entries, outer), ctx, outer=keep)
    return source


def generator_table(
    left: Relation, ast: exp.Lateral, scope: Scope, ctx: Context, *, outer: bool
) -> Relation:
    """Each row of `left` with the rows a generator makes of it; `outer` keeps rows without any."""
    call = Resolver(scope, ctx)(ast.this)
    if not is_generator(call):
        raise ctx.error(InvalidQuery, f"{ast.this.sql('spark')} makes no rows", ast.this)
    alias = ast.args.get("alias")
    names = tuple(part.name for part in alias.columns) if alias is not None else ()
    owner = (alias.name.lower(),) if alias is not None and alias.name else ()
    node, (call,) = attach(left.node, [call], ctx)
    node, columns = _generate(node, call, names, outer, ast, ctx)
    made = tuple(Entry(name, column, owner) for name, column in columns)
    return Relation(node, left.entries + made)


def generated(node: Node, items: Sequence[Item], ctx: Context) -> tuple[Node, list[Item]]:
    """Take generators out of a SELECT list; one of them may give several columns."""
    out: list[Item] = []
    for item in items:
        if not is_generator(item.value):
            inner = item.value.find(exp.Explode, exp.Posexplode, exp.Inline)
            if inner is not None:
                raise ctx.error(InvalidQuery, "a generator must be a column of its own", item.ast)
            out.append(item)
            continue
        names = item.names or ((item.name,) if item.aliased else ())
        node, columns = _generate(node, item.value, names, False, item.ast, ctx)
        out.extend(
            type(item)(name, ref(column.name), item.ast, item.aliased) for name, column in columns
        )
    return node, out


def _generate(
    node: Node, call: exp.Expr, names: tuple[str, ...], outer: bool, ast: exp.Expr, ctx: Context
) -> tuple[Node, list[tuple[str, Column]]]:
    name = function_name(call)
    keep = outer or name.endswith(_OUTER)
    shape = _shape(name.removesuffix(_OUTER), call, names, ctx)
    if shape is None or (names and len(names) != len(shape)):
        given = f"{len(names)} names" if names else "no names"
        what = f"{name}() is given {given} for its columns"
        raise ctx.error(InvalidQuery, what, ast, "name each column: … AS (a, b)")
    labels = names or tuple(label for label, _ in shape)
    columns = [
        (label, ctx.column(label, type)) for label, (_, type) in zip(labels, shape, strict=True)
    ]
    generator = _plain(call, name.removesuffix(_OUTER))
    place = ctx.place(ast)
    made = Generate(node, generator, keep, tuple(c for _, c in columns), place=place)
    return made, columns


def _plain(call: exp.Expr, name: str) -> exp.Expr:
    """The generator without OUTER in its name: that is a property of the node."""
    if name == "explode":
        return exp.Explode(this=call.this.copy())
    if name == "posexplode":
        return exp.Posexplode(this=call.this.copy())
    if isinstance(call, exp.Anonymous) and name == "inline":
        return exp.Inline(this=call.expressions[0].copy())
    return call


def _argument(call: exp.Expr) -> exp.Expr:
    first: exp.Expr = call.expressions[0] if isinstance(call, exp.Anonymous) else call.this
    return first


def _shape(name: str, call: exp.Expr, names: tuple[str, ...], ctx: Context) -> Shape | None:
    """Default names and types of the columns a generator gives; None if it cannot be known."""
    if name in ("explode", "posexplode"):
        argument = _argument(call)
        width = len(names) or (_PAIR if _is_map(argument) else 0) + (name == "posexplode")
        return _exploded(name == "posexplode", ctx.type_of(argument), width)
    if name == "inline":
        inner = element_types(ctx.type_of(_argument(call)))
        fields = struct_fields(inner[0]) if inner else None
        if fields is not None:
            return [(n, t) for n, t in fields]
        return [(n, None) for n in names or _field_names(_argument(call))] or None
    if name == "stack":
        count, *values = [call.this, *call.expressions] if call.this else call.expressions
        rows = int(str(count.this)) if str(count.this).isdigit() else 0
        width = -(-len(values) // rows) if rows else 0
        return [(f"col{i}", None) for i in range(width)] or None
    if name == "json_tuple":
        return [(f"c{i}", "string") for i in range(len(call.expressions) - 1)]
    return None


def _is_map(e: exp.Expr) -> bool:
    """Whether an expression makes a map, where its type is not known."""
    return isinstance(e, exp.Map | exp.VarMap) or function_name(e) in _MAPS


def _field_names(e: exp.Expr) -> list[str]:
    """The fields of `array(struct(…), …)`."""
    first = e.expressions[0] if isinstance(e, exp.Array) and e.expressions else None
    fields = first.expressions if isinstance(first, exp.Struct) else []
    return [field.name for field in fields if isinstance(field, exp.PropertyEQ)]


def _exploded(positions: bool, type: str | None, names: int) -> Shape:
    inner: Sequence[str | None] = element_types(type)
    is_map = len(inner) == 2 or (not inner and names == (3 if positions else 2))
    values: Shape
    if is_map:
        key, value = inner or (None, None)
        values = [("key", key), ("value", value)]
    else:
        values = [("col", inner[0] if inner else None)]
    return [("pos", "int"), *values] if positions else values
