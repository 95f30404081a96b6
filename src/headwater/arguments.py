"""Arguments of the hub's calls, checked before anything is done with them; for `hub`."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from headwater.core.errors import InvalidOption, VersionExpired

if TYPE_CHECKING:
    from headwater.core.names import TableName
    from headwater.refresh.runtime import Runtime


def check_text(argument: str, value: object) -> None:
    """Refuse what is no text."""
    if not isinstance(value, str):
        raise InvalidOption(f"{argument} cannot be {value!r}", hint="it is a text")


def check_limit(limit: object) -> None:
    """Refuse what is no number of rows."""
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise InvalidOption(f"limit cannot be {limit!r}", hint="it is a number from 1 on")


def check_number(argument: str, value: object, hint: str) -> None:
    """Refuse what is no whole number from 0 on that a catalog can store."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise InvalidOption(f"{argument} cannot be {value!r}", hint=hint)


def check_instant(argument: str, value: object) -> None:
    """Refuse what is no instant; None is now."""
    if value is not None and not (isinstance(value, datetime) and value.tzinfo is not None):
        raise InvalidOption(
            f"{argument} cannot be {value!r}",
            hint="give an instant with a time zone, such as UTC",
        )


def check_function(fn: object) -> None:
    """Refuse what is no function: neither callable nor written in SQL."""
    if not callable(fn) and not isinstance(fn, str):
        raise InvalidOption(f"fn cannot be {fn!r}", hint="it is a Python function, or SQL text")


def check_version(runtime: Runtime, table: TableName, version: object) -> None:
    """Refuse a version that the table does not have; None is the newest."""
    if version is None:
        return
    if isinstance(version, bool) or not isinstance(version, int):
        raise InvalidOption(f"version cannot be {version!r}", hint="it is a number")
    metadata = runtime.tables.metadata(table)
    if metadata is not None and metadata.snapshot(version) is None:
        raise VersionExpired(
            f"{table} has no version {version}",
            hint="history() tells the versions; old ones may have expired",
        )
