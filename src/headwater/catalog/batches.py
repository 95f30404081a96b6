"""Open batches: writes that belong together and are not all there yet.

A batch is registered before its first write and closed after the last. While it is open, pins stop
before its first commit. One that its writer left half done stays open until a later batch of that
writer has all its writes: then both are closed at once. A batch whose process died gets no further
write: it no longer counts as open, or the stream tables above it would wait for ever.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, delete, insert, select

from headwater.catalog import tables
from headwater.catalog.codec import Raw
from headwater.catalog.processes import ProcessIdentity
from headwater.core.ids import ENTROPY_BYTES, run_id

if TYPE_CHECKING:
    from datetime import datetime

    from headwater.catalog.database import Database

_B = tables.batches
_COLUMNS = tuple(_B.columns.keys())
_OF_HUB = select(_B).where(_B.c.hub == bindparam("of_hub"))

_TIME_DIGITS, _ID_DIGITS = 12, 28  # of an id made by `core.ids.run_id`

UNSEEN_AFTER = timedelta(days=1)
"""How long a batch of another host may be open: its process cannot be seen from here."""


@dataclass(frozen=True, slots=True)
class OpenBatches:
    """The batches that may still get writes, as one look showed them.

    Attributes:
        ids: those that were open.
        at_ms: when that was; a batch that began later was not seen, whatever became of it since.
    """

    ids: frozenset[str] = frozenset()
    at_ms: int = field(default=2**62, compare=False)

    def may_hold(self, batch_id: str | None) -> bool:
        """Whether a commit with this batch id may be one of several that are not all there."""
        if batch_id is None:
            return False
        if batch_id in self.ids:
            return True
        began = batch_id[:_TIME_DIGITS]
        try:
            return len(batch_id) == _ID_DIGITS and int(began, 16) >= self.at_ms
        except ValueError:  # another writer's own id
            return False


class Batches:
    """The open batches of one hub."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._hub = database.hub
        self._left: set[str] = set()

    def begin(self) -> str:
        """Register a batch of this process; returns its id."""
        process = ProcessIdentity.current()
        with self._database.write() as connection:
            now = self._database.now(connection)
            batch_id = run_id(now, os.urandom(ENTROPY_BYTES))
            connection.execute(
                insert(_B).values(
                    hub=self._hub,
                    batch_id=batch_id,
                    opened_at=now,
                    host=process.host,
                    pid=process.pid,
                    process_started=process.started,
                )
            )
        return batch_id

    def close(self, *batch_ids: str) -> bool:
        """Note that all writes of batches are there; False when not all of them were open."""
        with self._database.write() as connection:
            gone = delete(_B).where(_B.c.hub == self._hub, _B.c.batch_id.in_(batch_ids))
            return connection.execute(gone).rowcount == len(batch_ids)

    def complete(self, batch_id: str) -> None:
        """Close a batch, and with it those that were left half done before."""
        left = frozenset(self._left)
        self.close(batch_id, *left)
        self._left -= left

    def leave(self, batch_id: str) -> None:
        """Keep a batch open that is given up half done."""
        self._left.add(batch_id)

    def release(self) -> None:
        """Close what was left half done: its writer goes."""
        if self._left:
            self.close(*self._left)
            self._left.clear()

    def look(self) -> OpenBatches:
        """The batches that may still get writes, and when that was."""
        with self._database.read() as connection:
            at = self._database.now(connection)
        return OpenBatches(self.open_ids(), int(at.timestamp() * 1000))

    def open_ids(self, *, unseen_after: timedelta = UNSEEN_AFTER) -> frozenset[str]:
        """The batches that may still get writes; those of dead processes are forgotten."""
        with self._database.read() as connection:
            found = connection.execute(_OF_HUB, {"of_hub": self._hub}).all()
            if not found:
                return frozenset()
            now = self._database.now(connection)
        raws = [Raw("hw_batches", _COLUMNS, row, "hub batch_id") for row in found]
        alive = frozenset(r.string("batch_id") for r in raws if _may_write(r, now, unseen_after))
        for raw in raws:
            if raw.string("batch_id") not in alive:
                self.close(raw.string("batch_id"))
        return alive


def _may_write(raw: Raw, now: datetime, unseen_after: timedelta) -> bool:
    process = ProcessIdentity(raw.string("host"), raw.integer("pid"), raw.string("process_started"))
    alive = process.is_alive()
    return alive if alive is not None else now - raw.instant("opened_at") <= unseen_after
