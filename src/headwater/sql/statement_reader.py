"""A cursor over the tokens of one statement: looks ahead, takes, and says what it expected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.core.errors import InvalidName, SqlSyntaxError
from headwater.core.names import TableName
from headwater.sql.statement_tokens import Kind, Token, place_at, tokens
from headwater.sql.statement_types import Argument, QueryText, Scalar

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from headwater.core.errors import HeadwaterError

    T = TypeVar("T")
    E = TypeVar("E", bound=HeadwaterError)

_CONSTANTS: dict[str, Scalar] = {"TRUE": True, "FALSE": False, "NULL": None}


class Reader:
    """Reads one statement from left to right; every failure carries its place."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._tokens = tokens(text)
        self._at = 0
        self.marks: dict[str, int] = {}

    def mark(self, part: str) -> None:
        """Remember where a part of the statement begins: at the next token."""
        token = self.peek()
        self.marks[part] = token.start if token is not None else len(self.text.rstrip())

    def peek(self) -> Token | None:
        """The next token, None at the end."""
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def sees(self, *words: str) -> bool:
        """Whether the next tokens are these words."""
        ahead = self._tokens[self._at : self._at + len(words)]
        return len(ahead) == len(words) and all(
            token.is_word(word) for token, word in zip(ahead, words, strict=True)
        )

    def take(self, *words: str) -> bool:
        """Move past these words if they come next."""
        if self.sees(*words):
            self._at += len(words)
            return True
        return False

    def take_symbol(self, symbol: str) -> bool:
        """Move past this punctuation if it comes next."""
        token = self.peek()
        if token is not None and token.is_symbol(symbol):
            self._at += 1
            return True
        return False

    def take_kind(self, *kinds: Kind) -> Token | None:
        """Move past the next token if it is of one of these kinds."""
        token = self.peek()
        if token is None or token.kind not in kinds:
            return None
        self._at += 1
        return token

    def expect(self, *words: str) -> None:
        """Move past these words, one after the other.

        Raises:
            SqlSyntaxError: another token comes.
        """
        for word in words:
            if not self.take(word):
                raise self.fail(word)

    def expect_symbol(self, symbol: str, *, instead: str = "") -> None:
        """Move past this punctuation.

        Raises:
            SqlSyntaxError: another token comes.
        """
        if not self.take_symbol(symbol):
            raise self.fail(instead or repr(symbol))

    def table(self, *, new: bool = False) -> TableName:
        """Read `name` or `namespace.name`, each part plain or back-quoted.

        Args:
            new: a stream table is to get this name.

        Raises:
            InvalidName: the parts do not make a valid name.
        """
        first = self.peek()
        self.mark("name")
        if self.sees("AS"):
            raise self.fail("a table name")
        parts = [self.name("a table name")]
        while self.take_symbol("."):
            parts.append(self.name("a name after the dot"))
        try:
            name = TableName.parse(".".join(parts))
            return name.check_creatable() if new else name
        except InvalidName as error:
            raise self.locate(error, first) from None

    def name(self, what: str) -> str:
        """Read one identifier, plain or back-quoted."""
        token = self.take_kind(Kind.WORD, Kind.QUOTED)
        if token is None:
            raise self.fail(what)
        return token.text

    def listed(self, item: Callable[[], T], what: str) -> tuple[T, ...]:
        """Read `(item, item, …)`, at least one item."""
        self.expect_symbol("(", instead=f"'(' and {what}")
        items = [item()]
        while self.take_symbol(","):
            items.append(item())
        self.expect_symbol(")", instead="',' or ')'")
        return tuple(items)

    def argument_name(self) -> str | None:
        """Move past `name =>` if that comes next."""
        ahead = self._tokens[self._at : self._at + 2]
        if len(ahead) < 2 or ahead[0].kind is not Kind.WORD or not ahead[1].is_symbol("=>"):
            return None
        self._at += 2
        return ahead[0].text.lower()

    def argument(self) -> Argument:
        """Read a literal: string, number, true, false, null, or `array(…)` of those."""
        if self.take("ARRAY"):
            return self.listed(self._scalar, "the members of the array")
        return self._scalar()

    def _scalar(self) -> Scalar:
        string = self.take_kind(Kind.STRING)
        if string is not None:
            return string.text
        for word, value in _CONSTANTS.items():
            if self.take(word):
                return value
        return self._number()

    def query(self) -> QueryText:
        """Read all that is left as a query, up to a closing semicolon."""
        first = self.peek()
        if first is None or first.is_symbol(";"):
            raise self.fail("a query")
        last = first
        while (token := self.peek()) is not None and not token.is_symbol(";"):
            last, self._at = token, self._at + 1
        place = place_at(self.text, first.start)
        return QueryText(self.text[first.start : last.end], place.line, place.column)

    def without_tail(self, *words: str) -> bool:
        """Cut these words off the end of the statement, if it ends with them."""
        end = len(self._tokens)
        while end > self._at and self._tokens[end - 1].is_symbol(";"):
            end -= 1
        start = end - len(words)
        if start <= self._at:
            return False
        tail = self._tokens[start:end]
        if not all(token.is_word(word) for token, word in zip(tail, words, strict=True)):
            return False
        del self._tokens[start:end]
        return True

    def end(self, expected: str = "the end of the statement") -> None:
        """Accept closing semicolons and nothing else.

        Raises:
            SqlSyntaxError: something follows.
        """
        closed = False
        while self.take_symbol(";"):
            closed = True
        if self.peek() is not None:
            hint = "run one statement at a time" if closed else ""
            raise self.fail("the end of the statement" if closed else expected, hint=hint)

    def fail(self, expected: str, *, at: Token | None = None, hint: str = "") -> SqlSyntaxError:
        """The error for "expected …, found …" at a token (the next one unless told)."""
        token = at or self.peek()
        found = "the end of the text" if token is None else repr(self.written(token))
        return self.error(f"expected {expected}, found {found}", at=token, hint=hint)

    def error(self, what: str, *, at: Token | None, hint: str = "") -> SqlSyntaxError:
        """An error at a token, or at the end of the text when there is none."""
        return self.locate(SqlSyntaxError(what, hint=hint), at)

    def locate(self, error: E, at: Token | None) -> E:
        """Give an error its place."""
        offset = at.start if at is not None else len(self.text.rstrip())
        error.place, error.sql = place_at(self.text, offset), self.text
        return error

    def written(self, token: Token) -> str:
        """A token as it was written, shortened."""
        written = self.text[token.start : token.end]
        return written if len(written) <= 40 else written[:39] + "…"

    def written_list(self, what: str) -> tuple[str, ...]:
        """Read `(a, f(b, 2), …)` as the texts between its outer commas."""
        self.expect_symbol("(", instead=f"'(' and {what}")
        items: list[str] = []
        while True:
            items.append(self._written_item(what))
            if self.take_symbol(")"):
                return tuple(items)
            self.expect_symbol(",")

    def _written_item(self, what: str) -> str:
        depth, first, last = 0, self.peek(), None
        while (token := self.peek()) is not None:
            if depth == 0 and (token.is_symbol(",") or token.is_symbol(")")):
                break
            depth += token.is_symbol("(") - token.is_symbol(")")
            last, self._at = token, self._at + 1
        if first is None or last is None:
            raise self.fail(what)
        return self.text[first.start : last.end]

    def _number(self) -> int | float:
        sign = -1 if self.take_symbol("-") else 1
        token = self.take_kind(Kind.NUMBER)
        if token is None:
            raise self.fail("a literal", hint="use a string, a number, true, false or null")
        for read in (int, float):
            try:
                return sign * read(token.text)
            except ValueError:
                continue
        raise self.fail("a number", at=token)
