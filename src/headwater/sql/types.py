"""Spark types of expressions, where they are certain; None is the honest answer elsewhere.

Delta rules keep algebraic sums only for exact types, so a wrong type would be worse than none.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.sql.dialect import PLAIN_TYPES

if TYPE_CHECKING:
    from collections.abc import Callable

    TypeOf = Callable[[str], str | None]

_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}
_DECIMAL = re.compile(r"decimal\((\d+),\s*(-?\d+)\)")
_SYNONYMS = {
    "long": "bigint",
    "integer": "int",
    "short": "smallint",
    "byte": "tinyint",
    "real": "float",
}
_MAX_PRECISION = 38
_MIN_ADJUSTED_SCALE = 6


def canonical(text: str) -> str:
    """A type text in the one form used everywhere.

    >>> canonical("DECIMAL(10, 2)"), canonical("Long")
    ('decimal(10,2)', 'bigint')
    """
    lowered = re.sub(r"\s*([<>,:()])\s*", r"\1", text.strip().lower())
    if lowered in ("decimal", "dec", "numeric"):
        return "decimal(10,0)"
    return _SYNONYMS.get(lowered, lowered)


def is_integer(type: str | None) -> bool:
    """Whether a type is one of Spark's integer types."""
    return type in _INTEGERS


def decimal_of(type: str | None) -> tuple[int, int] | None:
    """Precision and scale of a decimal type."""
    match = _DECIMAL.fullmatch(type or "")
    return (int(match[1]), int(match[2])) if match else None


def struct_fields(type: str | None) -> list[tuple[str, str]] | None:
    """Names and types of the fields of a struct type.

    >>> struct_fields("struct<a:int,b:array<string>>")
    [('a', 'int'), ('b', 'array<string>')]
    """
    if type is None or not (type.startswith("struct<") and type.endswith(">")):
        return None
    parts = _split(type[len("struct<") : -1])
    return [(name, kind) for name, _, kind in (part.partition(":") for part in parts)]


def element_types(type: str | None) -> list[str]:
    """The types inside an array or map type; empty if it is neither."""
    for outer in ("array<", "map<"):
        if type is not None and type.startswith(outer) and type.endswith(">"):
            return _split(type[len(outer) : -1])
    return []


def _split(text: str) -> list[str]:
    parts, depth, current = [], 0, ""
    for char in text:
        depth += (char in "<(") - (char in ">)")
        if char == "," and depth == 0:
            parts.append(current)
            current = ""
        else:
            current += char
    return [*parts, current] if current else parts


def type_of(expression: exp.Expr, column: TypeOf) -> str | None:
    """The type of an expression over columns with known types; None when unsure."""
    rule = _RULES.get(type(expression))
    if rule is not None:
        return rule(expression, column)
    if isinstance(expression, exp.Predicate | exp.Connector | exp.Not):
        return "boolean"
    return None


def common(types: list[str | None]) -> str | None:
    """The type that all of some expressions have; None unless they agree, NULLs aside.

    Whole numbers and decimals agree on the decimal that holds them all.
    """
    known = {t for t in types if t != "void"}
    if len(known) == 1:
        return known.pop()
    if known and all(is_integer(t) for t in known):
        return max((t for t in known if t), key=_INTEGERS.index)
    digits = [(_DIGITS[t], 0) if t and is_integer(t) else decimal_of(t) for t in known]
    if not known or not all(digits):
        return None
    scale = max(d[1] for d in digits if d)
    precision = max(d[0] - d[1] for d in digits if d) + scale
    return f"decimal({precision},{scale})" if precision <= _MAX_PRECISION else None


def _column(e: exp.Expr, column: TypeOf) -> str | None:
    return column(e.name)


def _field(e: exp.Expr, column: TypeOf) -> str | None:
    fields = struct_fields(type_of(e.this, column)) or []
    wanted = e.expression.name.lower()
    return next((kind for name, kind in fields if name.lower() == wanted), None)


def _inner(e: exp.Expr, column: TypeOf) -> str | None:
    return type_of(e.this, column)


def _literal(e: exp.Expr, column: TypeOf) -> str | None:
    text = str(e.this)
    if e.args.get("is_string"):
        return "string"
    if text.isdigit():
        value = int(text)
        if value < 2**31:
            return "int"
        return "bigint" if value < 2**63 else None
    whole, dot, fraction = text.partition(".")
    if dot and (whole + fraction).isdigit():
        digits = len(whole.lstrip("0")) + len(fraction)
        return f"decimal({max(digits, len(fraction), 1)},{len(fraction)})"
    return "double" if "e" in text.lower() else None


def _cast(e: exp.Expr, column: TypeOf) -> str | None:
    to = e.args["to"]
    sizes = tuple(size.name for size in to.expressions)
    if to.this in PLAIN_TYPES and all(size.isdigit() for size in sizes):
        return _sized(to.this, sizes)
    return canonical(to.sql("spark"))


@cache
def _sized(kind: exp.DType, sizes: tuple[str, ...]) -> str:
    params = [exp.DataTypeParam(this=exp.Literal.number(size)) for size in sizes]
    return canonical(exp.DataType(this=kind, expressions=params).sql("spark"))


def _case(e: exp.Expr, column: TypeOf) -> str | None:
    results = [branch.args["true"] for branch in e.args.get("ifs") or ()]
    default = e.args.get("default")
    return common([type_of(r, column) for r in (*results, *([default] if default else []))])


def _if(e: exp.Expr, column: TypeOf) -> str | None:
    branches = [b for b in (e.args.get("true"), e.args.get("false")) if b is not None]
    return common([type_of(b, column) for b in branches])


def _coalesce(e: exp.Expr, column: TypeOf) -> str | None:
    return common([type_of(part, column) for part in (e.this, *e.expressions)])


def _arithmetic(e: exp.Expr, column: TypeOf) -> str | None:
    left, right = type_of(e.this, column), type_of(e.expression, column)
    if left is None or right is None:
        return None
    if is_integer(left) and is_integer(right):
        return common([left, right])
    if {left, right} <= {"double", "float", *_INTEGERS} and "double" in (left, right):
        return "double"
    a, b = _as_decimal(e.this, left), _as_decimal(e.expression, right)
    if a is None or b is None:
        return "double" if "double" in (left, right) and (a or b) else None
    return _decimal_result(type(e), a, b)


def _divide(e: exp.Expr, column: TypeOf) -> str | None:
    left, right = type_of(e.this, column), type_of(e.expression, column)
    if is_integer(left) and is_integer(right):
        return "double"
    return _arithmetic(e, column)


def _as_decimal(e: exp.Expr, type: str) -> tuple[int, int] | None:
    if is_integer(type):
        value = e.this if isinstance(e, exp.Neg) else e
        if isinstance(value, exp.Literal):
            return (len(str(value.this)), 0)
        return (_DIGITS[type], 0)
    return decimal_of(type)


def decimal_fits(e: exp.Expr, column: TypeOf) -> bool:
    """Whether an operation on decimals has room for every result: it cannot overflow."""
    left, right = type_of(e.this, column), type_of(e.expression, column)
    if left is None or right is None or (is_integer(left) and is_integer(right)):
        return False
    a, b = _as_decimal(e.this, left), _as_decimal(e.expression, right)
    digits = _decimal_digits(type(e), a, b) if a and b else None
    if digits is None:
        return False
    precision, scale = digits
    return precision - scale <= _MAX_PRECISION - min(scale, _MIN_ADJUSTED_SCALE)


def _decimal_result(kind: type[exp.Expr], a: tuple[int, int], b: tuple[int, int]) -> str | None:
    digits = _decimal_digits(kind, a, b)
    return _adjusted(*digits) if digits else None


def _decimal_digits(
    kind: type[exp.Expr], a: tuple[int, int], b: tuple[int, int]
) -> tuple[int, int] | None:
    """Precision and scale that hold every result, were there room for them."""
    (p1, s1), (p2, s2) = a, b
    if kind in (exp.Add, exp.Sub):
        scale = max(s1, s2)
        return max(p1 - s1, p2 - s2) + scale + 1, scale
    if kind is exp.Mul:
        return p1 + p2 + 1, s1 + s2
    if kind is exp.Div:
        scale = max(_MIN_ADJUSTED_SCALE, s1 + p2 + 1)
        return p1 - s1 + s2 + scale, scale
    if kind is exp.Mod:
        return min(p1 - s1, p2 - s2) + max(s1, s2), max(s1, s2)
    return None


def _adjusted(precision: int, scale: int) -> str:
    if precision > _MAX_PRECISION:
        whole = precision - scale
        scale = max(_MAX_PRECISION - whole, min(scale, _MIN_ADJUSTED_SCALE))
        precision = _MAX_PRECISION
    return f"decimal({precision},{scale})"


def _sum(e: exp.Expr, column: TypeOf) -> str | None:
    inner = type_of(argument_of(e), column)
    if is_integer(inner):
        return "bigint"
    if inner in ("float", "double"):
        return "double"
    exact = decimal_of(inner)
    return f"decimal({min(exact[0] + 10, _MAX_PRECISION)},{exact[1]})" if exact else None


def _average(e: exp.Expr, column: TypeOf) -> str | None:
    inner = type_of(argument_of(e), column)
    if is_integer(inner) or inner in ("float", "double"):
        return "double"
    exact = decimal_of(inner)
    if exact is None:
        return None
    return f"decimal({min(exact[0] + 4, _MAX_PRECISION)},{min(exact[1] + 4, _MAX_PRECISION)})"


def _extremum(e: exp.Expr, column: TypeOf) -> str | None:
    return type_of(argument_of(e), column)


def argument_of(e: exp.Expr) -> exp.Expr:
    """What an aggregate of one argument is over, DISTINCT or not."""
    inner: exp.Expr = e.this
    return inner.expressions[0] if isinstance(inner, exp.Distinct) else inner


def _always(type: str) -> Callable[[exp.Expr, TypeOf], str | None]:
    return lambda e, column: type


_RULES: dict[type[exp.Expr], Callable[[exp.Expr, TypeOf], str | None]] = {
    exp.Column: _column,
    exp.Dot: _field,
    exp.Paren: _inner,
    exp.Neg: _inner,
    exp.Alias: _inner,
    exp.Filter: _inner,
    exp.Window: _inner,
    exp.Literal: _literal,
    exp.Boolean: _always("boolean"),
    exp.Null: _always("void"),
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Case: _case,
    exp.If: _if,
    exp.Coalesce: _coalesce,
    exp.Nullif: _inner,
    exp.Add: _arithmetic,
    exp.Sub: _arithmetic,
    exp.Mul: _arithmetic,
    exp.Mod: _arithmetic,
    exp.Div: _divide,
    exp.IntDiv: _always("bigint"),
    exp.Count: _always("bigint"),
    exp.CountIf: _always("bigint"),
    exp.Sum: _sum,
    exp.Avg: _average,
    exp.Min: _extremum,
    exp.Max: _extremum,
    exp.RowNumber: _always("int"),
    exp.Rank: _always("int"),
    exp.DenseRank: _always("int"),
    exp.Ntile: _always("int"),
    exp.Lag: _extremum,
    exp.Lead: _extremum,
    exp.First: _extremum,
    exp.Last: _extremum,
    exp.FirstValue: _extremum,
    exp.LastValue: _extremum,
    exp.NthValue: _extremum,
    exp.AnyValue: _extremum,
    exp.ArgMax: _extremum,
    exp.ArgMin: _extremum,
    exp.IgnoreNulls: _inner,
    exp.RespectNulls: _inner,
    exp.Stddev: _always("double"),
    exp.StddevPop: _always("double"),
    exp.StddevSamp: _always("double"),
    exp.Variance: _always("double"),
    exp.VariancePop: _always("double"),
    exp.ApproxDistinct: _always("bigint"),
    exp.Lower: _always("string"),
    exp.Upper: _always("string"),
    exp.Substring: _always("string"),
    exp.Trim: _always("string"),
    exp.Length: _always("int"),
    exp.Year: _always("int"),
    exp.Month: _always("int"),
    exp.Day: _always("int"),
    exp.LogicalAnd: _always("boolean"),
    exp.LogicalOr: _always("boolean"),
}
