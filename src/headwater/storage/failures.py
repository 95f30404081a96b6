"""Failures of Spark and Iceberg, told as Headwater errors."""

from __future__ import annotations

import re

from headwater.core.errors import (
    HeadwaterError,
    Place,
    QueryFailed,
    RefreshConflict,
    SourceMissing,
    SqlSyntaxError,
    StorageDamaged,
    UniqueKeyViolated,
    UnknownColumn,
    UnknownTable,
    VersionExpired,
)

_POSITION = re.compile(r"\(line (\d+), pos (\d+)\)")

_BY_TEXT: tuple[tuple[str, type[HeadwaterError], str], ...] = (
    ("HW3003", UniqueKeyViolated, "make the key unique in the query, or drop unique_key"),
    (
        "Cannot find snapshot with ID",
        VersionExpired,
        "refresh with full=True, and retain snapshots longer",
    ),
    (
        "NotFoundException",
        StorageDamaged,
        "restore the file, or roll the table back to a version whose files exist",
    ),
    (
        "FileNotFoundException",
        StorageDamaged,
        "restore the file, or roll the table back to a version whose files exist",
    ),
    (
        "does not exist: file:",
        StorageDamaged,
        "restore the file, or roll the table back to a version whose files exist",
    ),
    ("CommitFailedException", RefreshConflict, "refresh again"),
    ("ValidationException: Found conflicting files", RefreshConflict, "refresh again"),
    ("[PARSE_SYNTAX_ERROR]", SqlSyntaxError, "correct the SQL"),
    ("[UNRESOLVED_COLUMN", UnknownColumn, "use one of the suggested columns"),
    ("[TABLE_OR_VIEW_NOT_FOUND]", UnknownTable, "create the table first, or correct its name"),
    ("NoSuchTableException", SourceMissing, "create the table again, or drop the stream table"),
)


def translate(error: BaseException, sql: str | None = None) -> HeadwaterError:
    """The Headwater error for what Spark raised; already translated ones pass through."""
    if isinstance(error, HeadwaterError):
        return error
    text = str(error)
    what = _headline(text) or type(error).__name__
    place = _place(text)
    for needle, kind, hint in _BY_TEXT:
        if needle in text or needle in type(error).__name__:
            return kind(what, hint=hint, place=place, sql=sql if place else None)
    return QueryFailed(
        what, hint="see the message of Spark above", place=place, sql=sql if place else None
    )


def _headline(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line in lines:
        if "Caused by:" not in line and not line.startswith(
            ("at ", "An error occurred while calling")
        ):
            return line[:500]
    return lines[0][:500] if lines else ""


def _place(text: str) -> Place | None:
    match = _POSITION.search(text)
    return Place(int(match[1]), int(match[2]) + 1) if match else None
