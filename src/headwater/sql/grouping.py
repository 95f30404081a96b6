"""Relations that look at many rows at once or make many of one: groups, windows, limits, shapes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from headwater.sql.columns import Column
from headwater.sql.node import Node

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp


@dataclass(frozen=True, eq=False)
class Aggregate(Node):
    """GROUP BY `keys` (columns of the input; computed keys are projected below).

    Output: keys under their own names, then one column per call. With `sets` (ROLLUP, CUBE,
    GROUPING SETS, each a tuple of key names) `grouping` names the column that holds
    `grouping_id()`; it follows the keys. Without keys and sets the result is exactly one row.
    """

    input: Node
    keys: tuple[str, ...]
    calls: tuple[tuple[Column, exp.Expr], ...]
    sets: tuple[tuple[str, ...], ...] | None = None
    grouping: Column | None = None

    def __post_init__(self) -> None:
        self.require(self.keys, self.input, "GROUP BY")

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Keys, grouping id, calls."""
        by_name = {c.name: c for c in self.input.columns}
        grouping = (self.grouping,) if self.grouping else ()
        return (*(by_name[k] for k in self.keys), *grouping, *(c for c, _ in self.calls))

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The one input."""
        return (self.input,)

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        """The same grouping of another input."""
        return replace(self, input=inputs[0])


@dataclass(frozen=True, eq=False)
class Window(Node):
    """The input with one more column per window function (`exp.Window`)."""

    input: Node
    calls: tuple[tuple[Column, exp.Expr], ...]

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Input columns, then one per call."""
        return self.input.columns + tuple(c for c, _ in self.calls)

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The one input."""
        return (self.input,)

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        """The same functions over another input."""
        return replace(self, input=inputs[0])


@dataclass(frozen=True, eq=False)
class Limit(Node):
    """The first `limit` rows after `offset` in `order` (tuple of `exp.Ordered`)."""

    input: Node
    order: tuple[exp.Expr, ...]
    limit: exp.Expr | None
    offset: exp.Expr | None = None

    @property
    def columns(self) -> tuple[Column, ...]:
        """Those of the input."""
        return self.input.columns

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The one input."""
        return (self.input,)

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        """The same rows of another input."""
        return replace(self, input=inputs[0])


@dataclass(frozen=True, eq=False)
class Generate(Node):
    """Each input row with each row its generator gives (LATERAL VIEW [OUTER] explode …)."""

    input: Node
    generator: exp.Expr
    outer: bool
    outputs: tuple[Column, ...]

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Input columns, then the generated ones."""
        return self.input.columns + self.outputs

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The one input."""
        return (self.input,)

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        """The same generator over another input."""
        return replace(self, input=inputs[0])


@dataclass(frozen=True, eq=False)
class Reshape(Node):
    """PIVOT or UNPIVOT kept as its own SQL clause over named columns of the input.

    `clause` is the sqlglot `exp.Pivot`; `keys` are the input columns passed through (for PIVOT the
    implicit grouping columns); `outputs` pairs the name Spark gives with the unique tree column.
    """

    input: Node
    clause: exp.Expr
    keys: tuple[str, ...]
    outputs: tuple[tuple[str, Column], ...]
    unpivot: bool

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Keys, then the produced columns."""
        by_name = {c.name: c for c in self.input.columns}
        return (*(by_name[k] for k in self.keys), *(c for _, c in self.outputs))

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The one input."""
        return (self.input,)

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        """The same clause over another input."""
        return replace(self, input=inputs[0])
