"""Gives the negation of a flag its own subquery.

    SELECT k FROM (SELECT k, k IN (SELECT x FROM r) AS i FROM l) WHERE NOT i

Spark moves the filter to where `i` is computed and reads NOT IN there, for which NULL is unknown;
`i` itself is false where IN is unknown. A delta stores values of `i` before they are negated: it
stores those of NOT IN beside them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.sql.columns import Column, names_in
from headwater.sql.nesting import Apply, SubqueryKind
from headwater.sql.node import transform
from headwater.sql.rebuild import bare, rebuild
from headwater.sql.relations import Filter, Project
from headwater.sql.renew import renewed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headwater.sql.node import Node

_OPPOSITE = {SubqueryKind.IN: SubqueryKind.NOT_IN, SubqueryKind.NOT_IN: SubqueryKind.IN}


def with_denied_flags(tree: Node, fresh: Callable[[str], str]) -> Node:
    """The tree in which no filter negates a value of IN."""
    return transform(tree, lambda node: _rewritten(node, fresh))


def _rewritten(node: Node, fresh: Callable[[str], str]) -> Node:
    if not isinstance(node, Filter):
        return node
    flags = {name for name in names_in(node.predicate) if _is_flag(node.input, name)}
    if not flags:
        return node
    negation = _Negation(flags, fresh)
    predicate = rebuild(node.predicate, negation.moved)
    if not negation.denied:
        return node
    wide = _extended(node.input, negation.denied, fresh)
    kept = tuple((column, column.ref) for column in node.columns)
    return Project(replace(node, input=wide, predicate=predicate), kept)


def _is_flag(node: Node, name: str) -> bool:
    """Whether a column is the value of IN or NOT IN, passed on by projections and filters."""
    if isinstance(node, Apply) and node.output.name == name:
        return node.kind in _OPPOSITE and renewed(node.subquery, str) is not None
    if isinstance(node, Apply | Filter):
        return _is_flag(node.input, name)
    source = _source(node, name) if isinstance(node, Project) else None
    return source is not None and _is_flag(node.inputs[0], source)


def _source(node: Project, name: str) -> str | None:
    """The column of the input that a projection passes on under a name."""
    values = (bare(value) for column, value in node.items if column.name == name)
    return next((value.name for value in values if isinstance(value, exp.Column)), None)


@dataclass
class _Negation:
    """Moves NOT to the flags of a predicate; collects a column for each that is negated."""

    flags: set[str]
    fresh: Callable[[str], str]
    denied: dict[str, Column] = field(default_factory=dict)

    def moved(self, e: exp.Expr) -> exp.Expr | None:
        if isinstance(e, exp.Not):
            return self._negated(bare(e.this))
        if isinstance(e, exp.EQ | exp.NEQ):
            return self._compared(e)
        return None

    def _negated(self, e: exp.Expr) -> exp.Expr | None:
        if self.flags.isdisjoint(names_in(e)):
            return None
        if isinstance(e, exp.Column):
            column = self.denied.get(e.name) or Column(self.fresh(e.name), "boolean")
            self.denied[e.name] = column
            return column.ref
        if isinstance(e, exp.Not):
            return rebuild(e.this, self.moved)
        if not isinstance(e, exp.And | exp.Or):
            return None
        parts = (exp.Not(this=exp.Paren(this=part.copy())) for part in (e.this, e.expression))
        left, right = (rebuild(part, self.moved) for part in parts)
        kind = exp.Or if isinstance(e, exp.And) else exp.And
        return exp.Paren(this=kind(this=left, expression=right))

    def _compared(self, e: exp.EQ | exp.NEQ) -> exp.Expr | None:
        sides = [bare(e.this), bare(e.expression)]
        for side, constant in (sides, reversed(sides)):
            if isinstance(constant, exp.Boolean) and isinstance(side, exp.Column):
                is_negated = bool(constant.this) is not isinstance(e, exp.EQ)
                return self._negated(side) if is_negated else None
        return None


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
    assert isinstance(node, Apply | Filter), "flags are passed on by projections and filters"
    own = denied.get(node.output.name) if isinstance(node, Apply) else None
    others = {name: column for name, column in denied.items() if column is not own}
    made = replace(node, input=_extended(node.input, others, fresh))
    if own is None or not isinstance(made, Apply):
        return made
    again = renewed(made.subquery, fresh)
    assert again is not None, "what cannot be renamed is no flag"
    operands = tuple(operand.copy() for operand in made.operands)
    return Apply(made, again[0], _OPPOSITE[made.kind], own, operands, place=made.place)
