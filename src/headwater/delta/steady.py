"""Tells which columns may come out in other digits when they are computed again from equal rows.

A sum of floating-point numbers depends on the order of its rows, a variance even over integers, a
collected list too. Nothing fixes that order between two refreshes. A rule that computes the old
value again and looks for it among the stored rows, or among rows of another term, may not find it.
Such columns are *loose*, and so is what is computed from them; where rows are kept or dropped by
a loose value, the rows are. What must be found again is then looked for by the other columns.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.sql.build.calls import unwrapped
from headwater.sql.functions import ORDER_DEPENDENT, function_name
from headwater.sql.operators import (
    Aggregate,
    Apply,
    Distinct,
    Filter,
    Generate,
    Join,
    Lateral,
    Limit,
    Node,
    Project,
    Recursive,
    Reshape,
    SetOperation,
    Union,
    Window,
    names_in,
)
from headwater.sql.types import argument_of, decimal_of, type_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_SUMMED_EXACTLY = frozenset({"tinyint", "smallint", "int"})
_PICKED = frozenset(
    {
        *("min", "max", "arg_min", "arg_max", "min_by", "max_by", "mode", "any_value"),
        *("median", "percentile", "percentile_cont", "percentile_disc"),
        *("first", "last", "first_value", "last_value", "nth_value", "lag", "lead"),
        *("percent_rank", "cume_dist"),
    }
)
"""Functions that give one of their values, or a fixed combination of them in a fixed order."""

_SORTS = frozenset({"array_sort", "sort_array"})
_LISTS = frozenset({"array_agg", "collect_list"})
_RANKED = frozenset({"arg_max", "arg_min", "max_by", "min_by"})
"""Ranked by a struct, as in `max_by(x, struct(o, id))`, they pick the same row every time."""


@dataclass(frozen=True)
class Loose:
    """The loose parts of a tree.

    Attributes:
        columns: names of loose columns; names are unique in a tree.
        nodes: the nodes of which not even the number of rows is sure.
    """

    columns: frozenset[str]
    nodes: frozenset[Node]

    def steady(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of some columns that come out the same every time."""
        return tuple(name for name in names if name not in self.columns)

    def touches(self, node: Node, names: Iterable[str]) -> bool:
        """Whether rows of a node, looked at by some of its columns, may come out differently."""
        return node in self.nodes or not self.columns.isdisjoint(names)


STEADY = Loose(frozenset(), frozenset())


def loose(tree: Node) -> Loose:
    """The loose parts of a tree and everything below it."""
    search = _Search()
    search.visit(tree)
    return Loose(frozenset(search.columns), frozenset(search.nodes))


@dataclass
class _Search:
    columns: set[str] = field(default_factory=set)
    nodes: set[Node] = field(default_factory=set)
    unsorted: set[str] = field(default_factory=set)
    structs: set[str] = field(default_factory=set)

    def visit(self, node: Node) -> None:
        for child in node.inputs:  # outer rows before the subqueries that refer to them
            self.visit(child)
        rule = _RULES.get(type(node))
        rows = rule(self, node) if rule else False
        if rows or any(child in self.nodes for child in node.inputs):
            self.nodes.add(node)

    def uses(self, *expressions: exp.Expr | None) -> bool:
        return any(e is not None and not self.columns.isdisjoint(names_in(e)) for e in expressions)

    def holds(self, names: Iterable[str]) -> bool:
        return not self.columns.isdisjoint(names)

    def project(self, node: Project) -> bool:
        for column, e in node.items:
            if isinstance(e, exp.Struct):
                self.structs.add(column.name)
            if self.uses(e) and not self._is_sorted(e):
                self.columns.add(column.name)
                if isinstance(e, exp.Column) and e.name in self.unsorted:
                    self.unsorted.add(column.name)
        return False

    def _is_sorted(self, e: exp.Expr) -> bool:
        """`array_sort(collect_list(x))`: the order of rows is all that was loose."""
        if function_name(e) not in _SORTS:
            return False
        argument = e.expressions[0] if e.expressions else e.this
        return isinstance(argument, exp.Column) and argument.name in self.unsorted

    def filter(self, node: Filter) -> bool:
        return self.uses(node.predicate)

    def join(self, node: Join | Lateral) -> bool:
        return self.uses(node.condition)

    def calls(self, node: Aggregate | Window) -> bool:
        below = node.input in self.nodes
        grouped = isinstance(node, Aggregate)
        types = {c.name: c.type for c in node.input.columns}
        for column, call in node.calls:
            inner = below or self.uses(call)
            name = function_name(_bare(call))
            total = name in _RANKED and not self.structs.isdisjoint(names_in(call))
            if inner or (not total and _is_loose(call, column.type, types.get, grouped=grouped)):
                self.columns.add(column.name)
            if not inner and name in _LISTS:
                self.unsorted.add(column.name)
        return isinstance(node, Aggregate) and self.holds(node.keys)

    def reshape(self, node: Reshape) -> bool:
        below = node.input in self.nodes or self.holds(node.input.names)
        for _, column in node.outputs:
            if below or (not node.unpivot and _has_float(column.type)):
                self.columns.add(column.name)
        return self.holds(node.keys)

    def recursive(self, node: Recursive) -> bool:
        """The step reads its own rows: what is loose in one round is in all."""
        unsure = any(n in self.nodes or self.holds(n.names) for n in node.inputs)
        if unsure:
            self.columns.update(node.names)
        return unsure

    def by_position(self, node: Union | SetOperation) -> bool:
        for branch in node.inputs:
            for theirs, ours in zip(branch.names, node.names, strict=True):
                if theirs in self.columns:
                    self.columns.add(ours)
        return isinstance(node, SetOperation) and self.holds(node.names)

    def distinct(self, node: Distinct) -> bool:
        return self.holds(node.names)

    def limit(self, node: Limit) -> bool:
        return self.uses(*node.order)

    def generate(self, node: Generate) -> bool:
        if not self.uses(node.generator):
            return False
        self.columns.update(c.name for c in node.outputs)
        return True

    def apply(self, node: Apply) -> bool:
        body = node.subquery in self.nodes or self.holds(node.subquery.names)
        if body or self.uses(*node.operands):
            self.columns.add(node.output.name)
        return False


_RULES: dict[type[Node], Callable[..., bool]] = {
    Project: _Search.project,
    Filter: _Search.filter,
    Join: _Search.join,
    Lateral: _Search.join,
    Aggregate: _Search.calls,
    Window: _Search.calls,
    Reshape: _Search.reshape,
    Union: _Search.by_position,
    SetOperation: _Search.by_position,
    Recursive: _Search.recursive,
    Distinct: _Search.distinct,
    Limit: _Search.limit,
    Generate: _Search.generate,
    Apply: _Search.apply,
}


def _is_loose(
    call: exp.Expr, type: str | None, types: Callable[[str], str | None], *, grouped: bool
) -> bool:
    """Whether a function of many rows depends on their order."""
    inner = _bare(call)
    name = function_name(inner)
    if grouped and name in ORDER_DEPENDENT:
        return call.find(exp.Order) is None
    if name in _PICKED or isinstance(inner, exp.Count):
        return False
    if isinstance(inner, exp.Avg):
        summed = type_of(argument_of(inner), types)
        return summed not in _SUMMED_EXACTLY and decimal_of(summed) is None
    return _has_float(type or type_of(call, types))


def _has_float(type: str | None) -> bool:
    return type is None or "double" in type or "float" in type


def _bare(call: exp.Expr) -> exp.Expr:
    """The function of a call, without what stands around it."""
    return unwrapped(call.this if isinstance(call, exp.Window) else call)
