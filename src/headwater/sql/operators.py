"""The operator tree: what a query means, independent of how it was written.

Every column in a tree has a name that is unique in the whole tree, so an expression refers to
columns by bare name, joins never need qualification and a sub-plan can be moved freely. Two
references to one table (self-join, CTE used twice) are two scans with different column names.

The same node kinds express the query, its old and new content (scans pinned to a version) and
its delta (scans of changes): a delta rule maps a tree to a tree, and one renderer writes SQL.

A tree may refer to columns it does not produce: those are the correlated columns of an enclosing
`Apply` or `Lateral`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.core.errors import PlanBug

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headwater.core.errors import Place
    from headwater.core.names import TableName

WEIGHT = "__hw_w"


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
    return exp.column(exp.to_identifier(name, quoted=True))


def names_in(expression: exp.Expression) -> frozenset[str]:
    """The names of all columns an expression refers to."""
    return frozenset(c.name for c in expression.find_all(exp.Column))


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


@dataclass(frozen=True, eq=True)
class Node:
    """A relation. Subclasses say how it is made; `columns` is its schema."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The output columns, in order."""
        raise NotImplementedError

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The relations this one is made from."""
        return ()

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        """The same operator over other inputs."""
        raise NotImplementedError

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The output column names, in order."""
        return tuple(c.name for c in self.columns)

    def walk(self) -> Iterator[Node]:
        """This node and everything below it, parents first."""
        yield self
        for node in self.inputs:
            yield from node.walk()

    def require(self, columns: Sequence[str], of: Node, what: str) -> None:
        """Fail when a column is not produced by `of`."""
        missing = [c for c in columns if c not in of.names]
        if missing:
            raise PlanBug(f"{what} refers to {missing}, input has {list(of.names)}")


@dataclass(frozen=True)
class Scan(Node):
    """Some columns of a source, at one version or its changes.

    `fields` maps source column names to unique tree columns. With `at=DELTA` the scan also gives
    the weight column, +1 for a row that appeared and −1 for one that went; rows are not netted.
    """

    table: TableName
    fields: tuple[tuple[str, Column], ...]
    at: At = At.NEW
    place: Place | None = field(default=None, compare=False)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The mapped columns, and the weight for changes."""
        out = tuple(column for _, column in self.fields)
        return (*out, Column(WEIGHT, "bigint")) if self.at is At.DELTA else out

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        """A scan has no inputs."""
        return self


@dataclass(frozen=True)
class Values(Node):
    """Literal rows; one empty row is `SELECT` without `FROM`."""

    rows: tuple[tuple[exp.Expression, ...], ...]
    schema: tuple[Column, ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        """The declared schema."""
        return self.schema

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        """Values have no inputs."""
        return self


@dataclass(frozen=True)
class Filter(Node):
    """The rows of `input` for which `predicate` is true."""

    input: Node
    predicate: exp.Expression

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
        return Filter(inputs[0], self.predicate)


@dataclass(frozen=True)
class Project(Node):
    """One output column per item, computed row by row."""

    input: Node
    items: tuple[tuple[Column, exp.Expression], ...]

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
        return Project(inputs[0], self.items)


@dataclass(frozen=True)
class Join(Node):
    """Two relations side by side; `condition=None` is a cross join.

    SEMI and ANTI give the columns of the left side only.
    """

    left: Node
    right: Node
    kind: JoinKind = JoinKind.INNER
    condition: exp.Expression | None = None

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
        return Join(inputs[0], inputs[1], self.kind, self.condition)


@dataclass(frozen=True)
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
        return Union(tuple(inputs), self.schema)


@dataclass(frozen=True)
class SetOperation(Node):
    """INTERSECT or EXCEPT, with or without ALL, by position. (UNION is Distinct over Union.)"""

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
        return SetOperation(inputs[0], inputs[1], self.kind, self.all, self.schema)


@dataclass(frozen=True)
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
        return Distinct(inputs[0])


@dataclass(frozen=True)
class Aggregate(Node):
    """GROUP BY `keys` (columns of the input; computed keys are projected below).

    Output: keys under their own names, then one column per call. With `sets` (ROLLUP, CUBE,
    GROUPING SETS, each a tuple of key names) `grouping` names the column that holds
    `grouping_id()`; it follows the keys. Without keys and sets the result is exactly one row.
    """

    input: Node
    keys: tuple[str, ...]
    calls: tuple[tuple[Column, exp.Expression], ...]
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
        return Aggregate(inputs[0], self.keys, self.calls, self.sets, self.grouping)


@dataclass(frozen=True)
class Window(Node):
    """The input with one more column per window function (`exp.Window`)."""

    input: Node
    calls: tuple[tuple[Column, exp.Expression], ...]

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
        return Window(inputs[0], self.calls)


@dataclass(frozen=True)
class Limit(Node):
    """The first `limit` rows after `offset` in `order` (tuple of `exp.Ordered`)."""

    input: Node
    order: tuple[exp.Expression, ...]
    limit: exp.Expression | None
    offset: exp.Expression | None = None

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
        return Limit(inputs[0], self.order, self.limit, self.offset)


@dataclass(frozen=True)
class Generate(Node):
    """Each input row with each row its generator gives (LATERAL VIEW [OUTER] explode …)."""

    input: Node
    generator: exp.Expression
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
        return Generate(inputs[0], self.generator, self.outer, self.outputs)


@dataclass(frozen=True)
class Reshape(Node):
    """PIVOT or UNPIVOT kept as its own SQL clause over named columns of the input.

    `clause` is the sqlglot `exp.Pivot`; `keys` are the input columns passed through (for PIVOT the
    implicit grouping columns); `outputs` pairs the name Spark gives with the unique tree column.
    """

    input: Node
    clause: exp.Expression
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
        return Reshape(inputs[0], self.clause, self.keys, self.outputs, self.unpivot)


class SubqueryKind(Enum):
    """What a subquery inside an expression gives."""

    SCALAR = "scalar"
    EXISTS = "exists"
    IN = "in"
    NOT_IN = "not in"


@dataclass(frozen=True)
class Apply(Node):
    """The input with one more column: the value of a subquery evaluated for each row.

    `operands` are the left sides of IN and NOT IN (several for a row value), expressions over the
    input. The subquery may refer to columns of the input: it is correlated then.
    """

    input: Node
    subquery: Node
    kind: SubqueryKind
    output: Column
    operands: tuple[exp.Expression, ...] = ()

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
        return Apply(inputs[0], inputs[1], self.kind, self.output, self.operands)


@dataclass(frozen=True)
class Lateral(Node):
    """LATERAL join: the right side is evaluated for each left row; `outer` keeps every left row."""

    left: Node
    right: Node
    outer: bool
    condition: exp.Expression | None = None

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
        return Lateral(inputs[0], inputs[1], self.outer, self.condition)


@dataclass(frozen=True)
class Recursive(Node):
    """A recursive CTE: `anchor` UNION ALL `step`, where `step` reads `Self(name)`."""

    name: str
    anchor: Node
    step: Node
    schema: tuple[Column, ...]

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
        return Recursive(self.name, inputs[0], inputs[1], self.schema)


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class Opaque(Node):
    """A part of the query that has no operator: kept as SQL text, refreshed only in full.

    `sql` reads sources through the pinned names that the renderer gives to `inputs` scans.
    """

    text: str
    schema: tuple[Column, ...]
    scans: tuple[Scan, ...]
    reason_code: str
    reason: str
    place: Place | None = field(default=None, compare=False)

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
        return Opaque(self.text, self.schema, scans, self.reason_code, self.reason, self.place)


def transform(node: Node, change: object) -> Node:
    """Rebuild a tree bottom-up, applying `change(node) -> Node` to every node."""
    inputs = tuple(transform(child, change) for child in node.inputs)
    rebuilt = node if inputs == node.inputs else node.with_inputs(inputs)
    return change(rebuilt)  # type: ignore[operator,no-any-return]


def pinned(node: Node, at: At) -> Node:
    """The same relation read at another version: every scan below is pinned to `at`."""

    def pin(n: Node) -> Node:
        return Scan(n.table, n.fields, at, n.place) if isinstance(n, Scan) else n

    return transform(node, pin)
