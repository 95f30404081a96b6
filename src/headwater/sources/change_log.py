"""The change log of a stream table whose merges mark rows: Iceberg cannot tell their changes.

Each attempt to refresh appends the rows that it takes away and adds, under its own run id. Rows
count only where a commit on the line of the table names the attempt: what was never published, or
was published by another attempt, is never read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.core.names import HIDDEN_PREFIX, TableName

if TYPE_CHECKING:
    from headwater.sources.metadata import Snapshot

LOGGED = "hw.change-log"
"""The entry of a commit that names its log and its attempt."""

ATTEMPT = "__hw_run"
"""The column of a log that says which attempt wrote a row."""


def log_of(name: TableName) -> TableName:
    """Where the changes of a stream table are logged.

    >>> str(log_of(TableName.parse("sales.totals")))
    '__hw_sales.totals'
    """
    return TableName(f"{HIDDEN_PREFIX}{name.namespace}", name.name)


def entry(log_id: str, attempt: str) -> str:
    """What a commit says of its log; another log of the same name has another id."""
    return f"{log_id}/{attempt}"


def attempt_of(commit: Snapshot) -> str | None:
    """The attempt under which the changes of a commit were logged; None when they were not."""
    return commit.summary.get(LOGGED, "").partition("/")[2] or None


def is_in(commit: Snapshot, log_id: str | None) -> bool:
    """Whether the changes of a commit are in this log."""
    return log_id is not None and commit.summary.get(LOGGED, "").startswith(f"{log_id}/")
