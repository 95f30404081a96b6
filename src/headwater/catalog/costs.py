"""What refreshes took, kept for the cost model: every process of a hub sees every sample."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Connection, bindparam, delete, insert, or_, select

from headwater.catalog import tables
from headwater.catalog.codec import Raw
from headwater.core.spec import Way

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime
    from typing import Any

    from headwater.catalog.database import Database
    from headwater.catalog.history import Outcome, Run

_C = tables.costs
_COLUMNS = tuple(_C.columns.keys())

KEPT = 200
"""Deltas kept of one stream table."""

KEPT_FULL = 20
"""Full refreshes kept of one stream table: they are rarer, and needed longer."""

_PRUNE_EVERY = 32
"""One of so many refreshes, by chance, removes old costs: most should not pay for it."""

_ADD = insert(_C)
_OF_ALL = (
    select(_C)
    .where(
        _C.c.hub == bindparam("of_hub"),
        _C.c.stream_table_id == bindparam("this_table"),
        _C.c.generation == bindparam("of_generation"),
    )
    .order_by(_C.c.is_full.desc(), _C.c.id.desc())
    .limit(bindparam("most"))
)
_OF_LATE = _OF_ALL.where(or_(_C.c.is_full, _C.c.measured_at >= bindparam("since")))


@dataclass(frozen=True, slots=True)
class Cost:
    """What one refresh had to do, what was expected of it and what it took.

    Attributes:
        is_full: whether everything was computed.
        specialisation: which sources had changed, and how.
        apply: how the result was written.
        planned_bytes: size of the files the windows read.
        planned_rows: changed rows, where they were known exactly.
        source_bytes: size of all sources.
        warmth: 0 in a Spark that just started, 1 when its statement was new, 2 when it was not.
        duration_ms: how long it took by itself: without waiting, and without others beside it.
        expected_incremental_ms: the prediction for the delta; None when there was none.
        expected_full_ms: the prediction for a full refresh; None when there was none.
        way: how a MERGE found the files it rewrote; None where there was no choice.
        files: files of the stream table before it.
        files_rewritten: those it rewrote.
    """

    is_full: bool
    specialisation: str
    apply: str
    planned_bytes: int
    planned_rows: int | None
    source_bytes: int
    warmth: int
    duration_ms: float
    expected_incremental_ms: float | None = None
    expected_full_ms: float | None = None
    way: Way | None = None
    files: int | None = None
    files_rewritten: int | None = None


@dataclass(frozen=True, slots=True)
class CostRow:
    """A cost as it is stored."""

    stream_table_id: int
    measured_at: datetime
    reason_code: str
    delta_rows: int
    cost: Cost


class Costs:
    """The costs of one hub."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._hub = database.hub

    def of(
        self, stream_table_id: int, generation: int, since: datetime | None = None
    ) -> tuple[CostRow, ...]:
        """Refreshes of one definition, newest first: full ones of any age, deltas since then."""
        this = {
            "of_hub": self._hub,
            "this_table": stream_table_id,
            "of_generation": generation,
            "since": since,
            "most": KEPT,
        }
        with self._database.read() as connection:
            found = connection.execute(_OF_ALL if since is None else _OF_LATE, this).all()
        return tuple(_read(row) for row in sorted(found, key=lambda r: r.id, reverse=True))


def add_cost(
    connection: Connection, hub: str, run: Run, outcome: Outcome, measured_at: datetime
) -> None:
    """Keep the cost of a refresh, in the transaction that records it."""
    cost = outcome.cost
    if cost is None:
        return
    values: dict[str, Any] = {
        "hub": hub,
        "stream_table_id": run.stream_table_id,
        "generation": run.generation,
        "measured_at": measured_at,
        "reason_code": outcome.reason_code,
        "delta_rows": outcome.delta_rows,
        **{name: getattr(cost, name) for name in Cost.__slots__},
    }
    connection.execute(_ADD, values)
    if os.urandom(1)[0] % _PRUNE_EVERY == 0:
        _prune(connection, run.stream_table_id)


def _prune(connection: Connection, stream_table_id: int) -> None:
    for is_full, kept in ((False, KEPT), (True, KEPT_FULL)):
        mine = (_C.c.stream_table_id == stream_table_id) & (_C.c.is_full == is_full)
        newest = select(_C.c.id).where(mine).order_by(_C.c.id.desc()).limit(kept)
        connection.execute(delete(_C).where(mine, _C.c.id.not_in(newest)))


def _read(row: Iterable[Any]) -> CostRow:
    raw = Raw("hw_costs", _COLUMNS, row, "hub id")
    return CostRow(
        stream_table_id=raw.integer("stream_table_id"),
        measured_at=raw.instant("measured_at"),
        reason_code=raw.string("reason_code"),
        delta_rows=raw.integer("delta_rows"),
        cost=Cost(
            is_full=raw.boolean("is_full"),
            specialisation=raw.string("specialisation"),
            apply=raw.string("apply"),
            planned_bytes=raw.integer("planned_bytes"),
            planned_rows=raw.optional_integer("planned_rows"),
            source_bytes=raw.integer("source_bytes"),
            warmth=raw.integer("warmth"),
            duration_ms=raw.number("duration_ms") or 0.0,
            expected_incremental_ms=raw.number("expected_incremental_ms"),
            expected_full_ms=raw.number("expected_full_ms"),
            way=raw.optional_choice("way", Way),
            files=raw.optional_integer("files"),
            files_rewritten=raw.optional_integer("files_rewritten"),
        ),
    )
