"""What the scheduler remembers of each stream table: its last choice, service level and fuse."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, or_, select

from headwater.catalog import tables
from headwater.catalog.codec import Raw
from headwater.catalog.generation import bump
from headwater.catalog.schedule_tables import schedule_state
from headwater.catalog.upsert import insert_into

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from headwater.catalog.database import Database

_S = schedule_state
_T = tables.stream_tables
_COLUMNS = tuple(_S.columns.keys())
_FEW = 500
"""So many ids stand in one statement; with more all rows are read."""


class FuseState(StrEnum):
    """Whether a stream table stops at too many changes."""

    ARMED = "armed"
    BLOWN = "blown"
    PASSES = "passes"


_FRESH: dict[str, Any] = {"sla_misses": 0, "sla_spare": 0, "fuse_state": FuseState.ARMED.value}


@dataclass(frozen=True, slots=True)
class ScheduleState:
    """One stream table as the scheduler last left it."""

    sla_misses: int = 0
    sla_spare: int = 0
    decision_code: str | None = None
    decision_reason: str | None = None
    decided_at: datetime | None = None
    fuse_ceiling: int | None = None
    fuse_state: FuseState = FuseState.ARMED
    fuse_reason: str | None = None


class ScheduleStates:
    """The scheduler's memory of the stream tables of one hub."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._hub = database.hub

    def all(self) -> dict[int, ScheduleState]:
        """By id of the stream table; those the scheduler never saw are not in it."""
        query = select(_S).where(_S.c.hub == self._hub)
        with self._database.read() as connection:
            raws = [
                Raw(_S.name, _COLUMNS, row, "stream_table_id") for row in connection.execute(query)
            ]
        return {raw.integer("stream_table_id"): _read(raw) for raw in raws}

    def fuses(self) -> dict[int, ScheduleState]:
        """Only those with a fuse of their own, or one that is not armed."""
        armed = _S.c.fuse_state == FuseState.ARMED.value
        query = select(_S).where(_S.c.hub == self._hub, or_(_S.c.fuse_ceiling.is_not(None), ~armed))
        with self._database.read() as connection:
            raws = [
                Raw(_S.name, _COLUMNS, row, "stream_table_id") for row in connection.execute(query)
            ]
        return {raw.integer("stream_table_id"): _read(raw) for raw in raws}

    def save(self, changes: Mapping[int, Mapping[str, Any]]) -> None:
        """Change columns of several stream tables in one transaction."""
        if changes:
            with self._database.write() as connection:
                self._save(connection, changes.items())

    def set_fuse(
        self,
        stream_table_id: int,
        state: FuseState,
        *,
        reason: str | None = None,
        ceiling: int | None = None,
    ) -> None:
        """Set a fuse; every coordinator sees it at its next tick."""
        values: dict[str, Any] = {"fuse_state": state.value, "fuse_reason": reason}
        if ceiling is not None:
            values["fuse_ceiling"] = ceiling or None
        with self._database.write() as connection:
            bump(connection, self._hub, self._database.now(connection))
            self._save(connection, [(stream_table_id, values)])

    def _save(
        self, connection: Connection, changes: Iterable[tuple[int, Mapping[str, Any]]]
    ) -> None:
        """Write what belongs to stream tables that are still there."""
        known = dict(changes)
        alive = select(_T.c.id).where(_T.c.hub == self._hub)
        if len(known) <= _FEW:
            alive = alive.where(_T.c.id.in_(list(known)))
        found = connection.execute(alive.with_for_update(read=True, key_share=True)).scalars()
        alike: dict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
        for identifier in known.keys() & set(found):
            values = known[identifier]
            first = {"hub": self._hub, "stream_table_id": identifier} | _FRESH | dict(values)
            alike[tuple(sorted(values))].append(first)
        for columns, rows in alike.items():
            insert = insert_into(self._database.dialect, _S)
            new = {column: insert.excluded[column] for column in columns}
            several = insert.on_conflict_do_update(index_elements=[_S.c.stream_table_id], set_=new)
            connection.execute(several, rows)


def _read(raw: Raw) -> ScheduleState:
    return ScheduleState(
        sla_misses=raw.integer("sla_misses"),
        sla_spare=raw.integer("sla_spare"),
        decision_code=raw.optional_string("decision_code"),
        decision_reason=raw.optional_string("decision_reason"),
        decided_at=raw.optional_instant("decided_at"),
        fuse_ceiling=raw.optional_integer("fuse_ceiling"),
        fuse_state=raw.choice("fuse_state", FuseState),
        fuse_reason=raw.optional_string("fuse_reason"),
    )
