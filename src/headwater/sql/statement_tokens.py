"""SQL text → tokens with offsets, leading words and single statements; first step of `statements`.

sqlglot's tokenizer does the work. It is imported on the first real need: whether a text is ours is
decided from its leading words alone, and commands that only read the catalog never get that far.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from headwater.core.errors import Place, SqlSyntaxError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlglot.tokenizer_core import Token as SqlglotToken
    from sqlglot.tokenizer_core import TokenType
    from sqlglot.tokens import Tokenizer

_LEAD_TOKEN = re.compile(r"`(?P<quoted>[^`]+)`|(?P<word>\w+)|(?P<symbol>.)", re.DOTALL)
_CLOSED_OR_OPEN = re.compile(
    r"--[^\n]*|/\*.*?\*/|'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|`[^`]*`|(?P<open>/\*|['\"`])",
    re.DOTALL,
)


class Kind(Enum):
    """What a token is, as far as our statements care."""

    WORD = "word"
    QUOTED = "quoted name"
    STRING = "string"
    NUMBER = "number"
    SYMBOL = "symbol"


@dataclass(frozen=True, slots=True)
class Token:
    """One token: `text` without quotes, `start` and `end` as offsets in the whole text."""

    kind: Kind
    text: str
    start: int
    end: int

    def is_word(self, word: str) -> bool:
        """Whether this is that unquoted word, in any case."""
        return self.kind is Kind.WORD and self.text.upper() == word

    def is_symbol(self, symbol: str) -> bool:
        """Whether this is that punctuation."""
        return self.kind is Kind.SYMBOL and self.text == symbol


def place_at(text: str, offset: int) -> Place:
    """Line and column of an offset, counted the way `Place.caret` splits lines."""
    lines = (text[:offset] + "x").splitlines()
    return Place(len(lines), len(lines[-1]))


def tokens(text: str) -> list[Token]:
    """All tokens of a text.

    Raises:
        SqlSyntaxError: a string, quoted name or comment is not closed.
    """
    from sqlglot.errors import TokenError

    try:
        raw: list[SqlglotToken] = _tokenizer().tokenize(text)
    except TokenError:
        raise not_closed(text) from None
    return _join_strings(text, list(_convert(text, raw)))


def leading(text: str, count: int) -> list[str]:
    """The first `count` words and symbols in upper case; comments do not count."""
    found: list[str] = []
    at = _skip_blank(text, 0)
    while at < len(text) and len(found) < count:
        match = _LEAD_TOKEN.match(text, at)
        if match is None:
            break
        found.append((match["quoted"] or match[0]).upper())
        at = _skip_blank(text, match.end())
    return found


def split_statements(text: str) -> list[tuple[str, int]]:
    r"""Cut a script at its semicolons, knowing strings and comments.

    Each statement comes with the number of lines before it. A statement that does not begin its
    line is padded with blanks, so that columns in it are columns of the script.

    >>> split_statements("SELECT 1; -- one\nSELECT ';'")
    [('SELECT 1', 0), ("SELECT ';'", 1)]
    """
    statements: list[tuple[str, int]] = []
    first: Token | None = None
    last: Token | None = None
    for token in [*tokens(text), None]:
        if token is not None and not token.is_symbol(";"):
            first, last = first or token, token
            continue
        if first is not None and last is not None:
            place = place_at(text, first.start)
            padded = " " * (place.column - 1) + text[first.start : last.end]
            statements.append((padded, place.line - 1))
        first = last = None
    return statements


@cache
def _tokenizer() -> Tokenizer:
    from sqlglot.dialects.spark import Spark

    class StatementTokenizer(Spark.Tokenizer):
        # By default everything after words such as SHOW or CALL is one opaque string.
        COMMANDS: ClassVar[set[TokenType]] = set()

    return StatementTokenizer(dialect="spark")


def _convert(text: str, raw: list[SqlglotToken]) -> Iterator[Token]:
    previous = -1
    for token in raw:
        if token.start == previous:  # `2L` becomes a cast of three tokens at one place
            continue
        previous = token.start
        yield from _as_tokens(text, token)


def _join_strings(text: str, separate: list[Token]) -> list[Token]:
    """Join neighbours as Spark does: 'it' 's' is its, and 'it''s' is it's."""
    joined: list[Token] = []
    for token in separate:
        last = joined[-1] if joined else None
        if last is None or not last.kind is token.kind is Kind.STRING:
            joined.append(token)
            continue
        quote = text[token.start] if last.end == token.start else ""
        joined[-1] = Token(Kind.STRING, last.text + quote + token.text, last.start, token.end)
    return joined


def _as_tokens(text: str, token: SqlglotToken) -> Iterator[Token]:
    start, end = token.start, token.end + 1
    kind = _LITERAL_KINDS.get(token.token_type.name)
    if kind is not None:
        yield Token(kind, token.text, start, end)
        return
    written = text[start:end]
    if not (written[:1].isalnum() or written[:1] == "_"):
        yield Token(Kind.SYMBOL, written, start, end)
        return
    # sqlglot joins words such as PARTITIONED BY into one token.
    for match in re.finditer(r"\S+", written):
        yield Token(Kind.WORD, match[0], start + match.start(), start + match.end())


_LITERAL_KINDS = {
    "STRING": Kind.STRING,
    "RAW_STRING": Kind.STRING,
    "IDENTIFIER": Kind.QUOTED,
    "NUMBER": Kind.NUMBER,
}


def _skip_blank(text: str, at: int) -> int:
    while at < len(text):
        if text[at].isspace():
            at += 1
        elif text.startswith("--", at):
            newline = text.find("\n", at)
            at = len(text) if newline < 0 else newline
        elif text.startswith("/*", at) and not text.startswith("/*+", at):
            at = _skip_comment(text, at)
        else:
            break
    return at


def _skip_comment(text: str, at: int) -> int:
    depth = 0
    for match in re.compile(r"/\*|\*/").finditer(text, at):
        depth += 1 if match[0] == "/*" else -1
        if depth == 0:
            return match.end()
    return len(text)


def not_closed(text: str) -> SqlSyntaxError:
    """The error for a text that ends inside a string, a quoted name or a comment."""
    opened = next((m for m in _CLOSED_OR_OPEN.finditer(text) if m["open"]), None)
    if opened is None:
        return SqlSyntaxError(
            "the text cannot be split into SQL tokens", place=place_at(text, len(text)), sql=text
        )
    what = {"/*": "comment", "`": "quoted name"}.get(opened["open"], "string")
    return SqlSyntaxError(
        f"this {what} is not closed",
        hint=f"add the closing {'*/' if what == 'comment' else opened['open']}",
        place=place_at(text, opened.start()),
        sql=text,
    )
