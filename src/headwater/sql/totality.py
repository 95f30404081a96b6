"""Which expressions give a value for every row, and which fail on some (ANSI mode of Spark).

Division by zero, invalid casts, overflow and indexes out of bounds stop a query. Such an
expression may be evaluated only on rows that the query itself evaluates it on. The list below is
of what is certain: anything not on it counts as able to fail, which costs a little and is right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.sql.columns import names_in
from headwater.sql.types import decimal_fits, decimal_of, is_integer, type_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headwater.sql.types import TypeOf

_ALWAYS = (
    exp.Column, exp.Dot, exp.Literal, exp.Boolean, exp.Null, exp.Star, exp.Identifier, exp.Var,
    exp.DataType, exp.Paren, exp.Alias, exp.And, exp.Or, exp.Not, exp.Is,
    exp.SafeDivide, exp.Lower, exp.Upper, exp.Trim, exp.Substring, exp.Length, exp.Concat,
    exp.DPipe, exp.StartsWith, exp.EndsWith, exp.Contains, exp.StrPosition, exp.Replace, exp.Left,
    exp.Right, exp.Reverse, exp.MD5, exp.SHA, exp.SHA2, exp.Struct, exp.PropertyEQ, exp.ArraySize,
    exp.Explode, exp.Posexplode, exp.ExplodeOuter, exp.PosexplodeOuter, exp.Inline,
    exp.Distinct, exp.Filter, exp.Where, exp.Ordered, exp.Tuple, exp.AggFunc,
)  # fmt: skip
_ALIKE = (
    exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.Between, exp.In,
    exp.Case, exp.If, exp.Coalesce, exp.Nullif, exp.Greatest, exp.Least, exp.Array,
)  # fmt: skip
_OF_DATES = (
    exp.TsOrDsToDate, exp.TimestampTrunc, exp.DateTrunc, exp.Extract, exp.Quarter, exp.Hour,
    exp.Minute, exp.Second, exp.Year, exp.Month, exp.Day, exp.DayOfWeek, exp.DayOfMonth,
    exp.DayOfYear, exp.WeekOfYear, exp.DateDiff,
)  # fmt: skip
_OF_DOUBLES = (exp.Sqrt, exp.Ln, exp.Exp, exp.Pow, exp.Abs, exp.Round, exp.Floor, exp.Ceil)
_PATTERNS = (exp.Like, exp.ILike, exp.RegexpLike, exp.RegexpReplace, exp.RegexpSplit)
_NAMED = frozenset(
    {"xxhash64", "hash", "isnull", "isnotnull", "crc32", "isnan", "instr", "array_size"}
)
_NAMED_OF_DATES = frozenset({"date_trunc", "trunc", "date_format", "unix_date"})
_TIMES = frozenset({"date", "timestamp", "timestamp_ntz"})
_FLOATS = frozenset({"double", "float"})
_SIZES = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}


def can_fail(expression: exp.Expr, column: TypeOf, *, overflow: bool = True) -> bool:
    """Whether an expression over columns of known types may fail on some row.

    Args:
        expression: any scalar expression, or an aggregate over one.
        column: the type of a column, None where it is not known.
        overflow: whether integers too large count as failures.
    """
    if not names_in(expression):
        return False
    if not _is_total(expression, column, overflow=overflow):
        return True
    parts = expression.iter_expressions()
    return any(can_fail(part, column, overflow=overflow) for part in parts)


def failing_parts(expression: exp.Expr, column: TypeOf) -> Iterator[exp.Expr]:
    """The parts of an expression that themselves may fail, each with its operands."""
    for part in expression.walk():
        if names_in(part) and not _is_total(part, column, overflow=True):
            yield part


def _is_total(e: exp.Expr, column: TypeOf, *, overflow: bool) -> bool:
    if isinstance(e, _ALIKE):
        return _alike(e, column)
    if isinstance(e, (exp.Add, exp.Sub, exp.Mul, exp.Neg)):
        return _adds(e, column) or not overflow
    rule = _RULES.get(type(e))
    if rule is not None:
        return rule(e, column)
    if isinstance(e, exp.Anonymous):
        return _called(e, column)
    return isinstance(e, _ALWAYS)


def _alike(e: exp.Expr, column: TypeOf) -> bool:
    """Whether the values are compared or chosen without a cast that may fail."""
    if isinstance(e, exp.Case) and e.this is not None:
        return False
    values = [v for v in _values(e) if not isinstance(v, exp.Null)]
    known = [type_of(v, column) for v in values if names_in(v)]
    if None in known:
        return all(isinstance(v, exp.Column) for v in values) and len({*map(str, values)}) == 1
    families = {_family(str(t)) for t in known}
    for value in values:
        kind = _type(value, column)
        if names_in(value) or (kind == "string" and known):
            continue
        families.add(_family(kind) if kind else "unknown")
    return len(families - {"void"}) <= 1 and _share_digits([str(t) for t in known])


def _type(value: exp.Expr, column: TypeOf) -> str | None:
    """The type of a value; a time and an interval make a time."""
    bare = value.unnest()
    if isinstance(bare, (exp.Add, exp.Sub)) and isinstance(bare.expression, exp.Interval):
        return _type(bare.this, column)
    return type_of(bare, column)


def _values(e: exp.Expr) -> list[exp.Expr]:
    match e:
        case exp.Between():
            return [e.this, e.args["low"], e.args["high"]]
        case exp.Case():
            found = [branch.args["true"] for branch in e.args["ifs"]]
            found += [e.args["default"]] if e.args.get("default") else []
            return found
        case exp.If():
            return [v for v in (e.args.get("true"), e.args.get("false")) if v is not None]
        case exp.Array():
            return list(e.expressions)
        case exp.In() | exp.Coalesce() | exp.Greatest() | exp.Least():
            return [e.this, *e.expressions]
        case _:
            return [e.this, e.expression]


def _family(kind: str) -> str:
    if is_integer(kind) or decimal_of(kind) or kind in _FLOATS:
        return "number"
    return "time" if kind in _TIMES else kind


def _share_digits(kinds: list[str]) -> bool:
    """Whether decimals of these types have a common type that loses none of them."""
    exact = [d for k in kinds if (d := _digits(k)) is not None]
    if not any(decimal_of(k) for k in kinds):
        return True
    return max(p - s for p, s in exact) + max(s for _, s in exact) <= 38


def _digits(kind: str) -> tuple[int, int] | None:
    return (_SIZES[kind], 0) if kind in _SIZES else decimal_of(kind)


def _adds(e: exp.Expr, column: TypeOf) -> bool:
    if isinstance(e, exp.Neg):
        kind = type_of(e.this, column)
        return kind in _FLOATS or decimal_of(kind) is not None
    if type_of(e, column) in _FLOATS:
        return True
    return decimal_fits(e, column)


def _divides(e: exp.Expr, column: TypeOf) -> bool:
    by = e.expression.unnest()
    if isinstance(by, exp.Nullif):
        zero = by.expression.unnest()
        safe = isinstance(zero, exp.Literal) and zero.is_number and float(zero.this) == 0
    else:
        safe = isinstance(by, exp.Literal) and by.is_number and float(by.this) != 0
    return safe and (type_of(e, column) in _FLOATS or decimal_fits(e, column))


def _remainder(e: exp.Expr, column: TypeOf) -> bool:
    by = e.expression.unnest()
    safe = isinstance(by, exp.Literal) and by.is_number and float(by.this) != 0
    return safe and is_integer(type_of(e.this, column))


def _casts(e: exp.Expr, column: TypeOf) -> bool:
    if e.args.get("safe"):
        return True
    source, wanted = type_of(e.this, column), type_of(e, column)
    if source is None or wanted is None:
        return False
    if source in (wanted, "void"):
        return True
    if wanted == "string":
        return "<" not in source
    if {source, wanted} <= _TIMES:
        return True
    if wanted == "double":
        return _family(source) == "number"
    if is_integer(source) and is_integer(wanted):
        return _SIZES[source] <= _SIZES[wanted]
    before, after = _digits(source), decimal_of(wanted)
    if before is None or after is None:
        return False
    return before[0] - before[1] <= after[0] - after[1]


def _dates(e: exp.Expr, column: TypeOf) -> bool:
    """Functions of dates take texts too, and fail on those that are none."""
    parts = [e.expression] if isinstance(e, exp.Extract) else [e.this]
    parts += [e.expression] if isinstance(e, exp.DateDiff) else []
    return all(isinstance(p, exp.TsOrDsToDate) or type_of(p, column) in _TIMES for p in parts)


def _doubles(e: exp.Expr, column: TypeOf) -> bool:
    """Functions of doubles give NaN; on decimals and integers some overflow."""
    return type_of(e.this, column) in _FLOATS


def _called(e: exp.Anonymous, column: TypeOf) -> bool:
    name = str(e.this).lower()
    if name not in _NAMED_OF_DATES:
        return name in _NAMED
    return all(type_of(part, column) in _TIMES for part in e.expressions if names_in(part))


def _pattern(e: exp.Expr, column: TypeOf) -> bool:
    return not names_in(e.expression)


_RULES: dict[type[exp.Expr], Callable[[exp.Expr, TypeOf], bool]] = {
    exp.Div: _divides,
    exp.Mod: _remainder,
    exp.IntDiv: _remainder,
    exp.Cast: _casts,
    exp.TryCast: _casts,
    **dict.fromkeys(_OF_DATES, _dates),
    **dict.fromkeys(_OF_DOUBLES, _doubles),
    **dict.fromkeys(_PATTERNS, _pattern),
}
