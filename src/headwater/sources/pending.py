"""How many changed rows wait between two versions of a table, as far as commits tell. Pure.

Most commits tell it exactly: appends, deletes, merges, and everything that is merged on read. An
UPDATE or INSERT OVERWRITE tells only how many rows it wrote anew, the copied ones included: at most
so many changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headwater.sources.metadata import Snapshot, TableMetadata

_MERGED = "spark.merge-into.num-target-rows-"


@dataclass(frozen=True, slots=True)
class Pending:
    """Rows that wait.

    Attributes:
        certain: at least so many changed.
        planned: at most so many changed: what a refresh must look at.
    """

    certain: int = 0
    planned: int = 0


def pending_rows(metadata: TableMetadata | None, since: int | None, until: int | None) -> Pending:
    """The changed rows after one version, up to another.

    Where the commits between them are not known, all rows of the last version wait.
    """
    if metadata is None or since == until:
        return Pending()
    path = metadata.snapshots_between(since, until)
    if path is None:
        last = metadata.snapshot(until)
        rows = last.count("total-records") if last is not None else 0
        return Pending(rows, rows)
    certain = rewritten = 0
    for snapshot in path:
        least, most = _changed(snapshot)
        certain += least
        rewritten += most - least
    ends = [s for s in (metadata.snapshot(since), metadata.snapshot(until)) if s is not None]
    rows = max((s.count("total-records") for s in ends), default=0)
    # However often rows were written anew, there are no more of them than the table has.
    return Pending(certain, certain + (min(rewritten, rows) if rows else rewritten))


def _changed(snapshot: Snapshot) -> tuple[int, int]:
    """At least and at most so many rows were changed by a commit; an updated row counts once."""
    if snapshot.operation == "replace":
        return 0, 0
    merged = [snapshot.count(f"{_MERGED}{what}") for what in ("inserted", "updated", "deleted")]
    if f"{_MERGED}inserted" in snapshot.summary and min(merged) >= 0:
        return sum(merged), sum(merged)
    added, rewritten = snapshot.count("added-records"), snapshot.count("deleted-records")
    hidden = snapshot.count("added-position-deletes") + snapshot.count("added-equality-deletes")
    most = max(added, rewritten + hidden)
    return (abs(added - rewritten - hidden) if rewritten else most), most
