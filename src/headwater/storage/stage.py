"""Writes a refresh as a staged commit: a snapshot that no reader sees until main is set to it.

The commit carries what it is: run, frontier, definition, parent. A statement that writes nothing
still makes a staged commit; the caller looks at its counts and publishes it or leaves it. What was
never published is removed when the table's old snapshots expire.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headwater.sources.change_log import LOGGED
from headwater.storage.spark import settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from headwater.sources.metadata import Snapshot, TableMetadata

RUN = "hw.run"
FRONTIER = "hw.frontier"
DEFINITION = "hw.definition"
PARENT = "hw.parent"
ACTION = "hw.action"
APPLY = "hw.apply"
REASON_CODE = "hw.reason-code"
REASON = "hw.reason"
BATCH = "hw.batch"

_PROPERTY = "spark.sql.iceberg.snapshot-property."
_STAGE = "spark.wap.id"
_MERGE = "spark.merge-into.num-target-rows-"


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a commit says about itself; `log` names where its changes are logged, if they are."""

    run_id: str
    frontier: str
    definition_hash: str
    parent: int | None
    action: str = ""
    apply: str = ""
    reason_code: str = ""
    reason: str = ""
    log: str = ""

    def properties(self) -> dict[str, str]:
        """As snapshot summary entries."""
        return {
            RUN: self.run_id,
            FRONTIER: self.frontier,
            DEFINITION: self.definition_hash,
            PARENT: "" if self.parent is None else str(self.parent),
            ACTION: self.action,
            APPLY: self.apply,
            REASON_CODE: self.reason_code,
            REASON: self.reason,
            **({LOGGED: self.log} if self.log else {}),
        }


@contextmanager
def staged(session: SparkSession, stamp: Stamp) -> Iterator[None]:
    """Inside, writes of `session` are staged under the run of `stamp` and carry its properties."""
    with settings(
        session,
        {
            _STAGE: stamp.run_id,
            **{_PROPERTY + key: value for key, value in stamp.properties().items()},
        },
    ):
        yield


def staged_by(metadata: TableMetadata, run_id: str) -> Snapshot | None:
    """The commit a run has staged; None if there is none."""
    for snapshot in reversed(metadata.snapshots):
        if snapshot.summary.get(RUN) == run_id:
            return snapshot
    return None


@dataclass(frozen=True, slots=True)
class Written:
    """What a staged commit changed, in rows of the stream table."""

    inserted: int
    deleted: int

    @property
    def nothing(self) -> bool:
        """Whether the content is what it was."""
        return self.inserted == 0 and self.deleted == 0


def written(snapshot: Snapshot) -> Written:
    """Rows a commit really changed.

    A MERGE counts its own rows, apart from those it copied because they share a file with a
    changed one; an update is one row out and one row in. Other commits count all rows they wrote.
    """
    summary = snapshot.summary
    if f"{_MERGE}inserted" in summary:
        updated = int(summary.get(f"{_MERGE}updated", 0))
        return Written(
            inserted=int(summary.get(f"{_MERGE}inserted", 0)) + updated,
            deleted=int(summary.get(f"{_MERGE}deleted", 0)) + updated,
        )
    return Written(
        inserted=int(summary.get("added-records", 0)),
        deleted=int(summary.get("deleted-records", 0)),
    )
