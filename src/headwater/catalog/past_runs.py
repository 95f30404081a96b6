"""Sums over the history: how many runs, how long they took; one query each, whatever the tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import func, or_, select

from headwater.catalog import tables
from headwater.catalog.rows import RunStatus
from headwater.core.spec import Action

if TYPE_CHECKING:
    from datetime import datetime

    from headwater.catalog.database import Database

_H = tables.history


@dataclass(frozen=True, slots=True)
class Totals:
    """What all runs in the history did together."""

    refreshes: int
    successful: int
    failed: int
    rows: int


class PastRuns:
    """The history of one hub, summed up."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._hub = database.hub

    def totals(self) -> Totals:
        """All runs together, in one query; idle ones count as often as they were repeated."""
        is_run = _H.c.stream_table_id != 0
        query = (
            select(
                _H.c.status,
                func.sum(_H.c.repeats),
                func.sum(_H.c.rows_inserted + _H.c.rows_deleted),
            )
            .where(_H.c.hub == self._hub, is_run, _H.c.status != RunStatus.RUNNING)
            .group_by(_H.c.status)
        )
        with self._database.read() as connection:
            found = {s: (int(n or 0), int(r or 0)) for s, n, r in connection.execute(query)}
        return Totals(
            refreshes=sum(n for n, _ in found.values()),
            successful=found.get(RunStatus.COMPLETED.value, (0, 0))[0],
            failed=found.get(RunStatus.FAILED.value, (0, 0))[0],
            rows=sum(r for _, r in found.values()),
        )

    def mean_ms(self, last: int) -> float:
        """Mean time of the last refreshes that had something to do; 0 without any."""
        ran = (
            select(_H.c.duration_ms)
            .where(
                _H.c.hub == self._hub,
                _H.c.status == RunStatus.COMPLETED,
                _H.c.action != Action.NO_DATA,
            )
            .order_by(_H.c.seq.desc())
            .limit(last)
            .subquery()
        )
        with self._database.read() as connection:
            return float(connection.execute(select(func.avg(ran.c.duration_ms))).scalar() or 0.0)

    def durations(self, since: datetime) -> tuple[dict[str, list[float]], dict[str, int]]:
        """By name: how long refreshes with something to do took, newest first; how many failed."""
        query = (
            select(_H.c.name, _H.c.status, _H.c.duration_ms)
            .where(
                _H.c.hub == self._hub,
                _H.c.finished_at >= since,
                _H.c.stream_table_id != 0,
                _H.c.status.in_((RunStatus.COMPLETED, RunStatus.FAILED)),
                or_(_H.c.action.is_(None), _H.c.action != Action.NO_DATA),
            )
            .order_by(_H.c.seq.desc())
        )
        took: dict[str, list[float]] = {}
        failed: dict[str, int] = {}
        with self._database.read() as connection:
            for name, status, duration in connection.execute(query):
                if status == RunStatus.FAILED.value:
                    failed[name] = failed.get(name, 0) + 1
                elif duration is not None:
                    took.setdefault(name, []).append(float(duration))
        return took, failed
