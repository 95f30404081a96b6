"""What a user declares, read and checked, and then carried out; used by the hub alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from headwater.catalog.rows import InitiatedBy
from headwater.core.errors import HeadwaterError, InvalidOption
from headwater.core.schedule import format_duration, parse_duration, parse_schedule, parse_sla
from headwater.core.spec import (
    DIAMOND_CONSISTENCIES,
    DIAMOND_POLICIES,
    RefreshMode,
    Status,
    StreamTableSpec,
    Tier,
)
from headwater.placing import placing
from headwater.refresh import lifecycle
from headwater.refresh.replacing import replace_declaration
from headwater.refresh.run import refresh
from headwater.scheduler.service_level import check_schedule, with_tier

if TYPE_CHECKING:
    from headwater.core.names import TableName
    from headwater.refresh.runtime import Runtime


def declared(name: TableName, given: Mapping[str, Any]) -> StreamTableSpec:
    """A checked declaration from the arguments of `create_stream_table`."""
    return _checked(StreamTableSpec(name=name, **_read(given)))


def declare(
    runtime: Runtime,
    spec: StreamTableSpec,
    *,
    initialize: bool,
    if_not_exists: bool,
    or_replace: bool,
) -> None:
    """Create or replace a stream table; one that cannot be loaded leaves all as it was."""
    if if_not_exists and or_replace:
        raise InvalidOption(
            "if_not_exists and or_replace exclude each other", hint="choose one of them"
        )
    existing = runtime.store.tables.find(spec.name)
    if existing is not None and if_not_exists:
        return
    check_schedule(runtime, spec)
    if spec.tier is None:
        spec = with_tier(runtime, spec)
    with placing(runtime, spec):
        if existing is not None and or_replace:
            undo: Callable[[], object] = replace_declaration(runtime, existing, spec)
        else:
            lifecycle.create(runtime, spec)
            undo = partial(lifecycle.drop, runtime, spec.name)
    if initialize:
        try:
            refresh(runtime, spec.name, initiated_by=InitiatedBy.INITIAL)
        except BaseException:
            undo()
            raise


def alter(runtime: Runtime, name: TableName, given: Mapping[str, Any]) -> None:
    """Change what is given and nothing else."""
    row = runtime.store.tables.get(name)
    values = dict(given)
    status = _status(values.pop("status")) if "status" in values else None
    spec = _checked(replace(row.spec, **_read(values)))
    if "schedule" in values:
        check_schedule(runtime, spec)
    is_promised_anew = "sla" in values or spec.schedule != row.spec.schedule
    if is_promised_anew and values.get("tier") is None:
        spec = with_tier(runtime, spec)
    with placing(runtime, spec):
        lifecycle.change(runtime, row, spec)
    if status is not None:
        runtime.store.tables.update(name, status=status, consecutive_errors=0)


def _read(given: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: _READERS[key](key, value) if key in _READERS else value for key, value in given.items()
    }


def _checked(spec: StreamTableSpec) -> StreamTableSpec:
    parse_schedule(spec.schedule)
    if spec.sla is not None:
        parse_sla(spec.sla)
    for option, value, known in (
        ("diamond_consistency", spec.diamond_consistency, DIAMOND_CONSISTENCIES),
        ("diamond_schedule_policy", spec.diamond_schedule_policy, DIAMOND_POLICIES),
    ):
        if value not in known:
            raise InvalidOption(f"{option} cannot be {value!r}", hint=f"use {' or '.join(known)}")
    return spec


def _text(option: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidOption(f"{option} cannot be {value!r}", hint="it is a text")
    return value


def _query(option: str, value: object) -> str:
    """The text without what may follow a statement, so that it can stand in parentheses."""
    from headwater.sql.statement_tokens import split_statements

    text = _text(option, value)
    try:
        statements = split_statements(text)
    except HeadwaterError:  # told with its place when the query is parsed
        return text
    if len(statements) != 1:
        return text
    statement = statements[0][0].lstrip()
    return text[: text.index(statement) + len(statement)]


def _optional_text(option: str, value: object) -> str | None:
    return None if value is None else _text(option, value)


def _texts(option: str, value: object) -> tuple[str, ...]:
    if value is None or isinstance(value, str):
        return () if value is None else (value,)
    if not isinstance(value, Iterable):
        raise InvalidOption(f"{option} cannot be {value!r}", hint="it is a text or a list of texts")
    return tuple(_text(option, item) for item in value)


def _distinct(option: str, value: object) -> tuple[str, ...]:
    names = _texts(option, value)
    for number, name in enumerate(names):
        if name.lower() in {earlier.lower() for earlier in names[:number]}:
            raise InvalidOption(f"{option} names {name!r} twice", hint="name each column once")
    return names


def _duration(option: str, value: object) -> str:
    """A text as it is; a number of seconds or a time span in the words of a duration."""
    if isinstance(value, int | timedelta) and not isinstance(value, bool):
        return format_duration(parse_duration(value, what=option))
    return _text(option, value)


def _optional_duration(option: str, value: object) -> str | None:
    return None if value is None else _duration(option, value)


def _flag(option: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidOption(f"{option} cannot be {value!r}", hint="it is True or False")
    return value


def _tier(option: str, value: object) -> Tier | None:
    if value is None:
        return None
    try:
        return Tier(str(value).lower())
    except ValueError:
        known = ", ".join(t.value for t in Tier)
        raise InvalidOption(f"unknown {option} {value!r}", hint=f"use one of {known}") from None


def _status(value: str) -> Status:
    word = str(value).upper()
    if word not in (Status.ACTIVE, Status.SUSPENDED):
        raise InvalidOption(f"status cannot be set to {value!r}", hint="use ACTIVE or SUSPENDED")
    return Status(word)


_READERS: dict[str, Callable[[str, Any], Any]] = {
    "query": _query,
    "schedule": _duration,
    "sla": _optional_duration,
    "refresh_mode": lambda _, value: RefreshMode.parse(value),
    "tier": _tier,
    "unique_key": _distinct,
    "partition_by": _distinct,
    "sort_by": _distinct,
    "append_only": _flag,
    "comment": _optional_text,
    "tags": _texts,
}
