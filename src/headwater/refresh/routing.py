"""Chooses how a MERGE into a large stream table finds its files, from earlier ones. Pure.

    seek    find the files that hold the keys, then rewrite those: the keys are read twice
    sweep   rewrite every file that the known keys do not rule out: more is written, read once
    told    the keys lie close together: the files are known before anything is read

Seeking is usual. It is wasted where it finds nearly all files: then sweeping is tried, and stays
while it is clearly the faster one.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from headwater.core.spec import Way

if TYPE_CHECKING:
    from collections.abc import Sequence

WASTED = 0.5
"""Seeking that finds this part of the files saves less than it costs."""

TRIES = 3
"""Merges of a way that are measured before it is judged."""

CLEARLY = 0.95
"""A way that takes at most this part of the other's time is clearly faster."""

NEWEST = 7
"""Merges of each way that are looked at."""


@dataclass(frozen=True, slots=True)
class MergePlan:
    """What one MERGE did: of `files` files it rewrote some, and took so long."""

    way: Way
    files: int
    rewritten: int
    duration_ms: float

    @property
    def share(self) -> float:
        """Part of the files that were rewritten."""
        return self.rewritten / self.files if self.files else 0.0


@dataclass(frozen=True, slots=True)
class Route:
    """The way of the next MERGE, with the numbers it was chosen by.

    Attributes:
        before: the way of the last one; None when there was none.
    """

    way: Way
    reason: str
    before: Way | None = None

    @property
    def is_flip(self) -> bool:
        """Whether it is another way than the last one."""
        return self.before not in (None, self.way)


def route(merges: Sequence[MergePlan]) -> Route:
    """Choose the way of the next MERGE.

    Args:
        merges: earlier ones after the same kind of change, newest first. Those that were told their
            files say nothing about the others.
    """
    chosen = [m for m in merges if m.way is not Way.TOLD]
    seeks = [m for m in chosen if m.way is Way.SEEK][:NEWEST]
    sweeps = [m for m in chosen if m.way is Way.SWEEP][:NEWEST]
    way, reason = _best(seeks, sweeps)
    return Route(way, reason, chosen[0].way if chosen else None)


def _best(seeks: Sequence[MergePlan], sweeps: Sequence[MergePlan]) -> tuple[Way, str]:
    if len(seeks) < TRIES:
        return Way.SEEK, f"{len(seeks)} of {TRIES} merges that seek were measured"
    found = median(m.share for m in seeks)
    if found < WASTED:
        return Way.SEEK, f"seeking finds {found:.0%} of the files"
    if len(sweeps) < TRIES:
        return Way.SWEEP, f"seeking finds {found:.0%} of the files: sweeping is tried"
    sweep_ms, seek_ms = (median(m.duration_ms for m in done) for done in (sweeps, seeks))
    reason = f"sweeping takes {sweep_ms:.0f} ms, seeking {seek_ms:.0f} ms"
    return (Way.SWEEP if sweep_ms <= seek_ms * CLEARLY else Way.SEEK), reason
