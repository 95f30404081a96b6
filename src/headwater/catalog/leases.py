"""Leases: one holder at a time, for a while, with a token that only grows.

A holder may be stopped for longer than its lease and wake up: whatever it then does carries an old
token, and is refused by those who saw a newer one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Executable, bindparam, or_, select, update

from headwater.catalog import tables
from headwater.catalog.codec import Raw
from headwater.catalog.processes import ProcessIdentity
from headwater.catalog.upsert import insert_into
from headwater.core.errors import RefreshConflict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headwater.catalog.database import Database

_L = tables.leases
_RELEASED = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_TOKEN = 1
_BY_NAME = select(_L).where(_L.c.hub == bindparam("of_hub"), _L.c.name == bindparam("called"))
_MINE = update(_L).where(
    _L.c.hub == bindparam("of_hub"),
    _L.c.name == bindparam("called"),
    _L.c.owner == bindparam("held_by"),
    _L.c.token == bindparam("with_token"),
)
_MINE_STILL = _MINE.where(_L.c.expires_at > bindparam("expired_from"))


@cache
def _taking(dialect: str) -> Executable:
    """Takes a lease that nobody has, or that has expired, or whose holder is dead."""
    statement = insert_into(dialect, _L)
    holder = ("owner", "expires_at", "host", "pid", "process_started")
    return statement.on_conflict_do_update(
        index_elements=[_L.c.hub, _L.c.name],
        set_={n: statement.excluded[n] for n in holder} | {"token": _L.c.token + 1},
        where=or_(
            _L.c.expires_at <= bindparam("free_from"), _L.c.token == bindparam("of_the_dead")
        ),
    ).returning(_L.c.token)


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
                _MINE_STILL, self._mine(lease) | {"expired_from": at, "expires_at": at + ttl}
            )
            if kept.rowcount != 1:
                return None
            return Lease(lease.name, lease.owner, lease.token, at + ttl)

    def release(self, lease: Lease) -> bool:
        """Give a lease back; False when it was not held any more. The token stays used."""
        with self._database.write() as connection:
            freed = connection.execute(_MINE, self._mine(lease) | {"expires_at": _RELEASED})
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
        found = self._row(connection, name)
        is_dead = found is not None and found[1].is_alive() is False
        free = {"free_from": at, "of_the_dead": found[0].token if found and is_dead else 0}
        values = {"hub": self._hub, "name": name, "token": _FIRST_TOKEN, **holder, **free}
        token = connection.execute(_taking(self._database.dialect), values).scalar_one_or_none()
        return None if token is None else int(token)

    def _row(self, connection: Connection, name: str) -> tuple[Lease, ProcessIdentity] | None:
        row = connection.execute(_BY_NAME, {"of_hub": self._hub, "called": name}).one_or_none()
        return None if row is None else _read(row)

    def _mine(self, lease: Lease) -> dict[str, Any]:
        return {
            "of_hub": self._hub,
            "called": lease.name,
            "held_by": lease.owner,
            "with_token": lease.token,
        }


def _read(row: Iterable[Any]) -> tuple[Lease, ProcessIdentity]:
    raw = Raw("hw_leases", _L.columns.keys(), row, "hub name")
    owner, name = raw.string("owner"), raw.string("name")
    lease = Lease(name, owner, raw.integer("token"), raw.instant("expires_at"))
    started = raw.string("process_started")
    return lease, ProcessIdentity(raw.string("host"), raw.integer("pid"), started)
