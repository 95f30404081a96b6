"""Settings stored with `hub.set`: seen by every process of the hub at its next tick."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import delete, select

from headwater.catalog import tables
from headwater.catalog.codec import Raw, dump
from headwater.catalog.generation import bump
from headwater.catalog.upsert import insert_row

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from headwater.catalog.database import Database

_S = tables.settings


class StoredSettings:
    """The stored settings of one hub: names and plain values, checked by their reader."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._hub = database.hub

    def all(self) -> dict[str, Any]:
        """Every stored setting."""
        query = select(_S).where(_S.c.hub == self._hub).order_by(_S.c.name)
        with self._database.read() as connection:
            raws = [_raw(row) for row in connection.execute(query)]
        return {raw.string("name"): _value(raw) for raw in raws}

    def of_all_hubs(self, names: Collection[str]) -> dict[str, dict[str, Any]]:
        """Hub → what is stored of these settings, for every hub that stored one."""
        query = select(_S).where(_S.c.name.in_(list(names)))
        found: dict[str, dict[str, Any]] = {}
        with self._database.read() as connection:
            for raw in [_raw(row) for row in connection.execute(query)]:
                found.setdefault(raw.string("hub"), {})[raw.string("name")] = _value(raw)
        return found

    def put(self, name: str, value: object) -> None:
        """Store a value that its reader has accepted."""
        with self._database.write() as connection:
            now = self._database.now(connection)
            bump(connection, self._hub, now)
            stored = {"value": dump(value), "updated_at": now}
            statement = insert_row(
                self._database.dialect, _S, {"hub": self._hub, "name": name} | stored
            )
            connection.execute(
                statement.on_conflict_do_update(index_elements=[_S.c.hub, _S.c.name], set_=stored)
            )

    def remove(self, name: str) -> bool:
        """Forget a stored value: the layers below decide again."""
        with self._database.write() as connection:
            bump(connection, self._hub, self._database.now(connection))
            gone = connection.execute(delete(_S).where(_S.c.hub == self._hub, _S.c.name == name))
            return gone.rowcount == 1


def _raw(row: Iterable[Any]) -> Raw:
    return Raw("hw_settings", _S.columns.keys(), row, "hub name")


def _value(raw: Raw) -> Any:
    try:
        return msgspec.json.decode(raw.string("value"))
    except (msgspec.MsgspecError, ValueError):
        raise raw.damaged("value", "a JSON value") from None
