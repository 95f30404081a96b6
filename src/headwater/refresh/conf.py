"""The session settings of a refresh, from the size of its windows and of the stream table.

A small refresh is planned without adaptive steps and in one partition. A MERGE into a large stream
table looks for the files that it must rewrite, unless it has been told where they are: keys that
lie close together, in a table that is sorted by them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headwater.core.spec import ApplyKind, Way
from headwater.refresh.among import is_dense
from headwater.refresh.windows import LIGHT_BYTES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from headwater.refresh.runtime import Runtime
    from headwater.refresh.stages import Planned

SMALL_TARGET_FILES = 4
SMALL_TARGET_ROWS = 100_000
"""Up to this size a MERGE rewrites the whole table rather than looking for the files it needs."""

_SEEK = "spark.sql.optimizer.runtime.rowLevelOperationGroupFilter.enabled"
_ALWAYS = {"spark.sql.datetime.java8API.enabled": "true"}
SMALL_REFRESH = {
    "spark.sql.adaptive.enabled": "false",
    _SEEK: "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.join.preferSortMergeJoin": "false",
    **_ALWAYS,
}
"""Session settings of a refresh of few changes into a small stream table."""

LARGE_REFRESH = {
    "spark.sql.adaptive.enabled": "true",
    _SEEK: "true",
    **_ALWAYS,
}
"""Session settings of every other delta."""

FULL_REFRESH = {"spark.sql.adaptive.enabled": "true"}


@dataclass(frozen=True, slots=True)
class Target:
    """The stream table before the refresh."""

    files: int
    rows: int

    @property
    def is_large(self) -> bool:
        """Whether a MERGE should touch only some of its files."""
        return self.files > SMALL_TARGET_FILES and self.rows > SMALL_TARGET_ROWS


def target_of(runtime: Runtime, planned: Planned) -> Target:
    """The stream table as its metadata tells it."""
    metadata = runtime.tables.metadata(planned.table)
    head = metadata.snapshot(planned.parent) if metadata is not None else None
    if head is None:
        return Target(0, 0)
    return Target(head.count("total-data-files"), head.count("total-records"))


def window_bytes(planned: Planned) -> int:
    """What the reads of all windows open."""
    return sum(w.planned_bytes for w in planned.windows.values())


def stage_conf(planned: Planned, kind: ApplyKind) -> dict[str, str]:
    """The settings for everything before the statement that writes."""
    if kind is ApplyKind.OVERWRITE:
        return FULL_REFRESH
    return SMALL_REFRESH if window_bytes(planned) <= LIGHT_BYTES else LARGE_REFRESH


def way_of(
    kind: ApplyKind, target: Target, keys: Iterable[Collection[object]], routed: Way
) -> Way | None:
    """How the statement that writes finds the files it rewrites; None where there is no choice.

    Args:
        kind: how it writes.
        target: the stream table.
        keys: the values it was told for columns of the key.
        routed: the way where the files are not known.
    """
    if kind in (ApplyKind.OVERWRITE, ApplyKind.APPEND) or not target.is_large:
        return None
    return Way.TOLD if any(is_dense(values) for values in keys) else routed


def statement_conf(planned: Planned, kind: ApplyKind, way: Way | None) -> dict[str, str]:
    """The settings for the statement that writes."""
    if kind is ApplyKind.OVERWRITE:
        return FULL_REFRESH
    if window_bytes(planned) <= LIGHT_BYTES and way is not Way.SEEK:
        return SMALL_REFRESH
    return {**LARGE_REFRESH, _SEEK: "false"} if way is Way.SWEEP else LARGE_REFRESH
