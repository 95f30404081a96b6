"""Runs SQL text on a hub: statements about stream tables here, everything else in Spark."""

from __future__ import annotations

from dataclasses import asdict, fields, is_dataclass
from typing import TYPE_CHECKING, Any

from headwater.core.errors import (
    HeadwaterError,
    InvalidOption,
    StreamTableNotFound,
)
from headwater.core.names import TableName, quote
from headwater.core.results import StatusRow
from headwater.core.spelling import nearest
from headwater.plain_sql import run_plain
from headwater.sql.statements import (
    AlterStreamTable,
    CallFunction,
    CreateStreamTable,
    DescribeStreamTable,
    DropStreamTable,
    ExplainCreate,
    ExplainStreamTable,
    RefreshStreamTable,
    ResumeStreamTable,
    ShowStreamTables,
    Statement,
    SuspendStreamTable,
    parse_statement,
    shift,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import DataFrame

    from headwater.hub import Hub
    from headwater.refresh.runtime import Runtime

CALLABLE = (
    "create_stream_table",
    "alter_stream_table",
    "drop_stream_table",
    "refresh_stream_table",
    "refresh",
    "refresh_if_stale",
    "resume_stream_table",
    "repair_stream_table",
    "validate",
    "explain",
    "verify",
    "status",
    "history",
    "dependencies",
    "set",
    "settings",
    "threshold_advice",
    "refresh_stats",
    "cache_stats",
    "clear_caches",
    "maintain",
    "tick",
    "start",
    "stop",
    "worker_pool_status",
    "parallel_job_status",
    "worker_allocation_status",
    "cluster_worker_summary",
    "metrics_summary",
    "sla_summary",
    "recommend_schedule",
    "health_check",
    "stale_tables",
    "create_refresh_group",
    "drop_refresh_group",
    "gate_source",
    "ungate_source",
    "set_fuse",
    "reset_fuse",
)


def run_sql(hub: Hub, runtime: Runtime, text: str) -> DataFrame:
    """Run one statement."""
    if not isinstance(text, str):
        raise InvalidOption(f"the SQL cannot be {text!r}", hint="give one statement as a text")
    statement = parse_statement(text)
    if statement is None:
        return run_plain(runtime, text)
    try:
        return _frame(runtime, _execute(hub, statement))
    except HeadwaterError as error:
        raise shift(error, statement) from error.__cause__


def _execute(hub: Hub, statement: Statement) -> Any:
    run = _RUN.get(type(statement))
    if run is None:
        raise InvalidOption(f"{type(statement).__name__} cannot be run", hint="see the SQL page")
    return run(hub, statement)


def _alter(hub: Hub, statement: AlterStreamTable) -> Any:
    given: dict[str, Any] = dict(statement.options)
    if statement.query is not None:
        given["query"] = statement.query.text
    return hub.alter_stream_table(str(statement.name), **given).status()


def _create(hub: Hub, statement: CreateStreamTable) -> Any:
    options: dict[str, Any] = dict(statement.options)
    made = hub.create_stream_table(
        str(statement.name),
        statement.query.text,
        if_not_exists=statement.if_not_exists,
        or_replace=statement.or_replace,
        **options,
    )
    return made.status()


def _drop(hub: Hub, statement: DropStreamTable) -> Any:
    try:
        hub.drop_stream_table(str(statement.name), cascade=statement.cascade)
    except StreamTableNotFound:
        if not statement.if_exists:
            raise
        return [{"name": str(statement.name), "result": "not there"}]
    return [{"name": str(statement.name), "result": "dropped"}]


def _describe(hub: Hub, name: TableName) -> list[dict[str, str]]:
    shown = hub.status(str(name))[0]
    row = hub._runtime.store.tables.get(name)
    declared = {
        "query": row.spec.query,
        "columns": ", ".join(f"{quote(column)} {kind}" for column, kind in row.columns),
        "unique_key": row.spec.unique_key,
        "partition_by": row.spec.partition_by,
        "sort_by": row.spec.sort_by,
        "append_only": row.spec.append_only,
    }
    status = {f.name: getattr(shown, f.name) for f in fields(shown)}
    return [{"property": k, "value": _text(v)} for k, v in {**status, **declared}.items()]


def _call(hub: Hub, statement: CallFunction) -> Any:
    if statement.function not in CALLABLE:
        guess = nearest(statement.function, CALLABLE)
        raise InvalidOption(
            f"there is no function headwater.{statement.function}",
            hint=f"did you mean {guess}?" if guess else f"known: {', '.join(CALLABLE)}",
        )
    try:
        result = getattr(hub, statement.function)(*statement.arguments, **dict(statement.named))
    except TypeError as error:
        raise InvalidOption(
            f"headwater.{statement.function}: {error}", hint="see the reference for its arguments"
        ) from None
    return result.status() if type(result).__name__ == "StreamTable" else result


class _Nothing:
    """No rows, with the columns of a row type."""

    def __init__(self, kind: type) -> None:
        self.columns = [f.name for f in fields(kind)]


def _lines(text: str) -> list[dict[str, str]]:
    return [{"explanation": line} for line in text.splitlines()] or [{"explanation": ""}]


def _frame(runtime: Runtime, result: Any) -> DataFrame:
    """A result as a DataFrame of strings, numbers and booleans."""
    session = runtime.engine.user
    if isinstance(result, _Nothing):
        schema = ", ".join(f"{quote(c)} string" for c in result.columns)
        return session.createDataFrame([], schema)
    rows = [_document(r) for r in _rows(result)]
    if not rows:
        return session.createDataFrame([], "result string")
    columns = list(rows[0])
    schema = ", ".join(f"{quote(c)} {_kind([r[c] for r in rows])}" for c in columns)
    values = [tuple(_cell(r[c]) for c in columns) for r in rows]
    return session.createDataFrame(values, schema)


def _rows(result: Any) -> Sequence[Any]:
    if isinstance(result, dict) and all(is_dataclass(v) for v in result.values()):
        return [{"name": k, **_document(v)} for k, v in result.items()]
    if isinstance(result, list | tuple):
        return result
    return [{"result": None}] if result is None else [result]


def _document(row: Any) -> Mapping[str, Any]:
    if isinstance(row, dict):
        return row
    if is_dataclass(row) and not isinstance(row, type):
        return asdict(row)
    return {"result": row}


def _kind(values: Sequence[Any]) -> str:
    kinds = {type(v) for v in values if v is not None}
    if kinds == {bool}:
        return "boolean"
    if kinds == {int}:
        return "bigint"
    return "double" if kinds and kinds <= {int, float} else "string"


def _cell(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float) else _text(value)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return str(value)
    if isinstance(value, dict | list | tuple):
        import msgspec

        return msgspec.json.encode(value).decode()
    return str(value)


_RUN: dict[type[Statement], Callable[[Hub, Any], Any]] = {
    CreateStreamTable: _create,
    AlterStreamTable: _alter,
    SuspendStreamTable: lambda hub, s: hub.alter_stream_table(
        str(s.name), status="SUSPENDED"
    ).status(),
    ResumeStreamTable: lambda hub, s: hub.resume_stream_table(str(s.name)).status(),
    DropStreamTable: _drop,
    RefreshStreamTable: lambda hub, s: hub.refresh_stream_table(str(s.name), full=s.full),
    ShowStreamTables: lambda hub, s: hub.status() or _Nothing(StatusRow),
    DescribeStreamTable: lambda hub, s: _describe(hub, s.name),
    ExplainStreamTable: lambda hub, s: _lines(str(hub.explain(str(s.name), s.what))),
    ExplainCreate: lambda hub, s: _lines(str(hub.explain(s.create.query.text, s.what))),
    CallFunction: _call,
}
