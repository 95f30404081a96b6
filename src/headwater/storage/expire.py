"""Decides which snapshots of a stream table nobody needs any more. Pure: looks at metadata only.

What must stay: the content with the commit that holds its frontier; every version from the oldest
one that a reader's frontier names up to the content, because a change window needs all commits
between its ends; the newest versions, for readers that travel in time; what branches and tags
name; whatever is young, because a query may be reading it. Commits that were staged and never
published go when they are old: their run will not come back for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from headwater.sources.metadata import MAIN
from headwater.storage.sizing import FAR, SORTED_FROM
from headwater.storage.stage import RUN

if TYPE_CHECKING:
    from collections.abc import Collection

    from headwater.sources.metadata import Snapshot, TableMetadata

KEPT_VERSIONS = 20
"""Versions that stay for readers that travel in time."""

FEW_FILES = 4
"""Up to so many files a table is not worth compacting."""


@dataclass(frozen=True, slots=True)
class Expendable:
    """Snapshots that may be removed.

    Attributes:
        published: old versions.
        staged: commits that were never published.
    """

    published: tuple[int, ...]
    staged: tuple[int, ...]

    @property
    def all(self) -> tuple[int, ...]:
        """Both."""
        return (*self.published, *self.staged)


def expendable(
    metadata: TableMetadata,
    *,
    needed: Collection[int],
    young_ms: int,
    kept_versions: int = KEPT_VERSIONS,
) -> Expendable:
    """Which snapshots may go.

    Args:
        metadata: the stream table.
        needed: versions that frontiers of others name, and staged commits that will be published.
        young_ms: snapshots made since this instant stay.
        kept_versions: how many of the newest versions stay.
    """
    line = list(metadata.ancestry(metadata.current_snapshot_id))
    stay = kept_versions
    for position, snapshot in enumerate(line):
        if snapshot.snapshot_id in needed:
            stay = max(stay, position + 1)
    stay = max(stay, _frontier_at(line) + 1)
    named = set(needed) | _named(metadata)
    on_line = {s.snapshot_id for s in line}

    def may_go(snapshot: Snapshot) -> bool:
        return snapshot.snapshot_id not in named and snapshot.timestamp_ms < young_ms

    return Expendable(
        published=tuple(s.snapshot_id for s in line[stay:] if may_go(s)),
        staged=tuple(
            s.snapshot_id
            for s in metadata.snapshots
            if s.snapshot_id not in on_line and RUN in s.summary and may_go(s)
        ),
    )


def _frontier_at(line: list[Snapshot]) -> int:
    """Where the commit stands that holds the frontier of the content; compaction lies above it."""
    for position, snapshot in enumerate(line):
        if RUN in snapshot.summary:
            return position
    return len(line) - 1


def _named(metadata: TableMetadata) -> set[int]:
    """What branches and tags name, with everything below it."""
    return {
        snapshot.snapshot_id
        for name, ref in metadata.recorded_refs.items()
        if name != MAIN
        for snapshot in metadata.ancestry(ref.snapshot_id)
    }


def is_scattered(metadata: TableMetadata, file_bytes: int) -> bool:
    """Whether the content lies in more files than it should, or has rows marked as deleted."""
    head = metadata.snapshot(metadata.current_snapshot_id)
    if head is None:
        return False
    files = head.count("total-data-files")
    ideal = ceil(head.count("total-files-size") / file_bytes)
    return head.count("total-delete-files") > 0 or files > max(FEW_FILES, 2 * ideal)


def is_coarse(metadata: TableMetadata, file_bytes: int) -> bool:
    """Whether a large table lies in so few files that a small merge rewrites much of it."""
    head = metadata.snapshot(metadata.current_snapshot_id)
    if head is None or head.count("total-records") < SORTED_FROM:
        return False
    files = max(1, head.count("total-data-files"))
    return head.count("total-files-size") / files > file_bytes * FAR
