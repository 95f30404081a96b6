"""Changed rows between two versions, from what commits say of themselves."""

from __future__ import annotations

import pytest

from headwater.sources.metadata import Snapshot, TableMetadata
from headwater.sources.pending import Pending, pending_rows

MERGE = "spark.merge-into.num-target-rows-"
UPDATE = {"added-records": 300, "deleted-records": 300, "deleted-data-files": 1}


def table(*commits: tuple[str, dict[str, int]], total: int = 1000, first: int = 1) -> TableMetadata:
    """Version 1, and one version for each commit."""
    snapshots = [Snapshot(1, 1, None, summary={"operation": "append", "total-records": str(total)})]
    for number, (operation, counts) in enumerate(commits, start=2):
        summary = {"operation": operation, "total-records": str(total)}
        summary |= {key: str(count) for key, count in counts.items()}
        snapshots.append(Snapshot(number, number, number - 1, summary=summary))
    kept = tuple(s for s in snapshots if s.snapshot_id >= first)
    return TableMetadata("file:/t", 2, head=len(snapshots), snapshots=kept)


@pytest.mark.parametrize(
    ("commit", "rows"),
    [
        (("append", {"added-records": 7}), (7, 7)),
        (("delete", {"deleted-records": 9, "deleted-data-files": 1}), (9, 9)),
        (("overwrite", {"added-records": 291, "deleted-records": 300}), (9, 300)),
        (("overwrite", UPDATE), (0, 300)),
        (("overwrite", {"added-records": 4, "added-position-deletes": 4}), (4, 4)),
        (("delete", {"added-position-deletes": 5}), (5, 5)),
        (("delete", {"added-equality-deletes": 6}), (6, 6)),
        (
            (
                "overwrite",
                UPDATE | {f"{MERGE}inserted": 1, f"{MERGE}updated": 2, f"{MERGE}deleted": 3},
            ),
            (6, 6),
        ),
        (
            (
                "overwrite",
                UPDATE | {f"{MERGE}inserted": -1, f"{MERGE}updated": -1, f"{MERGE}deleted": -1},
            ),
            (0, 300),
        ),
        (("replace", {"added-records": 300, "deleted-records": 300}), (0, 0)),
    ],
)
def test_rows_of_one_commit(commit: tuple[str, dict[str, int]], rows: tuple[int, int]) -> None:
    assert pending_rows(table(commit), 1, 2) == Pending(*rows)


def test_rows_written_again_and_again_are_those_of_the_table_at_most() -> None:
    metadata = table(*[("overwrite", UPDATE)] * 5, ("append", {"added-records": 7}))
    assert pending_rows(metadata, 1, 7) == Pending(7, 1007)
    assert pending_rows(metadata, 7, 7) == Pending()
    assert pending_rows(None, 1, 7) == Pending()


def test_after_a_gap_all_rows_wait() -> None:
    metadata = table(*[("append", {"added-records": 7})] * 5, first=4)
    assert pending_rows(metadata, 1, 6) == Pending(1000, 1000)
    assert pending_rows(metadata, 3, 6) == Pending(21, 21)
    assert pending_rows(metadata, None, 6) == Pending(1000, 1000)
    assert pending_rows(metadata, 1, None) == Pending()
