"""Decides what happened between two versions of a table and which exact read of it is cheapest.

Pure: looks at the metadata document only. The ways are tried in the order append, changes, log,
difference, full; each one passed over leaves a refusal with its reason. A way is chosen only if it
is exact: the rows it gives, netted, are the rows at the end minus the rows at the start, as bags.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headwater.core.errors import VersionExpired
from headwater.sources.change_log import is_in
from headwater.sources.schema import renamed_projection, used_column_change, used_name_change
from headwater.sources.source import How, Kind, Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headwater.core.frontier import SourceVersion
    from headwater.sources.metadata import Schema, Snapshot, TableMetadata
    from headwater.sources.source import SchemaChange, UsedColumn

APPEND_READ_FROM = 150_000
"""Rows from which the incremental append read beats `.changes`: dearer to plan, vectorised."""

CHANGES_ROW_COST = 1.3
"""Cost of one row through `.changes`, in rows read from a pinned version."""

SECOND_SCAN_ROWS = 150_000
"""What the second scan of a difference costs before its first row, in rows read."""

_RESERVED = ("_change_type", "_change_ordinal", "_commit_snapshot_id")
_TOUCHED = (
    "added-data-files",
    "deleted-data-files",
    "added-records",
    "deleted-records",
    "added-delete-files",
    "removed-delete-files",
)
_TOTALS = ("total-records", "total-data-files", "total-delete-files")


@dataclass(frozen=True, slots=True)
class Plan:
    """The decision for one window; `sources.iceberg` writes the SQL."""

    kind: Kind
    how: How
    code: str
    reason: str
    covered: tuple[Snapshot, ...] = ()
    path_known: bool = True
    refused: tuple[Refusal, ...] = ()
    schema_change: SchemaChange | None = None


@dataclass(frozen=True, slots=True)
class _Question:
    """One window: the table, both ends, the commits between them if they are a line."""

    metadata: TableMetadata
    since: int | None
    until: int | None
    path: tuple[Snapshot, ...] | None
    without: frozenset[How]
    log_id: str | None

    def plan(
        self, kind: Kind, how: How, code: str, reason: str, refused: Sequence[Refusal] = ()
    ) -> Plan:
        return Plan(kind, how, code, reason, self.path or (), self.path is not None, tuple(refused))


def plan_window(
    metadata: TableMetadata,
    since: SourceVersion,
    until: SourceVersion,
    columns: Sequence[UsedColumn],
    without: frozenset[How] = frozenset(),
    log_id: str | None = None,
) -> Plan:
    """Decide kind and way of the window after `since`, up to `until`.

    Args:
        metadata: the table.
        since: the old frontier.
        until: the new frontier.
        columns: the columns that are used.
        without: ways that must not be taken.
        log_id: the change log of the table, if it has one with these columns.

    Raises:
        VersionExpired: `until` itself can no longer be read; pin again.
    """
    want = _pinned_schema(metadata, until)
    if since.table_id != metadata.table_uuid:
        reason = "the table was dropped and created again"
        return _gap("SOURCE_RECREATED", reason, used_name_change(want, columns))
    before = metadata.schema(since.schema_id)
    if before is None:
        reason = f"schema {since.schema_id}, in use at the last refresh, is no longer recorded"
        return _gap("SCHEMA_EXPIRED", reason, used_name_change(want, columns))
    change = used_column_change(before, want, columns)
    if change is not None:
        return _gap(change.code, change.reason, change)
    path = metadata.snapshots_between(since.snapshot_id, until.snapshot_id)
    question = _Question(metadata, since.snapshot_id, until.snapshot_id, path, without, log_id)
    idle = _without_change(question)
    if idle is not None:
        return idle
    if since.snapshot_id is None:
        return _first_rows(question)
    refusal_or_plan = _along_path(question, want, [column.name for column in columns])
    if isinstance(refusal_or_plan, Plan):
        return refusal_or_plan
    return _between_versions(question, refusal_or_plan)


def _pinned_schema(metadata: TableMetadata, until: SourceVersion) -> Schema:
    want = metadata.schema(until.schema_id)
    lost = until.snapshot_id is not None and metadata.snapshot(until.snapshot_id) is None
    if until.table_id != metadata.table_uuid or lost or want is None:
        raise VersionExpired(
            f"version {until.snapshot_id} of {metadata.location} can no longer be read",
            hint="refresh again: a newer version will be used",
        )
    return want


def _gap(code: str, reason: str, change: SchemaChange | None) -> Plan:
    if change is not None:
        code, reason = change.code, change.reason
    return Plan(
        Kind.GAP, How.FULL, code, reason, path_known=False, schema_change=change,
        refused=(Refusal(How.CHANGES, code, reason), Refusal(How.DIFFERENCE, code, reason)),
    )  # fmt: skip


def _without_change(question: _Question) -> Plan | None:
    path = question.path
    if path is None or not all(
        s.operation == "replace" or _is_empty(question.metadata, s) for s in path
    ):
        return None
    if any(s.operation == "replace" for s in path):
        reason = "files were rewritten, no row changed"
        return question.plan(Kind.NONE, How.NONE, "COMPACTION_ONLY", reason)
    reason = "commits without rows" if path else "the same version"
    return question.plan(Kind.NONE, How.NONE, "NO_CHANGES", reason)


def _is_empty(metadata: TableMetadata, snapshot: Snapshot) -> bool:
    """Whether a commit touched no file; a summary that leaves room for doubt counts as no."""
    if any(snapshot.count(key) for key in _TOUCHED):
        return False
    if snapshot.summary.get("changed-partition-count") == "0":
        return True
    parent = metadata.snapshot(snapshot.parent_id)
    return parent is not None and all(
        key in snapshot.summary and snapshot.summary[key] == parent.summary.get(key)
        for key in _TOTALS
    )


def _first_rows(question: _Question) -> Plan:
    """Everything at the end is new: no read of the start, no netting, whatever happened between."""
    path, metadata = question.path, question.metadata
    appends = path is not None and all(_appends_only(metadata, s) for s in path)
    how = How.APPEND if appends else How.DIFFERENCE
    return question.plan(Kind.APPEND, how, "FIRST_ROWS", "the table was empty before")


def _along_path(question: _Question, want: Schema, names: Sequence[str]) -> Plan | Refusal:
    """A read that follows the commits, or why there is none."""
    metadata, path = question.metadata, question.path
    if path is None:
        return Refusal(How.CHANGES, *_broken_path(question))
    if renamed_projection(metadata.current_schema, want, names) is None:
        reason = "a used column changed after the version was pinned"
        return Refusal(How.CHANGES, "SCHEMA_MOVED", reason)
    refusal = _no_changelog(question, path)
    if all(_appends_only(metadata, s) for s in path):
        return _append(question, path, refusal)
    if refusal is not None and refusal.code == "DELETE_FILES" and _is_logged(question, path):
        reason = "the changes are in the change log of the stream table"
        return question.plan(Kind.MIXED, How.LOG, "CHANGE_LOG", reason, (refusal,))
    refusal = refusal or _not_worth_it(question, path)
    if refusal is not None:
        return refusal
    commits = f"{len(path)} commit{'s' if len(path) != 1 else ''}, some with updates or deletes"
    return question.plan(Kind.MIXED, How.CHANGES, "CHANGES", commits)


def _append(
    question: _Question, path: Sequence[Snapshot], refusal: Refusal | None
) -> Plan | Refusal:
    rows = sum(s.count("added-records") for s in path if s.operation != "replace")
    may_append = How.APPEND not in question.without
    reason = "rows were only added"
    if refusal is None and (rows < APPEND_READ_FROM or not may_append):
        return question.plan(Kind.APPEND, How.CHANGES, "APPENDS", reason)
    if may_append:
        refused = (refusal,) if refusal is not None else ()
        return question.plan(Kind.APPEND, How.APPEND, "APPENDS", reason, refused)
    return refusal or _failed(How.APPEND)


def _between_versions(question: _Question, refusal: Refusal) -> Plan:
    """The difference of the two versions, or nothing but a full refresh."""
    if How.DIFFERENCE in question.without:
        second = _failed(How.DIFFERENCE)
    elif question.metadata.snapshot(question.since) is None:
        second = Refusal(How.DIFFERENCE, "SNAPSHOT_EXPIRED", _start_expired(question.since))
    else:
        return question.plan(Kind.MIXED, How.DIFFERENCE, refusal.code, refusal.reason, (refusal,))
    return question.plan(Kind.GAP, How.FULL, second.code, second.reason, (refusal, second))


def _appends_only(metadata: TableMetadata, snapshot: Snapshot) -> bool:
    if snapshot.operation == "replace":
        return True
    removed = ("deleted-data-files", "deleted-records", "added-delete-files")
    if snapshot.operation == "append":
        return not any(snapshot.count(key) for key in removed)
    return _is_empty(metadata, snapshot)


def _broken_path(question: _Question) -> tuple[str, str]:
    """Why the start is no ancestor of the end: code and reason."""
    line = list(question.metadata.ancestry(question.until))
    if not line:
        return "SOURCE_REPLACED", "the table was replaced and is empty"
    if question.metadata.snapshot(question.since) is None:
        return "SNAPSHOT_EXPIRED", _start_expired(question.since)
    ids = {snapshot.snapshot_id for snapshot in line}
    if any(s.snapshot_id in ids for s in question.metadata.ancestry(question.since)):
        return "SOURCE_ROLLED_BACK", "the table was set back to an older version"
    if line[-1].parent_id is None:
        return "SOURCE_REPLACED", "the table was replaced"
    return "SNAPSHOT_EXPIRED", "a version between the last refresh and now has expired"


def _start_expired(since: int | None) -> str:
    return f"version {since}, where the last refresh stopped, has expired"


def _no_changelog(question: _Question, path: Sequence[Snapshot]) -> Refusal | None:
    """Why the changelog of these commits cannot be read."""
    metadata = question.metadata
    if How.CHANGES in question.without:
        return _failed(How.CHANGES)
    if any(metadata.current_schema.field(name) is not None for name in _RESERVED):
        reason = "the table has a column with a name that the changelog needs"
        return Refusal(How.CHANGES, "RESERVED_COLUMN", reason)
    if any(_has_delete_files(metadata, s) for s in path if s.operation != "replace"):
        return Refusal(How.CHANGES, "DELETE_FILES", "the table has delete files (merge-on-read)")
    start_expired = metadata.snapshot(question.since) is None
    if start_expired and not all(_appends_only(metadata, s) for s in path):
        # Expiry removes the files that only the start used: the deleted rows are in them.
        return Refusal(How.CHANGES, "SNAPSHOT_EXPIRED", _start_expired(question.since))
    return None


def _is_logged(question: _Question, path: Sequence[Snapshot]) -> bool:
    """Whether every commit either is in the change log or only adds rows."""
    return all(
        _appends_only(question.metadata, s)
        or (s.operation != "append" and is_in(s, question.log_id))
        for s in path
    )


def _has_delete_files(metadata: TableMetadata, snapshot: Snapshot) -> bool:
    """Whether a version has delete files, or just lost its last ones; in doubt, yes."""
    if metadata.format_version == 1:
        return False
    if "total-delete-files" not in snapshot.summary:
        return True
    return any(
        snapshot.count(key)
        for key in ("total-delete-files", "added-delete-files", "removed-delete-files")
    )


def _not_worth_it(question: _Question, path: Sequence[Snapshot]) -> Refusal | None:
    """Rewritten files give every row twice per commit: two versions may be less to read."""
    old = question.metadata.snapshot(question.since)
    new = question.metadata.snapshot(question.until)
    if old is None or new is None or "total-records" not in old.summary:
        return None
    rewritten = sum(
        s.count("added-records") + s.count("deleted-records")
        for s in path
        if s.operation != "replace"
    )
    versions = old.count("total-records") + new.count("total-records")
    if rewritten * CHANGES_ROW_COST <= versions + SECOND_SCAN_ROWS:
        return None
    reason = f"the commits rewrote {rewritten:,} rows, the two versions have {versions:,}"
    return Refusal(How.CHANGES, "REWRITES_DOMINATE", reason)


def _failed(how: How) -> Refusal:
    return Refusal(how, "READ_FAILED", f"reading by {how} failed before")
