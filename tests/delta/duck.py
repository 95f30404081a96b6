"""DuckDB as the fast engine of the delta tests: one connection, Spark SQL turned into its SQL.

A test makes its tables inside a transaction that is rolled back, which is far cheaper than a
connection of its own. Where DuckDB answers other than Spark, the text is changed so that it does
not.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from functools import cache

import duckdb
import sqlglot
from generator.shapes import FUNCTION, FUNCTION_BODY
from sqlglot import exp

from headwater.delta.among import AMONG

Row = tuple
SIGNIFICANT = 12


@cache
def connection() -> duckdb.DuckDBPyConnection:
    """The one engine of the process."""
    con = duckdb.connect(config={"threads": 1})
    # Tables are tiny: planning is what costs, and a plain plan is as good an oracle as any.
    con.execute("PRAGMA disable_optimizer")
    con.execute("CREATE MACRO array_repeat(v, n) AS list_transform(range(n), lambda x: v)")
    con.execute(f"CREATE MACRO {FUNCTION}(x) AS CAST({FUNCTION_BODY} AS INT)")
    return con


@contextmanager
def scratch() -> Iterator[duckdb.DuckDBPyConnection]:
    """The engine; all that is made here goes away."""
    con = connection()
    con.execute("BEGIN")
    try:
        yield con
    finally:
        con.execute("ROLLBACK")


@cache
def to_duckdb(text: str) -> str:
    """Spark SQL as DuckDB runs it; functions it lacks are mapped to ones with the same meaning."""
    return translated(sqlglot.parse_one(text, read="spark"))


def translated(tree: exp.Expr) -> str:
    """A statement of Spark SQL as DuckDB runs it; changes the tree."""
    for node in list(tree.find_all(exp.Anonymous, exp.Group, exp.CountIf, exp.TryCast)):
        if isinstance(node, exp.TryCast):
            # sqlglot takes a plain CAST of Spark for one that never fails.
            if not node.args.get("safe"):
                node.replace(exp.Cast(this=node.this, to=node.args["to"]))
        elif isinstance(node, exp.Group):
            _drop_empty_total(node)
        elif isinstance(node, exp.CountIf):
            # Over unknown conditions only, DuckDB's own gives NULL.
            one = exp.If(this=node.this, true=exp.Literal.number(1))
            node.replace(exp.Count(this=exp.Case(ifs=[one])))
        else:
            _map_function(node)
    return _without_zone(tree.sql("duckdb", copy=False))


def _without_zone(text: str) -> str:
    """All times are of one zone here."""
    return text.replace("TIMESTAMPTZ", "TIMESTAMP")


def _among(stage: exp.Expr, key: exp.Expr, column: exp.Expr) -> exp.Expr:
    """The values come from the stage itself; a MERGE may not ask for them in its condition."""
    if isinstance(column, exp.Column) and column.table:
        return exp.true()
    table = exp.Table(this=exp.to_identifier(stage.name, quoted=True))
    values = exp.select(exp.column(key.name, quoted=True)).from_(table)
    listed = exp.In(this=column.copy(), query=exp.Subquery(this=values))
    missing = exp.Is(this=column.copy(), expression=exp.null())
    return exp.paren(exp.Or(this=listed, expression=missing))


def _map_function(node: exp.Anonymous) -> None:
    name = node.name.lower()
    if name == "raise_error":
        # DuckDB evaluates all actions of a MERGE for all rows: the storage check finds the NULL.
        in_action = node.find_ancestor(exp.When) is not None
        failure = exp.Anonymous(this="error", expressions=node.expressions)
        node.replace(exp.null() if in_action else failure)
    elif name == AMONG:
        node.replace(_among(*node.expressions))
    elif name == "xxhash64":
        row = exp.Anonymous(this="row", expressions=node.expressions)
        node.replace(exp.Anonymous(this="hash", expressions=[row]))
    elif name == "monotonically_increasing_id":
        node.replace(exp.Window(this=exp.RowNumber()))
    elif name == "window":
        node.replace(_time_window(*node.expressions))
    elif name == "shiftright":
        value, places = node.expressions
        node.replace(exp.Paren(this=exp.BitwiseRightShift(this=value, expression=places)))


def _time_window(time: exp.Expr, width: exp.Expr) -> exp.Expr:
    text = f"CAST(time_bucket(INTERVAL '{width.name}', __t) AS TIMESTAMP)"
    packed = f"{{'start': {text}, 'end': {text} + INTERVAL '{width.name}'}}"
    tree = sqlglot.parse_one(f"CASE WHEN __t IS NOT NULL THEN {packed} END", read="duckdb")
    for column in list(tree.find_all(exp.Column)):
        column.replace(time.copy())
    return tree


def _drop_empty_total(group: exp.Group) -> None:
    """Over empty input Spark gives no grand total, DuckDB does."""
    if group.find(exp.Rollup, exp.Cube, exp.GroupingSets) is None:
        return
    some = exp.GT(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(0))
    select = group.parent
    having = select.args.get("having")
    test = exp.And(this=exp.Paren(this=having.this), expression=some) if having else some
    select.set("having", exp.Having(this=test))


@cache
def duck_type(text: str) -> str:
    """A Spark type as DuckDB calls it."""
    return _without_zone(exp.DataType.build(text, dialect="spark").sql("duckdb"))


def create(
    con: duckdb.DuckDBPyConnection, name: str, columns: Sequence[tuple[str, str]], rows: list[Row]
) -> None:
    """A table with these columns (name, Spark type) and rows."""
    declared = ", ".join(f'"{n}" {duck_type(kind)}' for n, kind in columns)
    con.execute(f'CREATE TABLE "{name}" ({declared})')
    if rows:
        listed = ", ".join(f"({', '.join(map(literal, row))})" for row in rows)
        con.execute(f'INSERT INTO "{name}" VALUES {listed}')


def literal(value: object) -> str:
    """A value as DuckDB reads it."""
    if value is None:
        return "NULL"
    if isinstance(value, float):
        return f"'{value}'::double"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, (str, datetime.date)):
        return f"'{value}'"
    return str(value)


def bag(rows: Iterable[Row]) -> Counter:
    """Rows with their number of copies; NaN equals NaN, numbers equal to many digits are equal."""
    return Counter(tuple(_plain(value, _rounded) for value in row) for row in rows)


def exact_bag(rows: Iterable[Row]) -> Counter:
    """Rows with their number of copies; numbers are equal if all digits are."""
    return Counter(tuple(_plain(value, lambda number: number) for value in row) for row in rows)


def _rounded(number: float) -> float:
    return float(f"{number:.{SIGNIFICANT}g}")


def _plain(value: object, rounded: Callable[[float], float]) -> object:
    if isinstance(value, float):
        return "NaN" if value != value else rounded(value) + 0.0
    if isinstance(value, Decimal):
        return value.normalize()
    if isinstance(value, dict):
        value = list(value.values())
    return tuple(_plain(v, rounded) for v in value) if isinstance(value, list | tuple) else value
