"""Which snapshots may go: never one that a frontier, a reader, a ref or a window needs."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from headwater.sources.metadata import TableMetadata, parse_metadata
from headwater.storage.expire import expendable, is_coarse, is_scattered
from headwater.storage.sizing import (
    FILES,
    LARGEST,
    MIB,
    SMALLEST,
    SORTED_FROM,
    file_bytes,
    is_far,
)

OWN = {"operation": "overwrite", "hw.run": "r", "hw.frontier": "{}"}
REPLACE = {"operation": "replace"}
FOREIGN = {"operation": "append"}
LATE = 10**9


def table(
    line: list[dict[str, str]],
    *,
    staged: dict[int, int] | None = None,
    refs: dict[str, int] | None = None,
) -> TableMetadata:
    """Snapshots 1..n on main's line, made at instants 1..n; staged ones with their parents."""
    snapshots = [
        {
            "snapshot-id": i,
            "timestamp-ms": i,
            "parent-snapshot-id": i - 1 if i > 1 else None,
            "summary": summary,
        }
        for i, summary in enumerate(line, start=1)
    ]
    for number, (identifier, parent) in enumerate((staged or {}).items()):
        snapshots.append(
            {
                "snapshot-id": identifier,
                "timestamp-ms": 500 + number,
                "parent-snapshot-id": parent,
                "summary": OWN,
            }
        )
    named = {"main": len(line), **(refs or {})}
    document = {
        "location": "x",
        "format-version": 2,
        "schemas": [{"schema-id": 0, "fields": []}],
        "current-snapshot-id": len(line),
        "snapshots": snapshots,
        "refs": {n: {"snapshot-id": i, "type": "branch"} for n, i in named.items()},
        "properties": {},
    }
    return parse_metadata(msgspec.json.encode(document))


def gone(metadata: TableMetadata, *needed: int, kept: int = 2, young: int = LATE) -> list[int]:
    found = expendable(metadata, needed=needed, young_ms=young, kept_versions=kept)
    return sorted(found.all)


def test_the_newest_versions_stay() -> None:
    assert gone(table([OWN] * 6)) == [1, 2, 3, 4]
    assert gone(table([OWN] * 2)) == []


def test_everything_from_a_needed_version_up_to_the_content_stays() -> None:
    assert gone(table([OWN] * 6), 3) == [1, 2]
    assert gone(table([OWN] * 6), 5, 2) == [1]


def test_the_commit_with_the_frontier_stays_below_compaction() -> None:
    assert gone(table([OWN, OWN, OWN, REPLACE, REPLACE, REPLACE]), kept=1) == [1, 2]


def test_a_table_without_a_commit_of_ours_keeps_its_line() -> None:
    assert gone(table([FOREIGN] * 6)) == []


def test_what_branches_and_tags_name_stays() -> None:
    assert gone(table([OWN] * 6, refs={"audit": 2})) == [3, 4]


def test_what_is_young_stays() -> None:
    assert gone(table([OWN] * 6), young=3) == [1, 2]
    assert gone(table([OWN] * 3, staged={90: 1, 91: 3}), young=501) == [1, 90]


def test_staged_commits_go_unless_they_will_be_published() -> None:
    metadata = table([OWN] * 3, staged={90: 1, 91: 3})
    found = expendable(metadata, needed={91}, young_ms=LATE, kept_versions=3)
    assert (found.published, found.staged) == ((), (90,))


def test_a_version_that_was_rolled_back_and_is_needed_stays() -> None:
    metadata = table([OWN] * 3, staged={90: 2})
    assert gone(metadata, 90) == [1]


@given(
    st.lists(st.sampled_from([OWN, OWN, REPLACE, FOREIGN]), min_size=1, max_size=12),
    st.sets(st.integers(1, 14)),
    st.integers(1, 5),
    st.integers(0, 14),
)
def test_no_window_and_no_frontier_is_ever_cut(
    line: list[dict[str, str]], needed: set[int], kept: int, young: int
) -> None:
    removed = set(gone(table(line), *needed, kept=kept, young=young))
    assert len(line) not in removed
    assert not removed & needed
    own = [i for i, s in enumerate(line, start=1) if "hw.run" in s]
    assert not own or own[-1] not in removed
    for start in needed:
        assert not removed & set(range(start, len(line) + 1))


def lying(files: int, size: int, deletes: int = 0, records: int = 10) -> TableMetadata:
    summary = {
        **OWN,
        "total-data-files": str(files),
        "total-files-size": str(size),
        "total-delete-files": str(deletes),
        "total-records": str(records),
    }
    return table([summary])


def test_when_a_table_is_worth_compacting() -> None:
    assert not is_scattered(lying(4, 1000), MIB)
    assert is_scattered(lying(5, 1000), MIB)
    assert is_scattered(lying(1, 1000, deletes=1), MIB)
    assert not is_scattered(lying(20, 10 * MIB), MIB)
    assert not is_scattered(lying(20, 1000), 100)


def test_when_a_table_lies_in_too_few_files() -> None:
    assert is_coarse(lying(1, 10 * MIB, records=SORTED_FROM), MIB)
    assert not is_coarse(lying(1, 10 * MIB, records=SORTED_FROM - 1), MIB)
    assert not is_coarse(lying(5, 10 * MIB, records=SORTED_FROM), MIB)


@given(st.integers(0, 10**15))
def test_files_are_neither_small_nor_many(size: int) -> None:
    wanted = file_bytes(size)
    assert SMALLEST <= wanted <= LARGEST
    assert size // wanted <= FILES or wanted == LARGEST
    assert not is_far(wanted, wanted)
    assert is_far(wanted, 3 * wanted)
    assert is_far(3 * wanted, wanted)
