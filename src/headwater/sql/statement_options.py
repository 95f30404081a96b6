"""Clauses of CREATE STREAM TABLE, options of ALTER … SET: a table of names and readers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from headwater.core.errors import InvalidOption
from headwater.core.schedule import (
    CALCULATED,
    format_duration,
    parse_duration,
    parse_schedule,
    parse_sla,
)
from headwater.core.spec import (
    DIAMOND_CONSISTENCIES,
    DIAMOND_POLICIES,
    RefreshMode,
    Status,
    Tier,
)
from headwater.core.spelling import nearest
from headwater.sql.statement_reader import Reader
from headwater.sql.statement_tokens import Kind
from headwater.sql.statement_types import OptionValue

Read: TypeAlias = Callable[[Reader], OptionValue]

_EMPTY: dict[str, OptionValue] = {"unique_key": (), "tags": ()}
"""What NULL means for options that are lists; it is None for the others."""

_CALCULATED_WORDS = frozenset({"CALCULATED", "DOWNSTREAM"})


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause: the argument it sets, the ways to write it, how its value is read."""

    option: str
    spellings: tuple[str, ...]
    read: Read
    nullable: bool = False


def read_clauses(reader: Reader) -> dict[str, OptionValue]:
    """Read clauses in any order until something else comes.

    Raises:
        SqlSyntaxError: a clause is given twice or its value is missing.
    """
    options: dict[str, OptionValue] = {}
    while (clause := _take_clause(reader, options, _CREATE)) is not None:
        reader.take_symbol("=")
        reader.mark(clause.option)
        options[clause.option] = clause.read(reader)
    return options


def read_settable(reader: Reader) -> dict[str, OptionValue]:
    """Read `(name = value, …)` of ALTER … SET.

    Raises:
        SqlSyntaxError: an unknown name (the nearest is suggested), or one given twice.
    """
    options: dict[str, OptionValue] = {}
    reader.expect_symbol("(", instead="'(' and options such as schedule = '1m'")
    while True:
        clause = _take_clause(reader, options, _ALTER)
        if clause is None:
            raise unknown_clause(reader, "an option", _ALTER)
        reader.expect_symbol("=")
        reader.mark(clause.option)
        empty = clause.nullable and reader.take("NULL")
        options[clause.option] = _EMPTY.get(clause.option) if empty else clause.read(reader)
        if not reader.take_symbol(","):
            break
    reader.expect_symbol(")", instead="',' or ')'")
    return options


def unknown_clause(reader: Reader, expected: str, clauses: tuple[Clause, ...] = ()) -> Exception:
    """The error for a word that no clause begins with, naming the nearest one."""
    clauses = clauses or _CREATE
    known = [spelling for clause in clauses for spelling in clause.spellings]
    token = reader.peek()
    if token is None or token.kind is not Kind.WORD:
        return reader.fail(expected)
    suggestion = nearest(token.text.upper(), known)
    hint = f"did you mean {suggestion}?" if suggestion else f"known are {', '.join(known)}"
    return reader.fail(expected, hint=hint)


def _take_clause(
    reader: Reader, given: dict[str, OptionValue], clauses: tuple[Clause, ...]
) -> Clause | None:
    first = reader.peek()
    for clause in clauses:
        for spelling in clause.spellings:
            if not reader.take(*spelling.split()):
                continue
            if clause.option in given:
                raise reader.error(
                    f"{spelling} sets {clause.option}, which is set before",
                    at=first,
                    hint="keep one of the two clauses",
                )
            return clause
    return None


def _text(reader: Reader) -> str:
    token = reader.take_kind(Kind.STRING)
    if token is None:
        raise reader.fail("a quoted text")
    return token.text


def _word_or_text(reader: Reader) -> str:
    token = reader.take_kind(Kind.STRING, Kind.WORD)
    if token is None:
        raise reader.fail("a word or a quoted text")
    return token.text


def _checked(what: str, check: Callable[[str], str]) -> Read:
    """A quoted text that `check` accepts; what it refuses gets a place."""

    def read(reader: Reader) -> str:
        token = reader.take_kind(Kind.STRING)
        if token is None:
            raise reader.fail(f"a quoted {what}")
        try:
            return check(token.text)
        except InvalidOption as error:
            raise reader.locate(error, token) from None

    return read


def _or_calculated(what: str, check: Callable[[str], str]) -> Read:
    read_text = _checked(f"{what}, or CALCULATED", check)

    def read(reader: Reader) -> OptionValue:
        token = reader.peek()
        quoted = token is not None and token.kind is Kind.QUOTED
        if token is not None and not quoted and token.text.strip().upper() in _CALCULATED_WORDS:
            reader.take_kind(token.kind)
            return CALCULATED
        return read_text(reader)

    return read


def _as_schedule(text: str) -> str:
    parse_schedule(text)
    return text


def _as_sla(text: str) -> str:
    parse_sla(text)
    return text


def _as_lag(text: str) -> str:
    return format_duration(parse_duration(text, what="target lag"))


def _mode(reader: Reader) -> str:
    first = reader.peek()
    word = _word_or_text(reader)
    if reader.take("STRICT"):
        word += " STRICT"
    try:
        return RefreshMode.parse(word).value
    except InvalidOption as error:
        raise reader.locate(error, first) from None


def _one_of(what: str, values: tuple[str, ...]) -> Read:
    def read(reader: Reader) -> str:
        first = reader.peek()
        word = _word_or_text(reader)
        by_word = {value.upper(): value for value in values}
        if word.upper() in by_word:
            return by_word[word.upper()]
        suggestion = by_word.get(nearest(word.upper(), by_word) or "")
        hint = f"did you mean {suggestion}?" if suggestion else f"use one of {', '.join(values)}"
        raise reader.locate(InvalidOption(f"unknown {what} {word!r}", hint=hint), first)

    return read


def _names(reader: Reader) -> tuple[str, ...]:
    def one() -> str:
        token = reader.take_kind(Kind.WORD, Kind.QUOTED, Kind.STRING)
        if token is None:
            raise reader.fail("a name")
        return token.text

    token = reader.peek()
    if token is not None and token.kind is Kind.STRING:
        return (one(),)
    return reader.listed(one, "names")


def _partitions(reader: Reader) -> tuple[str, ...]:
    token = reader.take_kind(Kind.STRING)
    return (token.text,) if token else reader.written_list("columns or transforms")


def _flag(reader: Reader) -> bool:
    token = reader.peek()
    written = "" if token is None or token.kind is Kind.QUOTED else token.text.upper()
    if written in ("TRUE", "FALSE"):
        reader.take_kind(Kind.WORD, Kind.STRING)
    return written != "FALSE"


def _always(value: bool) -> Read:
    return lambda _: value


_SHARED = (
    Clause("schedule", ("SCHEDULE",), _or_calculated("schedule such as '5m'", _as_schedule)),
    Clause("schedule", ("TARGET_LAG",), _or_calculated("lag such as '5 minutes'", _as_lag)),
    Clause("refresh_mode", ("REFRESH_MODE",), _mode),
    Clause("sla", ("SLA",), _checked("SLA such as '30 seconds'", _as_sla), nullable=True),
    Clause("tier", ("TIER",), _one_of("tier", tuple(t.value for t in Tier)), nullable=True),
    Clause("unique_key", ("UNIQUE KEY", "UNIQUE_KEY"), _names, nullable=True),
    Clause("sort_by", ("SORTED BY", "SORT BY", "SORT_BY"), _names, nullable=True),
    Clause("append_only", ("APPEND ONLY", "APPEND_ONLY"), _flag),
    Clause(
        "diamond_consistency",
        ("DIAMOND_CONSISTENCY",),
        _one_of("diamond consistency", DIAMOND_CONSISTENCIES),
    ),
    Clause(
        "diamond_schedule_policy",
        ("DIAMOND_SCHEDULE_POLICY",),
        _one_of("diamond schedule policy", DIAMOND_POLICIES),
    ),
    Clause("comment", ("COMMENT",), _text, nullable=True),
    Clause("tags", ("TAGS",), _names, nullable=True),
)
_CREATE = (
    *_SHARED,
    Clause("partition_by", ("PARTITIONED BY", "PARTITION BY", "PARTITION_BY"), _partitions),
    Clause("initialize", ("WITH NO DATA",), _always(False)),
    Clause("initialize", ("WITH DATA",), _always(True)),
    Clause("initialize", ("INITIALIZE",), _flag),
)
_ALTER = (
    *_SHARED,
    Clause(
        "status",
        ("STATUS",),
        _one_of("status", (Status.ACTIVE.value, Status.SUSPENDED.value)),
    ),
)
