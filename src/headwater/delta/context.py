"""What a delta rule may ask: the delta, the old and the new content of the nodes below it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.core.errors import PlanBug
from headwater.delta.steady import STEADY
from headwater.sql.operators import (
    CLOCK_BEFORE,
    CLOCK_NOW,
    At,
    Column,
    Node,
    Project,
    Reference,
    Scan,
    names_in,
    ref,
    transform,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from headwater.core.names import TableName
    from headwater.delta.change import Change, Delta
    from headwater.delta.steady import Loose


class DeltaContext:
    """One compilation: which sources changed, and the deltas worked out so far.

    Trees handed in are read at the new version. `references` gives the deltas of named relations
    (the working table of a recursion); all others count as unchanged.
    """

    def __init__(
        self,
        sources: Mapping[TableName, Change],
        differentiate: Callable[[Node, DeltaContext], Delta],
        references: Mapping[str, Delta] | None = None,
        digits: Loose = STEADY,
    ) -> None:
        self.sources = sources
        self.digits = digits
        self.references = references or {}
        self._differentiate = differentiate
        self._deltas: dict[Node, Delta | None] = {}
        self._changed: dict[Node, bool] = {}
        self._old: dict[Node, Node] = {}
        self._names = 0
        self._key_names: set[str] = set()
        self._keys: dict[Node, bool] = {}
        self._shared: dict[Node, None] = {}
        self._staged: dict[Node, None] = {}

    def nested(self, references: Mapping[str, Delta]) -> DeltaContext:
        """A context in which only the given relations change."""
        return DeltaContext({}, self._differentiate, references, self.digits)

    def changed(self, node: Node) -> bool:
        """Whether the content of a node can differ between the old and the new version."""
        known = self._changed.get(node)
        if known is None:
            known = self._changed[node] = self._changes_itself(node) or any(
                self.changed(child) for child in node.inputs
            )
        return known

    def delta(self, node: Node) -> Delta | None:
        """The delta of a node; None when nothing below it changes."""
        if not self.changed(node):
            return None
        if node not in self._deltas:
            delta = self._differentiate(node, self)
            self._deltas[node] = delta
            self.share(delta.tree)
        return self._deltas[node]

    def change(self, node: Node) -> Delta:
        """The delta of a node that is known to change."""
        delta = self.delta(node)
        if delta is None:
            raise PlanBug(f"{type(node).__name__} was taken for changed and is not")
        return delta

    def new(self, node: Node) -> Node:
        """The node at the new version."""
        return node

    def old(self, node: Node) -> Node:
        """The node at the old version; unchanged sources are read at the new one."""
        if not self.changed(node):
            return node
        if node not in self._old:
            self._old[node] = transform(node, self._as_before)
        return self._old[node]

    def fresh(self, count: int) -> tuple[str, ...]:
        """Column names no tree uses."""
        first = self._names + 1
        self._names += count
        return tuple(f"__hw_f{i}" for i in range(first, first + count))

    def keys(self, tree: Node, columns: Sequence[str]) -> Node:
        """These columns of a tree as a key relation, under names of its own, by position."""
        types = {c.name: c.type for c in tree.columns}
        names = self.fresh(len(columns))
        self._key_names.update(names)
        named = zip(names, columns, strict=True)
        return Project(tree, tuple((Column(new, types[old]), ref(old)) for new, old in named))

    def is_keys(self, node: Node) -> bool:
        """Whether a relation holds nothing but keys that `keys` has named, and depends on no row.

        One that reads the working table of a recursion, or columns of an enclosing query, does.
        """
        if not node.names or not self._key_names.issuperset(node.names):
            return False
        known = self._keys.get(node)
        if known is None:
            known = self._keys[node] = self.stands_alone(node)
        return known

    def stands_alone(self, node: Node) -> bool:
        """Whether a relation reads neither a working table nor columns of an enclosing query."""
        parts = list(_parts_of(node, {}))
        made = {name for part in parts for name in part.names}
        used = {n for part in parts for e in part.expressions for n in names_in(e)}
        return used <= made and not any(isinstance(part, Reference) for part in parts)

    def share(self, node: Node) -> Node:
        """Mark a small relation: computed once if the plan reads it more than once."""
        self._shared[node] = None
        return node

    def stage(self, node: Node) -> Node:
        """Mark a relation that must be computed on its own, even if it is read only once."""
        self._staged[node] = None
        return node

    def instead(self, node: Node, other: Node) -> Node:
        """The other node, marked as this one is."""
        for marked in (self._shared, self._staged):
            if node in marked:
                marked[other] = None
        return other

    @property
    def staged(self) -> frozenset[Node]:
        """The relations that must be computed on their own."""
        return frozenset(self._staged)

    @property
    def shared(self) -> frozenset[Node]:
        """The relations marked so far."""
        return frozenset(self._shared)

    def _changes_itself(self, node: Node) -> bool:
        if isinstance(node, Scan):
            return node.at is At.NEW and node.table in self.sources
        if isinstance(node, Reference):
            return node.name in self.references
        return has_clock(node)

    def _as_before(self, node: Node) -> Node:
        if isinstance(node, Scan):
            return replace(node, at=At.OLD) if self._changes_itself(node) else node
        return with_old_clock(node)


def _parts_of(node: Node, seen: dict[Node, None]) -> dict[Node, None]:
    """A node and everything below it, each once."""
    if node not in seen:
        seen[node] = None
        for child in node.inputs:
            _parts_of(child, seen)
    return seen


def has_clock(node: Node) -> bool:
    """Whether a node's own expressions read the clock of the refresh."""
    return any(
        literal.this == CLOCK_NOW
        for expression in node.expressions
        for literal in expression.find_all(exp.Literal)
    )


def with_old_clock(node: Node) -> Node:
    """The node with the clock of the refresh before."""
    return node.map_expressions(old_clock) if has_clock(node) else node


def old_clock(expression: exp.Expr) -> exp.Expr:
    """An expression with the clock of the refresh before."""

    def turn(part: exp.Expr) -> exp.Expr:
        is_hole = isinstance(part, exp.Literal) and part.is_string and part.this == CLOCK_NOW
        return exp.Literal.string(CLOCK_BEFORE) if is_hole else part

    return expression.transform(turn)
