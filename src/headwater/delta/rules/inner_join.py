"""D(R₁ ⋈ … ⋈ Rₙ) = Σᵢ N(R₁) ⋈ … ⋈ N(Rᵢ₋₁) ⋈ D(Rᵢ) ⋈ O(Rᵢ₊₁) ⋈ … ⋈ O(Rₙ).

A telescoping sum: neighbouring terms differ in one input, everything between the first and the
last cancels out. Each term has the sign of its own delta, so deletes on several sides at once are
counted exactly once, and inputs that only grow give output that only grows. Every occurrence of a
table is an input of its own (self-joins). Terms pair new rows with old ones that were never side by
side and cancel out in the sum: conditions that can fail are tested after it.

Inputs that change and are joined with each other count as one, before those that stay as they are:

    D(R₁ ⋈ R₂ ⋈ S) = D(R₁ ⋈ R₂) ⋈ S

which reads S once, not in each term. What such inputs change is computed first: few rows, whose
number is known when the others are joined to them, and whose values tell those what to read.

Reference: Gupta and Mumick (1995); DBSP (2022), bilinear operators. Cost: per changed input, its
delta joined with the others; inputs that aggregate are restricted to the keys of the delta.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.delta.careful import fails_on_one, fails_on_pairs, guarded
from headwater.delta.change import Delta, added, settled, weighted
from headwater.delta.predicates import all_of, conjuncts, equal_columns
from headwater.delta.restrict import restrict
from headwater.delta.rules.filter import passing
from headwater.sql.operators import Filter, Generate, Join, JoinKind, Project, Scan, names_in

if TYPE_CHECKING:
    from sqlglot import exp

    from headwater.delta.context import DeltaContext
    from headwater.sql.operators import Node

_LIGHT = (Scan, Filter, Project, Generate)


def delta(node: Join, ctx: DeltaContext) -> Delta:
    """One term per changed input."""
    inputs, listed = _flattened(node)
    leaves, left_over = _gathered(inputs, listed, ctx)
    late = [p for p in left_over if fails_on_pairs(p, inputs)]
    parts = [p for p in left_over if p not in late]
    terms: list[Node] = []
    inserts_only = True
    for i, leaf in enumerate(leaves):
        found = ctx.delta(leaf)
        if found is None:
            continue
        change = settled(found)
        ctx.share(change.tree)
        if leaf not in inputs and ctx.stands_alone(change.tree):
            ctx.stage(change.tree)
        inserts_only = inserts_only and change.inserts_only
        others = [ctx.new(other) for other in leaves[:i]]
        others += [ctx.old(other) for other in leaves[i + 1 :]]
        tests = parts
        if not change.inserts_only:
            tests = [guarded(p) if fails_on_one(p, leaf) else p for p in parts]
        terms.append(weighted(_joined(change.tree, others, tests, ctx), node.columns))
    sum_of_terms = Delta(added(terms, node.columns), inserts_only=inserts_only)
    test = all_of(late)
    return passing(sum_of_terms, test) if test is not None else sum_of_terms


def _flattened(node: Node) -> tuple[list[Node], list[exp.Expr]]:
    """The inputs of a chain of inner joins, and all conditions."""
    if not (isinstance(node, Join) and node.kind is JoinKind.INNER):
        return [node], []
    left, left_parts = _flattened(node.left)
    right, right_parts = _flattened(node.right)
    return left + right, [*left_parts, *right_parts, *conjuncts(node.condition)]


def _gathered(
    leaves: list[Node], parts: list[exp.Expr], ctx: DeltaContext
) -> tuple[list[Node], list[exp.Expr]]:
    """The inputs with changed ones that are joined with each other as one, and what is left over.

    As they are where all of them change: their sum of terms is all there is.
    """
    changed = [leaf for leaf in leaves if ctx.changed(leaf)]
    if len(changed) == len(leaves):
        return leaves, parts
    inside = {name for leaf in leaves for name in leaf.names}
    gathered: list[Node] = []
    while changed:
        tree, *changed = changed
        while follower := next((n for n in changed if _equates(parts, tree, n)), None):
            changed.remove(follower)
            reach = {*tree.names, *follower.names}
            ready = [p for p in parts if (used := names_in(p) & inside) and used <= reach]
            parts = [p for p in parts if not any(p is r for r in ready)]
            tree = Join(tree, follower, JoinKind.INNER, all_of(ready))
        gathered.append(tree)
    return gathered + [leaf for leaf in leaves if not ctx.changed(leaf)], parts


def _equates(parts: list[exp.Expr], tree: Node, leaf: Node) -> bool:
    return any(equal_columns(part, tree, leaf) for part in parts)


def _joined(start: Node, others: list[Node], parts: list[exp.Expr], ctx: DeltaContext) -> Node:
    """Join everything to the delta, next always an input that some condition connects."""
    tree, open_parts, waiting = start, list(parts), list(others)
    inside = {name for n in (start, *others) for name in n.names}
    while waiting:
        have = set(tree.names)
        follower = next((n for n in waiting if _connects(open_parts, have, n)), waiting[0])
        waiting.remove(follower)
        reach = have | set(follower.names)
        ready = [p for p in open_parts if names_in(p) & inside <= reach]
        open_parts = [p for p in open_parts if not any(p is r for r in ready)]
        condition = all_of(ready)
        follower = _reduced(start, follower, condition, ctx)
        tree = Join(tree, follower, JoinKind.INNER, condition)
    rest = all_of(open_parts)
    return Filter(tree, rest) if rest is not None else tree


def _connects(parts: list[exp.Expr], have: set[str], leaf: Node) -> bool:
    own = set(leaf.names)
    return any((used := names_in(p)) & own and used & have and used <= have | own for p in parts)


def _reduced(start: Node, leaf: Node, condition: exp.Expr | None, ctx: DeltaContext) -> Node:
    """Only the rows of a costly input that can meet the delta."""
    if all(isinstance(n, _LIGHT) for n in leaf.walk()):
        return leaf
    pairs = equal_columns(condition, start, leaf)
    if not pairs:
        return leaf
    keys = ctx.keys(start, [a for a, _ in pairs])
    return restrict(leaf, [b for _, b in pairs], keys)
