"""Stream tables as the scheduler needs them: few columns, read only where something changed.

A tick first compares one number, the generation of the hub. When it moved, one query over four
short columns tells which rows are new or changed, and only those are read.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import func, select

from headwater.catalog import tables
from headwater.catalog.codec import Raw
from headwater.core.errors import CatalogDamaged, HeadwaterError, InvalidName
from headwater.core.frontier import Frontier
from headwater.core.names import TableName
from headwater.core.schedule import parse_schedule
from headwater.core.spec import RefreshMode, Status, Tier

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from datetime import datetime

    from sqlalchemy import Row

    from headwater.catalog.database import Database
    from headwater.core.frontier import SourceVersion

_T = tables.stream_tables
_NAMES = (
    "id",
    "namespace",
    "name",
    "schedule",
    "refresh_mode",
    "status",
    "tier",
    "freshness_deadline_ms",
    "diamond_consistency",
    "diamond_schedule_policy",
    "is_populated",
    "needs_reinit",
    "consecutive_errors",
    "last_refresh_at",
    "definition",
    "frontier",
)
_COLUMNS = [_T.c[name] for name in _NAMES]
_STAMP = (_T.c.id, _T.c.generation, _T.c.status, _T.c.updated_at)
_FEW = 400
"""Up to this many rows are asked for by id; above it, all are read."""


@dataclass(frozen=True, slots=True)
class Outline:
    """One stream table as the scheduler sees it; `sources` is its frontier."""

    id: int
    name: TableName
    reads: tuple[TableName, ...]
    schedule: str
    mode: RefreshMode
    status: Status
    tier: Tier
    deadline_ms: int | None
    atomic: bool
    waits_for_slowest: bool
    populated: bool
    needs_reinit: bool
    uses_clock: bool
    errors: int
    last_refresh_at: datetime | None
    sources: dict[TableName, SourceVersion]


@lru_cache(maxsize=1024)
def _is_schedule(text: str) -> bool:
    try:
        parse_schedule(text)
    except HeadwaterError:
        return False
    return True


class _Definition(msgspec.Struct):
    sources: list[str] = []
    uses_clock: bool = False


class Outlines:
    """The outlines of one hub."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._hub = database.hub

    def stamps(self) -> dict[int, tuple[Any, ...]]:
        """Id → what changes whenever a declaration changes."""
        query = select(*_STAMP).where(_T.c.hub == self._hub)
        with self._database.read() as connection:
            return {row[0]: row for row in connection.execute(query).cursor.fetchall()}

    def counts(self) -> dict[Status, int]:
        """How many stream tables there are of each status."""
        query = select(_T.c.status, func.count()).where(_T.c.hub == self._hub)
        with self._database.read() as connection:
            found = connection.execute(query.group_by(_T.c.status))
            return {Status(status): int(count) for status, count in found}

    def read(self, ids: Collection[int] | None = None) -> tuple[Outline, ...]:
        """The outlines of some stream tables, or of all; a row that is damaged is left out."""
        return tuple(o for o in self._read(ids) if isinstance(o, Outline))

    def unreadable(self, ids: Collection[int] | None = None) -> dict[str, str]:
        """Name → what is wrong with its row, of stream tables that cannot be read."""
        damaged = (o for o in self._read(ids) if not isinstance(o, Outline))
        return {str(one.name): one.what for one in damaged}

    def _read(self, ids: Collection[int] | None) -> list[Outline | _Damaged]:
        query = select(*_COLUMNS).where(_T.c.hub == self._hub)
        few = ids is not None and len(ids) <= _FEW
        if few:
            query = query.where(_T.c.id.in_(list(ids or ())))
        with self._database.read() as connection:
            found = connection.execute(query).all()
        wanted = found if ids is None or few else [row for row in found if row.id in ids]
        return [_outline_or_damage(row) for row in wanted]


@dataclass(frozen=True, slots=True)
class _Damaged:
    name: TableName
    what: str


def _outline_or_damage(row: Row[Any]) -> Outline | _Damaged:
    try:
        return _outline(row)
    except CatalogDamaged as error:
        return _Damaged(TableName(str(row.namespace), str(row.name)), error.what)


def _outline(row: Iterable[Any]) -> Outline:
    raw = Raw("hw_stream_tables", _NAMES, row, "namespace name")
    try:
        definition = msgspec.json.decode(raw.string("definition"), type=_Definition)
        reads = tuple(TableName.parse(source) for source in definition.sources)
    except (msgspec.MsgspecError, InvalidName):
        raise raw.damaged("definition", "a definition") from None
    frontier: Frontier | None = raw.frontier("frontier")
    schedule = raw.string("schedule")
    if not _is_schedule(schedule):
        raise raw.damaged("schedule", "a schedule that this host knows")
    return Outline(
        id=raw.integer("id"),
        name=raw.table_name("namespace", "name"),
        reads=reads,
        schedule=schedule,
        mode=raw.choice("refresh_mode", RefreshMode),
        status=raw.choice("status", Status),
        tier=raw.optional_choice("tier", Tier) or Tier.HOT,
        deadline_ms=raw.optional_integer("freshness_deadline_ms"),
        atomic=raw.string("diamond_consistency") == "atomic",
        waits_for_slowest=raw.string("diamond_schedule_policy") == "slowest",
        populated=raw.boolean("is_populated"),
        needs_reinit=raw.boolean("needs_reinit"),
        uses_clock=definition.uses_clock,
        errors=raw.integer("consecutive_errors"),
        last_refresh_at=raw.optional_instant("last_refresh_at"),
        sources=dict(frontier.sources) if frontier is not None else {},
    )
