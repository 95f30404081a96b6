"""Relations made of whole queries: subqueries, lateral joins, recursion, references."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

from headwater.sql.columns import Column
from headwater.sql.node import Node
from headwater.sql.relations import Scan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp


class SubqueryKind(Enum):
    """What a subquery inside an expression gives."""

    SCALAR = "scalar"
    EXISTS = "exists"
    IN = "in"
    NOT_IN = "not in"


@dataclass(frozen=True, eq=False)
class Apply(Node):
    """The input with one more column: the value of a subquery evaluated for each row.

    `operands` are the left sides of IN and NOT IN (several for a row value), expressions over the
    input. The subquery may refer to columns of the input: it is correlated then.
    """

    input: Node
    subquery: Node
    kind: SubqueryKind
    output: Column
    operands: tuple[exp.Expr, ...] = ()

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Input columns, then the value."""
        return (*self.input.columns, self.output)

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The outer input, then the subquery."""
        return (self.input, self.subquery)

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        """The same subquery form over other inputs."""
        return replace(self, input=inputs[0], subquery=inputs[1])


@dataclass(frozen=True, eq=False)
class Lateral(Node):
    """LATERAL join: the right side is evaluated for each left row; `outer` keeps every left row."""

    left: Node
    right: Node
    outer: bool
    condition: exp.Expr | None = None

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Left then right."""
        return self.left.columns + self.right.columns

    @property
    def inputs(self) -> tuple[Node, ...]:
        """Both sides."""
        return (self.left, self.right)

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        """The same join of other sides."""
        return replace(self, left=inputs[0], right=inputs[1])


@dataclass(frozen=True, eq=False)
class Recursive(Node):
    """A recursive CTE: `anchor` UNION ALL `step`.

    The step reads the rows of the last round through `Reference(name)`, whose physical column
    names are the names of `schema`. `levels` is how many rounds the query allows, None for as many
    as Spark does.
    """

    name: str
    anchor: Node
    step: Node
    schema: tuple[Column, ...]
    levels: int | None = None

    @property
    def columns(self) -> tuple[Column, ...]:
        """The declared schema."""
        return self.schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        """Anchor and step."""
        return (self.anchor, self.step)

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        """The same recursion over other inputs."""
        return replace(self, anchor=inputs[0], step=inputs[1])


@dataclass(frozen=True, eq=False)
class Reference(Node):
    """Reads a relation by name: the working table of a recursion, a staged sub-plan, the target.

    `fields` maps its physical column names to unique tree columns.
    """

    name: str
    fields: tuple[tuple[str, Column], ...]

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The mapped columns."""
        return tuple(column for _, column in self.fields)

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        """A reference has no inputs."""
        return self


@dataclass(frozen=True, eq=False)
class Opaque(Node):
    """A part of the query that has no operator: kept as SQL text, refreshed only in full.

    In `text`, the quoted name `__hw_in_<i>` stands for the i-th of `scans`, with the column names
    of the source; the columns of the text are those of `schema`, by position.
    """

    text: str
    schema: tuple[Column, ...]
    scans: tuple[Scan, ...]
    reason_code: str
    reason: str

    @property
    def columns(self) -> tuple[Column, ...]:
        """The declared schema."""
        return self.schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The scans it reads."""
        return self.scans

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        """The same text over other scans."""
        scans = tuple(node for node in inputs if isinstance(node, Scan))
        return replace(self, scans=scans)
