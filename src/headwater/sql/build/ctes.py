"""Common table expressions: built anew for each reference, recursive ones as `Recursive`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.core.errors import InvalidQuery
from headwater.sql.build.projection import exactly
from headwater.sql.build.scope import Entry, Relation, Scope
from headwater.sql.dialect import LEVELS
from headwater.sql.nesting import Recursive, Reference

if TYPE_CHECKING:
    from collections.abc import Callable

    from headwater.sql.build.context import Context


def with_ctes(ast: exp.Expr, outer: Scope | None, ctx: Context) -> Context:
    """The context inside a query with a WITH clause."""
    clause = ast.args.get("with_")
    if clause is None:
        return ctx
    for cte in clause.expressions:
        recursive = bool(clause.args.get("recursive")) and _reads(cte.this, cte.alias)
        ctx = ctx.with_cte(cte.alias, _builder(cte, outer, ctx, recursive=recursive))
    return ctx


def _reads(body: exp.Expr, name: str) -> bool:
    lowered = name.lower()
    return any(t.name.lower() == lowered and not t.db for t in body.find_all(exp.Table))


def _builder(
    cte: exp.CTE, outer: Scope | None, ctx: Context, *, recursive: bool
) -> Callable[[], Relation]:
    columns = [part.name for part in cte.args["alias"].columns]

    def build() -> Relation:
        made = _recursive if recursive else _plain
        relation = made(cte, columns, outer, ctx)
        if columns and len(columns) != len(relation.visible):
            what = (
                f"{cte.alias} names {len(columns)} columns, its query has {len(relation.visible)}"
            )
            raise ctx.error(InvalidQuery, what, cte.args["alias"])
        return relation.aliased((cte.alias,), columns)

    return build


def _plain(cte: exp.CTE, columns: list[str], outer: Scope | None, ctx: Context) -> Relation:
    return ctx.query(cte.this, outer, ctx)


def _recursive(cte: exp.CTE, columns: list[str], outer: Scope | None, ctx: Context) -> Relation:
    body = cte.this
    while isinstance(body, exp.Subquery):
        body = body.this
    if not isinstance(body, exp.Union) or body.args.get("distinct"):
        what = f"recursive {cte.alias} must be `anchor UNION ALL step`"
        raise ctx.error(InvalidQuery, what, cte.args["alias"])
    anchor = exactly(ctx.query(body.this, outer, ctx))
    names = columns or [entry.name for entry in anchor.visible]
    schema = tuple(
        ctx.column(name, entry.column.type)
        for name, entry in zip(names, anchor.visible, strict=False)
    )
    working = ctx.session.names.fresh(cte.alias)

    def reference() -> Relation:
        fields = tuple((c.name, ctx.column(c.name, c.type)) for c in schema)
        entries = tuple(
            Entry(name, column) for name, (_, column) in zip(names, fields, strict=True)
        )
        return Relation(Reference(working, fields), entries)

    step = exactly(ctx.query(body.expression, outer, ctx.with_cte(cte.alias, reference)))
    if len(step.visible) != len(schema):
        raise ctx.error(InvalidQuery, "anchor and step have different widths", body.expression)
    levels = cte.args["alias"].meta.get(LEVELS)
    node = Recursive(working, anchor.node, step.node, schema, levels, place=ctx.place(cte))
    return Relation(node, tuple(Entry(n, c) for n, c in zip(names, schema, strict=True)))
