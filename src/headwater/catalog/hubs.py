"""The hubs of a catalog database: made at their first use, stamped by the package that writes."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import Connection, Engine, select, update

from headwater.catalog.tables import hubs, meta
from headwater.catalog.upsert import insert_row
from headwater.version import __version__


def introduce(engine: Engine, hub: str) -> None:
    """Make the rows of a hub if it is new; every opener may call it, at the same time."""
    with engine.connect() as connection:
        stamp = stamped_version(connection, hub)
    if stamp is not None and _release(stamp) >= _release(__version__):
        return
    dialect = engine.dialect.name
    now = datetime.now(UTC)
    with engine.connect() as connection:
        connection = connection.execution_options(headwater_write=True)
        with connection.begin():
            made = {"name": hub, "created_at": now}
            connection.execute(insert_row(dialect, hubs, made).on_conflict_do_nothing())
            stamped = {"package_version": __version__, "updated_at": now}
            first = {"hub": hub, "generation": 1} | stamped
            connection.execute(insert_row(dialect, meta, first).on_conflict_do_nothing())
            connection.execute(update(meta).where(meta.c.hub == hub).values(stamped))


def stamped_version(connection: Connection, hub: str) -> str | None:
    """The newest package that opened a hub; None for a new hub."""
    query = select(meta.c.package_version).where(meta.c.hub == hub)
    value = connection.execute(query).scalar()
    return None if value is None else str(value)


def names(connection: Connection) -> tuple[str, ...]:
    """The hubs that share a database."""
    return tuple(connection.execute(select(hubs.c.name).order_by(hubs.c.name)).scalars())


def _release(version: str) -> tuple[int, ...]:
    """The numbers of a version, comparable; what follows them does not matter here."""
    numbers: list[int] = []
    for part in version.split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
    return tuple(numbers)
