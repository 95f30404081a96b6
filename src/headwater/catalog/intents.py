"""Publish intents: the commit point of a group whose members must appear together.

The row says which staged versions become the heads. Once it is written the group counts as
published: after a crash whoever finds it carries it out.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, delete, func, insert, or_, select, update

from headwater.catalog import tables
from headwater.catalog.codec import Raw, dump
from headwater.core.names import TableName

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from headwater.catalog.database import Database
    from headwater.catalog.leases import Lease, Leases

_I = tables.publish_intents


class IntentStatus(StrEnum):
    """Where an intent is in its life."""

    PENDING = "PENDING"
    DONE = "DONE"


_OPEN_AND_NEWEST = select(_I.c.id, _I.c.status, _I.c.members).where(
    _I.c.hub == bindparam("of_hub"),
    or_(
        _I.c.status == IntentStatus.PENDING,
        _I.c.id
        == select(func.max(_I.c.id)).where(_I.c.hub == bindparam("of_hub")).scalar_subquery(),
    ),
)


@dataclass(frozen=True, slots=True)
class PublishIntent:
    """A group to be published; each member is a small document of the publisher."""

    id: int
    unit_key: str
    members: tuple[Mapping[str, str], ...]
    status: IntentStatus
    created_at: datetime


@dataclass(frozen=True, slots=True)
class GroupsLook:
    """Which groups are being published; equal looks mean that none came or went between them."""

    last: int
    pending: tuple[int, ...]
    staged: Mapping[TableName, int]


class PublishIntents:
    """The publish intents of one hub."""

    def __init__(self, database: Database, leases: Leases) -> None:
        self._database = database
        self._hub = database.hub
        self._leases = leases

    def add(
        self,
        unit_key: str,
        members: Sequence[Mapping[str, str]],
        *,
        fences: Sequence[Lease] = (),
    ) -> int:
        """Commit to publishing a group; the row survives a power failure.

        Args:
            unit_key: the group.
            members: what to publish.
            fences: leases that must still be the newest, in the same transaction.
        """
        with self._database.write(durable=True) as connection:
            for fence in fences:
                self._leases.check(connection, fence)
            values = {
                "hub": self._hub,
                "unit_key": unit_key,
                "members": dump(list(members)),
                "status": IntentStatus.PENDING,
                "created_at": self._database.now(connection),
            }
            made = connection.execute(insert(_I).values(values).returning(_I.c.id)).scalar_one()
            return int(made)

    def pending(self) -> tuple[PublishIntent, ...]:
        """Groups that somebody committed to and did not finish, oldest first."""
        query = (
            select(_I)
            .where(_I.c.hub == self._hub, _I.c.status == IntentStatus.PENDING)
            .order_by(_I.c.id)
        )
        with self._database.read() as connection:
            raws = [
                Raw(_I.name, _I.columns.keys(), row, "hub id") for row in connection.execute(query)
            ]
        return tuple(
            PublishIntent(
                raw.integer("id"),
                raw.string("unit_key"),
                raw.mappings("members"),
                raw.choice("status", IntentStatus),
                raw.instant("created_at"),
            )
            for raw in raws
        )

    def look(self) -> GroupsLook:
        """The groups that are being published, and the newest group of all."""
        with self._database.read() as connection:
            found = connection.execute(_OPEN_AND_NEWEST, {"of_hub": self._hub}).all()
        if not found:
            return _NO_GROUPS
        raws = [Raw(_I.name, ("id", "status", "members"), row, "id") for row in found]
        open_ = [r for r in raws if r.choice("status", IntentStatus) is IntentStatus.PENDING]
        return GroupsLook(
            last=max(r.integer("id") for r in raws),
            pending=tuple(sorted(r.integer("id") for r in open_)),
            staged={
                TableName.parse(m["name"]): int(m["snapshot"])
                for r in open_
                for m in r.mappings("members")
                if "name" in m and "snapshot" in m
            },
        )

    def prune(self, before: datetime) -> int:
        """Forget groups that were published before an instant; returns how many.

        The newest group stays: readers tell by it whether one came between two looks.
        """
        newest = select(func.max(_I.c.id)).where(_I.c.hub == self._hub).scalar_subquery()
        old = delete(_I).where(_I.c.hub == self._hub, _I.c.finished_at < before, _I.c.id < newest)
        with self._database.write() as connection:
            return connection.execute(old).rowcount

    def complete(self, intent_id: int) -> bool:
        """Note that every member is published; False when it was noted before."""
        with self._database.write() as connection:
            done = connection.execute(
                update(_I)
                .where(
                    _I.c.hub == self._hub,
                    _I.c.id == intent_id,
                    _I.c.status == IntentStatus.PENDING,
                )
                .values(status=IntentStatus.DONE, finished_at=self._database.now(connection))
            )
            return done.rowcount == 1


_NO_GROUPS = GroupsLook(0, (), {})
