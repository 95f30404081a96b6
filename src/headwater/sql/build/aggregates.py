"""GROUP BY: keys and arguments projected below, the grouping, expressions over it above."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.core.errors import InvalidQuery
from headwater.sql.build.calls import WRAPPERS, Arguments, unwrapped
from headwater.sql.build.decorrelate import free_in
from headwater.sql.build.pending import attach, is_pending, moved_subquery, pending_of
from headwater.sql.build.projection import extended
from headwater.sql.columns import ref
from headwater.sql.functions import AGGREGATES, ORDER_DEPENDENT, function_name
from headwater.sql.grouping import Aggregate, Generate
from headwater.sql.rebuild import bare, rebuild, rebuild_parts

if TYPE_CHECKING:
    from headwater.sql.build.context import Context
    from headwater.sql.columns import Column
    from headwater.sql.node import Node


@dataclass(frozen=True)
class Groups:
    """What a query groups by: key expressions, and grouping sets as positions into them."""

    keys: tuple[exp.Expr, ...]
    sets: tuple[tuple[int, ...], ...] | None = None
    names: tuple[str, ...] = ()
    ast: exp.Expr | None = None


Labels = Mapping[exp.Expr, str]
_Sets = tuple[tuple[str, ...], ...]


def is_aggregate(e: exp.Expr, ctx: Context) -> bool:
    """Whether an expression is one aggregate call, with its FILTER and the like."""
    if isinstance(e, WRAPPERS):
        return is_aggregate(e.this, ctx)
    if isinstance(e, exp.Any) and isinstance(e.parent, exp.Like | exp.ILike):
        return False  # any of some patterns
    if isinstance(e, exp.AggFunc | exp.Any):
        return True
    if not isinstance(e, exp.Anonymous):
        return False
    name = function_name(e)
    fact = ctx.session.lookup.function(name)
    return name in AGGREGATES or (fact is not None and fact.aggregate)


def has_aggregate(e: exp.Expr, ctx: Context) -> bool:
    """Whether an expression needs grouping; a window function itself does not."""
    if isinstance(e, exp.Query):
        return False
    if isinstance(e, exp.Window):
        unit = unwrapped(e.this)
        others = [v for k, v in e.args.items() if k != "this"]
        parts = [*unit.iter_expressions(), *_flat(others)]
        return any(has_aggregate(part, ctx) for part in parts)
    if is_aggregate(e, ctx):
        return True
    return any(has_aggregate(part, ctx) for part in e.iter_expressions())


def _flat(values: list[object]) -> list[exp.Expr]:
    out: list[exp.Expr] = []
    for value in values:
        if isinstance(value, exp.Expr):
            out.append(value)
        elif isinstance(value, list):
            out.extend(_flat(value))
    return out


def grouped(
    node: Node, groups: Groups, expressions: Sequence[exp.Expr], labels: Labels, ctx: Context
) -> tuple[Node, list[exp.Expr]]:
    """Group `node`.

    Args:
        node: the input.
        groups: the keys, resolved over the input.
        expressions: what the query computes over groups, resolved over the input.
        labels: what the query calls its result columns.
        ctx: the definition.

    Returns:
        The node over groups, and the expressions over its columns.
    """
    node, keys = attach(node, groups.keys, ctx)
    grouping = _Grouping(ctx, node, labels)
    key_names = [
        grouping.key(old, new, name)
        for old, new, name in zip(groups.keys, keys, groups.names, strict=True)
    ]
    unique = tuple(dict.fromkeys(key_names))
    sets = _sets(groups, key_names)
    gid = ctx.column("grouping_id", "bigint") if sets is not None else None
    grouping.gid, grouping.keys = gid, unique
    rewritten = [grouping.above(e) for e in expressions]
    place = ctx.place(groups.ast) if groups.ast is not None else None
    below = extended(grouping.arguments.node, grouping.arguments.computed)
    once, times = _counted(sets, unique)
    made = Aggregate(below, unique, tuple(grouping.calls.values()), once, gid, place=place)
    return _repeated(made, times, ctx), rewritten


def _sets(groups: Groups, key_names: list[str]) -> _Sets | None:
    if groups.sets is None:
        return None
    return tuple(tuple(dict.fromkeys(key_names[i] for i in s)) for s in groups.sets)


def _counted(sets: _Sets | None, keys: tuple[str, ...]) -> tuple[_Sets | None, dict[int, int]]:
    """The grouping sets, each once, and how often those are listed that are listed again."""
    if sets is None:
        return None, {}
    listed = Counter(frozenset(chosen) for chosen in sets)
    once = {frozenset(chosen): chosen for chosen in reversed(sets)}
    numbers = {
        chosen: sum(1 << place for place, key in enumerate(reversed(keys)) if key not in chosen)
        for chosen in listed
    }
    times = {numbers[chosen]: n for chosen, n in listed.items() if n > 1}
    return tuple(once[chosen] for chosen in listed), times


def _repeated(node: Aggregate, times: Mapping[int, int], ctx: Context) -> Node:
    """Each row as often as its grouping set is listed: `GROUP BY k, ROLLUP (k)` lists k twice."""
    if not times or node.grouping is None:
        return node
    ifs = [
        exp.If(
            this=exp.EQ(this=node.grouping.ref, expression=exp.Literal.number(number)),
            true=exp.Literal.number(count),
        )
        for number, count in times.items()
    ]
    copies = exp.Case(ifs=ifs, default=exp.Literal.number(1))
    listed = exp.Anonymous(this="array_repeat", expressions=[exp.Literal.number(0), copies])
    return Generate(node, exp.Explode(this=listed), False, (ctx.column("copy", "int"),))


@dataclass
class _Grouping:
    """Collects the keys and calls of one grouping while expressions are rewritten over it."""

    ctx: Context
    node: Node
    labels: Labels
    arguments: Arguments = field(init=False)
    matches: dict[exp.Expr, str] = field(default_factory=dict)
    calls: dict[exp.Expr, tuple[Column, exp.Expr]] = field(default_factory=dict)
    ordered: set[exp.Expr] = field(default_factory=set)
    keys: tuple[str, ...] = ()
    gid: Column | None = None

    def __post_init__(self) -> None:
        self.arguments = Arguments(self.node, self.ctx)

    def key(self, written: exp.Expr, resolved: exp.Expr, name: str) -> str:
        column = self.arguments.column(bare(resolved), name)
        self.matches[bare(written)] = column
        return column

    def above(self, e: exp.Expr) -> exp.Expr:
        return rebuild(e, self._change)

    def _change(self, e: exp.Expr) -> exp.Expr | None:
        key = self.matches.get(bare(e))
        if key is not None:
            return ref(key)
        if isinstance(e, exp.Window):
            return self._window(e)
        if isinstance(e, exp.Grouping | exp.GroupingId):
            return self._grouping_value(e)
        if is_aggregate(e, self.ctx):
            return self._call(e)
        if is_pending(e):
            return self._subquery(e)
        if function_name(e) in ("array_sort", "sort_array"):
            return self._sorted(e)
        if isinstance(e, exp.Column) and e.name in self.node.names:
            raise self._ungrouped(e.name, e)
        return None

    def _ungrouped(self, name: str, at: exp.Expr | None) -> Exception:
        return self.ctx.error(
            InvalidQuery,
            f"column {name!r} is neither grouped nor aggregated",
            at,
            f"add it to GROUP BY, or use any_value({name})",
        )

    def _subquery(self, e: exp.Expr) -> exp.Expr:
        """A subquery over groups may use keys; a computed key is a column there."""
        known = {written: ref(key) for written, key in self.matches.items()}
        moved = moved_subquery(e, self.above, lambda part: known.get(bare(part)), self.ctx)
        outer = free_in(pending_of(moved, self.ctx).built.node)
        for name in sorted(outer & set(self.node.names) - set(self.keys)):
            raise self._ungrouped(name, None)
        return moved

    def _window(self, e: exp.Window) -> exp.Expr:
        args = {k: _each(v, self.above) for k, v in e.args.items() if k != "this"}
        return exp.Window(this=self._inside(e.this), **args)

    def _inside(self, unit: exp.Expr) -> exp.Expr:
        if isinstance(unit, WRAPPERS):
            args = {k: _each(v, self.above) for k, v in unit.args.items() if k != "this"}
            return unit.__class__(this=self._inside(unit.this), **args)
        return rebuild_parts(unit, self._change)

    def _call(self, e: exp.Expr) -> exp.Expr:
        known = self.calls.get(e)
        if known is None:
            inner = unwrapped(e)
            self._check_order(e, inner)
            if any(has_aggregate(part, self.ctx) for part in inner.iter_expressions()):
                raise self.ctx.error(InvalidQuery, "an aggregate cannot contain another", e)
            call = self.arguments.projected(e)
            label = self.labels.get(e) or function_name(inner)
            known = (self.ctx.computed(label, call), call)
            self.calls[e] = known
        return ref(known[0].name)

    def _sorted(self, e: exp.Expr) -> exp.Expr | None:
        """`array_sort(collect_list(x))` does not depend on the order of rows."""
        argument = e.expressions[0] if e.expressions else e.this
        if isinstance(argument, exp.Expr) and is_aggregate(argument, self.ctx):
            self.ordered.add(argument)
        return rebuild_parts(e, self._change)

    def _check_order(self, e: exp.Expr, inner: exp.Expr) -> None:
        name = function_name(inner)
        if name not in ORDER_DEPENDENT or e.find(exp.Order, exp.Struct) or e in self.ordered:
            return
        self.ctx.note(
            "ORDER_AGG",
            f"{_shown(name)}() depends on the order of rows",
            "use a form that does not, e.g. array_sort(collect_list(x)), max_by(x, struct(o, id))",
            inner,
            "warning",
        )

    def _grouping_value(self, e: exp.Expr) -> exp.Expr:
        if self.gid is None:
            raise self.ctx.error(InvalidQuery, "grouping() needs GROUPING SETS, ROLLUP or CUBE", e)
        if isinstance(e, exp.GroupingId):
            return ref(self.gid.name)
        asked = e.expressions[0] if e.expressions else e.this
        key = self.matches.get(bare(asked))
        if key is None:
            raise self.ctx.error(InvalidQuery, "grouping() needs a grouping column", e)
        shift = len(self.keys) - 1 - self.keys.index(key)
        shifted = exp.Anonymous(
            this="shiftright", expressions=[ref(self.gid.name), exp.Literal.number(shift)]
        )
        bit = exp.Paren(this=exp.BitwiseAnd(this=shifted, expression=exp.Literal.number(1)))
        return exp.cast(bit, "tinyint", dialect="spark")


def _shown(name: str) -> str:
    return {
        "arg_max": "max_by",
        "arg_min": "min_by",
        "array_agg": "collect_list",
        "array_unique_agg": "collect_set",
    }.get(name, name)


def _each(value: object, change: object) -> object:
    if isinstance(value, exp.Expr):
        return change(value)  # type: ignore[operator]
    if isinstance(value, list):
        return [_each(part, change) for part in value]
    return value
