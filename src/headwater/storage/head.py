"""Who wrote the head of a stream table? Decides whether its content is what Headwater left there.

Pure: reads the snapshots of one table's metadata. Compaction (`replace`) changes no row, so it may
stand anywhere. Any other snapshot must be one of ours, and must stand on the snapshot that its run
started from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headwater.core.frontier import Frontier
from headwater.storage.stage import DEFINITION, FRONTIER, PARENT, RUN

if TYPE_CHECKING:
    from headwater.sources.metadata import Snapshot, TableMetadata


@dataclass(frozen=True, slots=True)
class Head:
    """The state of a stream table on disk.

    Attributes:
        main: snapshot main points to; None before the first write.
        own: the last commit of a refresh on main's line; None if there is none.
        foreign: the first snapshot found that is not ours, or stands where ours should.
    """

    main: int | None
    own: Snapshot | None
    foreign: Snapshot | None

    @property
    def intact(self) -> bool:
        """Whether the content is what the last refresh left."""
        return self.own is not None and self.foreign is None

    @property
    def frontier(self) -> Frontier | None:
        """What the last own commit equals."""
        return Frontier.from_json(self.own.summary[FRONTIER]) if self.own else None

    @property
    def definition_hash(self) -> str | None:
        """The definition the last own commit was computed with."""
        return self.own.summary.get(DEFINITION) if self.own else None

    @property
    def run_id(self) -> str | None:
        """The run of the last own commit."""
        return self.own.summary.get(RUN) if self.own else None


def read_head(metadata: TableMetadata, version: int | None = None) -> Head:
    """Walk back from main to the last own commit and check that it stands where it should.

    Args:
        metadata: the table.
        version: start from this snapshot instead of main.
    """
    start = metadata.current_snapshot_id if version is None else version
    foreign: Snapshot | None = None
    current = metadata.snapshot(start)
    while current is not None:
        if RUN in current.summary:
            return Head(start, current, foreign or _stranger_below(metadata, current))
        if current.operation != "replace" and foreign is None:
            foreign = current
        current = metadata.snapshot(current.parent_id)
    return Head(start, None, foreign)


def _stranger_below(metadata: TableMetadata, own: Snapshot) -> Snapshot | None:
    """A snapshot between an own commit and the one its run started from, compaction apart."""
    recorded = own.summary.get(PARENT) or None
    below = metadata.snapshot(own.parent_id)
    while below is not None:
        if str(below.snapshot_id) == recorded:
            return None
        if below.operation != "replace":
            return below
        below = metadata.snapshot(below.parent_id)
    return None
