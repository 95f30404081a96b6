"""Gated sources and refresh groups: what a user tells the scheduler about several tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import delete, select

from headwater.catalog.codec import Raw, dump
from headwater.catalog.generation import bump
from headwater.catalog.schedule_tables import refresh_groups, source_gates
from headwater.catalog.upsert import insert_row
from headwater.core.names import TableName

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headwater.catalog.database import Database

_G = source_gates
_R = refresh_groups


class Gates:
    """The gated sources of one hub: what reads them waits."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._hub = database.hub

    def close(self, source: TableName) -> bool:
        """Gate a source; False when it was gated already."""
        with self._database.write() as connection:
            now = self._database.now(connection)
            values = {
                "hub": self._hub,
                "namespace": source.namespace,
                "name": source.name,
                "gated_at": now,
            }
            statement = insert_row(self._database.dialect, _G, values).on_conflict_do_nothing()
            bump(connection, self._hub, now)
            made = connection.execute(statement.returning(_G.c.name)).scalar_one_or_none()
            return made is not None

    def open(self, source: TableName) -> bool:
        """Let readers of a source go on; False when it was not gated."""
        with self._database.write() as connection:
            bump(connection, self._hub, self._database.now(connection))
            gone = delete(_G).where(
                _G.c.hub == self._hub,
                _G.c.namespace == source.namespace,
                _G.c.name == source.name,
            )
            return connection.execute(gone).rowcount == 1

    def all(self) -> frozenset[TableName]:
        """The gated sources."""
        query = select(_G.c.namespace, _G.c.name).where(_G.c.hub == self._hub)
        with self._database.read() as connection:
            return frozenset(TableName(r.namespace, r.name) for r in connection.execute(query))


class Groups:
    """The refresh groups of one hub: stream tables that are to appear together."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._hub = database.hub

    def put(self, name: str, members: Sequence[TableName]) -> None:
        """Declare a group, or declare it anew."""
        with self._database.write() as connection:
            now = self._database.now(connection)
            bump(connection, self._hub, now)
            given = {"members": dump([str(m) for m in members]), "created_at": now}
            values = {"hub": self._hub, "name": name} | given
            statement = insert_row(self._database.dialect, _R, values)
            connection.execute(
                statement.on_conflict_do_update(index_elements=[_R.c.hub, _R.c.name], set_=given)
            )

    def drop(self, name: str) -> bool:
        """Forget a group; False when there was none."""
        with self._database.write() as connection:
            bump(connection, self._hub, self._database.now(connection))
            gone = delete(_R).where(_R.c.hub == self._hub, _R.c.name == name)
            return connection.execute(gone).rowcount == 1

    def all(self) -> dict[str, tuple[TableName, ...]]:
        """Group → members."""
        query = select(_R).where(_R.c.hub == self._hub).order_by(_R.c.name)
        with self._database.read() as connection:
            raws = [
                Raw(_R.name, _R.columns.keys(), r, "hub name") for r in connection.execute(query)
            ]
        return {
            raw.string("name"): tuple(TableName.parse(m) for m in raw.strings("members"))
            for raw in raws
        }
