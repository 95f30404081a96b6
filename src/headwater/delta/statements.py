"""Writes the one statement that changes the target: MERGE and INSERT templates."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.core.names import quote
from headwater.delta.among import MOST_COLUMNS, among, can_be_listed
from headwater.delta.change import cast
from headwater.delta.program import TARGET
from headwater.sql.columns import names_in
from headwater.sql.dialect import HeadwaterSpark
from headwater.sql.select_block import conjunction, substituted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def of_target(name: str) -> exp.Expr:
    """A column of the stored row."""
    return exp.column(exp.to_identifier(name, quoted=True), table="t")


def of_source(name: str) -> exp.Expr:
    """A column of the row that comes."""
    return exp.column(exp.to_identifier(name, quoted=True), table="s")


def raised(message: str, kind: str) -> exp.Expr:
    """An expression that fails the statement when it is evaluated."""
    failure = exp.Anonymous(this="raise_error", expressions=[exp.Literal.string(message)])
    return cast(failure, kind)


def matched(
    pairs: Sequence[tuple[str, str]], stage: str, types: Mapping[str, str | None]
) -> exp.Expr:
    """Stored columns equal coming columns, NULL equal to NULL; TRUE without columns.

    Args:
        pairs: stored and coming columns.
        stage: where all coming rows are, once they have been computed.
        types: types of the stored columns.
    """
    parts = [exp.NullSafeEQ(this=of_target(a), expression=of_source(b)) for a, b in pairs]
    listed = [pair for pair in pairs if can_be_listed(types.get(pair[0]))]
    holes = [among(stage, b, of_target(a)) for a, b in listed[:MOST_COLUMNS]]
    return conjunction([*parts, *holes])


def differs(pairs: Sequence[tuple[str, str]]) -> exp.Expr | None:
    """Some stored column differs from the coming one; None without columns."""
    whole: exp.Expr | None = None
    for a, b in pairs:
        other = exp.Not(this=exp.NullSafeEQ(this=of_target(a), expression=of_source(b)))
        whole = other if whole is None else exp.Or(this=whole, expression=other)
    return whole


def over(expression: exp.Expr, columns: Mapping[str, exp.Expr]) -> exp.Expr:
    """An expression with its columns replaced."""
    return substituted(expression, {n: columns[n] for n in names_in(expression) if n in columns})


@dataclass(frozen=True)
class Merge:
    """A MERGE into the target; clauses are tried in the order delete, update, insert."""

    using: str
    on: exp.Expr
    delete: exp.Expr | None = None
    update: Mapping[str, exp.Expr] | None = None
    update_if: exp.Expr | None = None
    insert: Mapping[str, exp.Expr] | None = None
    insert_if: exp.Expr | None = None

    def sql(self) -> str:
        """The template."""
        lines = [
            f"MERGE INTO {quote(TARGET)} AS t",
            f"USING (\n{self.using}\n) AS s",
            f"ON {_text(self.on)}",
        ]
        if self.delete is not None:
            lines.append(f"WHEN MATCHED{_condition(self.delete)} THEN DELETE")
        if self.update:
            sets = ",\n  ".join(f"{quote(n)} = {_text(e)}" for n, e in self.update.items())
            lines.append(f"WHEN MATCHED{_condition(self.update_if)} THEN UPDATE SET\n  {sets}")
        if self.insert:
            names = ", ".join(quote(n) for n in self.insert)
            values = ",\n  ".join(_text(e) for e in self.insert.values())
            lines.append(
                f"WHEN NOT MATCHED{_condition(self.insert_if)} THEN INSERT ({names})\n"
                f"VALUES (\n  {values}\n)"
            )
        return "\n".join(lines)


_MERGE = re.compile(
    r"\AMERGE INTO .* AS t\nUSING \(\n(?P<using>.*)\n\) AS s\nON (?P<on>[^\n]*)\nWHEN ", re.DOTALL
)


def parts_of_merge(statement: str) -> tuple[str, str] | None:
    """The source of a MERGE and how its rows are matched; None for other statements.

    >>> parts_of_merge(Merge("SELECT 1 AS k", matched([("k", "k")], "x", {}), exp.true()).sql())
    ('SELECT 1 AS k', 't.`k` IS NOT DISTINCT FROM s.`k`')
    """
    found = _MERGE.match(statement)
    return (found["using"], found["on"]) if found is not None else None


def insert_into(columns: Sequence[str], query: str) -> str:
    """A plain append of all physical columns."""
    return f"INSERT INTO {quote(TARGET)} ({', '.join(quote(c) for c in columns)})\n{query}"


def overwrite(query: str) -> str:
    """Replace the whole content by a query for all physical columns in order."""
    return f"INSERT OVERWRITE {quote(TARGET)}\n{query}"


def _condition(expression: exp.Expr | None) -> str:
    if expression is None or expression == exp.true():
        return ""
    return f" AND ({_text(expression)})"


def _text(expression: exp.Expr) -> str:
    return expression.sql(HeadwaterSpark)
