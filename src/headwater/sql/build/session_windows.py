"""Blocks that group by session_window: as window functions where that is possible, else as text.

A session has no value for a single row, but its start has one among the rows of the same keys: the
latest time up to the row's own that no earlier one reaches within the gap. So

    SELECT k, session_window, COUNT(*) FROM t GROUP BY k, session_window(ts, gap)

is the block

    SELECT k, struct(start, MAX(ts) + gap), COUNT(*) FROM (
      SELECT *, MAX(IF(ts > before + gap OR before IS NULL, ts, NULL)) OVER w AS start FROM (
        SELECT *, MAX(ts) OVER (w, up to the moment before ts) AS before FROM t
        WHERE ts IS NOT NULL))
    GROUP BY k, start                                       -- w: PARTITION BY k ORDER BY ts

Both frames are ranges, so rows of the same time do not tie. Without another key, over several
tables or with a gap that differs by row, the block stays text and is refreshed in full.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.core.errors import InvalidQuery
from headwater.sql.build.clock import outside_value
from headwater.sql.build.items import column_name
from headwater.sql.build.scope import Entry, Relation
from headwater.sql.dialect import HeadwaterSpark
from headwater.sql.functions import function_name
from headwater.sql.nesting import Opaque
from headwater.sql.relations import Scan

if TYPE_CHECKING:
    from headwater.sql.build.context import Context

_REASON = "session_window() merges rows into sessions"
_GAP = re.compile(r"\s*(\d+)\s+(second|minute|hour|day)s?\s*", re.IGNORECASE)
_START, _BEFORE = "__hw_start", "__hw_before"


def has_session_window(ast: exp.Select) -> bool:
    """Whether a block groups by sessions."""
    group = ast.args.get("group")
    return group is not None and any(
        function_name(call) == "session_window" for call in group.find_all(exp.Anonymous)
    )


def sessions_by_windows(ast: exp.Select) -> exp.Select | None:
    """The block without session_window; None when it cannot be written so."""
    group, source = ast.args["group"], ast.args.get("from_")
    calls = [key for key in group.expressions if _is_session(key)]
    keys = [key for key in group.expressions if not _is_session(key)]
    table = source.this if source is not None else None
    if not isinstance(table, exp.Table) or _more_tables(ast, table):
        return None
    if len(calls) != 1 or not keys or not _only_lists(group):
        return None
    time, gap = calls[0].expressions[0], _interval(calls[0])
    if gap is None or not isinstance(time, exp.Column) or _aggregated(ast):
        return None
    rows = _with_start(ast, table, keys, time, gap)
    block = ast.copy()
    block.set("expressions", [_named(item) for item in block.expressions])
    block.set("where", None)
    block.set("from_", exp.From(this=rows.subquery(table.alias or table.name)))
    block.set("group", exp.Group(expressions=[*(k.copy() for k in keys), exp.column(_START)]))
    end = exp.Add(this=exp.Max(this=time.copy()), expression=gap.copy())
    for clause in ("expressions", "having", "order", "qualify"):
        found = block.args.get(clause)
        for part in found if isinstance(found, list) else [found] if found else []:
            _replace_sessions(part, end)
    return block


def _with_start(
    ast: exp.Select, table: exp.Table, keys: list[exp.Expr], time: exp.Column, gap: exp.Interval
) -> exp.Select:
    """The rows with the start of their session."""
    moment = exp.Interval(this=exp.Literal.string("1"), unit=exp.var("MICROSECOND"))
    known = exp.Not(this=exp.Is(this=time.copy(), expression=exp.null()))
    before = exp.select("*", exp.alias_(_latest(time, keys, time, moment), _BEFORE))
    before = before.from_(table.copy()).where(known)
    where = ast.args.get("where")
    before = before.where(where.this.copy()) if where is not None else before
    reached = exp.Add(this=exp.column(_BEFORE), expression=gap.copy())
    first = exp.Or(
        this=exp.GT(this=time.copy(), expression=reached),
        expression=exp.Is(this=exp.column(_BEFORE), expression=exp.null()),
    )
    opened = exp.Case(ifs=[exp.If(this=first, true=time.copy())])
    start = exp.select("*", exp.alias_(_latest(opened, keys, time, None), _START))
    return start.from_(before.subquery(table.alias or table.name))


def _latest(
    value: exp.Expr, keys: list[exp.Expr], time: exp.Column, until: exp.Interval | None
) -> exp.Window:
    """MAX over the rows of the same keys up to this one's time, or to a while before it."""
    frame = exp.WindowSpec(
        kind="RANGE",
        start="UNBOUNDED",
        start_side="PRECEDING",
        end="CURRENT ROW" if until is None else until,
        end_side=None if until is None else "PRECEDING",
    )
    return exp.Window(
        this=exp.Max(this=value.copy()),
        partition_by=[key.copy() for key in keys],
        order=exp.Order(expressions=[exp.Ordered(this=time.copy())]),
        spec=frame,
    )


def _named(item: exp.Expr) -> exp.Expr:
    """A session in the SELECT list keeps the name that Spark gives it."""
    if isinstance(item, exp.Column) and "session_window" in (item.name.lower(), item.table.lower()):
        return exp.alias_(item, item.name)
    return exp.alias_(item, "session_window") if _is_session(item) else item


def _replace_sessions(part: exp.Expr, end: exp.Expr) -> None:
    """`session_window` and its two fields, by name or by call, in one expression."""
    start = exp.column(_START)
    for node in list(part.find_all(exp.Anonymous, exp.Column)):
        if isinstance(node, exp.Column) and node.table.lower() == "session_window":
            node.replace((start if node.name.lower() == "start" else end).copy())
        elif _is_session(node) or (
            isinstance(node, exp.Column) and node.name.lower() == "session_window"
        ):
            field = node.parent if isinstance(node.parent, exp.Dot) else None
            if field is not None:
                field.replace((start if field.name.lower() == "start" else end).copy())
            else:
                pair = [exp.Literal.string("start"), start, exp.Literal.string("end"), end]
                node.replace(
                    exp.Anonymous(this="named_struct", expressions=[p.copy() for p in pair])
                )


def _aggregated(ast: exp.Select) -> bool:
    """Whether an aggregate reads the session itself: `MAX(session_window.end)`."""
    return any(
        _is_session(node)
        or (isinstance(node, exp.Column) and node.parts[0].name.lower() == "session_window")
        for call in ast.find_all(exp.AggFunc)
        for node in call.find_all(exp.Anonymous, exp.Column)
    )


def _is_session(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and function_name(node) == "session_window"


def _more_tables(ast: exp.Select, table: exp.Table) -> bool:
    return bool(ast.args.get("joins") or ast.args.get("laterals") or table.args.get("joins"))


def _only_lists(group: exp.Group) -> bool:
    return not any(value for name, value in group.args.items() if name != "expressions")


def _interval(call: exp.Expr) -> exp.Interval | None:
    """A gap that is the same for all rows."""
    gap = call.expressions[1] if len(call.expressions) == 2 else None
    found = _GAP.fullmatch(gap.this) if isinstance(gap, exp.Literal) and gap.is_string else None
    if found is None:
        return None
    return exp.Interval(this=exp.Literal.string(found[1]), unit=exp.var(found[2].upper()))


def session_block(ast: exp.Select, ctx: Context) -> Relation:
    """The block as text over its tables."""
    ctx.note(
        "SESSION_WINDOW", _REASON, "use window() for windows of fixed length", ast.args["group"]
    )
    text = ast.copy()
    for call in list(text.find_all(exp.Func)):
        value = outside_value(call, ctx, allowed=False)
        if value is not None:
            call.replace(value)
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
        text.sql(HeadwaterSpark, comments=False),
        schema,
        tuple(scans),
        "SESSION_WINDOW",
        _REASON,
        place=ctx.place(ast.args["group"]),
    )
    return Relation(node, tuple(entries))


def _plain(table: exp.Table) -> exp.Table:
    return exp.Table(**{part: table.args.get(part) for part in ("this", "db", "catalog")}).copy()
