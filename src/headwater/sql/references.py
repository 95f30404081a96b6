"""Where a SQL text reads tables, as spans of the original text.

A name can be replaced by a pinned version or by its visible columns without touching anything else
the user wrote.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from headwater.sql.dialect import HeadwaterSpark

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlglot.tokenizer_core import Token

logging.getLogger("sqlglot").setLevel(logging.ERROR)


@dataclass(frozen=True, slots=True)
class TableReference:
    """One place where a text reads a table.

    Attributes:
        start: offset of the first character of the name.
        end: offset after the name, and after its clauses that belong before an alias.
        parts: the name as written, without quotes, outermost part first.
        aliased: whether an alias follows.
        travel: the VERSION or TIMESTAMP clause as written, or empty.
        sample: the TABLESAMPLE clause as written where no alias follows, or empty.
    """

    start: int
    end: int
    parts: tuple[str, ...]
    aliased: bool
    travel: str = ""
    sample: str = ""

    @property
    def name(self) -> str:
        """The last part: what columns are qualified with when there is no alias."""
        return self.parts[-1]


def table_references(text: str) -> tuple[TableReference, ...] | None:
    """All reads of tables in one statement; None when the text is beyond the parser."""
    try:
        parsed = sqlglot.parse(text, read=HeadwaterSpark)
    except SqlglotError:
        return None
    if len(parsed) != 1 or parsed[0] is None or parsed[0].find(exp.Command):
        return None
    found = [_reference(text, t) for t in parsed[0].find_all(exp.Table) if _is_read(t)]
    return tuple(sorted((r for r in found if r is not None), key=lambda r: r.start))


@dataclass(frozen=True, slots=True)
class Substituted:
    """A text in which some spans were replaced.

    Attributes:
        text: the new text.
        edits: start and end of each span in the old text, and what stands there now, in order.
    """

    text: str
    edits: tuple[tuple[int, int, str], ...]

    def original(self, offset: int) -> int:
        """The offset in the old text; inside a replacement, where the replaced span began."""
        moved = 0
        for start, end, now in self.edits:
            if offset < start + moved:
                break
            if offset < start + moved + len(now):
                return start
            moved += len(now) - (end - start)
        return offset - moved


def substitute(text: str, replace: Callable[[TableReference], str | None]) -> str | None:
    """The text with each table reference replaced; None when it cannot be parsed.

    `replace` gives the relation to read instead (a name with a version, a sub-select in
    parentheses), or None to leave the reference alone. A name that had no alias keeps its own.
    """
    made = substituted(text, replace)
    return None if made is None else made.text


def substituted(text: str, replace: Callable[[TableReference], str | None]) -> Substituted | None:
    """As `substitute`, with what was replaced where."""
    references = table_references(text)
    if references is None:
        return None
    edits = []
    for reference in references:
        relation = replace(reference)
        if relation is None:
            continue
        if not reference.aliased:
            sample = f" {reference.sample}" if reference.sample else ""
            relation = f"{relation}{sample} AS `{reference.name.replace('`', '``')}`"
        edits.append((reference.start, reference.end, relation))
    pieces, at = [], 0
    for start, end, relation in edits:
        pieces += [text[at:start], relation]
        at = end
    return Substituted("".join([*pieces, text[at:]]), tuple(edits))


def _is_read(table: exp.Table) -> bool:
    if not isinstance(table.this, exp.Identifier):
        return False
    reads = isinstance(table.parent, exp.From | exp.Join) or table.arg_key == "using"
    return reads and not (len(table.parts) == 1 and _is_cte(table))


def _is_cte(table: exp.Table) -> bool:
    name = table.name.lower()
    node: Any = table
    while node is not None:
        clause = node.args.get("with_") or node.args.get("with")
        if isinstance(clause, exp.With) and any(
            c.alias.lower() == name for c in clause.expressions
        ):
            return True
        node = node.parent
    return False


def _reference(text: str, table: exp.Table) -> TableReference | None:
    spans = [part.meta for part in table.parts]
    if not all("start" in span and "end" in span for span in spans):
        return None
    start, end = spans[0]["start"], spans[-1]["end"] + 1
    travel = ""
    if table.args.get("version") is not None:
        travel = _travel_clause(text, end)
        end += len(travel)
    sample = ""
    if table.args.get("sample") is not None and not table.alias:
        sample = _sample_clause(text, end)
        end += len(sample)
    return TableReference(
        start,
        end,
        tuple(p.name for p in table.parts),
        bool(table.alias),
        travel.strip(),
        sample.strip(),
    )


def _travel_clause(text: str, at: int) -> str:
    """The time travel clause that starts at `at`: up to the end of its literal."""
    for token in _tokens(text, at):
        if token.token_type in (sqlglot.TokenType.NUMBER, sqlglot.TokenType.STRING):
            return text[at : at + token.end + 1]
    return ""


def _sample_clause(text: str, at: int) -> str:
    """The TABLESAMPLE clause that starts at `at`, and the REPEATABLE after it."""
    depth, end = 0, at
    for token in _tokens(text, at):
        word = token.text.upper()
        if depth == 0 and word not in ("TABLESAMPLE", "REPEATABLE", "("):
            break
        depth += (word == "(") - (word == ")")
        if depth == 0 and word == ")":
            end = at + token.end + 1
    return text[at:end]


def _tokens(text: str, at: int) -> list[Token]:
    return sqlglot.tokenize(text[at:], read="spark")
