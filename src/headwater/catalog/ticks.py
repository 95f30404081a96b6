"""The ticks that refreshed something, with the versions they pinned; idle ones share one row.

A run in the history names its tick, so that the pinned versions of any run can be looked up. Idle
ticks are one row of the history with a counter, whatever the number of stream tables.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, func, insert, select, update

from headwater.catalog import tables
from headwater.catalog.codec import Raw, dump
from headwater.catalog.processes import ProcessIdentity
from headwater.catalog.rows import InitiatedBy, RunStatus
from headwater.catalog.schedule_tables import ticks
from headwater.core.ids import ENTROPY_BYTES, run_id
from headwater.core.spec import Action, ApplyKind

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from headwater.catalog.database import Database

_T = ticks
_H = tables.history

ALL_TABLES = "*"
"""The name under which idle ticks stand in the history."""

IDLE_CODE = "IDLE_TICK"


class Ticks:
    """The ticks of one hub."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._hub = database.hub
        self._idle_run: str | None = None

    def begin(self, versions: Mapping[str, int | None], units: int) -> int:
        """Note a tick that runs units, with the version of each base table it pinned."""
        process = ProcessIdentity.current()
        self._idle_run = None
        with self._database.write() as connection:
            values = {
                "hub": self._hub,
                "started_at": self._database.now(connection),
                "versions": dump(dict(versions)),
                "units": units,
                "host": process.host,
                "pid": process.pid,
            }
            return int(
                connection.execute(insert(_T).values(values).returning(_T.c.id)).scalar_one()
            )

    def finish(self, tick: int) -> None:
        """Note that everything a tick started is done."""
        with self._database.write() as connection:
            now = self._database.now(connection)
            done = update(_T).where(_T.c.id == tick, _T.c.finished_at.is_(None))
            connection.execute(done.values(finished_at=now))

    def idle(self, now: datetime, duration_ms: float, tables: int) -> None:
        """Count a tick that had nothing to do in the row of the idle ticks before it."""
        with self._database.write() as connection:
            if self._idle_run is not None:
                counted = (
                    update(_H)
                    .where(_H.c.hub == self._hub, _H.c.run_id == self._idle_run)
                    .values(
                        repeats=_H.c.repeats + 1,
                        finished_at=now,
                        duration_ms=duration_ms,
                        reason=_said(tables),
                    )
                )
                if connection.execute(counted).rowcount == 1:
                    return
            self._idle_run = run_id(now, os.urandom(ENTROPY_BYTES))
            connection.execute(insert(_H).values(self._row(now, duration_ms, tables)))

    def versions(self, tick: int) -> dict[str, int | None]:
        """The versions a tick pinned; empty when it is not known any more."""
        query = select(_T).where(_T.c.hub == self._hub, _T.c.id == tick)
        with self._database.read() as connection:
            row = connection.execute(query).one_or_none()
        return (
            {}
            if row is None
            else dict(Raw(_T.name, _T.columns.keys(), row, "id").mapping("versions"))
        )

    def last_at(self) -> datetime | None:
        """When a tick last ran, idle or not."""
        idle = select(func.max(_H.c.finished_at)).where(
            _H.c.hub == self._hub, _H.c.name == ALL_TABLES
        )
        busy = select(func.max(_T.c.started_at)).where(_T.c.hub == self._hub)
        with self._database.read() as connection:
            found = (connection.execute(idle).scalar(), connection.execute(busy).scalar())
        columns = ("hub", "at")
        known = [
            Raw("hw_ticks", columns, (self._hub, value), "hub").instant("at")
            for value in found
            if value is not None
        ]
        return max(known, default=None)

    def prune(self, before: datetime) -> int:
        """Forget ticks that ended before an instant; returns how many.

        A tick whose process died has no end: it counts from its start.
        """
        ended = func.coalesce(_T.c.finished_at, _T.c.started_at)
        old = delete(_T).where(_T.c.hub == self._hub, ended < before)
        with self._database.write() as connection:
            return connection.execute(old).rowcount

    def _row(self, now: datetime, duration_ms: float, tables: int) -> dict[str, Any]:
        process = ProcessIdentity.current()
        return {
            "hub": self._hub,
            "run_id": self._idle_run,
            "stream_table_id": 0,
            "name": ALL_TABLES,
            "status": RunStatus.COMPLETED,
            "action": Action.NO_DATA,
            "reason_code": IDLE_CODE,
            "reason": _said(tables),
            "initiated_by": InitiatedBy.SCHEDULER,
            "started_at": now,
            "finished_at": now,
            "duration_ms": duration_ms,
            "rows_inserted": 0,
            "rows_deleted": 0,
            "delta_rows": 0,
            "spark_jobs": 0,
            "apply": ApplyKind.NONE,
            "repeats": 1,
            "host": process.host,
            "pid": process.pid,
            "process_started": process.started,
        }


def _said(tables: int) -> str:
    return f"no stream table was due ({tables} looked at)"
