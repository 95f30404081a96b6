"""Failures of Spark and Iceberg, told as Headwater errors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from collections.abc import Callable

LONGEST = 500
"""Characters of Spark's message that are kept."""

_POSITION = re.compile(r"\bline (\d+),? pos (\d+)")
_CONDITION = re.compile(
    r"\[(?P<name>[A-Z0-9_.]+)\] (?P<text>.*?)\s*(?:SQLSTATE: |\n== |\n\s*at |\Z)", re.DOTALL
)
_OWN_CODE = re.compile(r"\AHW\d{4}: ")
_LOST_FILE = re.compile(
    r"(?:\b[a-z]\w*\.|\A|\nCaused by: )(?:File)?NotFoundException: (?P<text>[^\n]+)"
)
_JAVA_NAME = re.compile(r"\A:?\s*(?:(?:[a-z]\w*\.)+[A-Z]\w*: |\((?:[a-z]\w*\.)+[A-Z]\w*\) )")
_UNANSWERED = re.compile(
    r"of RPC that terminated with:.*?details = \"(?P<text>[^\"]*)\"", re.DOTALL
)
_UNTOLD = re.compile(r"\AAn error occurred while calling \S+\Z")
"""What Py4J says when the connection broke and no answer came: an answer has a trace."""

_OTHER_MODE = re.compile(r'\s*If necessary set "spark\.sql\.ansi\.enabled" to "false"[^.]*\.')
_UNDERLINED = re.compile(r"== SQL[^\n]* position \d+\) ==\n(?P<line>[^\n]*)\n(?P<mark> *\^+)")

_ECHO = re.compile(r"(?:\n== SQL|(?<=SQLSTATE: )\w{5};).*?(?=\n\tat |\nCaused by: |\Z)", re.DOTALL)
"""The statement, or its plan, that Spark shows below a message."""

_TOLD = re.compile(r"(?:\A\s*|Exception:\s+|Exception\) |Error: )\[(?P<name>[A-Z][A-Z0-9_.]+)\]")
_OWN_ERROR = re.compile(r"\[USER_RAISED_EXCEPTION\] (?P<code>HW\d{4}): ")

_Kinds = tuple[tuple[str, type[HeadwaterError], str], ...]

_BY_OWN_CODE: _Kinds = (
    ("HW3003", UniqueKeyViolated, ""),
    ("HW4003", StorageDamaged, "run repair_stream_table"),
)
_BY_CONDITION: _Kinds = (
    ("SPARK_JOB_CANCELLED", RefreshCancelled, ""),
    ("OPERATION_CANCELED", RefreshCancelled, ""),
    ("CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND", SparkLost, ""),
    ("INVALID_HANDLE.", SparkLost, ""),
    ("NO_ACTIVE_SESSION", SparkLost, ""),
    ("PARSE_", SqlSyntaxError, ""),
    ("UNRESOLVED_COLUMN", UnknownColumn, "use one of the columns there are"),
    ("TABLE_OR_VIEW_NOT_FOUND", UnknownTable, ""),
    ("UNRESOLVED_ROUTINE", QueryFailed, "correct the name, or register_function first"),
    ("DATATYPE_MISMATCH", QueryFailed, "cast the value to the type that is wanted"),
    ("DIVIDE_BY_ZERO", QueryFailed, "use try_divide, or leave the zeros out"),
    ("CAST_INVALID_INPUT", QueryFailed, "use try_cast, or correct the value in the source"),
    ("ARITHMETIC_OVERFLOW", QueryFailed, "cast to a wider type first, or use the try_ function"),
    (
        "SCALAR_SUBQUERY_TOO_MANY_ROWS",
        QueryFailed,
        "let the subquery give one row: aggregate it, or compare it with its key",
    ),
)
_BY_CLASS: _Kinds = (
    ("NotFoundException", StorageDamaged, ""),
    ("FileNotFoundException", StorageDamaged, ""),
    ("RetriesExceeded", SparkLost, ""),
    ("Py4JNetworkError", SparkLost, ""),
    ("UncheckedSQLException", CatalogBusy, ""),
    ("CommitFailedException", RefreshConflict, ""),
    ("NoSuchTableException", SourceMissing, ""),
)
_BY_PHRASE: _Kinds = (
    ("Cannot find snapshot with ID", VersionExpired, ""),
    ("does not exist: file:", StorageDamaged, ""),
    ("SPARK_JOB_CANCELLED", RefreshCancelled, ""),
    ("cancelled part of cancelled job tag", RefreshCancelled, ""),
    ("ExecutorLostFailure", SparkLost, ""),
    ("CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND", SparkLost, ""),
    ("StatusCode.UNAVAILABLE", SparkLost, ""),
    ("Answer from Java side is empty", SparkLost, ""),
    ("Error while sending or receiving", SparkLost, ""),
    ("SparkContext was shut down", SparkLost, ""),
    ("stopped SparkContext", SparkLost, ""),
    ("Found conflicting files", RefreshConflict, ""),
    (
        "NoSuchElementException: key not found: ",
        QueryFailed,
        "the optimizer of Spark has no plan for a correlated subquery below a set operation: write "
        "it as a join, or set spark.sql.constraintPropagation.enabled to false",
    ),
)


def translate(error: BaseException, sql: str | None = None) -> HeadwaterError:
    """The Headwater error for what Spark raised; already translated ones pass through."""
    if isinstance(error, HeadwaterError):
        return error
    text = str(error)
    what = _headline(text) or type(error).__name__
    place = _place(text) if sql is not None else None
    if type(error).__name__ == "Py4JError" and _UNTOLD.match(text):
        return SparkLost("Spark went away while a statement ran")
    known = _known(error, _ECHO.sub("", text))
    if known is not None:
        kind, hint = known
        return kind(what, hint=hint, place=place, sql=sql if place else None)
    if not type(error).__module__.startswith(("pyspark.", "py4j.", "grpc.")):
        return HeadwaterError(f"unexpected failure: {type(error).__name__}: {what}")
    return QueryFailed(what, place=place, sql=sql if place else None)


def _known(error: BaseException, said: str) -> tuple[type[HeadwaterError], str] | None:
    """What the codes, conditions, classes and set phrases of Spark's own words say, in this order.

    A value of the user's may stand in a message too, so that a word alone says nothing.
    """
    own = {found["code"] for found in _OWN_ERROR.finditer(said)}
    told = {found["name"] for found in _TOLD.finditer(said)}
    matches: tuple[tuple[_Kinds, Callable[[str], bool]], ...] = (
        (_BY_OWN_CODE, lambda code: code in own),
        (_BY_CONDITION, lambda name: any(one.startswith(name) for one in told)),
        (_BY_CLASS, lambda name: type(error).__name__ == name or _names_class(said, name)),
        (_BY_PHRASE, lambda phrase: phrase in said),
    )
    for kinds, is_said in matches:
        for needle, kind, hint in kinds:
            if is_said(needle):
                return kind, hint
    return None


def _names_class(text: str, name: str) -> bool:
    """Whether a text names a class of Java or Python: with its package, or where a cause begins."""
    return re.search(rf"(?:\b[a-z]\w*\.|\A|\nCaused by: ){name}\b", text) is not None


def _headline(text: str) -> str:
    """What happened, in one line: Spark's condition and message, or the first line that says it."""
    unanswered = _UNANSWERED.search(text)
    if unanswered is not None:
        return f"the Spark Connect server does not answer: {unanswered['text']}"[:LONGEST]
    lost = _LOST_FILE.search(_ECHO.sub("", text))
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
