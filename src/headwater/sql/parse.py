"""Reads one query as a sqlglot tree in Spark's dialect; the first step of `define`."""

from __future__ import annotations

import contextlib
import logging
import re
from itertools import pairwise
from typing import TYPE_CHECKING

from sqlglot import exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import TokenType

from headwater.core.errors import InvalidQuery, Place, SqlSyntaxError
from headwater.core.spelling import nearest
from headwater.sql.dialect import HeadwaterSpark
from headwater.sql.statement_tokens import not_closed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlglot.tokenizer_core import Token

_SPARK = HeadwaterSpark()
_BEGINNINGS = ("SELECT", "WITH", "VALUES", "FROM", "TABLE")
_TOKEN = re.compile(
    r"<Token token_type: TokenType\.(?P<type>\w+), text: (?P<text>.*?), line: [^>]*>"
)
_FOREIGN: dict[type[exp.Expr], str] = {
    exp.Command: "a query cannot contain another kind of statement",
    exp.Insert: "a query cannot contain another kind of statement",
    exp.Placeholder: "a query cannot have parameters",
    exp.Parameter: "a query cannot have parameters",
    exp.QueryTransform: "TRANSFORM … USING cannot define a stream table",
    exp.Fetch: "FETCH FIRST is not Spark SQL: use LIMIT",
    exp.Lock: "FOR UPDATE is not Spark SQL",
    exp.Into: "SELECT INTO is not Spark SQL",
    exp.Connect: "CONNECT BY is not Spark SQL: use WITH RECURSIVE",
}


def parse_query(text: str) -> exp.Query:
    """Parse exactly one SELECT-like statement.

    Args:
        text: a query: SELECT, WITH, VALUES, FROM, or a set operation of those.

    Raises:
        SqlSyntaxError: the text is not SQL; carries line and column.
        InvalidQuery: the text is a statement of another kind, or several statements.
    """
    tokens = _tokens(text)
    statements = _statements(tokens, text)
    if not statements:
        raise SqlSyntaxError(
            "the query is empty", hint="give a SELECT query", place=Place(1, 1), sql=text
        )
    if len(statements) > 1:
        raise InvalidQuery(
            "only one statement can define a stream table",
            hint="remove what follows the semicolon",
            place=_second(tokens, text),
            sql=text,
        )
    query = _query(statements[0])
    if query is None:
        raise InvalidQuery(
            f"{tokens[0].text.upper()} cannot define a stream table",
            hint="give a SELECT query",
            place=place_at(text, tokens[0].start),
            sql=text,
        )
    _check(query, text)
    return query


def _check(query: exp.Query, text: str) -> None:
    """Refuse what the parser lets pass but no query of Spark can have."""
    for part in query.walk():
        what = _FOREIGN.get(type(part))
        if what is not None:
            raise InvalidQuery(what, place=place_of(part, text), sql=text)
        if isinstance(part, exp.Select) and not part.expressions:
            raise SqlSyntaxError("SELECT without columns", place=place_of(part, text), sql=text)


def place_of(expression: exp.Expr | None, text: str) -> Place | None:
    """Where an expression begins in the text it was parsed from; None if it left no trace."""
    if expression is None:
        return None
    starts = [
        start
        for node in expression.walk()
        if node._meta and (start := node._meta.get("start")) is not None
    ]
    return place_at(text, min(starts)) if starts else None


def place_at(text: str, offset: int) -> Place:
    r"""Line and column of an offset.

    >>> place_at("SELECT a\nFROM t", 9)
    Place(line=2, column=1)
    """
    before = text[:offset]
    return Place(before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1)


def _tokens(text: str) -> list[Token]:
    try:
        return _with_window_calls(_SPARK.tokenize(text))
    except TokenError:
        raise not_closed(text) from None


def _statements(tokens: list[Token], text: str) -> list[exp.Expr]:
    _check_commas(tokens, text)
    try:
        with _quiet():
            parsed = _SPARK.parser().parse(tokens, text)
    except ParseError as error:
        raise _syntax_error(error, tokens, text) from None
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        # The parser looks for arguments that a call does not have.
        raise SqlSyntaxError("a function is called with too few arguments", sql=text) from None
    return [statement for statement in parsed if statement is not None]


def _syntax_error(error: ParseError, tokens: list[Token], text: str) -> SqlSyntaxError:
    first = tokens[0]
    if first.token_type is TokenType.VAR:
        guess = nearest(first.text.upper(), _BEGINNINGS)
        return SqlSyntaxError(
            f"a query does not begin with {first.text!r}",
            hint=f"did you mean {guess}?" if guess else f"it begins with {', '.join(_BEGINNINGS)}",
            place=place_at(text, first.start),
            sql=text,
        )
    details = error.errors[0] if error.errors else {}
    line, end = details.get("line"), details.get("col")
    width = max(len(details.get("highlight") or ""), 1)
    place = Place(line, max((end or width) - width + 1, 1)) if line else None
    what = details.get("description") or str(error)
    return SqlSyntaxError(_readable(what), place=place, sql=text)


def _check_commas(tokens: list[Token], text: str) -> None:
    """The parser passes over a comma before FROM; Spark would read FROM as a column."""
    for token, following in pairwise(tokens):
        if token.token_type is TokenType.COMMA and following.token_type is TokenType.FROM:
            raise SqlSyntaxError(
                "a column is missing after this comma",
                hint="remove the comma, or name the column",
                place=place_at(text, token.start),
                sql=text,
            )


def _second(tokens: list[Token], text: str) -> Place:
    """Where the second statement begins."""
    for token, following in pairwise(tokens):
        if token.token_type is TokenType.SEMICOLON:
            return place_at(text, following.start)
    return Place(1, 1)


def _with_window_calls(tokens: list[Token]) -> list[Token]:
    """Let `window` be a function or a column unless it begins a clause: `WINDOW w AS (`."""
    for i, token in enumerate(tokens):
        if token.token_type is TokenType.WINDOW:
            after = [following.token_type for following in tokens[i + 2 : i + 4]]
            if after != [TokenType.ALIAS, TokenType.L_PAREN]:
                token.token_type = TokenType.VAR
    return tokens


def _query(statement: exp.Expr) -> exp.Query | None:
    if isinstance(statement, exp.Values):
        return exp.select("*").from_(statement)
    return statement if isinstance(statement, exp.Query) else None


def _readable(description: str) -> str:
    if "Required keyword" in description:
        return "an expression is missing here"
    if "Unexpected token" in description:
        return "this is not expected here"
    description = _TOKEN.sub(_written, description)
    return description[:1].lower() + description[1:]


def _written(token: re.Match[str]) -> str:
    return "the end of the query" if token["type"] == "SENTINEL" else repr(token["text"])


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silence sqlglot's warning about statements it keeps as text: they are refused anyway."""
    logger = logging.getLogger("sqlglot")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
