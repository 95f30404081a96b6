"""How tightly Spark's operators bind, and its intervals: sqlglot reads both in other ways.

    * / % DIV   before   + - ||   before   << >> >>>   before   &   before   ^   before   |
    before   = <=> <> < <= > >=   before   IN, BETWEEN, LIKE, IS

Each level is read from left to right: `a = b < c` compares whether a is b with c.
An interval of several units is one literal, `INTERVAL 2 HOURS 30 MINUTES`: as a sum of two it
would change its meaning after a minus.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from headwater.sql.pipes import PipeParser

if TYPE_CHECKING:
    from collections.abc import Callable

_COMPARISONS = {**PipeParser.EQUALITY, **PipeParser.COMPARISON}
_SIGNS = (TokenType.DASH, TokenType.PLUS)
_VALUES = (TokenType.NUMBER, TokenType.STRING)


class OperatorParser(PipeParser):
    """Spark's parser with Spark's levels of operators."""

    UNARY_PARSERS = {  # noqa: RUF012 - the shape sqlglot asks for
        **PipeParser.UNARY_PARSERS,
        TokenType.DASH: lambda self: self._negated(self._parse_unary()),
    }
    TERM = {TokenType.DASH: exp.Sub, TokenType.PLUS: exp.Add}  # noqa: RUF012 - as above

    def _parse_equality(self, parse_is: bool = True) -> exp.Expr | None:
        """Comparisons from left to right, and a predicate about the whole of them."""
        this = first = self._parse_bitwise()
        while self._match_set(_COMPARISONS):
            kind, comments = _COMPARISONS[self._prev.token_type], self._prev_comments
            this = self._build_predicate(kind, this, self._parse_bitwise(), comments=comments)
        if not parse_is:
            return this
        whole = this if this is first else exp.Paren(this=this)
        found = self._parse_range(whole, parse_is=True)
        return this if found is whole else found

    def _parse_bitwise(self) -> exp.Expr | None:
        return self._level(
            TokenType.PIPE,
            exp.BitwiseOr,
            lambda: self._level(
                TokenType.CARET,
                exp.BitwiseXor,
                lambda: self._level(TokenType.AMP, exp.BitwiseAnd, self._shifted),
            ),
        )

    def _level(
        self, token: TokenType, kind: type[exp.Binary], operand: Callable[[], exp.Expr | None]
    ) -> exp.Expr | None:
        this = operand()
        while self._match(token):
            this = self.expression(kind(this=this, expression=operand()))
        return this

    def _shifted(self) -> exp.Expr | None:
        this = self._parse_term()
        while True:
            if self._match_pair(TokenType.LT, TokenType.LT):
                by = self._parse_term()
                this = self.expression(exp.BitwiseLeftShift(this=this, expression=by))
            elif self._match_pair(TokenType.GT, TokenType.GT):
                unsigned = self._match(TokenType.GT)
                by = self._parse_term()
                this = self.expression(
                    exp.Anonymous(this="SHIFTRIGHTUNSIGNED", expressions=[this, by])
                    if unsigned
                    else exp.BitwiseRightShift(this=this, expression=by)
                )
            else:
                return this

    def _parse_term(self, parse_mod: bool = True) -> exp.Expr | None:
        """Sums, differences and joined texts, from left to right."""
        this = super()._parse_term(parse_mod=parse_mod)
        while self._match(TokenType.DPIPE):
            operand = self._parse_factor(parse_mod=parse_mod)
            this = self.expression(exp.DPipe(this=this, expression=operand, safe=True))
            while self._match_set(self.TERM):
                kind = self.TERM[self._prev.token_type]
                operand = self._parse_factor(parse_mod=parse_mod)
                this = self.expression(kind(this=this, expression=operand))
        return this

    def _parse_factor_operand(self) -> exp.Expr | None:
        this = super()._parse_factor_operand()
        while self._match(TokenType.COLLATE):
            name = super()._parse_factor_operand()
            this = self.expression(exp.Collate(this=this, expression=name))
            self._normalize_collate(this)
        return this

    def _negated(self, operand: exp.Expr | None) -> exp.Expr:
        """A minus belongs to the digits of a literal: -128Y is the least TINYINT."""
        if isinstance(operand, exp.Cast) and self._prev.token_type != TokenType.R_PAREN:
            literal = operand.this
            if isinstance(literal, exp.Literal) and not literal.is_string:
                literal.replace(exp.Neg(this=literal.copy()))
                return operand
        return self.expression(exp.Neg(this=operand))

    def _parse_interval(
        self, require_interval: bool = True, parse_function_unit: bool = True
    ) -> exp.Interval | None:
        """One literal, of one unit or of several; anything else is a column called interval."""
        start = self._index
        if not self._match(TokenType.INTERVAL):
            return None
        parts: list[exp.Interval] = []
        while self._is_value(with_unit=bool(parts)):
            signed = self._curr.token_type in _SIGNS
            value = self._parse_unary() if signed else self._parse_primary()
            if value is not None:
                parts.append(self._parse_interval_span(value, parse_function_unit=False))
        if len(parts) > 1:
            words = (f"{part.this.name} {part.args['unit'].name}" for part in parts)
            return self.expression(exp.Interval(this=exp.Literal.string(" ".join(words).lower())))
        if not parts:
            self._retreat(start)
            return None
        return parts[0]

    def _is_value(self, *, with_unit: bool) -> bool:
        """Whether a number or text comes, perhaps with a sign, and a unit where one is needed."""
        signed = self._curr is not None and self._curr.token_type in _SIGNS
        ahead = self._tokens[self._index + signed : self._index + signed + 2]
        if not ahead or ahead[0].token_type not in _VALUES:
            return False
        units = self.dialect.VALID_INTERVAL_UNITS
        is_unit = len(ahead) > 1 and ahead[1].text.upper() in units
        return is_unit or not (with_unit or signed or ahead[0].token_type == TokenType.NUMBER)
