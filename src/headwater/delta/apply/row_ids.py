"""Ids of stored rows: unique in the table, so that one of several equal rows can be deleted.

An id is the run that wrote the row and a number within the run. A plain INSERT numbers rows as
they are written; a MERGE may read its source several times and refuses functions that give other
values each time, so there the number is computed from the row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.delta.change import passed
from headwater.delta.program import ROW_ID, RUN
from headwater.sql.operators import Column, Project, Window, ref

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headwater.sql.operators import Node

ID_COLUMN = Column(ROW_ID, "string")
_HASH = Column("__hw_hash", "bigint")
_NUMBER = Column("__hw_number", "int")


def numbered_as_written(tree: Node) -> Node:
    """The rows with ids for a plain INSERT."""
    number = exp.Anonymous(this="monotonically_increasing_id", expressions=[])
    return Project(tree, (*passed(tree.columns), (ID_COLUMN, _joined([number]))))


def numbered_by_content(tree: Node, columns: Sequence[str]) -> Node:
    """The rows with ids for a MERGE: hash of the row, and rank among rows of that hash."""
    wanted = [c for c in tree.columns if c.name in columns]
    hashed = Project(tree, (*passed(wanted), (_HASH, _hash(columns))))
    order = exp.Order(expressions=[exp.Ordered(this=ref(c)) for c in columns])
    rank = exp.Window(this=exp.RowNumber(), partition_by=[_HASH.ref], order=order)
    ranked = Window(hashed, ((_NUMBER, rank),))
    hexed = exp.Anonymous(this="hex", expressions=[_HASH.ref])
    return Project(ranked, (*passed(wanted), (ID_COLUMN, _joined([hexed, _NUMBER.ref]))))


def _hash(columns: Sequence[str]) -> exp.Expr:
    """A hash that tells (1, NULL) from (NULL, 1): the built-in one skips NULLs."""
    parts: list[exp.Expr] = []
    for name in columns:
        parts += [ref(name), exp.Is(this=ref(name), expression=exp.null())]
    return exp.Anonymous(this="xxhash64", expressions=parts)


def _joined(parts: Sequence[exp.Expr]) -> exp.Expr:
    pieces: list[exp.Expr] = [exp.Literal.string(RUN)]
    for part in parts:
        pieces += [exp.Literal.string(":"), part]
    return exp.Anonymous(this="concat", expressions=pieces)
