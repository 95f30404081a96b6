"""Relations of a FROM clause: tables, views, common table expressions, subqueries, VALUES."""

from __future__ import annotations

import difflib
import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.core.errors import InvalidName, InvalidQuery, UnknownTable
from headwater.core.names import TableName
from headwater.sql.build.expressions import Resolver
from headwater.sql.build.generators import generator_table
from headwater.sql.build.pivots import pivoted
from headwater.sql.build.projection import exactly
from headwater.sql.build.scope import Entry, Relation, Scope
from headwater.sql.columns import ref
from headwater.sql.dialect import HeadwaterSpark
from headwater.sql.functions import GENERATORS, function_name
from headwater.sql.nesting import Opaque
from headwater.sql.parse import parse_query
from headwater.sql.relations import Scan, Values
from headwater.sql.types import canonical, common

if TYPE_CHECKING:
    from headwater.sql.build.context import Context


def table(ast: exp.Expr, outer: Scope | None, ctx: Context) -> Relation:
    """One item of a FROM clause, with its alias, sample and pivots."""
    relation = _plain(ast, outer, ctx)
    if ast.args.get("sample") is not None:
        relation = _sampled(relation, ast, ctx)
    pivots = ast.args.get("pivots") or ()
    if not pivots:
        return aliased(relation, ast, ctx)
    for pivot in pivots:
        relation = pivoted(relation, pivot, ctx)
    return relation


def aliased(relation: Relation, ast: exp.Expr, ctx: Context) -> Relation:
    """The relation under the alias of a FROM item, which may rename columns."""
    alias = ast.args.get("alias")
    if alias is None:
        return relation
    columns = [part.name for part in alias.columns]
    if len(columns) > len(relation.visible) or (columns and len(columns) < len(relation.visible)):
        what = f"alias has {len(columns)} columns, the relation has {len(relation.visible)}"
        raise ctx.error(InvalidQuery, what, alias)
    name = (alias.name,) if alias.name else ()
    return relation.aliased(name, columns)


def _plain(ast: exp.Expr, outer: Scope | None, ctx: Context) -> Relation:
    if isinstance(ast, exp.Values):
        return _values(ast, outer, ctx)
    if isinstance(ast, exp.Table) and isinstance(ast.this, exp.Identifier):
        return _named(ast, ctx)
    if isinstance(ast, exp.Table):
        return _function(ast, outer, ctx)
    if isinstance(ast, exp.Query):
        return ctx.query(ast, outer, ctx)
    if isinstance(ast, exp.Unnest | exp.UDTF):
        return _function(exp.Table(this=ast), outer, ctx)
    raise ctx.error(InvalidQuery, f"cannot read from {ast.sql('spark')}", ast)


def _named(ast: exp.Table, ctx: Context) -> Relation:
    parts = [part.name for part in ast.parts]
    if len(parts) == 1 and parts[0].lower() in ctx.ctes:
        return ctx.ctes[parts[0].lower()]().aliased((parts[0],))
    name = _table_name(parts, ast, ctx)
    if ast.args.get("version") is not None or ast.args.get("when") is not None:
        what = f"{name} is read at a fixed version"
        raise ctx.error(InvalidQuery, what, ast, "read the table itself")
    text = ctx.session.lookup.view(name)
    if text is not None:
        return _view(name, text, ast, ctx)
    fields = ctx.session.lookup.fields(name)
    if fields is None:
        raise _unknown(name, ast, ctx)
    columns = tuple((f.name, ctx.column(f.name, canonical(f.type))) for f in fields)
    catalog = getattr(ctx.session.lookup, "catalog", None)
    qualifier = (*((str(catalog).lower(),) if catalog else ()), name.namespace, name.name)
    entries = tuple(Entry(source, column, qualifier) for source, column in columns)
    return Relation(Scan(name, columns, place=ctx.place(ast)), entries)


def _table_name(parts: list[str], ast: exp.Table, ctx: Context) -> TableName:
    catalog = getattr(ctx.session.lookup, "catalog", None)
    if len(parts) == 3 and catalog is not None and parts[0].lower() == str(catalog).lower():
        parts = parts[1:]
    try:
        return TableName.parse(".".join(parts))
    except InvalidName:
        what = f"there is no table {'.'.join(parts)!r}"
        raise ctx.error(UnknownTable, what, ast, "use name or namespace.name") from None


def _unknown(name: TableName, ast: exp.Table, ctx: Context) -> Exception:
    names = getattr(ctx.session.lookup, "names", None)
    known = {str(n): n for n in names()} if callable(names) else {}
    near = difflib.get_close_matches(str(name), list(known), n=3)
    near = near or [k for k, n in known.items() if n.name == name.name]
    hint = f"did you mean {', '.join(near)}?" if near else ""
    return ctx.error(UnknownTable, f"there is no table {name}", ast, hint)


def _view(name: TableName, text: str, ast: exp.Table, ctx: Context) -> Relation:
    if name in ctx.expanding:
        raise ctx.error(InvalidQuery, f"view {name} reads itself", ast)
    ctx.session.views[str(name)] = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    inside = replace(
        ctx,
        text=text,
        ctes={},
        anchor=ctx.place(ast),
        expanding=(*ctx.expanding, name),
    )
    relation = ctx.query(parse_query(text), None, inside)
    return relation.aliased((name.namespace, name.name))


def _values(ast: exp.Values, outer: Scope | None, ctx: Context) -> Relation:
    resolve = Resolver(Scope((), outer), ctx)
    rows = tuple(
        # The parser takes the name after the last value for that value's own: VALUES 1, 2 AS t(x).
        tuple(
            resolve(e.unalias()) for e in (row.expressions if isinstance(row, exp.Tuple) else [row])
        )
        for row in ast.expressions
    )
    widths = {len(row) for row in rows}
    if len(widths) != 1:
        raise ctx.error(InvalidQuery, "rows of VALUES have different widths", ast)
    schema = tuple(
        ctx.column(f"col{i + 1}", common([ctx.type_of(row[i]) for row in rows]))
        for i in range(widths.pop())
    )
    return Relation(
        Values(rows, schema),
        tuple(Entry(f"col{i + 1}", column) for i, column in enumerate(schema)),
    )


def _function(ast: exp.Table, outer: Scope | None, ctx: Context) -> Relation:
    """A table function: generators are generators over one row, `range` is constant text."""
    call = ast.this
    if function_name(call) in GENERATORS:
        one_row = Relation(Values(((),), ()), ())
        return generator_table(one_row, exp.Lateral(this=call), Scope((), outer), ctx, outer=False)
    if function_name(call) == "range" and not call.find(exp.Column):
        column = ctx.column("id", "bigint")
        text = f"SELECT * FROM {call.sql(HeadwaterSpark)}"
        node = Opaque(
            text, (column,), (), "TABLE_FUNCTION", "a table function", place=ctx.place(call)
        )
        return Relation(node, (Entry("id", column),))
    if isinstance(call, exp.Dot):
        what = f"{ast.sql('spark')} is no table: a metadata table has no changes to follow"
        raise ctx.error(InvalidQuery, what, ast, "use name or namespace.name")
    raise ctx.error(InvalidQuery, f"unknown table function {call.sql('spark')}", call)


def _sampled(relation: Relation, ast: exp.Expr, ctx: Context) -> Relation:
    """TABLESAMPLE of a table: no function of the data, kept as text."""
    sample = ast.args["sample"]
    ctx.note(
        "SAMPLE",
        "TABLESAMPLE gives other rows each time",
        "sample by a hash: WHERE pmod(xxhash64(id), 100) < 5",
        ast,
    )
    relation = exactly(relation)
    scan = relation.node
    if not isinstance(scan, Scan):
        return relation
    hole = exp.Table(this=exp.to_identifier("__hw_in_0", quoted=True), sample=sample.copy())
    shape = exp.select(*(ref(name) for name, _ in scan.fields)).from_(hole)
    node = Opaque(
        shape.sql(HeadwaterSpark),
        tuple(ctx.column(c.name, c.type) for c in scan.columns),
        (scan,),
        "SAMPLE",
        "TABLESAMPLE gives other rows each time",
        place=ctx.place(ast),
    )
    entries = tuple(
        Entry(e.name, c, e.qualifier) for e, c in zip(relation.visible, node.schema, strict=True)
    )
    return Relation(node, entries)
