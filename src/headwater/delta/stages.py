"""Takes shared small relations out of a plan: each is computed once and then read by name.

So are parts of a sum of changes that hold the value of a correlated subquery for each row: Spark
cannot plan such a value below UNION ALL (it looks for columns of the subquery in the union). So are
recursions: its optimizer makes invalid plans of some that stand below other operators.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.delta.among import whole_scans, with_values
from headwater.delta.correlation import outer_columns
from headwater.delta.program import STAGE_PREFIX, Stage
from headwater.sql.operators import (
    WEIGHT,
    Apply,
    At,
    Filter,
    Join,
    Node,
    Project,
    Recursive,
    Reference,
    Scan,
    Union,
    Values,
)
from headwater.sql.render import to_sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headwater.core.names import TableName


class Stager:
    """Collects the stages of one program, in the order in which they must be computed."""

    def __init__(
        self, shared: frozenset[Node], staged: frozenset[Node], sources: Sequence[TableName]
    ) -> None:
        self._shared = shared
        self._staged = staged
        self._sources = sources
        self._done: dict[Node, Node] = {}
        self._stages: list[Stage] = []
        self._whole: list[TableName] = []

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages so far."""
        return tuple(self._stages)

    @property
    def whole(self) -> tuple[str, ...]:
        """The tables that are read whole, once for each time."""
        return tuple(sorted(str(name) for name in self._whole))

    def text(self, tree: Node) -> str:
        """The SQL of a plan that belongs to the program."""
        self._whole += whole_scans(tree)
        return to_sql(tree, self._sources, pretty=True)

    def taken(self, root: Node, *, whole: bool = False) -> Node:
        """The plan with shared relations read by name; `whole` makes the result a stage too."""
        counts: dict[Node, int] = {}
        _count(root, counts)
        repeated = {n for n, times in counts.items() if times > 1 and n in self._shared}
        repeated |= self._staged
        rest = self._rewritten(root, repeated)
        return self._stage(rest) if whole and not _is_cheap(rest) else rest

    def _rewritten(self, node: Node, repeated: set[Node]) -> Node:
        if node in self._done:
            return self._done[node]
        inputs = tuple(self._rewritten(child, repeated) for child in node.inputs)
        if isinstance(node, Union) and WEIGHT in node.names:
            inputs = tuple(self._stage(i) if _has_correlated(i) else i for i in inputs)
        same = all(a is b for a, b in zip(inputs, node.inputs, strict=True))
        built = node if same else node.with_inputs(inputs)
        if isinstance(built, Join):
            built = with_values(built, self._sources)
        if isinstance(built, Recursive) or (node in repeated and not _is_cheap(built)):
            built = self._stage(built)
        self._done[node] = built
        return built

    def _stage(self, tree: Node) -> Node:
        name = f"{STAGE_PREFIX}{len(self._stages) + 1}"
        self._stages.append(Stage(name, self.text(tree)))
        return Reference(name, tuple((c.name, c) for c in tree.columns))


def _has_correlated(node: Node) -> bool:
    return any(
        isinstance(n, Apply) and bool(outer_columns(n.input, n.subquery)) for n in node.walk()
    )


def reads_content(node: Node) -> bool:
    """Whether a plan reads more than changes and stages: worth computing only once."""
    return any(
        (isinstance(n, Scan) and n.at is not At.DELTA)
        or (isinstance(n, Reference) and not n.name.startswith(STAGE_PREFIX))
        for n in node.walk()
    )


def _count(node: Node, counts: dict[Node, int]) -> None:
    counts[node] = counts.get(node, 0) + 1
    if counts[node] == 1:
        for child in node.inputs:
            _count(child, counts)


def _is_cheap(node: Node) -> bool:
    """Whether a relation is a constant, or only filters and projects a window or earlier stage.

    A window that is read more than once is kept as a whole by the refresh.
    """
    while isinstance(node, (Filter, Project)):
        node = node.input
    return isinstance(node, (Reference, Values)) or (isinstance(node, Scan) and node.at is At.DELTA)
