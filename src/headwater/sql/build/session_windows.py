"""Blocks that group by session_window: no operator says what they mean, so they stay text.

A session has no value for a single row, so it cannot be projected below a grouping as other keys
are. The block reads its tables directly and is refreshed in full.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.core.errors import InvalidQuery
from headwater.sql.build.items import column_name
from headwater.sql.build.scope import Entry, Relation
from headwater.sql.functions import function_name
from headwater.sql.nesting import Opaque
from headwater.sql.relations import Scan

if TYPE_CHECKING:
    from headwater.sql.build.context import Context

_REASON = "session_window() merges rows into sessions"


def has_session_window(ast: exp.Select) -> bool:
    """Whether a block groups by sessions."""
    group = ast.args.get("group")
    return group is not None and any(
        function_name(call) == "session_window" for call in group.find_all(exp.Anonymous)
    )


def session_block(ast: exp.Select, ctx: Context) -> Relation:
    """The block as text over its tables."""
    ctx.note(
        "SESSION_WINDOW", _REASON, "use window() for windows of fixed length", ast.args["group"]
    )
    text = ast.copy()
    scans: list[Scan] = []
    for table in list(text.find_all(exp.Table)):
        name = table.name
        scan = ctx.query(exp.select("*").from_(_plain(table)), None, ctx).node
        if not isinstance(scan, Scan):
            what = f"session_window() over {name!r}, which is no table"
            raise ctx.error(InvalidQuery, what, ast, "read a table itself")
        hole = exp.Table(this=exp.to_identifier(f"__hw_in_{len(scans)}", quoted=True))
        hole.set("alias", exp.TableAlias(this=exp.to_identifier(table.alias or name, quoted=True)))
        table.replace(hole)
        scans.append(scan)
    entries = []
    for position, item in enumerate(ast.expressions):
        name = item.alias or column_name(item, position)
        entries.append(Entry(name, ctx.column(name)))
    schema = tuple(entry.column for entry in entries)
    node = Opaque(
        text.sql("spark", comments=False),
        schema,
        tuple(scans),
        "SESSION_WINDOW",
        _REASON,
        place=ctx.place(ast.args["group"]),
    )
    return Relation(node, tuple(entries))


def _plain(table: exp.Table) -> exp.Table:
    return exp.Table(**{part: table.args.get(part) for part in ("this", "db", "catalog")}).copy()
