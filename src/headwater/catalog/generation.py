"""The counter of a hub that every DDL moves: whoever caches definitions compares it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import Connection, select, update

from headwater.catalog.tables import meta
from headwater.core.errors import CatalogDamaged

if TYPE_CHECKING:
    from datetime import datetime


def current(connection: Connection, hub: str) -> int:
    """The counter of a hub."""
    value = connection.execute(select(meta.c.generation).where(meta.c.hub == hub)).scalar()
    if not isinstance(value, int):
        raise CatalogDamaged(
            f"hw_meta has no generation for hub {hub!r}", hint="restore the catalog from a backup"
        )
    return value


def bump(connection: Connection, hub: str, now: datetime) -> None:
    """Move the counter, first thing in a transaction that changes definitions.

    The lock on its row makes such transactions of one hub wait for each other.
    """
    connection.execute(
        update(meta)
        .where(meta.c.hub == hub)
        .values(generation=meta.c.generation + 1, updated_at=now)
    )
