"""Decisions about windows from metadata alone: writers that say little, thresholds, refusals."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headwater.core.frontier import SourceVersion
from headwater.sources.change_log import LOGGED, entry
from headwater.sources.metadata import TableMetadata, parse_metadata
from headwater.sources.source import How, Kind
from headwater.sources.window import (
    APPEND_READ_FROM,
    CHANGES_ROW_COST,
    SECOND_SCAN_ROWS,
    Plan,
    plan_window,
)
from headwater.sql.lookup import SourceField

SCHEMA = {"schema-id": 0, "type": "struct", "fields": [{"id": 1, "name": "id", "type": "long"}]}
TOTALS = {"total-records": "10", "total-data-files": "1", "total-delete-files": "0"}


def table(*summaries: dict[str, str], version: int = 2, first: int = 1) -> TableMetadata:
    """Commits numbered from 1, each on top of the one before; those below `first` have expired."""
    snapshots: list[dict[str, Any]] = []
    for number, summary in enumerate(summaries, start=1):
        one: dict[str, Any] = {"snapshot-id": number, "timestamp-ms": number, "summary": summary}
        snapshots.append(one if number == 1 else {**one, "parent-snapshot-id": number - 1})
    body = {
        "format-version": version,
        "table-uuid": "u",
        "location": "/w/t",
        "schemas": [SCHEMA],
        "current-snapshot-id": len(snapshots),
        "snapshots": snapshots[first - 1 :],
    }
    return parse_metadata(json.dumps(body).encode())


def plan(metadata: TableMetadata, since: int | None = 1, *without: How) -> Plan:
    return plan_window(
        metadata,
        SourceVersion("u", since, 0),
        SourceVersion("u", metadata.current_snapshot_id, 0),
        [SourceField("id", "bigint")],
        frozenset(without),
    )


def commit(operation: str, **counts: int) -> dict[str, str]:
    keys = {name.replace("_", "-"): str(value) for name, value in counts.items()}
    return {"operation": operation, **TOTALS, **keys}


START = commit("append", added_records=10)


def test_a_writer_without_totals_is_not_trusted() -> None:
    """Delete files may be there: only ways that are exact with them are taken."""
    silent = {"operation": "append", "added-records": "1"}
    assert plan(table(START, silent)).how is How.APPEND
    changed = {"operation": "overwrite", "added-records": "1", "deleted-records": "1"}
    found = plan(table(START, changed))
    assert (found.how, found.code) == (How.DIFFERENCE, "DELETE_FILES")
    assert plan(table(START, silent, version=1)).how is How.CHANGES


def test_a_commit_that_says_nothing_may_have_changed_everything() -> None:
    assert plan(table(START, {})).kind is Kind.MIXED
    assert plan(table(START, {"operation": "overwrite"})).kind is Kind.MIXED
    unchanged = plan(table(START, {"operation": "overwrite", **TOTALS}))
    assert (unchanged.kind, unchanged.code) == (Kind.NONE, "NO_CHANGES")
    counted = {"operation": "overwrite", "changed-partition-count": "0"}
    assert plan(table(START, counted)).kind is Kind.NONE


@pytest.mark.parametrize("key", ["deleted_data_files", "added_delete_files", "deleted_records"])
def test_an_append_that_takes_away_is_no_append(key: str) -> None:
    assert plan(table(START, commit("append", added_records=1, **{key: 1}))).kind is Kind.MIXED


@pytest.mark.parametrize(
    "key", ["total_delete_files", "added_delete_files", "removed_delete_files"]
)
def test_delete_files(key: str) -> None:
    found = plan(table(START, commit("overwrite", added_records=1, **{key: 1})))
    assert (found.kind, found.how, found.code) == (Kind.MIXED, How.DIFFERENCE, "DELETE_FILES")


def test_delete_files_of_a_compaction_do_not_count() -> None:
    compaction = commit("replace", removed_delete_files=3)
    found = plan(table(START, compaction, commit("delete", deleted_records=1)))
    assert found.how is How.CHANGES


def test_size_of_an_append_decides_the_read() -> None:
    below = commit("append", added_records=APPEND_READ_FROM - 1)
    above = commit("append", added_records=APPEND_READ_FROM)
    assert plan(table(START, below)).how is How.CHANGES
    assert plan(table(START, above)).how is How.APPEND
    assert plan(table(START, above), 1, How.APPEND).how is How.CHANGES
    neither = plan(table(START, above), 1, How.APPEND, How.CHANGES)
    assert (neither.kind, neither.how) == (Kind.MIXED, How.DIFFERENCE)


def test_rewritten_rows_against_the_size_of_the_versions() -> None:
    rows = 4 * SECOND_SCAN_ROWS

    def rewritten(total: int) -> How:
        start = {**START, "total-records": str(total)}
        half = rows // 2
        update = commit("overwrite", added_records=half, deleted_records=half, total_records=total)
        return plan(table(start, update)).how

    worth = int((rows * CHANGES_ROW_COST - SECOND_SCAN_ROWS) / 2)
    assert rewritten(worth - 2) is How.DIFFERENCE
    assert rewritten(worth + 2) is How.CHANGES
    small = commit("overwrite", added_records=10, deleted_records=10)
    assert plan(table(START, small)).how is How.CHANGES


def test_expired_start() -> None:
    appended = plan(table(START, START, commit("append", added_records=1), first=3), 2)
    assert (appended.kind, appended.how) == (Kind.APPEND, How.CHANGES)
    deleted = plan(table(START, START, commit("delete", deleted_records=1), first=3), 2)
    assert (deleted.kind, deleted.code) == (Kind.GAP, "SNAPSHOT_EXPIRED")
    assert [r.how for r in deleted.refused] == [How.CHANGES, How.DIFFERENCE]


def test_first_rows_with_an_expired_history() -> None:
    found = plan(table(START, START, START, first=3), None)
    assert (found.kind, found.how, found.path_known) == (Kind.APPEND, How.DIFFERENCE, False)


def logged(log_id: str = "log", **counts: int) -> dict[str, str]:
    """A commit of a merge that marked rows, with its changes in a log."""
    marked = commit("overwrite", added_records=1, added_delete_files=1, **counts)
    return {**marked, LOGGED: entry(log_id, "run")}


@pytest.mark.parametrize(
    ("commits", "log_id", "how"),
    [
        ([logged()], "log", How.LOG),
        (
            [logged(), logged(), commit("replace"), commit("append", added_records=1)],
            "log",
            How.LOG,
        ),
        ([logged()], None, How.DIFFERENCE),
        ([logged()], "another", How.DIFFERENCE),
        ([logged(), logged("another")], "log", How.DIFFERENCE),
        ([logged(), commit("overwrite", added_delete_files=1)], "log", How.DIFFERENCE),
        ([logged(), {**logged(), "operation": "append"}], "log", How.DIFFERENCE),
        ([commit("append", added_records=1, total_delete_files=1)], "log", How.APPEND),
    ],
)
def test_a_change_log_is_read_where_it_has_every_commit(
    commits: list[dict[str, str]], log_id: str | None, how: How
) -> None:
    metadata = table(START, *commits)
    ends = (SourceVersion("u", 1, 0), SourceVersion("u", metadata.current_snapshot_id, 0))
    columns = [SourceField("id", "bigint")]
    assert plan_window(metadata, *ends, columns, log_id=log_id).how is how
    without = frozenset({How.CHANGES})
    assert plan_window(metadata, *ends, columns, without, log_id).how is not How.LOG
