"""Clock functions: the instant of the refresh as a hole, no obstacle in temporal filters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.sql.functions import CLOCKS, NON_DETERMINISTIC, SESSION, function_name
from headwater.sql.operators import CLOCK_BEFORE, CLOCK_NOW

if TYPE_CHECKING:
    from headwater.sql.build.context import Context

# What may stop a query with an error; old rows see the new clock, which the query never shows them.
_RISKY = (exp.Div, exp.IntDiv, exp.Mod, exp.Cast, exp.Query)
_COMPARISONS = (exp.GT, exp.GTE, exp.LT, exp.LTE, exp.EQ, exp.Between)


def clock_hole(name: str, call: exp.Expr, ctx: Context, *, allowed: bool) -> exp.Expr:
    """The instant of the refresh in place of a clock function.

    Outside a temporal filter the value of the clock is part of the rows themselves, so no old row
    can be kept: that is recorded.
    """
    ctx.session.uses_clock = True
    if not allowed:
        ctx.note(
            "CLOCK",
            f"{name}() depends on the time of the refresh",
            "compare columns with current_timestamp() ± interval in WHERE or HAVING instead",
            call,
        )
    hole = exp.cast(exp.Literal.string(CLOCK_NOW), "timestamp", dialect="spark")
    type = CLOCKS[name]
    return hole if type == "timestamp" else exp.cast(hole, type, dialect="spark")


def outside_value(call: exp.Func, ctx: Context, *, allowed: bool) -> exp.Expr | None:
    """What takes the place of a call that depends on more than rows: the clock is a hole.

    Functions of the session and of chance stay; that they are there is recorded.
    """
    name = function_name(call)
    if name == "unix_timestamp" and not call.expressions:
        hole = clock_hole("now", call, ctx, allowed=allowed)
        return exp.Anonymous(this="unix_timestamp", expressions=[hole])
    if name in CLOCKS:
        return clock_hole(name, call, ctx, allowed=allowed)
    if name in SESSION:
        ctx.note(
            "CLOCK",
            f"{name}() depends on the session that refreshes",
            "use a constant instead",
            call,
        )
    if name in NON_DETERMINISTIC or _is_chance(call, name, ctx):
        ctx.note(
            "NONDET_FUNC",
            f"{name}() gives another value each time",
            "compute it in the source table",
            call,
        )
    return None


def _is_chance(call: exp.Func, name: str, ctx: Context) -> bool:
    if not isinstance(call, exp.Anonymous):
        return False
    fact = ctx.session.lookup.function(name)
    return fact is not None and not fact.deterministic


def allows_clock(predicate: exp.Expr, ctx: Context) -> bool:
    """Whether the clock in a conjunct of WHERE or HAVING is no obstacle.

    The rows that pass under one clock only are found by testing the old rows under both. Where the
    clock is compared with something stored these are the rows between two instants; else all rows
    must be looked at, which is noted.
    """
    if is_temporal_filter(predicate):
        return True
    if not reads_clock(predicate) or _is_risky(predicate):
        return False
    ctx.note(
        "CLOCK_SCAN",
        "whether a row passes depends on the time of the refresh: each refresh looks at all rows",
        "compare a column alone with the time: `column <op> current_timestamp() ± interval`",
        predicate,
        "info",
    )
    return True


def _is_risky(predicate: exp.Expr) -> bool:
    calls = [function_name(call) for call in predicate.find_all(exp.Anonymous)]
    return predicate.find(*_RISKY) is not None or any(name not in CLOCKS for name in calls)


def is_temporal_filter(conjunct: exp.Expr) -> bool:
    """Whether a conjunct compares something stored with an instant made from the clock."""
    if not isinstance(conjunct, _COMPARISONS):
        return False
    sides = list(conjunct.iter_expressions())
    timed = [side for side in sides if reads_clock(side)]
    stored = [side for side in sides if side.find(exp.Column)]
    return bool(timed) and bool(stored) and not any(side in stored for side in timed)


def reads_clock(expression: exp.Expr) -> bool:
    """Whether an unresolved expression calls a clock function."""
    return any(function_name(call) in CLOCKS for call in expression.find_all(exp.Func))


def has_clock_hole(expression: exp.Expr) -> bool:
    """Whether a resolved expression depends on the instant of the refresh."""
    return any(part.this in (CLOCK_NOW, CLOCK_BEFORE) for part in expression.find_all(exp.Literal))
