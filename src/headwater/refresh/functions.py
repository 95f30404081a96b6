"""User functions: registered in the hub's Spark sessions, known to the compiler as facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headwater.core.errors import InvalidOption
from headwater.sql.lookup import FunctionFact

if TYPE_CHECKING:
    from collections.abc import Callable

    from headwater.refresh.runtime import Runtime


def register(
    runtime: Runtime, name: str, fn: Callable[..., Any], *, deterministic: bool, returns: str
) -> None:
    """Make a Python function callable in queries of this process."""
    if not name.isidentifier():
        raise InvalidOption(f"{name!r} is not a function name", hint="use letters, digits and _")
    from pyspark.sql.functions import udf

    wrapped = udf(fn, returns)
    if not deterministic:
        wrapped = wrapped.asNondeterministic()
    runtime.engine.in_every_session(lambda session: session.udf.register(name, wrapped))
    functions = runtime.functions
    assert isinstance(functions, dict)
    functions[name.lower()] = FunctionFact(deterministic=deterministic, type=returns)
