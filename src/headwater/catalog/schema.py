"""The schema of the catalog database: checked at every opening, migrated when it is behind.

The check is one query. Alembic is imported only when there is something to migrate.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, inspect, text

from headwater.catalog.tables import HEAD, VERSION_TABLE
from headwater.core.errors import CatalogDamaged, CatalogTooNew
from headwater.version import __version__

if TYPE_CHECKING:
    from alembic.config import Config

MIGRATIONS = Path(__file__).parent / "migrations"
_LOCK_KEY = 0x68656164_77617465  # "headwate": one number for all Headwaters of a database


@dataclass(frozen=True, slots=True)
class Versions:
    """What package and catalog say about themselves."""

    package: str
    catalog: str
    schema: str
    head: str

    @property
    def agree(self) -> bool:
        """Whether the catalog was last written by this package, at its schema."""
        return self.package == self.catalog and self.schema == self.head


def ensure(engine: Engine, url: str) -> None:
    """Bring the schema to `HEAD`; every opener may call it, at the same time.

    Raises:
        CatalogTooNew: a newer package wrote it.
        CatalogDamaged: the version cannot be told.
    """
    with engine.connect() as connection:
        revision = stored_revision(connection)
    if revision == HEAD:
        return
    _refuse_unknown(revision, url)
    upgrade(engine, HEAD, url)


def stored_revision(connection: Connection) -> str | None:
    """The migration the database is at; None for a database without our tables."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    rows = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalars().all()
    if len(rows) != 1:
        raise CatalogDamaged(
            f"{VERSION_TABLE} has {len(rows)} rows, not one",
            hint="restore the catalog from a backup",
        )
    return str(rows[0])


def upgrade(engine: Engine, target: str, url: str) -> None:
    """Run the missing migrations up to `target` in one transaction, one process at a time."""
    with engine.connect() as connection:
        connection = connection.execution_options(headwater_write=True)
        with connection.begin():
            if connection.dialect.name == "postgresql":
                connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK_KEY})"))
            revision = stored_revision(connection)
            if revision == target:
                return
            _refuse_unknown(revision, url)
            _migrate(connection, target)


def _migrate(connection: Connection, target: str) -> None:
    from alembic import command

    config = alembic_config()
    config.attributes["connection"] = connection
    command.upgrade(config, target)


def alembic_config() -> Config:
    """The configuration of Alembic for the packaged migrations."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def known_revisions() -> tuple[str, ...]:
    """The numbers of all packaged migrations, oldest first."""
    return tuple(sorted(p.stem[1:5] for p in (MIGRATIONS / "versions").glob("v[0-9]*.py")))


def _refuse_unknown(revision: str | None, url: str) -> None:
    if revision is not None and revision not in known_revisions():
        raise CatalogTooNew(
            f"the catalog {url} has schema {revision}; Headwater {__version__} knows up to {HEAD}",
            hint="upgrade the headwater package on this machine",
        )
