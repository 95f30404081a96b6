"""Relations of plain relational algebra: scans, filters, projections, joins, set operations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

from headwater.core.errors import PlanBug
from headwater.core.names import WEIGHT
from headwater.sql.columns import Column
from headwater.sql.node import Node

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp

    from headwater.core.names import TableName


class At(Enum):
    """Which content of a source a scan gives."""

    NEW = "new"
    OLD = "old"
    DELTA = "delta"


class JoinKind(Enum):
    """How a join treats rows without a partner."""

    INNER = "INNER"
    LEFT = "LEFT"
    RIGHT = "RIGHT"
    FULL = "FULL"
    SEMI = "LEFT SEMI"
    ANTI = "LEFT ANTI"


@dataclass(frozen=True, eq=False)
class Scan(Node):
    """Some columns of a source, at one version or its changes.

    `fields` maps source column names to unique tree columns. With `at=DELTA` the scan also gives
    the weight column, +1 for a row that appeared and −1 for one that went; rows are not netted.
    """

    table: TableName
    fields: tuple[tuple[str, Column], ...]
    at: At = At.NEW

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The mapped columns, and the weight for changes."""
        out = tuple(column for _, column in self.fields)
        return (*out, Column(WEIGHT, "bigint")) if self.at is At.DELTA else out

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        """A scan has no inputs."""
        return self


@dataclass(frozen=True, eq=False)
class Values(Node):
    """Literal rows; one empty row is `SELECT` without `FROM`."""

    rows: tuple[tuple[exp.Expr, ...], ...]
    schema: tuple[Column, ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        """The declared schema."""
        return self.schema

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        """Values have no inputs."""
        return self


@dataclass(frozen=True, eq=False)
class Filter(Node):
    """The rows of `input` for which `predicate` is true."""

    input: Node
    predicate: exp.Expr

    @property
    def columns(self) -> tuple[Column, ...]:
        """Those of the input."""
        return self.input.columns

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The one input."""
        return (self.input,)

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        """The same predicate over another input."""
        return replace(self, input=inputs[0])


@dataclass(frozen=True, eq=False)
class Project(Node):
    """One output column per item, computed row by row."""

    input: Node
    items: tuple[tuple[Column, exp.Expr], ...]

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The item columns."""
        return tuple(column for column, _ in self.items)

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The one input."""
        return (self.input,)

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        """The same items over another input."""
        return replace(self, input=inputs[0])


@dataclass(frozen=True, eq=False)
class Join(Node):
    """Two relations side by side; `condition=None` is a cross join.

    SEMI and ANTI give the columns of the left side only.
    """

    left: Node
    right: Node
    kind: JoinKind = JoinKind.INNER
    condition: exp.Expr | None = None

    def __post_init__(self) -> None:
        clash = set(self.left.names) & set(self.right.names)
        if clash:
            raise PlanBug(f"join sides share column names {sorted(clash)}")

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Left then right; left only for SEMI and ANTI."""
        if self.kind in (JoinKind.SEMI, JoinKind.ANTI):
            return self.left.columns
        return self.left.columns + self.right.columns

    @property
    def inputs(self) -> tuple[Node, ...]:
        """Both sides."""
        return (self.left, self.right)

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        """The same join of other sides."""
        return replace(self, left=inputs[0], right=inputs[1])


@dataclass(frozen=True, eq=False)
class Union(Node):
    """UNION ALL by position; the output has column names of its own."""

    branches: tuple[Node, ...]
    schema: tuple[Column, ...]

    def __post_init__(self) -> None:
        widths = {len(b.columns) for b in self.branches} | {len(self.schema)}
        if len(widths) != 1 or not self.branches:
            raise PlanBug(f"union of unequal widths {sorted(widths)}")

    @property
    def columns(self) -> tuple[Column, ...]:
        """The declared schema."""
        return self.schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The branches."""
        return self.branches

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        """A union of other branches."""
        return replace(self, branches=tuple(inputs))


@dataclass(frozen=True, eq=False)
class SetOperation(Node):
    """INTERSECT or EXCEPT, with or without ALL, by position; UNION is Distinct over Union."""

    left: Node
    right: Node
    kind: str
    all: bool
    schema: tuple[Column, ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        """The declared schema."""
        return self.schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        """Both sides."""
        return (self.left, self.right)

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        """The same operation on other sides."""
        return replace(self, left=inputs[0], right=inputs[1])


@dataclass(frozen=True, eq=False)
class Distinct(Node):
    """Each distinct row of the input once."""

    input: Node

    @property
    def columns(self) -> tuple[Column, ...]:
        """Those of the input."""
        return self.input.columns

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The one input."""
        return (self.input,)

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        """Distinct over another input."""
        return replace(self, input=inputs[0])
