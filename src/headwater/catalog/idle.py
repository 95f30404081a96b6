"""Refreshes that found nothing to do: recorded cheaply, many of them in one row.

A scheduler asks every second; a row per answer would drown the history. Consecutive idle
refreshes of a stream table share one row with a counter and the time of the last.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, case, func, insert, select, update

from headwater.catalog import tables
from headwater.catalog.history import new_run
from headwater.catalog.rows import InitiatedBy, RunStatus
from headwater.core.ids import ENTROPY_BYTES, run_id
from headwater.core.spec import Action, ApplyKind, Status

if TYPE_CHECKING:
    from datetime import datetime

    from headwater.catalog.database import Database
    from headwater.catalog.rows import StreamTableRow
    from headwater.core.frontier import Frontier

_H = tables.history
_T = tables.stream_tables

_LAST = (
    select(func.max(_H.c.seq))
    .where(_H.c.hub == bindparam("p_hub"), _H.c.stream_table_id == bindparam("p_table"))
    .scalar_subquery()
)
_FOLD = (
    update(_H)
    .where(
        _H.c.seq == _LAST,
        _H.c.status == RunStatus.COMPLETED.value,
        _H.c.action == Action.NO_DATA.value,
        _H.c.initiated_by == bindparam("p_by"),
        _H.c.reason_code == bindparam("p_code"),
    )
    .values(
        repeats=_H.c.repeats + 1,
        finished_at=bindparam("p_now"),
        duration_ms=bindparam("p_duration"),
        frontier=bindparam("p_frontier"),
        version=bindparam("p_head"),
        tick=bindparam("p_tick"),
    )
    .returning(_H.c.run_id)
)
_TOUCH = (
    update(_T)
    .where(_T.c.id == bindparam("p_table"), _T.c.generation == bindparam("p_generation"))
    .values(
        last_refresh_at=bindparam("p_now"),
        last_action=Action.NO_DATA.value,
        last_reason_code=bindparam("p_code"),
        last_reason=bindparam("p_reason"),
        frontier=bindparam("p_frontier"),
        frontier_head=bindparam("p_head"),
        consecutive_errors=0,
        status=case((_T.c.status == Status.ERROR.value, Status.ACTIVE.value), else_=_T.c.status),
    )
)


@dataclass(frozen=True, slots=True)
class Idle:
    """A refresh that had nothing to do.

    Attributes:
        frontier: what the unchanged content equals now.
        head: the version of the stream table that stood while the windows were proven empty.
    """

    frontier: Frontier | None
    head: int | None
    reason_code: str
    reason: str
    duration_ms: float = 0.0
    initiated_by: InitiatedBy = InitiatedBy.MANUAL
    tick: int | None = None


def record_idle(
    database: Database, row: StreamTableRow, idle: Idle, now: datetime | None = None
) -> str:
    """Record an idle refresh; returns the id of the run that stands for it."""
    with database.write() as connection:
        at = now or database.now(connection)
        parameters: dict[str, Any] = {
            "p_hub": database.hub,
            "p_table": row.id,
            "p_generation": row.generation,
            "p_by": idle.initiated_by.value,
            "p_code": idle.reason_code,
            "p_reason": idle.reason,
            "p_now": at,
            "p_duration": idle.duration_ms,
            "p_frontier": idle.frontier.to_json() if idle.frontier else None,
            "p_head": idle.head,
            "p_tick": idle.tick,
        }
        connection.execute(_TOUCH, parameters)
        folded = connection.execute(_FOLD, parameters).scalar_one_or_none()
        if folded is not None:
            return str(folded)
        identifier = run_id(at, os.urandom(ENTROPY_BYTES))
        values = new_run(database.hub, row, identifier, idle.initiated_by, at, idle.tick)
        ran = {
            "status": RunStatus.COMPLETED,
            "action": Action.NO_DATA,
            "apply": ApplyKind.NONE,
            "reason_code": idle.reason_code,
            "reason": idle.reason,
            "finished_at": at,
            "duration_ms": idle.duration_ms,
            "frontier": parameters["p_frontier"],
            "version": idle.head,
        }
        connection.execute(insert(_H).values(values | ran))
        return identifier
