"""A query text whose clock stands still: calls of the clock become literals, the rest stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlglot

from headwater.sql.dialect import HeadwaterSpark
from headwater.sql.functions import CLOCKS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot.tokenizer_core import Token

BARE = frozenset({"current_timestamp", "current_date", "localtimestamp"})
"""Clocks that may be written without parentheses, where no column has their name."""

_TEXTS = (sqlglot.TokenType.STRING, sqlglot.TokenType.IDENTIFIER)


def frozen(text: str, now: str) -> str:
    """The text as it reads at an instant, given as a timestamp text."""
    tokens = sqlglot.tokenize(text, read=HeadwaterSpark)
    pieces, at = [], 0
    for place, token in enumerate(tokens):
        value = _value(tokens, place, now)
        if value is not None:
            end = tokens[place + 2].end if _is_call(tokens, place) else token.end
            pieces += [text[at : token.start], value]
            at = end + 1
    return "".join([*pieces, text[at:]])


def _value(tokens: Sequence[Token], place: int, now: str) -> str | None:
    """What stands in place of a token; None where it is no clock."""
    token = tokens[place]
    name = token.text.lower()
    if token.token_type in _TEXTS or _text(tokens, place - 1) == ".":
        return None
    instant = f"TIMESTAMP'{now}'"
    if name == "unix_timestamp" and _is_call(tokens, place):
        return f"unix_timestamp({instant})"
    is_bare = name in BARE and _text(tokens, place + 1) not in ("(", ".")
    if name not in CLOCKS or not (is_bare or _is_call(tokens, place)):
        return None
    kind = CLOCKS[name]
    return instant if kind == "timestamp" else f"CAST({instant} AS {kind})"


def _is_call(tokens: Sequence[Token], place: int) -> bool:
    return (_text(tokens, place + 1), _text(tokens, place + 2)) == ("(", ")")


def _text(tokens: Sequence[Token], place: int) -> str:
    return tokens[place].text if 0 <= place < len(tokens) else ""
