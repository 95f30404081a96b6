"""Reads the rows of affected keys once for both versions: O(T ⋉ S) = N(T ⋉ S) − D(T ⋉ S).

Rules ask for the rows of some keys at the old and at the new version, often several times each.
Nothing tells where in the table those rows are, unless it is sorted by the key: each of these reads
goes over all of it. The rows at the new version are few: they are read once and kept, and those at
the old version follow from them by taking the window back, copy by copy.

Only where rows are equal exactly when they look equal: a column of floating-point numbers would
come back with another zero than was stored.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.delta.change import WEIGHT_COLUMN, added, big, cast, net_rows, passed, weighted
from headwater.sql.operators import (
    WEIGHT,
    At,
    Column,
    Generate,
    Join,
    JoinKind,
    Node,
    Project,
    Scan,
    ref,
)

if TYPE_CHECKING:
    from headwater.delta.context import DeltaContext

_EXACT = frozenset(
    {
        "tinyint",
        "smallint",
        "int",
        "bigint",
        "string",
        "date",
        "boolean",
        "timestamp",
        "timestamp_ntz",
    }
)


def read_once(tree: Node, ctx: DeltaContext) -> Node:
    """The tree with every selection of a changed table's rows by keys read once."""
    counts = _selections(tree, ctx, {})
    kept = dict.fromkeys(chosen for chosen, times in counts.items() if times > 1)
    if not kept:
        return tree
    before = {chosen: ctx.share(_before(chosen, ctx)) for chosen in kept}
    done: dict[Node, Node] = {}

    def once(node: Node) -> Node:
        if node not in done:
            chosen = _selection(node, ctx)
            if chosen is not None and chosen in kept:
                ctx.stage(chosen)
                done[node] = chosen if _scan(node).at is At.NEW else before[chosen]
            else:
                inputs = tuple(once(child) for child in node.inputs)
                same = all(a is b for a, b in zip(inputs, node.inputs, strict=True))
                done[node] = node if same else ctx.instead(node, node.with_inputs(inputs))
        return done[node]

    return once(tree)


def _selections(node: Node, ctx: DeltaContext, known: dict[Node, Counter[Join]]) -> Counter[Join]:
    """How often a tree selects rows; parts that it holds several times are looked at once."""
    if node not in known:
        found: Counter[Join] = Counter()
        chosen = _selection(node, ctx)
        if chosen is not None:
            found[chosen] = 1
        for child in node.inputs:
            found.update(_selections(child, ctx, known))
        known[node] = found
    return known[node]


def _selection(node: Node, ctx: DeltaContext) -> Join | None:
    """The rows that a node selects from a changed table by keys, at the new version."""
    if not (isinstance(node, Join) and node.kind is JoinKind.SEMI and ctx.is_keys(node.right)):
        return None
    scan = node.left
    if not isinstance(scan, Scan) or scan.at is At.DELTA or scan.table not in ctx.sources:
        return None
    if not all(_is_exact(c.type) for c in scan.columns):
        return None
    return node if scan.at is At.NEW else replace(node, left=replace(scan, at=At.NEW))


def _is_exact(kind: str | None) -> bool:
    return kind is not None and (kind in _EXACT or kind.startswith("decimal("))


def _scan(node: Node) -> Scan:
    scan = node.inputs[0]
    assert isinstance(scan, Scan), "a selection reads a table"
    return scan


def _before(chosen: Join, ctx: DeltaContext) -> Node:
    """The selected rows at the old version."""
    columns = chosen.columns
    changes = replace(chosen, left=replace(_scan(chosen), at=At.DELTA))
    back = weighted(changes, columns, exp.Neg(this=ref(WEIGHT)))
    netted = net_rows(added([weighted(chosen, columns, big(1)), back], columns))
    times = cast(ref(WEIGHT_COLUMN.name), "int")
    copies = exp.Anonymous(this="array_repeat", expressions=[exp.Literal.number(0), times])
    number = Column(ctx.fresh(1)[0], "int")
    return Project(Generate(netted, exp.Explode(this=copies), False, (number,)), passed(columns))
