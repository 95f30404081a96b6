"""PIVOT and UNPIVOT clauses: kept as clauses, over columns and with names of the tree."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.core.errors import InvalidQuery
from headwater.sql.build.aggregates import has_aggregate
from headwater.sql.build.expressions import Resolver
from headwater.sql.build.projection import exactly
from headwater.sql.build.scope import Entry, Relation, Scope
from headwater.sql.columns import names_in
from headwater.sql.grouping import Reshape
from headwater.sql.rebuild import bare
from headwater.sql.types import common

if TYPE_CHECKING:
    from headwater.sql.build.context import Context
    from headwater.sql.columns import Column


def pivoted(relation: Relation, pivot: exp.Pivot, ctx: Context) -> Relation:
    """The relation turned by one PIVOT or UNPIVOT clause."""
    relation = exactly(relation)
    made = _unpivot if pivot.args.get("unpivot") else _pivot
    result = made(relation, pivot, ctx)
    alias = pivot.args.get("alias")
    if alias is None:
        return result
    return result.aliased((alias.name,), [c.name for c in alias.columns])


def _pivot(relation: Relation, pivot: exp.Pivot, ctx: Context) -> Relation:
    resolve = Resolver(Scope(relation.entries), ctx)
    calls = [_call(e, resolve, ctx) for e in pivot.expressions]
    if len(calls) == 1:
        calls = [(bare_call(call), name) for call, name in calls]
    fields = [_field(f, resolve) for f in pivot.args.get("fields") or ()]
    if len(fields) != 1:
        raise ctx.error(InvalidQuery, "PIVOT needs one FOR … IN list", pivot)
    used = {n for e in (*(c for c, _ in calls), *fields) for n in names_in(e)}
    keys = [e for e in relation.visible if e.column.name not in used]
    outputs = []
    for value, (call, suffix) in product(fields[0].expressions, calls):
        label = _label(value)
        visible = label if len(calls) == 1 else f"{label}_{suffix}"
        outputs.append((visible, ctx.computed(visible, bare_call(call))))
    clause = exp.Pivot(expressions=[c for c, _ in calls], fields=fields, unpivot=False)
    node = Reshape(
        relation.node,
        clause,
        tuple(e.column.name for e in keys),
        tuple(outputs),
        unpivot=False,
        place=ctx.place(pivot),
    )
    made = (Entry(name, column) for name, column in outputs)
    return Relation(node, (*keys, *made))


def bare_call(call: exp.Expr) -> exp.Expr:
    """The aggregate of a PIVOT without its alias."""
    return call.this if isinstance(call, exp.Alias) else call


def _call(e: exp.Expr, resolve: Resolver, ctx: Context) -> tuple[exp.Expr, str]:
    """An aggregate of the clause, under its name for the output columns."""
    inner = e.this if isinstance(e, exp.Alias) else e
    if not has_aggregate(inner, ctx):
        raise ctx.error(InvalidQuery, "PIVOT needs aggregates", e)
    name = e.alias or inner.sql("spark", normalize_functions="lower", comments=False)
    value = resolve(inner)
    alias = exp.to_identifier(name, quoted=True)
    return exp.Alias(this=value, alias=alias), name


def _field(field: exp.Expr, resolve: Resolver) -> exp.In:
    this = bare(field.this)
    column: exp.Expr
    if isinstance(this, exp.Tuple):
        column = exp.Tuple(expressions=[resolve(e) for e in this.expressions])
    else:
        column = resolve(this)
    values = [
        exp.PivotAlias(
            this=(v.this if isinstance(v, exp.PivotAlias | exp.Alias) else v).copy(),
            alias=exp.to_identifier(_label(v), quoted=True),
        )
        for v in field.expressions
    ]
    return exp.In(this=column, expressions=values)


def _label(value: exp.Expr) -> str:
    if isinstance(value, exp.PivotAlias | exp.Alias):
        return str(value.args["alias"].name)
    inner = bare(value)
    if isinstance(inner, exp.Literal | exp.Boolean | exp.Null):
        return str(inner.this).lower() if isinstance(inner, exp.Boolean) else inner.name or "null"
    if isinstance(inner, exp.Tuple):
        return "{" + ", ".join(_label(e) for e in inner.expressions) + "}"
    return inner.sql("spark")


def _unpivot(relation: Relation, pivot: exp.Pivot, ctx: Context) -> Relation:
    resolve = Resolver(Scope(relation.entries), ctx)
    fields: list[exp.Expr] = pivot.args.get("fields") or []
    if len(fields) != 1:
        raise ctx.error(InvalidQuery, "UNPIVOT needs one FOR … IN list", pivot)
    values = [e for part in pivot.expressions for e in _flat(part)]
    groups = [_group(part, resolve) for part in fields[0].expressions]
    used = {n for g in groups for n in names_in(g)}
    keys = [e for e in relation.visible if e.column.name not in used]
    label = ctx.column(fields[0].this.name, "string")
    columns = [
        (value.name, ctx.column(value.name, _type(groups, i, ctx)))
        for i, value in enumerate(values)
    ]
    clause = exp.Pivot(
        expressions=[_tuple([_named(c) for _, c in columns])],
        fields=[exp.In(this=_named(label), expressions=groups)],
        unpivot=True,
        include_nulls=pivot.args.get("include_nulls"),
    )
    outputs = ((fields[0].this.name, label), *columns)
    node = Reshape(
        relation.node,
        clause,
        tuple(e.column.name for e in keys),
        tuple((column.name, column) for _, column in outputs),
        unpivot=True,
        place=ctx.place(pivot),
    )
    made = (Entry(name, column) for name, column in outputs)
    return Relation(node, (*keys, *made))


def _flat(e: exp.Expr) -> list[exp.Expr]:
    inner = bare(e)
    return list(inner.expressions) if isinstance(inner, exp.Tuple) else [inner]


def _tuple(parts: list[exp.Expr]) -> exp.Expr:
    return parts[0] if len(parts) == 1 else exp.Tuple(expressions=parts)


def _named(column: Column) -> exp.Expr:
    return exp.to_identifier(column.name, quoted=True)


def _group(part: exp.Expr, resolve: Resolver) -> exp.Expr:
    """The columns of one output row; their names in the text become its label."""
    inner = part.this if isinstance(part, exp.PivotAlias | exp.Alias) else part
    columns = _flat(inner)
    label = "_".join(c.name for c in columns)
    if isinstance(part, exp.PivotAlias | exp.Alias):
        label = str(part.args["alias"].name)
    return exp.PivotAlias(
        this=_tuple([resolve(c) for c in columns]),
        alias=exp.to_identifier(label, quoted=True),
    )


def _type(groups: list[exp.Expr], position: int, ctx: Context) -> str | None:
    parts = [_flat(g.this) for g in groups]
    return common([ctx.type_of(p[position]) if position < len(p) else None for p in parts])
