"""Errors of the database driver, said in the words of Headwater."""

from __future__ import annotations

from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from headwater.core.errors import (
    CatalogBusy,
    CatalogDamaged,
    CatalogUnavailable,
    HeadwaterError,
)

_SQLITE_BUSY = ("database is locked", "database table is locked", "database schema has changed")
_SQLITE_DAMAGED = ("malformed", "not a database", "no such table", "no such column")
_POSTGRES_BUSY = {
    "55P03",  # lock_not_available
    "57014",  # query_canceled
    "40001",  # serialization_failure
    "40P01",  # deadlock_detected
    "53300",  # too_many_connections
    "57P01",  # admin_shutdown
    "57P02",  # crash_shutdown
    "57P03",  # cannot_connect_now
}
_POSTGRES_DAMAGED = {"42P01", "42703", "XX001", "XX002"}

_AGAIN = "try again; if it stays so, look for a process that holds the catalog"
_RESTORE = "restore the catalog from a backup"
_REACH = "check the address, that the server runs and that this user may write"


def translated(error: Exception, url: str) -> HeadwaterError:
    """The Headwater error for a failure of the catalog database at `url` (no password in it)."""
    if isinstance(error, PoolTimeout):
        return CatalogBusy(f"no free connection to the catalog {url}", hint=_AGAIN)
    original = error.orig if isinstance(error, DBAPIError) else error
    reason = " ".join(str(original).split())
    state = getattr(original, "sqlstate", None)
    lost = isinstance(error, DBAPIError) and error.connection_invalidated
    if lost or state in _POSTGRES_BUSY or _says(reason, _SQLITE_BUSY):
        return CatalogBusy(f"the catalog {url} did not answer: {reason}", hint=_AGAIN)
    refused = isinstance(error, IntegrityError)
    if refused or state in _POSTGRES_DAMAGED or _says(reason, _SQLITE_DAMAGED):
        return CatalogDamaged(f"the catalog {url} is damaged: {reason}", hint=_RESTORE)
    return CatalogUnavailable(f"the catalog {url} cannot be used: {reason}", hint=_REACH)


def _says(reason: str, phrases: tuple[str, ...]) -> bool:
    return any(phrase in reason for phrase in phrases)
