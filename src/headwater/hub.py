"""The Python API: a thin façade over the packages below."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from headwater import operations
from headwater.arguments import check_limit, check_text, check_version
from headwater.core.names import TableName
from headwater.core.schedule import parse_duration
from headwater.core.spec import Status
from headwater.handle import StreamTable
from headwater.opening import open_runtime
from headwater.upkeep import Upkeep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import timedelta
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from headwater.core.results import (
        DependencyRow,
        Explanation,
        HistoryRow,
        RefreshResult,
        StatusRow,
        Verdict,
        VerifyReport,
    )
    from headwater.observe.events import Event
    from headwater.refresh.runtime import Runtime
    from headwater.scheduler.service import Scheduler
    from headwater.storage.lake import Lake

UNSET: Any = object()
"""An argument that was not passed."""


def connect(
    path: str | Path | None = None,
    *,
    spark: SparkSession | None = None,
    catalog: str | None = None,
    warehouse: str | None = None,
    hub: str | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Hub:
    """Open a hub.

    Args:
        path: a folder (made if missing) or a project file.
        spark: an existing session; it is not stopped when the hub closes.
        catalog: address of the catalog database, with `warehouse`.
        warehouse: where table files go.
        hub: one of several hubs in a shared catalog database.
        settings: settings for this process only.
    """
    return Hub(
        open_runtime(
            path, spark=spark, catalog=catalog, warehouse=warehouse, hub=hub, settings=settings
        )
    )


class Hub(Upkeep):
    """One named set of stream tables and settings. Spark starts at the first call that needs it."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._scheduler: Scheduler | None = None

    def __enter__(self) -> Hub:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the hub; Spark is stopped only if the hub started it."""
        if self._scheduler is not None:
            self._scheduler.close()
        self._runtime.store.batches.release()
        self._runtime.engine.close()
        self._runtime.templates.close()
        self._runtime.tables.close()
        self._runtime.store.close()

    @property
    def name(self) -> str:
        """The name of the hub in its catalog."""
        return self._runtime.store.hub

    @property
    def lake(self) -> Lake:
        """Where the hub keeps its tables."""
        return self._runtime.lake

    @property
    def spark(self) -> SparkSession:
        """The session in which user SQL runs."""
        return self._runtime.engine.user

    def subscribe(self, listener: Callable[[Event], None]) -> Callable[[], None]:
        """Hand every event to `listener`; returns a call that ends it."""
        listeners = self._runtime.events.listeners
        listeners.append(listener)
        return lambda: listeners.remove(listener)

    # -- SQL ---------------------------------------------------------------------------------

    def sql(self, text: str) -> DataFrame:
        """Run any Spark SQL on the hub's catalog, or a statement about stream tables."""
        from headwater.commands import run_sql

        return run_sql(self, self._runtime, text)

    @contextmanager
    def batch(self) -> Iterator[str]:
        """Writes of this hub inside belong together: refreshes see all of them or none."""
        from headwater.refresh.batches import batch

        with batch(self._runtime) as batch_id:
            yield batch_id

    def table(self, name: str, *, version: int | None = None) -> DataFrame:
        """The visible columns of a stream table, or of any table of the lake."""
        from headwater.refresh.read import read_table

        table = TableName.parse(name)
        check_version(self._runtime, table, version)
        return read_table(self._runtime, table, version)

    def tables(self, names: Sequence[str]) -> dict[str, DataFrame]:
        """Several stream tables at versions that agree on their sources."""
        from headwater.refresh.read import read_tables

        return read_tables(self._runtime, names)

    # -- life of stream tables ---------------------------------------------------------------

    def create_stream_table(
        self,
        name: str,
        query: str,
        *,
        schedule: str = "calculated",
        refresh_mode: str = "AUTO",
        initialize: bool = True,
        sla: str | None = None,
        tier: str | None = None,
        unique_key: str | Sequence[str] | None = None,
        partition_by: str | Sequence[str] | None = None,
        sort_by: str | Sequence[str] | None = None,
        append_only: bool = False,
        diamond_consistency: str = "atomic",
        diamond_schedule_policy: str = "fastest",
        comment: str | None = None,
        tags: Sequence[str] = (),
        if_not_exists: bool = False,
        or_replace: bool = False,
    ) -> StreamTable:
        """Create a stream table and, unless told otherwise, fill it."""
        from headwater.declaration import declare, declared

        spec = declared(
            TableName.parse(name),
            {
                "query": query,
                "schedule": schedule,
                "refresh_mode": refresh_mode,
                "sla": sla,
                "tier": tier,
                "unique_key": unique_key,
                "partition_by": partition_by,
                "sort_by": sort_by,
                "append_only": append_only,
                "diamond_consistency": diamond_consistency,
                "diamond_schedule_policy": diamond_schedule_policy,
                "comment": comment,
                "tags": tags,
            },
        )
        declare(
            self._runtime,
            spec,
            initialize=initialize,
            if_not_exists=if_not_exists,
            or_replace=or_replace,
        )
        return StreamTable(str(spec.name), self)

    def alter_stream_table(
        self,
        name: str,
        *,
        query: str = UNSET,
        schedule: str = UNSET,
        refresh_mode: str = UNSET,
        status: str = UNSET,
        sla: str | None = UNSET,
        tier: str | None = UNSET,
        unique_key: str | Sequence[str] | None = UNSET,
        sort_by: str | Sequence[str] | None = UNSET,
        append_only: bool = UNSET,
        diamond_consistency: str = UNSET,
        diamond_schedule_policy: str = UNSET,
        comment: str | None = UNSET,
        tags: Sequence[str] = UNSET,
    ) -> StreamTable:
        """Change what is passed; a change that forces a full refresh warns."""
        from headwater.declaration import alter

        given = {
            "query": query,
            "status": status,
            "schedule": schedule,
            "refresh_mode": refresh_mode,
            "sla": sla,
            "tier": tier,
            "unique_key": unique_key,
            "sort_by": sort_by,
            "append_only": append_only,
            "diamond_consistency": diamond_consistency,
            "diamond_schedule_policy": diamond_schedule_policy,
            "comment": comment,
            "tags": tags,
        }
        table = TableName.parse(name)
        alter(self._runtime, table, {k: v for k, v in given.items() if v is not UNSET})
        return StreamTable(str(table), self)

    def drop_stream_table(self, name: str, *, cascade: bool = False) -> None:
        """Drop a stream table; refuses when others read it, unless told to drop them too."""
        from headwater.refresh.lifecycle import drop

        drop(self._runtime, TableName.parse(name), cascade=cascade)

    def resume_stream_table(self, name: str) -> StreamTable:
        """Let a suspended stream table refresh again."""
        table = TableName.parse(name)
        row = self._runtime.store.tables.get(table)
        status = Status.ACTIVE if row.is_populated else Status.INITIALIZING
        self._runtime.store.tables.update(table, status=status, consecutive_errors=0)
        return StreamTable(str(table), self)

    def repair_stream_table(self, name: str) -> RefreshResult:
        """Rebuild a stream table from its sources, whatever state it is in."""
        from headwater.refresh.run import repair

        return repair(self._runtime, TableName.parse(name))

    # -- refresh -----------------------------------------------------------------------------

    def refresh_stream_table(
        self, name: str, *, full: bool = False, strict: bool | None = None
    ) -> RefreshResult:
        """Bring one stream table to its sources' newest versions."""
        from headwater.refresh.run import refresh

        return refresh(self._runtime, TableName.parse(name), full=full, strict=strict)

    def refresh(
        self,
        selection: str | Iterable[str] = "*",
        *,
        full: bool = False,
        strict: bool | None = None,
    ) -> list[RefreshResult]:
        """Refresh several stream tables, upstream first, all from one look at the sources.

        Those that do not read each other run side by side, up to `max_parallel_workers` at once.
        One that fails does not stop the others: its readers are skipped, and `RefreshFailed` tells
        of it in the end, with the results of the others.
        """
        from headwater.refresh.several import refresh_selection

        return refresh_selection(self._runtime, selection, full=full, strict=strict)

    def refresh_if_stale(self, name: str, max_age: str | int | timedelta) -> RefreshResult | None:
        """Refresh unless the last look at the sources is younger than `max_age`."""
        table = TableName.parse(name)
        row = self._runtime.store.tables.get(table)
        age = parse_duration(max_age, what="max_age")
        last = row.last_refresh_at
        if last is not None and self._runtime.clock() - last <= age:
            return None
        return self.refresh_stream_table(name)

    set = operations.set_setting
    settings = operations.settings
    register_function = operations.register_function

    # -- the scheduler -----------------------------------------------------------------------

    tick = operations.tick
    start = operations.start
    stop = operations.stop
    create_refresh_group = operations.create_refresh_group
    drop_refresh_group = operations.drop_refresh_group
    gate_source = operations.gate_source
    ungate_source = operations.ungate_source
    set_fuse = operations.set_fuse
    reset_fuse = operations.reset_fuse
    units = operations.units
    worker_pool_status = operations.worker_pool_status
    parallel_job_status = operations.parallel_job_status
    worker_allocation_status = operations.worker_allocation_status
    cluster_worker_summary = operations.cluster_worker_summary
    metrics_summary = operations.metrics_summary
    sla_summary = operations.sla_summary
    recommend_schedule = operations.recommend_schedule
    health_check = operations.health_check
    stale_tables = operations.stale_tables

    # -- looking -----------------------------------------------------------------------------

    def validate(self, query: str) -> Verdict:
        """Whether a query can be maintained incrementally, node by node; no Spark job."""
        from headwater.refresh.lifecycle import judged

        check_text("query", query)
        return judged(self._runtime, query).verdict

    def explain(self, name_or_query: str, what: str = "plan") -> Explanation:
        """How a stream table, or a query before it becomes one, is maintained."""
        from headwater.refresh.explain import explain

        check_text("name_or_query", name_or_query)
        return explain(self._runtime, name_or_query, what)

    def verify(self, name: str, *, version: int | None = None) -> VerifyReport:
        """Recompute at the recorded frontier and compare as bags."""
        from headwater.refresh.verify import verify

        table = TableName.parse(name)
        self._runtime.store.tables.get(table)
        check_version(self._runtime, table, version)
        return verify(self._runtime, table, version)

    def status(self, name: str | None = None) -> tuple[StatusRow, ...]:
        """The stream tables and how they are; starts no Spark."""
        table = None if name is None else TableName.parse(name)
        return self._runtime.store.status_rows(table)

    def history(self, name: str | None = None, limit: int = 100) -> tuple[HistoryRow, ...]:
        """The refreshes, newest first; starts no Spark."""
        table = None if name is None else TableName.parse(name)
        check_limit(limit)
        rows = self._runtime.store.history_rows(table, limit)
        if table is not None and not rows:
            self._runtime.store.tables.get(table)
        return rows

    def dependencies(self, name: str | None = None) -> tuple[DependencyRow, ...]:
        """What reads what; starts no Spark."""
        table = None if name is None else TableName.parse(name)
        return self._runtime.store.dependency_rows(table)


__all__ = ["Hub", "StreamTable", "connect"]
