"""What a user declares, read and checked, and then carried out; used by the hub alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headwater.catalog.rows import InitiatedBy
from headwater.core.errors import InvalidOption
from headwater.core.schedule import parse_schedule, parse_sla
from headwater.core.spec import RefreshMode, Status, StreamTableSpec, Tier
from headwater.refresh import lifecycle
from headwater.refresh.run import refresh

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

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
    """Create or replace a stream table; a failed first load leaves nothing behind."""
    if if_not_exists and or_replace:
        raise InvalidOption(
            "if_not_exists and or_replace exclude each other", hint="choose one of them"
        )
    existing = runtime.store.tables.find(spec.name)
    if existing is not None and if_not_exists:
        return
    if existing is not None and or_replace:
        lifecycle.change(runtime, existing, spec)
    else:
        lifecycle.create(runtime, spec)
    if initialize:
        try:
            refresh(runtime, spec.name, initiated_by=InitiatedBy.INITIAL)
        except BaseException:
            if existing is None:
                lifecycle.drop(runtime, spec.name)
            raise


def alter(runtime: Runtime, name: TableName, given: Mapping[str, Any]) -> None:
    """Change what is given and nothing else."""
    row = runtime.store.tables.get(name)
    values = dict(given)
    status = _status(values.pop("status")) if "status" in values else None
    lifecycle.change(runtime, row, _checked(replace(row.spec, **_read(values))))
    if status is not None:
        runtime.store.tables.update(name, status=status, consecutive_errors=0)


def _read(given: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _READERS[key](value) if key in _READERS else value for key, value in given.items()}


def _checked(spec: StreamTableSpec) -> StreamTableSpec:
    parse_schedule(spec.schedule)
    if spec.sla is not None:
        parse_sla(spec.sla)
    for option, value, known in (
        ("diamond_consistency", spec.diamond_consistency, ("atomic", "none")),
        ("diamond_schedule_policy", spec.diamond_schedule_policy, ("fastest", "slowest")),
    ):
        if value not in known:
            raise InvalidOption(f"{option} cannot be {value!r}", hint=f"use one of {known}")
    return spec


def _names(value: str | Sequence[str] | None) -> tuple[str, ...]:
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else tuple(value)


def _tier(value: str | None) -> Tier | None:
    if value is None:
        return None
    try:
        return Tier(str(value).lower())
    except ValueError:
        known = ", ".join(t.value for t in Tier)
        raise InvalidOption(f"unknown tier {value!r}", hint=f"use one of {known}") from None


def _status(value: str) -> Status:
    word = str(value).upper()
    if word not in (Status.ACTIVE, Status.SUSPENDED):
        raise InvalidOption(f"status cannot be set to {value!r}", hint="use ACTIVE or SUSPENDED")
    return Status(word)


_READERS: dict[str, Callable[[Any], Any]] = {
    "refresh_mode": RefreshMode.parse,
    "tier": _tier,
    "unique_key": _names,
    "partition_by": _names,
    "tags": tuple,
}
