"""Leases: one holder at a time, for a while, with a token that only grows.

A holder may be stopped for longer than its lease and wake up: whatever it then does carries an old
token, and is refused by those who saw a newer one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Connection, and_, or_, select, update

from headwater.catalog import tables
from headwater.catalog.codec import Raw
from headwater.catalog.processes import ProcessIdentity
from headwater.catalog.upsert import insert_row
from headwater.core.errors import RefreshConflict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headwater.catalog.database import Database

_L = tables.leases
_RELEASED = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease as its holder got it; `token` is the fencing token."""

    name: str
    owner: str
    token: int
    expires_at: datetime


class Leases:
    """The leases of one hub."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._hub = database.hub

    def acquire(
        self, name: str, owner: str, ttl: timedelta, *, now: datetime | None = None
    ) -> Lease | None:
        """Take a lease that is free, expired, or held by a dead process of this host.

        Args:
            name: what to hold.
            owner: who holds it; unique to the holder, not to its host.
            ttl: for how long.
            now: the time to count from; None asks the database.

        Returns:
            The lease, or None while somebody else holds it.
        """
        with self._database.write() as connection:
            at = now or self._database.now(connection)
            token = self._take(connection, name, owner, at, at + ttl)
            return None if token is None else Lease(name, owner, token, at + ttl)

    def renew(self, lease: Lease, ttl: timedelta, *, now: datetime | None = None) -> Lease | None:
        """Hold a lease for longer; None when it expired or somebody else holds it."""
        with self._database.write() as connection:
            at = now or self._database.now(connection)
            kept = connection.execute(
                update(_L)
                .where(self._mine(lease), _L.c.expires_at > at)
                .values(expires_at=at + ttl)
            )
            if kept.rowcount != 1:
                return None
            return Lease(lease.name, lease.owner, lease.token, at + ttl)

    def release(self, lease: Lease) -> bool:
        """Give a lease back; False when it was not held any more. The token stays used."""
        with self._database.write() as connection:
            freed = connection.execute(
                update(_L).where(self._mine(lease)).values(expires_at=_RELEASED)
            )
            return freed.rowcount == 1

    def holder(self, name: str, *, now: datetime | None = None) -> Lease | None:
        """Who holds a lease now."""
        with self._database.read() as connection:
            at = now or self._database.now(connection)
            found = self._row(connection, name)
            return found[0] if found is not None and found[0].expires_at > at else None

    def holders(self, name: str) -> dict[str, Lease]:
        """Hub → who holds the lease of that name now, in all hubs of the database."""
        with self._database.read() as connection:
            at = self._database.now(connection)
            query = select(_L).where(_L.c.name == name, _L.c.expires_at > at)
            return {row.hub: _read(row)[0] for row in connection.execute(query)}

    def check(self, connection: Connection, lease: Lease) -> None:
        """Fence a write: fail the transaction when a newer holder has been seen.

        Raises:
            RefreshConflict: the lease was taken over.
        """
        query = select(_L.c.token).where(_L.c.hub == self._hub, _L.c.name == lease.name)
        token = connection.execute(query.with_for_update()).scalar()
        if token != lease.token:
            raise RefreshConflict(
                f"{lease.name} was taken over from {lease.owner}",
                hint="nothing was changed; the new holder goes on",
            )

    def _take(
        self, connection: Connection, name: str, owner: str, at: datetime, until: datetime
    ) -> int | None:
        process = ProcessIdentity.current()
        holder = {
            "owner": owner,
            "expires_at": until,
            "host": process.host,
            "pid": process.pid,
            "process_started": process.started,
        }
        free = _L.c.expires_at <= at
        found = self._row(connection, name)
        if found is not None and found[1].is_alive() is False:
            free = or_(free, _L.c.token == found[0].token)
        statement = insert_row(
            self._database.dialect, _L, {"hub": self._hub, "name": name, "token": 1} | holder
        )
        upsert = statement.on_conflict_do_update(
            index_elements=[_L.c.hub, _L.c.name],
            set_=holder | {"token": _L.c.token + 1},
            where=free,
        )
        token = connection.execute(upsert.returning(_L.c.token)).scalar_one_or_none()
        return None if token is None else int(token)

    def _row(self, connection: Connection, name: str) -> tuple[Lease, ProcessIdentity] | None:
        query = select(_L).where(_L.c.hub == self._hub, _L.c.name == name)
        row = connection.execute(query).one_or_none()
        return None if row is None else _read(row)

    def _mine(self, lease: Lease) -> ColumnElement[bool]:
        return and_(
            _L.c.hub == self._hub,
            _L.c.name == lease.name,
            _L.c.owner == lease.owner,
            _L.c.token == lease.token,
        )


def _read(row: Iterable[Any]) -> tuple[Lease, ProcessIdentity]:
    raw = Raw("hw_leases", _L.columns.keys(), row, "hub name")
    owner, name = raw.string("owner"), raw.string("name")
    lease = Lease(name, owner, raw.integer("token"), raw.instant("expires_at"))
    started = raw.string("process_started")
    return lease, ProcessIdentity(raw.string("host"), raw.integer("pid"), started)
