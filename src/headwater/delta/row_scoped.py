"""Recomputes rows with a nested query at both versions: f(L¹ | S; R¹) − f(L⁰ | S; R⁰).

S holds the rows of L that changed and those that correlate with a changed row of R. Other rows
have the same value at both versions. Unlike the sums of `rules.apply` and `rules.lateral` this
never evaluates f for a row of one version over R of the other, so it is right where f can fail.

Cost: the rows in S, each at both versions; all of L when no equality ties L and R.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.delta.careful import can_fail_inside
from headwater.delta.change import Delta, difference, passed, settled
from headwater.delta.correlation import concerned_rows, narrowed, outer_columns
from headwater.delta.keyed import keyed_delta
from headwater.delta.restrict import restrict
from headwater.sql.operators import Distinct, Project, Union

if TYPE_CHECKING:
    from headwater.delta.context import DeltaContext
    from headwater.sql.operators import Apply, Lateral, Node


def by_version(
    node: Apply | Lateral, outer: Delta | None, ctx: DeltaContext, *, fails: bool = False
) -> Delta | None:
    """The delta by versions where the nested query can fail and both sides changed; else None."""
    rows, nested = node.inputs
    if outer is None or not ctx.changed(nested):
        return None
    if not (fails or can_fail_inside(nested, rows.columns)):
        return None
    concerned, selecting = concerned_rows(rows, nested, ctx)
    if not selecting or not rows.columns:
        return keyed_delta(node, (), ctx)
    touched = Union(
        tuple(Project(t, passed(rows.columns)) for t in (settled(outer).tree, concerned)),
        rows.columns,
    )
    keys = ctx.share(Distinct(ctx.keys(touched, rows.names)))
    columns = outer_columns(rows, nested)
    values = ctx.share(Distinct(ctx.keys(touched, columns)))

    def at(version: Node, body: Node) -> Node:
        return node.with_inputs(
            (restrict(version, rows.names, keys), narrowed(body, values, columns))
        )

    new = at(ctx.new(rows), ctx.new(nested))
    old = at(ctx.old(rows), ctx.old(nested))
    return Delta(difference(new, old, node.columns))
