"""Columns of an operator tree: unique names, types, references; the alphabet of every node."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp


@dataclass(frozen=True, slots=True)
class Column:
    """An output column: unique name, and Spark type (`bigint`, `decimal(10,2)`) where known."""

    name: str
    type: str | None = None

    @property
    def ref(self) -> exp.Column:
        """A reference to this column."""
        return ref(self.name)


def ref(name: str) -> exp.Column:
    """A reference to a column of the tree by its unique name."""
    return exp.Column(this=exp.Identifier(this=name, quoted=True))


def names_in(expression: exp.Expr) -> frozenset[str]:
    """The names of all columns an expression refers to."""
    return frozenset(c.name for c in expression.find_all(exp.Column))
