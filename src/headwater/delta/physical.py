"""Chooses the physical form of a definition: which rows and columns are stored, and their key.

The root of a tree is looked at below its projections and filters. An aggregate, a DISTINCT or a
set operation gives rows with a key; a window gives partitions that are recomputed together; all
else is a bag. Key columns the query does not show are stored as hidden `__hw_k<i>` columns. A key
that the user declares takes their place where it may fail: rows are then merged by it and checked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.delta.change import passed
from headwater.delta.predicates import plain
from headwater.delta.program import LayoutKind
from headwater.delta.restrict import partition_columns
from headwater.delta.rules.aggregate import keys as group_keys
from headwater.delta.state import StatePlan, state_plan
from headwater.delta.steady import STEADY, Loose, loose
from headwater.sql.operators import (
    Aggregate,
    Column,
    Distinct,
    Filter,
    Limit,
    Node,
    Project,
    Reshape,
    SetOperation,
    Window,
    names_in,
    ref,
)
from headwater.sql.select_block import substituted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headwater.sql.definition import Definition


@dataclass(frozen=True)
class State:
    """How an aggregate's stored rows follow a window.

    Attributes:
        aggregate: the grouping, over the input of the definition.
        plan: slots and finalisers.
        columns: every physical column as an expression over group keys and slots.
        stored: the physical column that holds each slot.
    """

    aggregate: Aggregate
    plan: StatePlan
    columns: dict[str, exp.Expr]
    stored: dict[str, str]


@dataclass(frozen=True)
class Root:
    """The stored relation.

    Attributes:
        kind: how rows are identified.
        tree: the stored rows at the new version, columns named as on disk (without row ids).
        visible: columns of the query.
        hidden: columns only maintenance needs (without row ids).
        key: unique columns, or for REPLACE the columns rows are recomputed by.
        core: the operator that decided, below projections and filters.
        state: for STATE only.
        digits: what may come out in other digits when it is computed again.
        again: where old rows of a bag or of a declared key may, the columns they are recomputed
            and compared with the stored ones by; else None.
    """

    kind: LayoutKind
    tree: Node
    visible: tuple[str, ...]
    hidden: tuple[str, ...]
    key: tuple[str, ...]
    core: Node
    state: State | None = None
    digits: Loose = STEADY
    again: tuple[str, ...] | None = None

    @property
    def bag(self) -> bool:
        """Whether rows carry ids."""
        return self.kind in (LayoutKind.BAG, LayoutKind.REPLACE)

    @property
    def columns(self) -> tuple[str, ...]:
        """All physical columns but the row id."""
        return (*self.visible, *self.hidden)

    @property
    def types(self) -> dict[str, str | None]:
        """Types of the physical columns but the row id."""
        return {c.name: c.type for c in self.tree.columns}


def physical(definition: Definition, unique_key: Sequence[str] = ()) -> Root:
    """The physical form of a definition."""
    digits = loose(definition.tree)
    root = replace(_by_shape(definition, digits), digits=digits)
    if not unique_key or _is_sure(root, unique_key):
        return root
    tree, visible, hidden, _ = _with_keys(definition, root.core, ())
    unique = replace(
        root,
        kind=LayoutKind.UNIQUE,
        tree=tree,
        visible=visible,
        hidden=hidden,
        key=tuple(unique_key),
        state=None,
    )
    return _compared(unique, definition, digits, among=unique_key)


def _by_shape(definition: Definition, digits: Loose) -> Root:
    """The physical form without regard to a declared key."""
    core, filtered = _peeled(definition.tree)
    grouped = _as_aggregate(core)
    if grouped is not None and not filtered and not _is_loose_state(grouped, digits):
        plan = state_plan(grouped)
        if plan is not None:
            return _state_root(definition, core, grouped, plan)
    kind, key = _identity(core)
    if not digits.columns.isdisjoint(key):
        kind, key = LayoutKind.REPLACE, digits.steady(key)
    tree, visible, hidden, stored = _with_keys(definition, core, key)
    root = Root(kind, tree, visible, hidden, stored, core)
    return _compared(root, definition, digits) if kind is LayoutKind.BAG else root


def _is_loose_state(grouped: Aggregate, digits: Loose) -> bool:
    """Whether what a row once added might not be what is taken away again."""
    used = frozenset[str]().union(*(names_in(call) for _, call in grouped.calls))
    return digits.touches(grouped.input, used.union(grouped.keys))


def _compared(
    root: Root, definition: Definition, digits: Loose, among: Sequence[str] | None = None
) -> Root:
    """Rows that may come out in other digits are recomputed by the columns that do not."""
    if not digits.touches(definition.tree, [column.name for _, column in definition.output]):
        return replace(root, again=None)
    same = {name for name, column in definition.output if digits.steady([column.name])}
    again = [n for n in (root.visible if among is None else among) if n in same]
    return replace(root, again=tuple(again))


def _is_sure(root: Root, unique_key: Sequence[str]) -> bool:
    """Whether rows that agree on the declared key agree on the key that the shape gives them."""
    return not root.bag and set(root.key) <= set(unique_key)


def _peeled(node: Node) -> tuple[Node, bool]:
    """The first operator that is no projection or filter, and whether a filter was passed."""
    filtered = False
    while isinstance(node, (Project, Filter)):
        filtered = filtered or isinstance(node, Filter)
        node = node.input
    return node, filtered


def _as_aggregate(core: Node) -> Aggregate | None:
    """DISTINCT is grouping by all columns."""
    if isinstance(core, Distinct) and core.columns:
        return Aggregate(core.input, core.names, ())
    return core if isinstance(core, Aggregate) else None


def _identity(core: Node) -> tuple[LayoutKind, tuple[str, ...]]:
    match core:
        case Aggregate():
            return LayoutKind.KEYED, group_keys(core)
        case Distinct():
            return LayoutKind.KEYED, core.names
        case SetOperation():
            return (LayoutKind.REPLACE if core.all else LayoutKind.KEYED), core.names
        case Reshape() if not core.unpivot:
            return LayoutKind.KEYED, core.keys
        case Window():
            return LayoutKind.REPLACE, partition_columns(core)
        case Limit():
            return LayoutKind.REPLACE, ()
        case _:
            return LayoutKind.BAG, ()


def _with_keys(
    definition: Definition, core: Node, key: tuple[str, ...]
) -> tuple[Node, tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """The tree with physical names and its key columns stored; visible, hidden, key names."""
    carried = _carried(definition.tree, core, key)
    shown = {name: traced(definition.tree, column.name) for name, column in definition.output}
    names: dict[str, str] = {}
    for name, expression in shown.items():
        source = plain(expression)
        if source in key and source not in names:
            names[str(source)] = name
    missing = [k for k in key if k not in names]
    names |= {k: f"__hw_k{i}" for i, k in enumerate(missing, 1)}
    types = {c.name: c.type for c in carried.columns}
    items = [(Column(name, column.type), column.ref) for name, column in definition.output]
    items += [(Column(names[k], types[k]), ref(k)) for k in missing]
    visible = tuple(name for name, _ in definition.output)
    hidden = tuple(names[k] for k in missing)
    return Project(carried, tuple(items)), visible, hidden, tuple(names[k] for k in key)


def _carried(node: Node, core: Node, names: Sequence[str]) -> Node:
    """The chain above the core with these columns of the core passed through to its top."""
    if node is core:
        return node
    below = _carried(node.inputs[0], core, names)
    if not isinstance(node, Project):
        return node.with_inputs((below,))
    have = set(node.names)
    extra = [c for c in below.columns if c.name in names and c.name not in have]
    return Project(below, (*node.items, *passed(extra)))


def traced(node: Node, column: str) -> exp.Expr:
    """A column of the chain as an expression over the columns of its core."""
    expression: exp.Expr = ref(column)
    while isinstance(node, (Project, Filter)):
        if isinstance(node, Project):
            expression = substituted(expression, {c.name: e for c, e in node.items})
        node = node.input
    return expression


def _state_root(definition: Definition, core: Node, grouped: Aggregate, plan: StatePlan) -> Root:
    keys = group_keys(grouped)
    shown = {
        name: substituted(traced(definition.tree, column.name), plan.values)
        for name, column in definition.output
    }
    held: dict[str, str] = {}
    for name, expression in shown.items():
        source = plain(expression)
        wanted = source in keys or any(s.name == source for s in plan.slots[1:])
        if wanted and source not in held:
            held[str(source)] = name
    inner = [k for k in keys if k not in held]
    held |= {k: f"__hw_k{i}" for i, k in enumerate(inner, 1)}
    unseen = [s.name for s in plan.slots if s.name not in held]
    held |= {name: name for name in unseen}
    columns = {**shown, **{held[n]: ref(n) for n in (*inner, *unseen)}}
    aggregate = Aggregate(
        grouped.input,
        grouped.keys,
        tuple((Column(s.name, s.type), s.whole) for s in plan.slots),
        grouped.sets,
        grouped.grouping,
    )
    types = {c.name: c.type for c in aggregate.columns}
    types |= {name: column.type for name, column in definition.output}
    tree = Project(aggregate, tuple((Column(n, types.get(n)), e) for n, e in columns.items()))
    hidden = tuple(held[n] for n in (*inner, *unseen))
    stored = {s.name: held[s.name] for s in plan.slots}
    return Root(
        LayoutKind.STATE,
        tree,
        tuple(shown),
        hidden,
        tuple(held[k] for k in keys),
        core,
        State(aggregate, plan, columns, stored),
    )
