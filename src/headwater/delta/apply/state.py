"""Adds a window to stored aggregate state: one MERGE that reads nothing but the changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.core.errors import PlanBug
from headwater.core.spec import ApplyKind
from headwater.delta.apply.writing import Applied, Writing
from headwater.delta.careful import careful
from headwater.delta.change import cast
from headwater.delta.program import ROW_COUNT
from headwater.delta.rules.aggregate import keys as group_keys
from headwater.delta.statements import Merge, matched, of_source, of_target, over, raised
from headwater.sql.operators import Aggregate, Column, Filter

if TYPE_CHECKING:
    from headwater.delta.change import Delta
    from headwater.delta.physical import State
    from headwater.delta.state import Slot
    from headwater.sql.operators import Node

_DAMAGED = "HW4003: a group of the stream table holds fewer rows than are to be taken away"


def apply_state(writing: Writing) -> Applied:
    """Merge the window's groups into the stored ones."""
    root = writing.root
    state = root.state
    if state is None:
        raise PlanBug("state layout without state")
    change = writing.ctx.change(state.aggregate.input)
    keys = group_keys(state.aggregate)
    using = writing.using(_window_groups(state, change))
    pairs = list(zip(root.key, keys, strict=True))
    is_global = not keys
    merge = Merge(
        using.sql,
        matched(pairs, using.name, root.types),
        delete=None if is_global or change.inserts_only else _emptied(state),
        update=_updates(state, root.key, is_global=is_global, grows=change.inserts_only),
        insert=_inserts(state, is_global=is_global, grows=change.inserts_only),
    )
    return using.merged(ApplyKind.MERGE, merge.sql())


def _window_groups(state: State, change: Delta) -> Node:
    """Per group, what the window adds to each slot; groups that come out even are left out."""
    node, slots = state.aggregate, state.plan.slots
    change, _ = careful(change, [s.whole for s in slots])
    calls = tuple((Column(_d(s), s.type or "bigint"), s.window) for s in slots)
    groups: Node = Aggregate(change.tree, node.keys, calls, node.sets, node.grouping)
    if change.inserts_only and group_keys(node):
        return groups
    moved: exp.Expr | None = None
    for slot in slots:
        column = Column(_d(slot)).ref
        test: exp.Expr = (
            exp.NEQ(this=column, expression=exp.Literal.number(0))
            if slot.combine == "add"
            else exp.Not(this=exp.Is(this=column, expression=exp.null()))
        )
        moved = test if moved is None else exp.Or(this=moved, expression=test)
    return groups if moved is None else Filter(groups, moved)


def _d(slot: Slot) -> str:
    return f"__hw_d{slot.name.removeprefix('__hw')}"


def _emptied(state: State) -> exp.Expr:
    return exp.EQ(this=_combined(state, state.plan.slots[0]), expression=exp.Literal.number(0))


def _combined(state: State, slot: Slot) -> exp.Expr:
    """The slot after the window, for a group that is stored."""
    stored, coming = of_target(state.stored[slot.name]), of_source(_d(slot))
    if slot.combine != "add":
        kind = exp.Least if slot.combine == "least" else exp.Greatest
        return kind(this=stored, expressions=[coming])
    total = exp.Add(this=stored, expression=coming)
    return cast(total, slot.type) if slot.type else total


def _updates(
    state: State, key: tuple[str, ...], *, is_global: bool, grows: bool
) -> dict[str, exp.Expr]:
    slots = {s.name: _combined(state, s) for s in state.plan.slots}
    columns = _columns(state, slots)
    if not grows:
        columns[state.stored[ROW_COUNT]] = _at_least(slots[ROW_COUNT], 0 if is_global else 1)
    return {n: e for n, e in columns.items() if n not in key}


def _inserts(state: State, *, is_global: bool, grows: bool) -> dict[str, exp.Expr]:
    slots = {s.name: of_source(_d(s)) for s in state.plan.slots}
    columns = _columns(state, slots)
    if is_global:
        columns[state.stored[ROW_COUNT]] = raised(_DAMAGED, "bigint")
    elif not grows:
        columns[state.stored[ROW_COUNT]] = _at_least(slots[ROW_COUNT], 1)
    return columns


def _columns(state: State, slots: dict[str, exp.Expr]) -> dict[str, exp.Expr]:
    coming = {k: of_source(k) for k in group_keys(state.aggregate)}
    return {name: over(e, {**coming, **slots}) for name, e in state.columns.items()}


def _at_least(count: exp.Expr, least: int) -> exp.Expr:
    return exp.If(
        this=exp.GTE(this=count.copy(), expression=exp.Literal.number(least)),
        true=count.copy(),
        false=raised(_DAMAGED, "bigint"),
    )
