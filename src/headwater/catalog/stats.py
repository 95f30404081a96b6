"""The history of every stream table summed up, in three queries however many there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, case, func, select

from headwater.catalog import tables
from headwater.catalog.rows import RunStatus
from headwater.core.figures import RefreshStats, percentile
from headwater.core.spec import Action

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from headwater.catalog.rows import StreamTableRow
    from headwater.catalog.store import Store

_H = tables.history

NEWEST = 5000
"""Refreshes of the hub whose times the percentiles are taken from."""


def refresh_stats(store: Store, now: datetime) -> tuple[RefreshStats, ...]:
    """One row per stream table, by name."""
    rows = store.tables.all()
    sums, times, last = _sums(store), _times(store), _last(store)
    return tuple(
        _stats(row, sums.get(row.id, {}), times.get(row.id, []), last.get(row.id), now)
        for row in rows
    )


def _sums(store: Store) -> dict[int, dict[str, Any]]:
    done = _H.c.status == RunStatus.COMPLETED

    def count(condition: Any) -> Any:
        return func.sum(case((condition, _H.c.repeats), else_=0))

    query = (
        select(
            _H.c.stream_table_id,
            func.sum(_H.c.repeats).label("total_refreshes"),
            count(done).label("successful_refreshes"),
            count(_H.c.status == RunStatus.FAILED).label("failed_refreshes"),
            count(and_(done, _H.c.action == Action.INCREMENTAL)).label("incremental_refreshes"),
            count(and_(done, _H.c.action.in_([Action.FULL, Action.REINITIALIZE]))).label(
                "full_refreshes"
            ),
            func.sum(_H.c.rows_inserted).label("total_rows_inserted"),
            func.sum(_H.c.rows_deleted).label("total_rows_deleted"),
        )
        .where(_H.c.hub == store.hub)
        .group_by(_H.c.stream_table_id)
    )
    with store.database.read() as connection:
        found = connection.execute(query).mappings().all()
    return {row["stream_table_id"]: dict(row) for row in found}


def _times(store: Store) -> dict[int, list[float]]:
    """Times of the newest refreshes that wrote something."""
    query = (
        select(_H.c.stream_table_id, _H.c.duration_ms)
        .where(
            _H.c.hub == store.hub,
            _H.c.status == RunStatus.COMPLETED,
            _H.c.action != Action.NO_DATA,
        )
        .order_by(_H.c.seq.desc())
        .limit(NEWEST)
    )
    times: dict[int, list[float]] = {}
    with store.database.read() as connection:
        for identifier, took in connection.execute(query):
            if took is not None:
                times.setdefault(identifier, []).append(float(took))
    return times


def _last(store: Store) -> dict[int, str]:
    newest = select(func.max(_H.c.seq)).where(_H.c.hub == store.hub).group_by(_H.c.stream_table_id)
    query = select(_H.c.stream_table_id, _H.c.status).where(_H.c.seq.in_(newest))
    with store.database.read() as connection:
        return {row[0]: str(row[1]) for row in connection.execute(query)}


def _stats(
    row: StreamTableRow,
    sums: dict[str, Any],
    times: Sequence[float],
    last_status: str | None,
    now: datetime,
) -> RefreshStats:
    counted = {
        name: int(sums.get(name) or 0)
        for name in (
            "total_refreshes",
            "successful_refreshes",
            "failed_refreshes",
            "incremental_refreshes",
            "full_refreshes",
            "total_rows_inserted",
            "total_rows_deleted",
        )
    }
    seen = row.last_refresh_at
    return RefreshStats(
        name=str(row.name),
        status=row.status.value,
        refresh_mode=row.spec.refresh_mode.value,
        is_populated=row.is_populated,
        **counted,
        avg_duration_ms=sum(times) / len(times) if times else None,
        p95_duration_ms=percentile(times, 0.95),
        p99_duration_ms=percentile(times, 0.99),
        last_refresh_action=row.last_action,
        last_refresh_status=last_status,
        last_refresh_at=seen,
        staleness_secs=None if seen is None else max(0.0, (now - seen).total_seconds()),
        consecutive_errors=row.consecutive_errors,
        schedule=row.spec.schedule,
        refresh_tier=row.tier.value,
        last_error_message=row.last_error_message,
        downstream_publication=row.downstream_publication,
    )
