"""Names of those who hold jobs and leads: they tell which process it is, and whether it lives."""

from __future__ import annotations

import uuid

from headwater.catalog.processes import ProcessIdentity

_SEPARATOR = "|"


def owner_name() -> str:
    """A new name for a holder in this process."""
    process = ProcessIdentity.current()
    parts = (process.host, str(process.pid), process.started, uuid.uuid4().hex[:8])
    return _SEPARATOR.join(parts)


def process_of(owner: str) -> ProcessIdentity | None:
    """The process of a holder; None when the name tells none."""
    parts = owner.split(_SEPARATOR)
    if len(parts) != 4 or not parts[1].isdigit():
        return None
    return ProcessIdentity(parts[0], int(parts[1]), parts[2])


def is_gone(owner: str) -> bool:
    """Whether the process of a holder is known to be dead."""
    process = process_of(owner)
    return process is not None and process.is_alive() is False
