"""Failures of Spark and Iceberg, told as Headwater errors."""

from __future__ import annotations

import re

from headwater.core.errors import (
    CatalogBusy,
    HeadwaterError,
    Place,
    QueryFailed,
    RefreshCancelled,
    RefreshConflict,
    SourceMissing,
    SparkLost,
    SqlSyntaxError,
    StorageDamaged,
    UniqueKeyViolated,
    UnknownColumn,
    UnknownTable,
    VersionExpired,
)

LONGEST = 500
"""Characters of Spark's message that are kept."""

_POSITION = re.compile(r"\bline (\d+),? pos (\d+)")
_CONDITION = re.compile(
    r"\[(?P<name>[A-Z0-9_.]+)\] (?P<text>.*?)\s*(?:SQLSTATE: |\n== |\n\s*at |\Z)", re.DOTALL
)
_OWN_CODE = re.compile(r"\AHW\d{4}: ")
_LOST_FILE = re.compile(r"(?:NotFoundException|FileNotFoundException): (?P<text>[^\n]+)")
_JAVA_NAME = re.compile(r"\A:?\s*(?:(?:[a-z]\w*\.)+[A-Z]\w*: |\((?:[a-z]\w*\.)+[A-Z]\w*\) )")
_UNANSWERED = re.compile(
    r"of RPC that terminated with:.*?details = \"(?P<text>[^\"]*)\"", re.DOTALL
)
_OTHER_MODE = re.compile(r'\s*If necessary set "spark\.sql\.ansi\.enabled" to "false"[^.]*\.')
_UNDERLINED = re.compile(r"== SQL[^\n]* position \d+\) ==\n(?P<line>[^\n]*)\n(?P<mark> *\^+)")

_BY_TEXT: tuple[tuple[str, type[HeadwaterError], str], ...] = (
    ("HW3003", UniqueKeyViolated, ""),
    ("HW4003", StorageDamaged, "run repair_stream_table"),
    ("Cannot find snapshot with ID", VersionExpired, ""),
    ("NotFoundException", StorageDamaged, ""),
    ("FileNotFoundException", StorageDamaged, ""),
    ("does not exist: file:", StorageDamaged, ""),
    ("SPARK_JOB_CANCELLED", RefreshCancelled, ""),
    ("[OPERATION_CANCELED]", RefreshCancelled, ""),
    ("cancelled part of cancelled job tag", RefreshCancelled, ""),
    ("ExecutorLostFailure", SparkLost, ""),
    ("CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND", SparkLost, ""),
    ("StatusCode.UNAVAILABLE", SparkLost, ""),
    ("RetriesExceeded", SparkLost, ""),
    ("[INVALID_HANDLE.", SparkLost, ""),
    ("[NO_ACTIVE_SESSION]", SparkLost, ""),
    ("Py4JNetworkError", SparkLost, ""),
    ("Answer from Java side is empty", SparkLost, ""),
    ("Error while sending or receiving", SparkLost, ""),
    ("SparkContext was shut down", SparkLost, ""),
    ("stopped SparkContext", SparkLost, ""),
    ("UncheckedSQLException", CatalogBusy, ""),
    ("CommitFailedException", RefreshConflict, ""),
    ("Found conflicting files", RefreshConflict, ""),
    ("[PARSE_", SqlSyntaxError, ""),
    ("[UNRESOLVED_COLUMN", UnknownColumn, "use one of the columns there are"),
    ("[TABLE_OR_VIEW_NOT_FOUND]", UnknownTable, ""),
    ("NoSuchTableException", SourceMissing, ""),
    ("[UNRESOLVED_ROUTINE]", QueryFailed, "correct the name, or register_function first"),
    ("[DATATYPE_MISMATCH", QueryFailed, "cast the value to the type that is wanted"),
    ("[DIVIDE_BY_ZERO]", QueryFailed, "use try_divide, or leave the zeros out"),
    ("[CAST_INVALID_INPUT]", QueryFailed, "use try_cast, or correct the value in the source"),
    ("[ARITHMETIC_OVERFLOW]", QueryFailed, "cast to a wider type first, or use the try_ function"),
    (
        "[SCALAR_SUBQUERY_TOO_MANY_ROWS]",
        QueryFailed,
        "let the subquery give one row: aggregate it, or compare it with its key",
    ),
)


def translate(error: BaseException, sql: str | None = None) -> HeadwaterError:
    """The Headwater error for what Spark raised; already translated ones pass through."""
    if isinstance(error, HeadwaterError):
        return error
    text = str(error)
    what = _headline(text) or type(error).__name__
    place = _place(text) if sql is not None else None
    for needle, kind, hint in _BY_TEXT:
        if needle in text or needle in type(error).__name__:
            return kind(what, hint=hint, place=place, sql=sql if place else None)
    if not type(error).__module__.startswith(("pyspark.", "py4j.", "grpc.")):
        return HeadwaterError(f"unexpected failure: {type(error).__name__}: {what}")
    return QueryFailed(what, place=place, sql=sql if place else None)


def _headline(text: str) -> str:
    """What happened, in one line: Spark's condition and message, or the first line that says it."""
    unanswered = _UNANSWERED.search(text)
    if unanswered is not None:
        return f"the Spark Connect server does not answer: {unanswered['text']}"[:LONGEST]
    lost = _LOST_FILE.search(text)
    if lost is not None:
        return lost["text"].strip()[:LONGEST]
    condition = _CONDITION.search(text.partition("\n\tat ")[0])
    if condition is not None:
        said = _OTHER_MODE.sub("", " ".join(condition["text"].split()))
        if condition["name"] == "USER_RAISED_EXCEPTION":
            return _OWN_CODE.sub("", said)[:LONGEST]
        return f"[{condition['name']}] {said}{_fragment(text)}"[:LONGEST]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line in lines:
        if "Caused by:" not in line and not line.startswith(
            ("at ", "An error occurred while calling")
        ):
            return _JAVA_NAME.sub("", line)[:LONGEST]
    return lines[0][:LONGEST] if lines else ""


def _fragment(text: str) -> str:
    """The part of the statement that Spark underlines when a value is the matter."""
    found = _UNDERLINED.search(text)
    if found is None:
        return ""
    part = found["line"][len(found["mark"].rstrip("^")) : len(found["mark"])]
    return f" In: {part}" if len(part) > 2 else ""


def _place(text: str) -> Place | None:
    match = _POSITION.search(text)
    return Place(int(match[1]), int(match[2]) + 1) if match else None
