"""Asks for the values of a small relation, so that tables joined with it can skip files.

`T ⋈ S ON c = k` equals `σ[c ∈ values of k in S](T) ⋈ S ON c = k` for every join in which rows of T
without a partner do not show. S is a stage or a change window, or anything whose rows are some of
theirs: filtered, netted, joined with more. T is any tree: the test goes down to the scans that its
column comes from, by the equalities of joins to several of them. Wherever it cannot go further it
is left out, which is right as well.

The values are known when the stage or the window has been computed. Until then the predicate is a
hole, written as a call: `among('S', 'k', c)`. A refresh fills it with a list, ranges, or TRUE.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.delta.predicates import all_of, conjuncts, equal_columns, plain
from headwater.delta.program import STAGE_PREFIX, TARGET
from headwater.delta.restrict import partition_columns
from headwater.sql.operators import (
    Aggregate,
    Apply,
    At,
    Distinct,
    Filter,
    Generate,
    Join,
    JoinKind,
    Node,
    Project,
    Reference,
    Scan,
    Union,
    Window,
    ref,
)
from headwater.sql.render import hole

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from headwater.core.names import TableName

    Origin = tuple[tuple[str, str], ...]
    """Stages or windows, each with a column: every value is a value of one of them."""
    Origins = Mapping[str, Origin]

AMONG = "__hw_among"
MOST_COLUMNS = 3
"""So many columns of a join are told: more make the text long and skip no more files."""

MOST_ORIGINS = 4
"""A column with more origins is not told: what many relations hold together skips few files."""

_NARROWS_LEFT = frozenset({JoinKind.INNER, JoinKind.SEMI, JoinKind.RIGHT})
_NARROWS_RIGHT = frozenset({JoinKind.INNER, JoinKind.SEMI, JoinKind.ANTI, JoinKind.LEFT})
_KEEPS_LEFT = frozenset({JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI})
_KEEPS_RIGHT = frozenset({JoinKind.INNER, JoinKind.RIGHT})
_LISTED = frozenset({"tinyint", "smallint", "int", "bigint", "string", "date"})


def among(stage: str, key: str, column: exp.Expr) -> exp.Expr:
    """The hole: `column` is one of the values of `key` in `stage`."""
    names = [exp.Literal.string(stage), exp.Literal.string(key)]
    return exp.Anonymous(this=AMONG, expressions=[*names, column])


def can_be_listed(kind: str | None) -> bool:
    """Whether values of a type can be written as literals that mean exactly them."""
    return kind in _LISTED


def with_values(join: Join, sources: Sequence[TableName]) -> Join:
    """A join whose sides are told each other's values, where those are of stages or windows."""
    pairs = equal_columns(join.condition, join.left, join.right)
    left, right = join.left, join.right
    if join.kind in _NARROWS_LEFT:
        known = origins(join.right, sources)
        left = told(left, {a: known[b] for a, b in pairs if b in known})
    if join.kind in _NARROWS_RIGHT:
        known = origins(join.left, sources)
        right = told(right, {b: known[a] for a, b in pairs if a in known})
    if left is join.left and right is join.right:
        return join
    return replace(join, left=left, right=right)


def origins(node: Node, sources: Sequence[TableName]) -> dict[str, Origin]:
    """The columns of a node whose values are all values of a column of a stage or window."""
    match node:
        case Reference() if node.name.startswith(STAGE_PREFIX):
            return {c.name: ((node.name, source),) for source, c in node.fields}
        case Scan() if node.at is At.DELTA:
            window = hole(sources, node.table, At.DELTA)
            return {c.name: ((window, source),) for source, c in node.fields}
        case Filter() | Distinct() | Window() | Generate() | Apply():
            return origins(node.inputs[0], sources)
        case Project():
            below = origins(node.input, sources)
            passed = {c.name: plain(e) for c, e in node.items}
            return {n: below[p] for n, p in passed.items() if p in below}
        case Aggregate() if node.sets is None:
            below = origins(node.input, sources)
            return {k: below[k] for k in node.keys if k in below}
        case Join():
            return _of_join(node, sources)
        case Union():
            return _of_union(node, sources)
        case _:
            return {}


def _of_join(node: Join, sources: Sequence[TableName]) -> dict[str, Origin]:
    found: dict[str, Origin] = {}
    if node.kind in _KEEPS_RIGHT:
        found |= origins(node.right, sources)
    if node.kind in _KEEPS_LEFT:
        found |= origins(node.left, sources)
    if node.kind not in (JoinKind.INNER, JoinKind.SEMI):
        return found
    pairs = equal_columns(node.condition, node.left, node.right)
    if node.kind is JoinKind.INNER:
        for a, b in pairs:
            for known, other in ((a, b), (b, a)):
                if known in found:
                    found.setdefault(other, found[known])
        return found
    partners = origins(node.right, sources)
    return {**{a: partners[b] for a, b in pairs if b in partners}, **found}


def _of_union(node: Union, sources: Sequence[TableName]) -> dict[str, Origin]:
    known = [origins(branch, sources) for branch in node.inputs]
    found: dict[str, Origin] = {}
    for place, name in enumerate(node.names):
        parts = [k.get(b.names[place], ()) for k, b in zip(known, node.inputs, strict=True)]
        each = tuple(dict.fromkeys(o for part in parts for o in part))
        if all(parts) and len(each) <= MOST_ORIGINS:
            found[name] = each
    return found


def whole_scans(node: Node, *, is_told: bool = False) -> Iterator[TableName]:
    """The tables that a tree reads without being told any values, once for each time."""
    if isinstance(node, Scan):
        if node.at is not At.DELTA and not is_told:
            yield node.table
        return
    asks = isinstance(node, Filter) and any(
        call.name.lower() == AMONG for call in node.predicate.find_all(exp.Anonymous)
    )
    for child in node.inputs:
        yield from whole_scans(child, is_told=asks)


def told(node: Node, wanted: Origins) -> Node:
    """The node without some of the rows whose columns have none of the values of their origins."""
    if not wanted:
        return node
    if _is_stored(node):
        return _asked(node, wanted)
    if isinstance(node, Union):
        return _by_position(node, wanted)
    if isinstance(node, Join):
        return _sides(node, wanted)
    below = _passed_down(node, wanted)
    if not below:
        return node
    child = node.inputs[0]
    narrow = told(child, below)
    return node if narrow is child else node.with_inputs((narrow, *node.inputs[1:]))


def _is_stored(node: Node) -> bool:
    """Whether a node is a table as it is stored: only there can files be skipped."""
    if isinstance(node, Scan):
        return node.at is not At.DELTA
    return isinstance(node, Reference) and node.name == TARGET


def _passed_down(node: Node, wanted: Origins) -> dict[str, Origin]:
    """What the first input may be told: where a row left out there leads to none that is kept."""
    match node:
        case Filter():
            return _without(wanted, node.predicate)
        case Project():
            below = {c.name: plain(e) for c, e in node.items}
            return {p: o for n, o in wanted.items() if (p := below.get(n))}
        case Aggregate() if node.sets is None:
            return _only(wanted, node.keys)
        case Window():
            return _only(wanted, partition_columns(node))
        case Distinct() | Apply() | Generate():
            return _only(wanted, node.inputs[0].names)
        case _:
            return {}


def _only(wanted: Origins, names: Sequence[str]) -> dict[str, Origin]:
    return {n: wanted[n] for n in names if n in wanted}


def _by_position(node: Union, wanted: Origins) -> Node:
    places = {node.names.index(n): origin for n, origin in wanted.items()}
    branches = [told(b, {b.names[i]: o for i, o in places.items()}) for b in node.inputs]
    same = all(a is b for a, b in zip(branches, node.inputs, strict=True))
    return node if same else node.with_inputs(branches)


def _sides(node: Join, wanted: Origins) -> Node:
    """Both sides as far as rows that are left out there could only lead to rows left out here."""
    if node.kind is JoinKind.FULL:
        return node
    pairs = equal_columns(node.condition, node.left, node.right)
    left, right = _only(wanted, node.left.names), _only(wanted, node.right.names)
    if node.kind is JoinKind.RIGHT:
        left = {a: right[b] for a, b in pairs if b in right}
    elif node.kind is not JoinKind.INNER:
        right = {b: left[a] for a, b in pairs if a in left}
    else:
        both = {**{a: right[b] for a, b in pairs if b in right}, **left}
        right = {**{b: left[a] for a, b in pairs if a in left}, **right}
        left = both
    narrow = told(node.left, left), told(node.right, right)
    if narrow[0] is node.left and narrow[1] is node.right:
        return node
    return replace(node, left=narrow[0], right=narrow[1])


def _asked(table: Node, wanted: Origins) -> Node:
    types = {c.name: c.type for c in table.columns}
    holes = [
        _any(origin, column)
        for column, origin in wanted.items()
        if can_be_listed(types.get(column))
    ]
    condition = all_of(holes[:MOST_COLUMNS])
    return table if condition is None else Filter(table, condition)


def _any(origin: Origin, column: str) -> exp.Expr:
    whole: exp.Expr | None = None
    for stage, key in origin:
        test = among(stage, key, ref(column))
        whole = test if whole is None else exp.Or(this=whole, expression=test)
    return exp.true() if whole is None else exp.paren(whole) if len(origin) > 1 else whole


def _without(wanted: Origins, predicate: exp.Expr) -> dict[str, Origin]:
    """What a filter does not ask for yet."""
    asked = {part.sql() for part in conjuncts(predicate)}
    return {n: o for n, o in wanted.items() if _any(o, n).unnest().sql() not in asked}
