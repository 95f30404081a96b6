"""D(f(L; R)) = f(D L; R¹) + Σ over l ∈ A, f(l; R⁰) ≠ f(l; R¹) of f(l; R¹) − f(l; R⁰).

f adds the value of a subquery over R to each row of L, so for fixed R it is linear in L. A holds
the rows of L⁰ that correlate with some changed row of R, all of L⁰ if no equality ties them. The
subquery is evaluated as written at either version, which keeps its rules for NULL and for empty
results; rows whose value stays the same drop out before they are counted. f(l; R¹) for a row l that
went belongs to no version; a subquery that can fail is computed version by version instead.

A is computed first: the subquery then reads R for the keys of its rows only.

Reference: DBSP (2022), bilinear operators with one side nested. Cost: D(L) and A, each with the
subquery at its version.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.delta.careful import gives_too_many
from headwater.delta.change import WEIGHT_COLUMN, Delta, added, big, passed, settled, weighted
from headwater.delta.correlation import at_both_versions, concerned_rows, narrowed, outer_columns
from headwater.delta.row_scoped import by_version
from headwater.sql.operators import Column, Filter, Project

if TYPE_CHECKING:
    from headwater.delta.context import DeltaContext
    from headwater.sql.operators import Apply, Node


def delta(node: Apply, ctx: DeltaContext) -> Delta:
    """Changed outer rows, and outer rows whose subquery value changed."""
    outer = ctx.delta(node.input)
    whole = by_version(node, outer, ctx, fails=gives_too_many(node))
    if whole is not None:
        return whole
    terms: list[Node] = []
    if outer is not None:
        outer = settled(outer)
        ctx.share(outer.tree)
        body = _for_rows(node, ctx.new(node.subquery), outer.tree, ctx)
        terms.append(weighted(replace(node, input=outer.tree, subquery=body), node.columns))
    if not ctx.changed(node.subquery):
        return Delta(terms[0], inserts_only=outer is not None and outer.inserts_only)
    before = Column(ctx.fresh(1)[0], node.output.type)
    rows = ctx.share(_turned(node, before, ctx))
    terms.append(weighted(rows, node.columns, big(1)))
    items = (*passed(node.input.columns), (node.output, before.ref), (WEIGHT_COLUMN, big(-1)))
    terms.append(Project(rows, items))
    return Delta(added(terms, node.columns))


def _turned(node: Apply, before: Column, ctx: DeltaContext) -> Node:
    """The old outer rows with another value than before; both values beside each other."""
    rows, columns = concerned_rows(node.input, node.subquery, ctx)
    new, old = at_both_versions(node.subquery, rows, columns, ctx)
    after = replace(node, input=rows, subquery=new)
    both = replace(node, input=after, subquery=old, output=before)
    same = exp.NullSafeEQ(this=before.ref, expression=node.output.ref)
    return Filter(both, exp.Not(this=same))


def _for_rows(node: Apply, subquery: Node, rows: Node, ctx: DeltaContext) -> Node:
    """The subquery, reading only what these outer rows can reach."""
    columns = outer_columns(node.input, subquery)
    return narrowed(subquery, ctx.keys(rows, columns), columns) if columns else subquery
