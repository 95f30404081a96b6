"""The operational calls of a hub: its settings, its scheduler, and what there is to see of it.

Each function is a method of `Hub`; what it needs is imported when it is called.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from headwater.arguments import check_function, check_instant, check_number, check_text
from headwater.core.errors import HeadwaterError, InvalidOption
from headwater.core.names import TableName

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from headwater.core.reports import (
        AllocationRow,
        ClusterWorkerRow,
        HealthRow,
        JobRow,
        MetricsRow,
        ScheduleAdvice,
        SlaRow,
        TickReport,
        UnitRow,
        WorkerPoolRow,
    )
    from headwater.hub import Hub
    from headwater.opening import SettingShown
    from headwater.scheduler.service import Scheduler

MOST_OF_A_NAME = 128
"""Characters of the name of a refresh group."""

_LONGEST_SECONDS = 10 * 365 * 86_400


def set_setting(self: Hub, setting: str, value: object) -> None:
    """Store a setting; every process that uses the hub sees it."""
    from headwater import settings
    from headwater.opening import read_again

    check_text("setting", setting)
    name, checked = settings.check(setting, value)
    self._runtime.store.settings.put(name, checked)
    read_again(self._runtime)


def settings(self: Hub) -> dict[str, SettingShown]:
    """Every setting with its value, where it comes from and what it means."""
    from headwater.opening import shown_settings

    return shown_settings(self._runtime)


def register_function(
    self: Hub,
    name: str,
    fn: Callable[..., Any] | str,
    deterministic: bool = True,
    *,
    returns: str | None = None,
) -> None:
    """Register a function for queries of this process; only deterministic ones can be maintained.

    Args:
        self: the hub.
        name: what queries call it.
        fn: a Python function, one wrapped by `pyspark.sql.functions.udf`, or a function in SQL:
            the text after the name in CREATE FUNCTION, `(x INT) RETURNS INT RETURN x + 1`.
        deterministic: equal arguments always give equal results.
        returns: type of a Python function's result in Spark SQL; by default the annotated one,
            else `string`.
    """
    from headwater.refresh.functions import register

    check_text("name", name)
    check_function(fn)
    try:
        register(self._runtime, name, fn, deterministic=deterministic, returns=returns)
    except HeadwaterError:
        raise
    except Exception as error:
        raise InvalidOption(
            f"returns cannot be {returns!r}", hint="it is a type of Spark SQL, such as string"
        ) from error


def scheduler_of(hub: Hub) -> Scheduler:
    """The scheduler of a hub in this process, made at its first use."""
    from headwater.scheduler.service import Scheduler

    if hub._scheduler is None:
        hub._scheduler = Scheduler(hub._runtime)
    return hub._scheduler


def tick(self: Hub, now: datetime | None = None) -> TickReport:
    """One scheduler round in this process, until its refreshes are done."""
    check_instant("now", now)
    return scheduler_of(self).tick(now)


def start(self: Hub) -> None:
    """Tick in the background, as soon as no other process leads the hub."""
    scheduler_of(self).start()


def stop(self: Hub, drain: bool = True) -> bool:
    """Stop ticking; running refreshes are waited for, or cancelled when not to drain.

    Returns:
        Whether everything that ran has ended.
    """
    return scheduler_of(self).stop(drain=drain)


def units(self: Hub) -> tuple[UnitRow, ...]:
    """What the scheduler refreshes as a whole, upstream first; starts no Spark."""
    from headwater.scheduler.looking import units as look

    return look(self._runtime)


def worker_pool_status(self: Hub) -> tuple[WorkerPoolRow, ...]:
    """The workers of this hub and what they may use."""
    from headwater.scheduler.looking import worker_pool_status as look

    idle = 0
    if self._scheduler is not None:
        idle = self._scheduler.coordinator.dispatcher.idle_workers
    return look(self._runtime, idle)


def parallel_job_status(self: Hub, max_age_seconds: int = 300) -> tuple[JobRow, ...]:
    """Jobs that wait or run, and those that ended lately, newest first."""
    from headwater.scheduler.looking import parallel_job_status as look

    check_number("max_age_seconds", max_age_seconds, "it is a number of seconds")
    return look(self._runtime, min(max_age_seconds, _LONGEST_SECONDS))


def worker_allocation_status(self: Hub) -> tuple[AllocationRow, ...]:
    """The share of each hub of the catalog database in the workers."""
    from headwater.scheduler.looking import worker_allocation_status as look

    return look(self._runtime)


def cluster_worker_summary(self: Hub) -> tuple[ClusterWorkerRow, ...]:
    """The workers and the coordinator of each hub of the catalog database."""
    from headwater.scheduler.looking import cluster_worker_summary as look

    return look(self._runtime)


def metrics_summary(self: Hub) -> tuple[MetricsRow, ...]:
    """What this hub has and has done."""
    from headwater.scheduler.looking import metrics_summary as look

    return look(self._runtime)


def sla_summary(self: Hub) -> tuple[SlaRow, ...]:
    """How stream tables kept their service levels in the last hours."""
    from headwater.scheduler.looking import sla_summary as look

    return look(self._runtime)


def recommend_schedule(self: Hub, name: str) -> ScheduleAdvice:
    """How often a stream table can be refreshed, from how long its refreshes took."""
    from headwater.scheduler.looking import recommend_schedule as look

    return look(self._runtime, TableName.parse(name))


def stale_tables(self: Hub) -> tuple[str, ...]:
    """Stream tables for which a change waits longer than schedule or SLA allow; no Spark."""
    from headwater.scheduler.staleness import stale_tables

    return tuple(map(str, stale_tables(self._runtime, self._runtime.store.outlines.read())))


def health_check(self: Hub) -> tuple[HealthRow, ...]:
    """The health of the hub, one row for each check; starts no Spark."""
    from headwater.scheduler.looking import health_check as look

    return look(self._runtime)


def create_refresh_group(self: Hub, name: str, members: Iterable[str]) -> None:
    """Declare stream tables that appear together, or not at all."""
    check_text("name", name)
    if not 0 < len(name) <= MOST_OF_A_NAME:
        raise InvalidOption(
            f"the name of a group cannot have {len(name)} characters",
            hint=f"it has 1 to {MOST_OF_A_NAME}",
        )
    if isinstance(members, str):
        members = [members]
    if not isinstance(members, Iterable):
        raise InvalidOption(f"members cannot be {members!r}", hint="they are names")
    tables = [TableName.parse(m) for m in members]
    if len(set(tables)) < 2:
        raise InvalidOption(
            f"group {name!r} has fewer than two members", hint="name two stream tables or more"
        )
    for table in tables:
        self._runtime.store.tables.get(table)
    self._runtime.store.groups.put(name, tables)


def drop_refresh_group(self: Hub, name: str) -> None:
    """Let the members of a group be refreshed each for itself again."""
    check_text("name", name)
    if not self._runtime.store.groups.drop(name):
        known = ", ".join(self._runtime.store.groups.all()) or "none"
        raise InvalidOption(f"there is no refresh group {name!r}", hint=f"known: {known}")


def gate_source(self: Hub, name: str) -> None:
    """Let everything that reads a source wait until it is ungated."""
    source = TableName.parse(name)
    read = {a.source for _, a in self._runtime.store.tables.dependencies()}
    if source not in read and not self._runtime.tables.exists(source):
        raise InvalidOption(f"there is no table {source}", hint="name a source of a stream table")
    self._runtime.store.gates.close(source)


def ungate_source(self: Hub, name: str) -> None:
    """Let the readers of a source go on."""
    source = TableName.parse(name)
    if not self._runtime.store.gates.open(source):
        known = ", ".join(map(str, sorted(self._runtime.store.gates.all()))) or "none"
        raise InvalidOption(f"{source} is not gated", hint=f"gated: {known}")


def set_fuse(self: Hub, name: str, ceiling: int) -> None:
    """Let a stream table stop when more changed rows than this wait for it; 0 never stops it."""
    from headwater.catalog.schedule_states import FuseState

    check_number("ceiling", ceiling, "it is a number of rows")
    row = self._runtime.store.tables.get(TableName.parse(name))
    self._runtime.store.schedule.set_fuse(row.id, FuseState.ARMED, ceiling=ceiling)


def reset_fuse(self: Hub, name: str) -> None:
    """Let a stream table whose fuse has blown take in what waits, once; then it is armed again."""
    from headwater.catalog.schedule_states import FuseState, ScheduleState

    table = TableName.parse(name)
    row = self._runtime.store.tables.get(table)
    state = self._runtime.store.schedule.fuses().get(row.id, ScheduleState())
    if state.fuse_state is not FuseState.BLOWN:
        raise InvalidOption(f"the fuse of {table} has not blown", hint="there is nothing to reset")
    self._runtime.store.schedule.set_fuse(row.id, FuseState.PASSES)
