"""Gives the negation of a flag its own subquery.

    SELECT k FROM (SELECT k, k IN (SELECT x FROM r) AS i FROM l) WHERE NOT i

Spark moves the filter to where `i` is computed and reads NOT IN there, for which NULL is unknown;
`i` itself is false where IN is unknown. A delta stores values of `i` before they are negated: it
stores those of NOT IN beside them.

Spark moves filters and conditions of joins through all relations that keep their meaning. It merges
a projection with the one below it, unless a computed column would be computed twice. Where it does
not, NOT COALESCE(i, FALSE) says so: the statements of a delta are merged in other places.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.sql.columns import Column, names_in
from headwater.sql.grouping import Aggregate, Window
from headwater.sql.negation import moved_inwards
from headwater.sql.nesting import Apply, SubqueryKind
from headwater.sql.node import transform
from headwater.sql.rebuild import bare, conjunction, conjuncts, rebuild, rebuild_parts
from headwater.sql.relations import Distinct, Filter, Join, JoinKind, Project, Union
from headwater.sql.renew import renewed
from headwater.sql.select_block import substituted
from headwater.sql.totality import can_fail

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    Change = Callable[[exp.Expr], exp.Expr | None]

    from headwater.sql.node import Node

_OPPOSITE = {SubqueryKind.IN: SubqueryKind.NOT_IN, SubqueryKind.NOT_IN: SubqueryKind.IN}
_FILTERED_LEFT = (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)
_FILTERED_RIGHT = (JoinKind.INNER, JoinKind.RIGHT)
_CONDITION_OF_LEFT = (JoinKind.INNER, JoinKind.RIGHT, JoinKind.SEMI)
_CONDITION_OF_RIGHT = (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)
_NARROWED = {
    (JoinKind.LEFT, 1): JoinKind.INNER,
    (JoinKind.RIGHT, 0): JoinKind.INNER,
    (JoinKind.FULL, 0): JoinKind.LEFT,
    (JoinKind.FULL, 1): JoinKind.RIGHT,
}
_NO_ARGUMENTS: Mapping[str, bool] = {}
_NEGATIONS = (exp.Not, exp.EQ, exp.NEQ)
_CHEAP = (exp.Column, exp.Literal, exp.Boolean, exp.Null, exp.Dot, exp.Bracket)


def has_flags(tree: Node) -> bool:
    """Whether a tree computes values of IN."""
    return any(isinstance(node, Apply) and node.kind in _OPPOSITE for node in tree.walk())


def with_denied_flags(tree: Node, fresh: Callable[[str], str]) -> Node:
    """The tree in which no filter, condition or projection negates a value of IN."""
    tree = transform(tree, lambda node: _rewritten(node, fresh))
    return _computed(tree, _NO_ARGUMENTS, fresh)


def _rewritten(node: Node, fresh: Callable[[str], str]) -> Node:
    kinds = _arguments(node) if isinstance(node, Aggregate) else _NO_ARGUMENTS
    inputs = [_computed(below, kinds, fresh) for below in node.inputs]
    if any(new is not old for new, old in zip(inputs, node.inputs, strict=True)):
        node = node.with_inputs(inputs)
    if isinstance(node, Filter):
        return _filtered(node, fresh)
    if isinstance(node, Aggregate):
        flags = _flags(node.input, node.expressions)
        return node.map_expressions(lambda e: _settled(e, flags))
    return _joined(node, fresh) if isinstance(node, Join) else node


def _filtered(node: Filter, fresh: Callable[[str], str]) -> Node:
    """The filter, its conjuncts that negate flags moved to where the flags are computed."""
    below, kept = _passed(node.input, conjuncts(node.predicate), fresh)
    if below is node.input:
        return node
    predicate = conjunction(kept)
    return below if predicate is None else replace(node, input=below, predicate=predicate)


def _joined(node: Join, fresh: Callable[[str], str]) -> Node:
    """The join, conjuncts of its condition that negate flags of one side moved into that side."""
    kept, sides = list(conjuncts(node.condition)), list(node.inputs)
    for i, kinds in enumerate((_CONDITION_OF_LEFT, _CONDITION_OF_RIGHT)):
        if node.kind in kinds:
            own = [p for p in kept if names_in(p) and names_in(p) <= set(sides[i].names)]
            others = [p for p in kept if p not in own]
            sides[i], stay = _passed(sides[i], own, fresh)
            kept = [*others, *stay] if len(stay) < len(own) else kept
    if len(kept) == len(list(conjuncts(node.condition))):
        return node
    condition = conjunction(kept) or exp.true()
    return replace(node, left=sides[0], right=sides[1], condition=condition)


def _passed(
    node: Node, parts: Iterable[exp.Expr], fresh: Callable[[str], str]
) -> tuple[Node, list[exp.Expr]]:
    """The relation filtered by the conjuncts that negate flags of it, and the other conjuncts."""
    kept = list[exp.Expr]()
    for part in parts:
        moved = _moved(node, part, fresh)
        if moved is None:
            kept.append(part)
        else:
            node = moved
    return node, kept


def _moved(node: Node, part: exp.Expr, fresh: Callable[[str], str]) -> Node | None:
    """The rows of a relation that pass; None if the conjunct negates no flag of the relation."""
    if isinstance(node, Project):
        items = {column.name: value for column, value in node.items}
        return _over(node, 0, substituted(part, items), fresh)
    used = names_in(part)
    if isinstance(node, Apply) or _is_passing(node):
        tested = _tested(node, part, fresh)
        if tested is not None:
            return tested
    if can_fail(part, {c.name: c.type for c in node.columns}.get):
        return None  # below, it would meet rows that are dropped there
    if isinstance(node, Apply | Filter | Distinct):
        return _over(node, 0, part, fresh)
    if isinstance(node, Aggregate | Window):
        return _over(node, 0, part, fresh) if used and used <= _groups(node) else None
    if isinstance(node, Join) and used:
        return _beside(node, part, fresh)
    return _union(node, part, fresh) if isinstance(node, Union) else None


def _groups(node: Aggregate | Window) -> set[str]:
    """The columns whose values are the same in all rows that are computed together."""
    if isinstance(node, Aggregate):
        return set(node.keys) if node.sets is None else set()
    shared = set(node.names)
    for _, call in node.calls:
        parts = (bare(part) for part in call.args.get("partition_by") or ())
        shared &= {part.name for part in parts if isinstance(part, exp.Column)}
    return shared


def _beside(node: Join, part: exp.Expr, fresh: Callable[[str], str]) -> Node | None:
    """The join of filtered sides. Rows that an outer join fills with NULL do not pass a NOT."""
    used = names_in(part)
    side = 0 if used <= set(node.left.names) else 1
    if not used <= set(node.inputs[side].names):
        return None
    if node.kind in (_FILTERED_LEFT, _FILTERED_RIGHT)[side]:
        return _over(node, side, part, fresh)
    narrower = _NARROWED.get((node.kind, side)) if _is_plain_negation(part) else None
    return _over(replace(node, kind=narrower), side, part, fresh) if narrower else None


def _is_plain_negation(part: exp.Expr) -> bool:
    """Whether a conjunct says NOT of one column, however it is written."""
    e: exp.Expr | None = part
    while e is not None:
        e = bare(e)
        if isinstance(e, exp.Not) and isinstance(bare(e.this), exp.Column):
            return True
        e = moved_inwards(e)
    return False


def _over(node: Node, which: int, part: exp.Expr, fresh: Callable[[str], str]) -> Node | None:
    moved = _moved(node.inputs[which], part, fresh)
    if moved is None:
        return None
    return node.with_inputs([moved if i == which else n for i, n in enumerate(node.inputs)])


def _union(node: Union, part: exp.Expr, fresh: Callable[[str], str]) -> Node | None:
    branches, is_moved = [], False
    for branch in node.branches:
        pairs = zip(node.names, branch.columns, strict=True)
        own = substituted(part, {name: column.ref for name, column in pairs})
        moved = _moved(branch, own, fresh)
        is_moved = is_moved or moved is not None
        branches.append(moved if moved is not None else Filter(branch, own))
    return node.with_inputs(branches) if is_moved else None


def _tested(node: Node, part: exp.Expr, fresh: Callable[[str], str]) -> Node | None:
    negation = _Negation(_flags(node, [part]), fresh)
    predicate = rebuild(part, negation.moved)
    if not negation.denied:
        return None
    passed = Filter(_extended(node, negation.denied, fresh), predicate, place=node.place)
    return Project(passed, tuple((column, column.ref) for column in node.columns))


def _arguments(node: Aggregate) -> Mapping[str, bool]:
    """The arguments of aggregate functions, and whether Spark computes them below.

    An aggregation computes them itself, and is merged with nothing. COUNT_IF needs its argument
    twice, which is therefore computed where its columns are.
    """
    calls = [call for _, call in node.calls]
    below = {c.this.name for call in calls for c in call.find_all(exp.CountIf)}
    read = {name for call in calls for name in names_in(call)} - set(node.keys)
    return {name: name in below for name in read}


def _computed(node: Node, arguments: Mapping[str, bool], fresh: Callable[[str], str]) -> Node:
    """A projection with negations of flags that are computed below it."""
    if not isinstance(node, Project):
        return node
    values = [value for _, value in node.items]
    flags = _flags(node.input, values)
    if not flags:
        return node
    negation = _Negation({n for n in flags if _is_merged_flag(node.input, n, values)}, fresh)
    always = _Negation(flags, fresh, negation.denied)
    ways: dict[bool | None, Change] = {
        None: negation.moved,
        True: always.moved,
        False: lambda e: None,
    }
    items = tuple(
        (c, _settled(rebuild(value, ways[arguments.get(c.name)]), flags)) for c, value in node.items
    )
    return replace(node, input=_extended(node.input, negation.denied, fresh), items=items)


def _flags(node: Node, expressions: Iterable[exp.Expr]) -> set[str]:
    """The columns that are flags of a relation, of those that expressions read."""
    return {name for e in expressions for name in names_in(e) if _is_flag(node, name)}


def _is_flag(node: Node, name: str) -> bool:
    """Whether a column is the value of IN or NOT IN, passed on as it is."""
    if isinstance(node, Apply) and node.output.name == name:
        return node.kind in _OPPOSITE and renewed(node.subquery, str) is not None
    if isinstance(node, Apply) or _is_passing(node):
        return _is_flag(node.inputs[0], name)
    source = _source(node, name) if isinstance(node, Project) else None
    return source is not None and _is_flag(node.inputs[0], source)


def _is_passing(node: Node) -> bool:
    """Whether a relation gives some rows of its first input as they are."""
    return isinstance(node, Filter) or (
        isinstance(node, Join) and node.kind in (JoinKind.SEMI, JoinKind.ANTI)
    )


def _is_merged_flag(node: Node, name: str, values: Sequence[exp.Expr]) -> bool:
    """Whether a flag is computed where the values that read it are."""
    if _is_passing(node):
        return _is_merged_flag(node.inputs[0], name, values)
    if isinstance(node, Apply) and node.output.name != name:
        return _is_merged_flag(node.input, name, [*values, *node.operands])
    if isinstance(node, Apply):
        return _reads(values)[name] < 2
    if not isinstance(node, Project) or not _is_read_once(node, values):
        return False
    source = _source(node, name)
    if source is None:
        return False
    return _is_merged_flag(node.input, source, [value for _, value in node.items])


def _is_read_once(node: Project, values: Sequence[exp.Expr]) -> bool:
    """Whether no column that a projection computes is read twice."""
    read = _reads(values)
    computed = (column.name for column, value in node.items if _is_computed(node.input, value))
    return all(read[name] < 2 for name in computed)


def _reads(values: Iterable[exp.Expr]) -> Counter[str]:
    return Counter(column.name for value in values for column in value.find_all(exp.Column))


def _is_computed(node: Node, value: exp.Expr) -> bool:
    value = bare(value)
    if not isinstance(value, exp.Column):
        return not isinstance(value, _CHEAP) and bool(names_in(value))
    while _is_passing(node):
        node = node.inputs[0]
    if isinstance(node, Apply):
        return node.output.name == value.name or _is_computed(node.input, value)
    if isinstance(node, Project):
        made = next((made for column, made in node.items if column.name == value.name), value)
        return _is_computed(node.input, made)
    return False


def _source(node: Project, name: str) -> str | None:
    """The column of the input that a projection passes on under a name."""
    values = (bare(value) for column, value in node.items if column.name == name)
    return next((value.name for value in values if isinstance(value, exp.Column)), None)


def _settled(e: exp.Expr, flags: set[str]) -> exp.Expr:
    """The expression in which NOT cannot be moved into a flag."""

    def value(part: exp.Expr) -> exp.Expr | None:
        if isinstance(part, exp.Column) and part.name in flags:
            return exp.Coalesce(this=part.copy(), expressions=[exp.false()])
        return None

    def negated(part: exp.Expr) -> exp.Expr | None:
        return rebuild_parts(part, value) if isinstance(part, _NEGATIONS) else None

    return e if flags.isdisjoint(names_in(e)) else rebuild(e, negated)


@dataclass
class _Negation:
    """Moves NOT to the flags of an expression; collects a column for each that is negated."""

    flags: set[str]
    fresh: Callable[[str], str]
    denied: dict[str, Column] = field(default_factory=dict)

    def moved(self, e: exp.Expr) -> exp.Expr | None:
        if not isinstance(e, _NEGATIONS) or self.flags.isdisjoint(names_in(e)):
            return None
        inner = bare(e.this)
        if isinstance(e, exp.Not) and isinstance(inner, exp.Column):
            column = self.denied.get(inner.name) or Column(self.fresh(inner.name), "boolean")
            self.denied[inner.name] = column
            return column.ref
        inwards = moved_inwards(e)
        return rebuild(inwards, self.moved) if inwards is not None else None


def _extended(node: Node, denied: Mapping[str, Column], fresh: Callable[[str], str]) -> Node:
    """The node with one more column for the negation of each flag."""
    if not denied:
        return node
    if isinstance(node, Project):
        sources = {name: str(_source(node, name)) for name in denied}
        below = {s: Column(fresh(s), "boolean") for s in dict.fromkeys(sources.values())}
        more = tuple((column, below[sources[name]].ref) for name, column in denied.items())
        wide = _extended(node.input, below, fresh)
        return replace(node, input=wide, items=(*node.items, *more))
    own = denied.get(node.output.name) if isinstance(node, Apply) else None
    others = {name: column for name, column in denied.items() if column is not own}
    made = node.with_inputs([_extended(node.inputs[0], others, fresh), *node.inputs[1:]])
    if own is None or not isinstance(made, Apply):
        return made
    again = renewed(made.subquery, fresh)
    assert again is not None, "what cannot be renamed is no flag"
    operands = tuple(operand.copy() for operand in made.operands)
    return Apply(made, again[0], _OPPOSITE[made.kind], own, operands, place=made.place)
