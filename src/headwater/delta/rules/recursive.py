"""D(T) = D(B) + J(T⁰, D E) + J(D(T), E¹) for the linear recursion T = B + J(T, E).

J is linear in T, so its delta is itself a recursion, over signed rows: the seed is what changed in
the anchor and what old rows reach through changed edges; the step carries the weight along at the
new version. Bag semantics counts derivations, so a deleted edge retracts exactly the rows derived
through it and no rederivation is needed. The paths it follows may exist in neither version; with a
step that can fail on them (too large a number aside) both recursions are computed instead.

Reference: DBSP (2022), recursive queries; counting algorithm of Gupta, Mumick and Subrahmanian
(1993). Cost: the old recursion once, and the paths through changed edges.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headwater.core.errors import PlanBug
from headwater.delta.careful import can_fail_inside
from headwater.delta.change import WEIGHT_COLUMN, Delta, added
from headwater.delta.keyed import keyed_delta
from headwater.delta.linear_step import is_linear_step
from headwater.sql.operators import WEIGHT, Column, Project, Recursive, Reference, transform

if TYPE_CHECKING:
    from headwater.delta.context import DeltaContext
    from headwater.sql.operators import Node


def delta(node: Recursive, ctx: DeltaContext) -> Delta:
    """A recursion over signed rows."""
    if not is_linear_step(node):
        raise PlanBug("delta of a recursion that is not linear")
    if can_fail_inside(node, overflow=False):
        return keyed_delta(node, (), ctx)
    seeds = _seeds(node, ctx)
    schema = (*node.schema, WEIGHT_COLUMN)
    name = f"{node.name}_delta"
    step = _signed_step(node, name, ctx)
    if not seeds:
        raise PlanBug("delta of a recursion that does not change")
    return Delta(Recursive(name, added(seeds, node.schema), step, schema, node.levels))


def _seeds(node: Recursive, ctx: DeltaContext) -> list[Node]:
    """What changed in the anchor, and what old rows reach through changed edges."""
    seeds: list[Node] = []
    anchor = ctx.delta(node.anchor)
    if anchor is not None:
        seeds.append(_positional(anchor.tree, node))
    if ctx.changed(node.step):
        old = ctx.stage(ctx.old(node))
        through = ctx.change(_with_self(node.step, node.name, old))
        seeds.append(_positional(through.tree, node))
    return seeds


def _signed_step(node: Recursive, name: str, ctx: DeltaContext) -> Node:
    """The step over signed rows at the new version, the weight passed on."""

    def signed(found: Node) -> Node:
        if isinstance(found, Reference) and found.name == node.name:
            return replace(found, name=name)
        return found

    step = transform(ctx.new(node.step), signed)
    fields = next(n.fields for n in step.walk() if isinstance(n, Reference) and n.name == name)
    working = Reference(name, (*fields, (WEIGHT, WEIGHT_COLUMN)))
    # The engine allows no aggregate over a working table: it must count as netted already.
    change = Delta(working, netted=True, inserts_only=True)
    found = ctx.nested({name: change}).change(step)
    return _positional(found.tree, node)


def _positional(tree: Node, node: Recursive) -> Node:
    """Weighted rows under the names of the recursion."""
    own = [n for n in tree.names if n != WEIGHT]
    types = {c.name: c.type for c in tree.columns}
    items = tuple(
        (Column(c.name, c.type or types[n]), ref_of)
        for c, n in zip(node.schema, own, strict=True)
        for ref_of in [Column(n).ref]
    )
    return Project(tree, (*items, (WEIGHT_COLUMN, WEIGHT_COLUMN.ref)))


def _with_self(step: Node, name: str, old: Node) -> Node:
    """The step reading the old result instead of the working table."""

    def put(found: Node) -> Node:
        if not (isinstance(found, Reference) and found.name == name):
            return found
        items = tuple((column, Column(source).ref) for source, column in found.fields)
        return Project(old, items)

    return transform(step, put)
