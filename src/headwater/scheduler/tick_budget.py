"""How many units may run at once, and when a failed one may run again. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import TYPE_CHECKING

from headwater.scheduler.tick_state import Retry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headwater.catalog.job_loads import Waiting

MAX_ATTEMPTS = 5
"""After so many failed attempts in a row a job is one error of its tables."""

FIRST_WAIT = timedelta(seconds=1)
LONGEST_WAIT = timedelta(seconds=60)
_JITTER = 0.25
_BUSY = 0.8
"""Share of the workers of all hubs in use above which no hub may exceed its quota."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Workers that hubs of one catalog database share.

    Attributes:
        mode: `off` and `dry_run` run one unit at a time.
        per_hub: most workers of this hub; 0 runs one unit at a time.
        cap: most workers of all hubs together.
        quota: share of this hub in them; 0 is an equal share.
        hubs: hubs that want workers now.
    """

    mode: str = "on"
    per_hub: int = 4
    cap: int = 4
    quota: int = 0
    hubs: int = 1

    @property
    def is_serial(self) -> bool:
        """Whether units run one after the other."""
        return self.mode != "on" or self.per_hub == 0

    @property
    def share(self) -> int:
        """The quota in force: what was given, or an equal share, at least one."""
        return self._share(self.quota)

    def allowed(self, active: int, waiting: Sequence[Waiting] = ()) -> int:
        """Most workers of this hub now, when so many of all hubs are active.

        While less than 80 % of all are in use, and no other hub waits for a part of its own share,
        a hub may use one and a half times its share.
        """
        if self.is_serial:
            return 1
        share = self.share
        if active < ceil(_BUSY * self.cap) and not any(self._is_short(w) for w in waiting):
            share = max(share * 3 // 2, share + 1)
        return max(1, min(self.per_hub, share, self.cap))

    def free(self, here: int, elsewhere: int, waiting: Sequence[Waiting] = ()) -> int:
        """How many more units of this hub may start now.

        A worker is left to each hub that waits and has none: there may be more hubs than workers,
        and shares are rounded up.
        """
        within_hub = self.allowed(here + elsewhere, waiting) - here
        left = sum(w.running == 0 and (here > 0 or w.is_first) for w in waiting)
        return max(0, min(within_hub, self.cap - here - elsewhere - left))

    def _share(self, quota: int) -> int:
        equal = ceil(self.cap / max(1, self.hubs))
        return max(1, min(self.cap, quota or equal))

    def _is_short(self, other: Waiting) -> bool:
        return other.running < self._share(other.quota)


def retry_after(key: str, attempt: int, failed_at: datetime) -> Retry | None:
    """When a unit may run again after its n-th failed attempt; None when it used them up.

    The wait doubles from one second to a minute, a quarter longer or shorter: units that failed
    together must not come back together.
    """
    if attempt >= MAX_ATTEMPTS:
        return None
    wait = min(FIRST_WAIT * 2 ** (attempt - 1), LONGEST_WAIT)
    spread = sum(key.encode()) * (2 * attempt + 1) % 101 / 100
    again = failed_at + wait * (1 + _JITTER * (2 * spread - 1))
    return Retry(attempt, failed_at, again)
