"""User functions: registered in the hub's Spark sessions, known to the compiler as facts.

A function is written in Python (a callable, or one that `pyspark.sql.functions.udf` has wrapped)
or in SQL: the text that follows the name in `CREATE FUNCTION`, which the compiler puts in place of
a call.
"""

from __future__ import annotations

import datetime
import decimal
import types
import typing
from typing import TYPE_CHECKING, Any

from headwater.core.errors import InvalidOption
from headwater.sql.inline import read_function
from headwater.sql.lookup import FunctionFact

if TYPE_CHECKING:
    from collections.abc import Callable

    from headwater.refresh.runtime import Runtime

_SQL_TYPES: dict[object, str] = {
    bool: "boolean",
    int: "bigint",
    float: "double",
    str: "string",
    bytes: "binary",
    decimal.Decimal: "decimal(38,18)",
    datetime.date: "date",
    datetime.datetime: "timestamp",
}
# Kinds of Python functions over a whole group, as pyspark.util.PythonEvalType numbers them.
_AGGREGATES = (202, 252)


def register(
    runtime: Runtime,
    name: str,
    fn: Callable[..., Any] | str,
    *,
    deterministic: bool,
    returns: str | None,
) -> None:
    """Make a function callable in queries of this process.

    Args:
        runtime: the hub's parts.
        name: what queries call it.
        fn: a Python function, or `(x DOUBLE) RETURNS DOUBLE RETURN x * 2`.
        deterministic: equal arguments give equal results.
        returns: type of the result in Spark SQL; None takes it from the function.
    """
    if not name.isidentifier():
        raise InvalidOption(f"{name!r} is not a function name", hint="use letters, digits and _")
    if isinstance(fn, str):
        fact = FunctionFact(deterministic=deterministic, body=read_function(name, fn))
    else:
        wrapped = _wrapped(fn, deterministic, returns)
        runtime.engine.in_every_session(lambda session: session.udf.register(name, wrapped))
        aggregate = wrapped.evalType in _AGGREGATES
        fact = FunctionFact(deterministic=deterministic, aggregate=aggregate)
    functions = runtime.functions
    assert isinstance(functions, dict)
    functions[name.lower()] = fact
    runtime.templates.forget()


def _wrapped(fn: Callable[..., Any], deterministic: bool, returns: str | None) -> Any:
    """The function as Spark registers it; one that is wrapped already keeps its type."""
    from pyspark.sql.functions import udf

    wrapped: Any = fn if hasattr(fn, "evalType") else udf(fn, returns or _annotated(fn))
    return wrapped if deterministic else wrapped.asNondeterministic()


def _annotated(fn: Callable[..., Any]) -> str:
    """The type that a function's annotations promise; text if they promise none.

    >>> def half(x: int) -> float | None: ...
    >>> _annotated(half)
    'double'
    """
    try:
        promised = typing.get_type_hints(fn).get("return")
    except (NameError, TypeError):
        return "string"
    if isinstance(promised, types.UnionType) or typing.get_origin(promised) is typing.Union:
        promised = next(a for a in typing.get_args(promised) if a is not types.NoneType)
    return _SQL_TYPES.get(promised, "string")
