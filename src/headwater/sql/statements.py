"""SQL text → one of our statements, or None for plain Spark SQL; the door of `hub.sql` and the CLI.

A text is ours by its leading words alone, so plain Spark SQL passes through untouched and unparsed.
Once it is ours, every mistake is told with its place and with what was expected there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from headwater.core.errors import (
    HasDependents,
    HeadwaterError,
    InvalidOption,
    Place,
    StreamTableExists,
    StreamTableNotFound,
    StreamTableSuspended,
)
from headwater.sql.statement_options import read_clauses, read_settable, unknown_clause
from headwater.sql.statement_reader import Reader
from headwater.sql.statement_tokens import leading, place_at, split_statements
from headwater.sql.statement_types import (
    EXPLAIN_WHATS,
    AlterStreamTable,
    Argument,
    CallFunction,
    CreateStreamTable,
    DescribeStreamTable,
    DropStreamTable,
    ExplainCreate,
    ExplainStreamTable,
    QueryText,
    RefreshStreamTable,
    ResumeStreamTable,
    ShowStreamTables,
    Statement,
    SuspendStreamTable,
    query_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "AlterStreamTable",
    "Argument",
    "CallFunction",
    "CreateStreamTable",
    "DescribeStreamTable",
    "DropStreamTable",
    "ExplainCreate",
    "ExplainStreamTable",
    "QueryText",
    "RefreshStreamTable",
    "ResumeStreamTable",
    "ShowStreamTables",
    "Statement",
    "SuspendStreamTable",
    "parse_statement",
    "query_of",
    "shift",
    "shift_place",
    "split_statements",
]

E = TypeVar("E", bound=HeadwaterError)

_KINDS = (("STREAM", "TABLE"), ("MATERIALIZED", "VIEW"), ("DYNAMIC", "TABLE"))
_OPENERS = frozenset(kind[0] for kind in _KINDS)
_ABOUT_NAMES = (HasDependents, StreamTableExists, StreamTableNotFound, StreamTableSuspended)
_LEAD_LENGTH = 7  # EXPLAIN DELTA CREATE OR REPLACE STREAM TABLE


def parse_statement(text: str) -> Statement | None:
    """Read one statement of ours; None when the text is plain Spark SQL.

    >>> parse_statement("SELECT 1") is None
    True
    >>> parse_statement("REFRESH STREAM TABLE sales FULL;").full
    True

    Raises:
        SqlSyntaxError: the text is ours and malformed; with place and caret.
        InvalidName: a table name cannot be used; with place.
        InvalidOption: a clause has a value it cannot have; with place.
    """
    words = leading(text, _LEAD_LENGTH)
    if not words or words[0] not in _STATEMENTS:
        return None
    is_ours, read = _STATEMENTS[words[0]]
    return read(Reader(text)) if is_ours(words[1:]) else None


def shift_place(place: Place, query: QueryText) -> Place:
    """A place inside a query, as a place in the statement around it."""
    before = query.column - 1 if place.line == 1 else 0
    return Place(query.line + place.line - 1, place.column + before)


def shift(error: E, statement: Statement) -> E:
    """Move an error to its place in the whole statement.

    The error is changed and returned, ready for `raise`. One inside the query is moved there; one
    without a place gets that of the name, the option or the argument it is about. Errors about
    another text (a view, a statement already shifted to) stay as they are.
    """
    if error.place is None:
        mark = _mark_of(error, statement)
        if mark is not None:
            error.place, error.sql = place_at(statement.text, statement.marks[mark]), statement.text
        return error
    query = query_of(statement)
    if query is not None and (error.sql is None or error.sql.strip() == query.text):
        error.place, error.sql = shift_place(error.place, query), statement.text
    return error


def _mark_of(error: HeadwaterError, statement: Statement) -> str | None:
    """The part of a statement that an error without a place is about."""
    if isinstance(statement, CallFunction):
        return _argument_of(error, statement) or "function"
    if isinstance(error, _ABOUT_NAMES):
        return "name" if "name" in statement.marks else None
    if isinstance(error, InvalidOption):
        return next((m for m in statement.marks if m != "name" and m in error.what), None)
    return None


def _argument_of(error: HeadwaterError, call: CallFunction) -> str | None:
    given = {**{str(i): value for i, value in enumerate(call.arguments)}, **call.named}
    for mark, value in given.items():
        if (isinstance(value, str) and value and value in error.what) or repr(mark) in error.what:
            return mark
    return None


def _create(reader: Reader) -> CreateStreamTable:
    reader.expect("CREATE")
    or_replace = reader.take("OR", "REPLACE")
    _expect_kind(reader)
    if_not_exists = reader.take("IF", "NOT", "EXISTS")
    name = reader.table(new=True)
    options = read_clauses(reader)
    if not reader.take("AS"):
        raise _missing_as(reader)
    if "initialize" not in options and reader.without_tail("WITH", "NO", "DATA"):
        options["initialize"] = False
    query = reader.query()
    reader.end()
    return CreateStreamTable(
        reader.text, name, query, options, or_replace, if_not_exists, marks=reader.marks
    )


def _missing_as(reader: Reader) -> Exception:
    if any(reader.sees(word) for word in ("SELECT", "WITH", "VALUES", "FROM")):
        return reader.fail("AS before the query")
    return unknown_clause(reader, "a clause or AS and the query")


def _alter(reader: Reader) -> Statement:
    reader.expect("ALTER")
    _expect_kind(reader)
    name = reader.table()
    if reader.take("SET"):
        statement: Statement = AlterStreamTable(
            reader.text, name, read_settable(reader), marks=reader.marks
        )
    elif reader.take("AS"):
        statement = AlterStreamTable(reader.text, name, query=reader.query(), marks=reader.marks)
    elif reader.take("SUSPEND"):
        statement = SuspendStreamTable(reader.text, name, marks=reader.marks)
    elif reader.take("RESUME"):
        statement = ResumeStreamTable(reader.text, name, marks=reader.marks)
    else:
        raise reader.fail("SET (…), AS and a query, SUSPEND or RESUME")
    reader.end()
    return statement


def _drop(reader: Reader) -> DropStreamTable:
    reader.expect("DROP")
    _expect_kind(reader)
    if_exists = reader.take("IF", "EXISTS")
    name = reader.table()
    cascade = reader.take("CASCADE")
    reader.end("CASCADE or the end of the statement")
    return DropStreamTable(reader.text, name, if_exists, cascade, marks=reader.marks)


def _refresh(reader: Reader) -> RefreshStreamTable:
    reader.expect("REFRESH")
    _expect_kind(reader)
    name = reader.table()
    full = reader.take("FULL")
    reader.end("FULL or the end of the statement")
    return RefreshStreamTable(reader.text, name, full, marks=reader.marks)


def _show(reader: Reader) -> ShowStreamTables:
    reader.expect("SHOW")
    if not any(reader.take(first, second + "S") for first, second in _KINDS):
        raise reader.fail("STREAM TABLES")
    reader.end()
    return ShowStreamTables(reader.text)


def _describe(reader: Reader) -> DescribeStreamTable:
    if not reader.take("DESC"):
        reader.expect("DESCRIBE")
    _expect_kind(reader)
    name = reader.table()
    reader.end()
    return DescribeStreamTable(reader.text, name, marks=reader.marks)


def _explain(reader: Reader) -> ExplainStreamTable | ExplainCreate:
    reader.expect("EXPLAIN")
    what = _explain_what(reader)
    if reader.sees("CREATE"):
        return ExplainCreate(
            reader.text, _create(reader), what or EXPLAIN_WHATS[0], marks=reader.marks
        )
    _expect_kind(reader)
    name = reader.table()
    what = what or _explain_what(reader)
    reader.end(f"{', '.join(w.upper() for w in EXPLAIN_WHATS)} or the end of the statement")
    return ExplainStreamTable(reader.text, name, what or EXPLAIN_WHATS[0], marks=reader.marks)


def _explain_what(reader: Reader) -> str:
    return next((what for what in EXPLAIN_WHATS if reader.take(what.upper())), "")


def _call(reader: Reader) -> CallFunction:
    reader.expect("CALL")
    reader.name("headwater")
    reader.expect_symbol(".")
    reader.mark("function")
    function = reader.name("the name of a function").lower()
    reader.expect_symbol("(")
    arguments: list[Argument] = []
    named: dict[str, Argument] = {}
    while not reader.take_symbol(")"):
        if arguments or named:
            reader.expect_symbol(",", instead="',' or ')'")
        _read_argument(reader, arguments, named)
    reader.end()
    return CallFunction(reader.text, function, tuple(arguments), named, marks=reader.marks)


def _read_argument(reader: Reader, arguments: list[Argument], named: dict[str, Argument]) -> None:
    token = reader.peek()
    reader.mark(str(len(arguments)))
    name = reader.argument_name()
    if name is None:
        if named:
            raise reader.fail("name => value", hint="arguments by position come first")
        arguments.append(reader.argument())
        return
    if name in named:
        raise reader.error(f"the argument {name} is given twice", at=token, hint="keep one")
    reader.marks[name] = reader.marks.pop(str(len(arguments)))
    named[name] = reader.argument()


def _expect_kind(reader: Reader) -> None:
    for first, second in _KINDS:
        if reader.take(first):
            reader.expect(second)
            return
    raise reader.fail("STREAM TABLE")


def _names_kind(words: Sequence[str]) -> bool:
    return tuple(words[:2]) in _KINDS


def _names_kinds(words: Sequence[str]) -> bool:
    return tuple(words[:2]) in {(first, second + "S") for first, second in _KINDS}


def _begins_kind(words: Sequence[str]) -> bool:
    # Spark has no CREATE, ALTER or DROP of these, so a slip in the next word is told by us.
    return bool(words) and words[0] in _OPENERS


def _creates_kind(words: Sequence[str]) -> bool:
    return _begins_kind(words[2:] if words[:2] == ["OR", "REPLACE"] else words)


def _explains_ours(words: Sequence[str]) -> bool:
    if words and words[0].lower() in EXPLAIN_WHATS:
        words = words[1:]
    return _names_kind(words) or (words[:1] == ["CREATE"] and _creates_kind(words[1:]))


def _calls_ours(words: Sequence[str]) -> bool:
    # headwater.system.… would be a procedure of an Iceberg catalog that has our name.
    return words[:2] == ["HEADWATER", "."] and words[3:4] != ["."]


_STATEMENTS: dict[str, tuple[Callable[[Sequence[str]], bool], Callable[[Reader], Statement]]] = {
    "CREATE": (_creates_kind, _create),
    "ALTER": (_begins_kind, _alter),
    "DROP": (_begins_kind, _drop),
    "REFRESH": (_names_kind, _refresh),
    "SHOW": (_names_kinds, _show),
    "DESCRIBE": (_names_kind, _describe),
    "DESC": (_names_kind, _describe),
    "EXPLAIN": (_explains_ours, _explain),
    "CALL": (_calls_ours, _call),
}
