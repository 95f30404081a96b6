"""Compiled templates that survive their process: the last cache before compiling again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import delete, select

from headwater.catalog import tables
from headwater.catalog.codec import Raw
from headwater.catalog.upsert import insert_row

if TYPE_CHECKING:
    from datetime import datetime

    from headwater.catalog.database import Database

_P = tables.templates
_T = tables.stream_tables


class Templates:
    """The templates of one hub, by stream table, generation and specialisation."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._hub = database.hub

    def get(self, stream_table_id: int, generation: int, specialisation: str) -> bytes | None:
        """The payload of a template, if it is there."""
        query = select(_P.c.specialisation, _P.c.payload).where(
            _P.c.stream_table_id == stream_table_id,
            _P.c.generation == generation,
            _P.c.specialisation == specialisation,
        )
        with self._database.read() as connection:
            row = connection.execute(query).one_or_none()
        if row is None:
            return None
        if not isinstance(row.payload, bytes):
            columns = ("specialisation", "payload")
            raise Raw("hw_templates", columns, row, "specialisation").damaged("payload", "bytes")
        return row.payload

    def put(
        self, stream_table_id: int, generation: int, specialisation: str, payload: bytes
    ) -> bool:
        """Keep a template, and drop those of older generations.

        Returns:
            False when the stream table is gone or has another generation: nothing is kept then.
        """
        with self._database.write() as connection:
            current = connection.execute(
                select(_T.c.generation).where(_T.c.id == stream_table_id, _T.c.hub == self._hub)
            ).scalar()
            if current != generation:
                return False
            connection.execute(
                delete(_P).where(
                    _P.c.stream_table_id == stream_table_id, _P.c.generation < generation
                )
            )
            stored = {"payload": payload, "created_at": self._database.now(connection)}
            key = {
                "stream_table_id": stream_table_id,
                "generation": generation,
                "specialisation": specialisation,
            }
            statement = insert_row(self._database.dialect, _P, {"hub": self._hub} | key | stored)
            connection.execute(
                statement.on_conflict_do_update(index_elements=list(key), set_=stored)
            )
        return True

    def clear(self) -> int:
        """Forget every template of the hub; returns how many there were."""
        with self._database.write() as connection:
            return connection.execute(delete(_P).where(_P.c.hub == self._hub)).rowcount

    def prune(self, before: datetime) -> int:
        """Forget templates written before an instant; returns how many there were."""
        old = delete(_P).where(_P.c.hub == self._hub, _P.c.created_at < before)
        with self._database.write() as connection:
            return connection.execute(old).rowcount

    def count(self) -> int:
        """How many templates the hub keeps."""
        query = select(_P.c.specialisation).where(_P.c.hub == self._hub)
        with self._database.read() as connection:
            return len(connection.execute(query).all())
