"""SQL text to `Definition`: parse, build the tree, normalise, prune. Pure; asks only the lookup."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.core.errors import DuplicateColumn, InvalidQuery
from headwater.core.names import HIDDEN_PREFIX
from headwater.sql.build.aggregates import is_aggregate
from headwater.sql.build.context import Context, Session
from headwater.sql.build.query import query
from headwater.sql.definition import Definition
from headwater.sql.inline import inlined
from headwater.sql.lookup import SourceField
from headwater.sql.normal.rules import normalised
from headwater.sql.parse import parse_query
from headwater.sql.relations import Filter, Scan

if TYPE_CHECKING:
    from headwater.core.names import TableName
    from headwater.sql.build.scope import Relation
    from headwater.sql.lookup import Lookup


def define(text: str, lookup: Lookup) -> Definition:
    """Read a query as an operator tree.

    Args:
        text: one SELECT-like statement in Spark SQL.
        lookup: schemas, views and functions.

    Raises:
        SqlSyntaxError: the text cannot be parsed.
        InvalidQuery: it is no query, or one that SQL does not allow.
        UnknownTable: it reads a table that is not there.
        UnknownColumn: a name means no column, or several.
        DuplicateColumn: two result columns have one name, or a reserved one.
    """
    ast = parse_query(text)
    session = Session(text, lookup)
    session.beyond_spark = inlined(ast, lookup, text)
    relation = query(ast, None, Context(session, query, text))
    _check_names(relation, ast, Context(session, query, text))
    _check_filters(relation, Context(session, query, text))
    wanted = tuple(entry.column for entry in relation.visible)
    tree = normalised(relation.node, wanted, session.names.fresh)
    scans = [node for node in tree.walk() if isinstance(node, Scan)]
    return Definition(
        text=text,
        tree=tree,
        output=tuple((entry.name, entry.column) for entry in relation.visible),
        sources=tuple(sorted({scan.table for scan in scans})),
        used=_used(scans, lookup),
        views=session.views,
        uses_clock=session.uses_clock,
        beyond_spark=session.beyond_spark,
        facts=tuple(session.facts),
    )


def _check_names(relation: Relation, ast: exp.Expr, ctx: Context) -> None:
    seen: dict[str, int] = {}
    for position, entry in enumerate(relation.visible):
        name = entry.name.lower()
        if name.startswith(HIDDEN_PREFIX):
            what = f"column name {entry.name!r} is reserved"
            raise ctx.error(DuplicateColumn, what, _written(ast, position), "choose another name")
        if name in seen:
            what = f"two columns are called {entry.name!r}"
            raise ctx.error(DuplicateColumn, what, _written(ast, position), "give one an alias")
        seen[name] = position


def _check_filters(relation: Relation, ctx: Context) -> None:
    """Refuse functions of many rows in WHERE; those of HAVING and QUALIFY are columns by now."""
    for node in relation.node.walk():
        if not isinstance(node, Filter):
            continue
        for part in node.predicate.walk():
            window = isinstance(part, exp.Window)
            if window or is_aggregate(part, ctx):
                what = f"{part.sql('spark')}: WHERE looks at one row at a time"
                hint = "use QUALIFY" if window else "use HAVING, or a subquery"
                raise InvalidQuery(what, hint=hint, place=node.place, sql=ctx.session.text)


def _written(ast: exp.Expr, position: int) -> exp.Expr | None:
    """The item of the SELECT list a result column comes from, as near as it can be told."""
    selects = ast.selects if hasattr(ast, "selects") else []
    return selects[min(position, len(selects) - 1)] if selects else ast


def _used(scans: list[Scan], lookup: Lookup) -> dict[TableName, tuple[SourceField, ...]]:
    used: dict[TableName, set[str]] = {}
    for scan in scans:
        used.setdefault(scan.table, set()).update(name for name, _ in scan.fields)
    return {
        table: tuple(f for f in lookup.fields(table) or () if f.name in names)
        for table, names in sorted(used.items())
    }
