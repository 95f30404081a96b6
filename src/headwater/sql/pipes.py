"""Pipe syntax: each operator reads the result of the one before it.

The parser adds an operator to the SELECT it has while that means the same, and puts the SELECT into
a derived table otherwise.

    FROM t |> LIMIT 3 |> WHERE x > 1   →   SELECT * FROM (SELECT * FROM t LIMIT 3) AS t WHERE x > 1
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import TokenType

if TYPE_CHECKING:
    from collections.abc import Callable

_LOST_ORDER = "headwater.lost_order"
SET_BY_PIPE = "headwater.set_by_pipe"
"""Marks a star some of whose columns `|> SET` gives new values."""

_ROWS = ("expressions", "from_", "joins", "laterals", "with_")
# The clauses a SELECT may have when an operator is added to it.
_MERGED = {
    "WHERE": (*_ROWS, "where", "order"),
    "ORDER": (*_ROWS, "where", "order"),
    "ORDER BY": (*_ROWS, "where", "order"),
    "SELECT": (*_ROWS, "where"),
    "EXTEND": (*_ROWS, "where"),
    "SET": (*_ROWS, "where"),
    "DROP": (*_ROWS, "where"),
    "AGGREGATE": (*_ROWS, "where"),
    "PIVOT": ("expressions", "from_", "with_"),
    "UNPIVOT": ("expressions", "from_", "with_"),
}
_CUTS = ("LIMIT", "OFFSET")
_IN_SELECT = frozenset(("expressions", "distinct", "windows", "hint", "kind"))


class PipeParser(SparkParser):
    """Spark's parser with pipe operators that are evaluated one after the other."""

    PIPE_SYNTAX_TRANSFORM_PARSERS = {  # noqa: RUF012 - the shape sqlglot asks for
        **SparkParser.PIPE_SYNTAX_TRANSFORM_PARSERS,
        "OFFSET": lambda self, query: self._parse_pipe_syntax_limit(query),
        "SET": lambda self, query: self._parse_pipe_syntax_set(query),
        "DROP": lambda self, query: self._parse_pipe_syntax_drop(query),
    }

    def _parse_pipe_syntax_query(self, query: exp.Query) -> exp.Query | None:
        step: exp.Query = query
        if not isinstance(query, exp.Select) or not query.args.get("from_"):
            source = query if isinstance(query, exp.Subquery) else query.subquery(copy=False)
            step = exp.select("*").from_(source, copy=False)
        while self._match(TokenType.PIPE_GT):
            step = self._pipe_step(step)
        return step

    def _pipe_step(self, query: exp.Query) -> exp.Query:
        operator = self._curr.text.upper()
        ready = query if _takes(query, operator) else self._build_pipe_cte(query, [exp.Star()])
        ordered = query.args.get("order") is not None or query.meta.get(_LOST_ORDER)
        if operator in _CUTS and ordered and ready.args.get("order") is None:
            self.raise_error("a LIMIT must stand behind its ORDER BY, only WHERE between them")
        parse: Callable[[PipeParser, exp.Query], exp.Query] | None
        parse = self.PIPE_SYNTAX_TRANSFORM_PARSERS.get(operator)
        made = parse(self, ready) if parse else self._pipe_set_or_join(ready, operator)
        if ordered and made.args.get("order") is None:
            made.meta[_LOST_ORDER] = True
        return made

    def _pipe_set_or_join(self, query: exp.Query, operator: str) -> exp.Query:
        start = self._index
        made = self._parse_pipe_syntax_set_operator(query) or self._parse_pipe_syntax_join(query)
        if made is None:
            self._retreat(start)
            self.raise_error(f"Unsupported pipe syntax operator: '{operator}'.")
        return made or query

    def _parse_pipe_syntax_select(self, query: exp.Select) -> exp.Select:
        select = self._parse_select(consume_pipe=False)
        if not isinstance(select, exp.Select):
            return query
        for name, clause in select.args.items():
            if clause and name not in _IN_SELECT:
                self.raise_error("a pipe operator SELECT has no clauses of its own")
        query.select(*select.expressions, append=False, copy=False)
        for name in ("distinct", "windows"):
            query.set(name, select.args.get(name))
        return self._build_pipe_cte(query=query, expressions=[exp.Star()])

    def _parse_pipe_syntax_set(self, query: exp.Select) -> exp.Select:
        """Each assignment reads the columns as the ones before it left them."""
        self._advance()
        for assignment in self._parse_csv(self._parse_equality):
            if not isinstance(assignment, exp.EQ) or not isinstance(assignment.this, exp.Column):
                self.raise_error("SET takes `column = value`")
            value = exp.alias_(assignment.expression, assignment.this.name, quoted=True)
            star = exp.Star(replace=[value])
            star.meta[SET_BY_PIPE] = True
            query.select(star, append=False, copy=False)
            query = self._build_pipe_cte(query=query, expressions=[exp.Star()])
        return query

    def _parse_pipe_syntax_drop(self, query: exp.Select) -> exp.Select:
        self._advance()
        dropped = self._parse_csv(self._parse_id_var)
        if not dropped:
            self.raise_error("DROP names no column")
        query.select(exp.Star(except_=dropped), append=False, copy=False)
        return self._build_pipe_cte(query=query, expressions=[exp.Star()])

    def _parse_pipe_syntax_limit(self, query: exp.Select) -> exp.Select:
        query.set("limit", self._parse_limit())
        query.set("offset", self._parse_offset())
        return query

    def _build_pipe_cte(
        self,
        query: exp.Query,
        expressions: list[exp.Expr],
        alias_cte: exp.TableAlias | None = None,
    ) -> exp.Select:
        """The query as a derived table, under the name of the one table it reads."""
        name = _single_name(query)
        alias = alias_cte or (exp.TableAlias(this=exp.to_identifier(name, quoted=True)))
        derived = exp.Subquery(this=query, alias=alias if alias_cte or name else None)
        return exp.select(*expressions, copy=False).from_(derived, copy=False)


def _takes(query: exp.Query, operator: str) -> bool:
    """Whether an operator can be added to a query without changing what it means."""
    if not isinstance(query, exp.Select):
        return False
    if operator in _CUTS:
        return not any(query.args.get(clause) for clause in ("limit", "offset"))
    if len(query.expressions) != 1 or query.expressions[0] != exp.Star():
        return False
    clauses = _MERGED.get(operator, _ROWS)
    return all(name in clauses for name, value in query.args.items() if value)


def _single_name(query: exp.Query) -> str:
    source = query.args.get("from_")
    if source is None or query.args.get("joins") or query.args.get("laterals"):
        return ""
    return "" if source.this.args.get("pivots") else str(source.this.alias_or_name)
