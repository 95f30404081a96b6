"""How busy the hubs of one catalog database are: jobs that run and wait, in one query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import Connection, func, select

from headwater.catalog import tables

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

_J = tables.jobs
_S = tables.settings
_RUNNING, _QUEUED = "RUNNING", "QUEUED"
_QUOTA = "per_hub_worker_quota"


@dataclass(frozen=True, slots=True)
class HubLoad:
    """The jobs of one hub.

    Attributes:
        waits_since: when the oldest of its queued jobs was queued.
        quota: its stored share of the workers; 0 is an equal share.
    """

    running: int = 0
    queued: int = 0
    waits_since: datetime | None = None
    quota: int = 0


@dataclass(frozen=True, slots=True)
class Waiting:
    """Another hub with queued jobs; `is_first` when it has waited for longer."""

    running: int
    quota: int
    is_first: bool


@dataclass(frozen=True, slots=True)
class Load:
    """Running jobs of this hub and of the others, and how many hubs have jobs."""

    here: int
    elsewhere: int
    hubs: int
    waiting: tuple[Waiting, ...] = ()


def loads_by_hub(connection: Connection, at: datetime) -> dict[str, HubLoad]:
    """Every hub that has jobs now; jobs whose lease ran out do not count."""
    query = (
        select(_J.c.hub, _J.c.status, func.count(), func.min(_J.c.enqueued_at))
        .where(_J.c.status.in_((_RUNNING, _QUEUED)), _J.c.lease_expires_at > at)
        .group_by(_J.c.hub, _J.c.status)
    )
    counts: dict[str, dict[str, tuple[int, datetime]]] = {}
    for hub, status, count, first in connection.execute(query):
        counts.setdefault(hub, {})[str(status)] = (int(count), first)
    quotas = _quotas(connection) if counts else {}
    return {
        hub: HubLoad(
            running=found[_RUNNING][0] if _RUNNING in found else 0,
            queued=found[_QUEUED][0] if _QUEUED in found else 0,
            waits_since=found[_QUEUED][1] if _QUEUED in found else None,
            quota=quotas.get(hub, 0),
        )
        for hub, found in counts.items()
    }


def load_of(hub: str, found: Mapping[str, HubLoad]) -> Load:
    """The loads of all hubs as one of them sees them."""
    mine = found.get(hub, HubLoad())
    others = {name: each for name, each in found.items() if name != hub}
    waiting = tuple(
        Waiting(
            each.running,
            each.quota,
            mine.waits_since is None or (each.waits_since, name) < (mine.waits_since, hub),
        )
        for name, each in sorted(others.items())
        if each.waits_since is not None
    )
    elsewhere = sum(each.running for each in others.values())
    return Load(mine.running, elsewhere, len(others) + 1, waiting)


def _quotas(connection: Connection) -> dict[str, int]:
    found = connection.execute(select(_S.c.hub, _S.c.value).where(_S.c.name == _QUOTA))
    quotas = {}
    for hub, value in found:
        try:
            quotas[hub] = msgspec.json.decode(value, type=int)
        except msgspec.MsgspecError:
            continue  # its own hub tells what is wrong with it
    return quotas
