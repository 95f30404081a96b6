"""Broken rules: each mutant replaces functions of the compiler, and the suite must notice.

`MUTANTS` has one entry per way of being wrong that the delta rules know of; `ELSEWHERE` lists those
that no rule here can have, and why.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from sqlglot import exp

import headwater.delta.compile as compiling
from headwater.delta import (
    affected,
    among,
    change,
    flips,
    once,
    physical,
    predicates,
    restrict,
    state,
    statements,
)
from headwater.delta.apply import bag
from headwater.delta.apply import keyed as apply_keyed
from headwater.delta.apply import state as apply_state
from headwater.delta.change import Delta, added, big, difference, weighted
from headwater.delta.context import DeltaContext
from headwater.delta.rules import (
    aggregate,
    apply,
    distinct,
    generate,
    inner_join,
    lateral,
    limit,
    outer_join,
    recursive,
    scan,
    set_operation,
    union,
)
from headwater.sql import totality
from headwater.sql.build import filters
from headwater.sql.operators import (
    WEIGHT,
    At,
    Distinct,
    Filter,
    Join,
    JoinKind,
    Limit,
    Project,
    Scan,
    SetOperation,
    Union,
    ref,
    transform,
)

Patch = pytest.MonkeyPatch
Exam = Callable[[], None]


@dataclass(frozen=True)
class Mutant:
    """One way of being wrong.

    Attributes:
        shapes: queries of `shapes.sql` that should show it.
        scenarios: scenarios that should show it.
        exams: tests of special shapes that should show it, by name.
    """

    name: str
    broken: Callable[[Patch], None]
    shapes: tuple[str, ...] = ()
    scenarios: tuple[str, ...] = ()
    exams: tuple[str, ...] = ()


MUTANTS: dict[str, Mutant] = {}
ELSEWHERE = {
    "EXCEPT counters dropped at 0": "no counters are stored: both sides are counted afresh",
    "moved row's old partition forgotten": (
        "the old partition is known from the −1 image only: see affected keys from inserts only"
    ),
    "COUNT bug": "no scalar subquery is turned into a join: it is evaluated as written (E67)",
    "start version v0 instead of v0+1": "a window of headwater.sources: test_mutants_on_spark.py",
    "frontier advanced on failure": "written by headwater.refresh: test_mutants_on_spark.py",
}

# Every way of being wrong that the suite has to know, and the mutants that stand for it.
WANTED: dict[str, tuple[str, ...]] = {
    "inner join with both sides new": ("inner join with both sides new",),
    "old side read live": ("old side read live",),
    "ΔR⁰ missing in left join": ("L⁰ ⋈ ΔR missing in left join",),
    "flips without R⁰ guard": ("flips without R⁰ guard",),
    "= instead of <=>": ("= instead of <=> in MERGE", "= instead of <=> in affected keys"),
    "NOT IN as plain anti join": (
        "NOT IN as plain anti join",
        "NOT IN of several values as plain anti join",
    ),
    "tuple IN on first column only": ("tuple IN on first column only",),
    "SUM null→0": ("SUM of nothing is 0",),
    "group deleted when sum = 0": ("group deleted when its sum is 0",),
    "group kept when count = 0": ("group kept when its count is 0",),
    "MIN without netting": ("MIN without netting",),
    "MIN ignoring deletes": ("MIN ignoring deletes",),
    "AVG = avg of avgs": ("AVG as average of averages",),
    "COUNT(DISTINCT) added": ("COUNT(DISTINCT) added",),
    "HAVING applied to Δ": ("HAVING applied to Δ",),
    "ROLLUP without gid": ("ROLLUP without grouping id",),
    "EXCEPT ALL as ΔL−ΔR": ("EXCEPT ALL as ΔL − ΔR",),
    "EXCEPT counters dropped at 0": ("EXCEPT counters dropped at 0",),
    "DISTINCT ignoring non-crossing": ("DISTINCT ignoring non-crossing",),
    "window affected set from inserts only": ("affected keys from inserts only",),
    "moved row's old partition forgotten": ("moved row's old partition forgotten",),
    "top-k without refill": ("top-k without refill",),
    "COUNT bug": ("COUNT bug",),
    "scalar change ignored for untouched rows": ("scalar change ignored for untouched rows",),
    "self-join leg merged": ("self-join leg merged",),
    "CTE delta counted once": ("CTE delta counted once for two references",),
    "MERGE source un-netted": ("MERGE source un-netted",),
    "keyless delete by value": ("keyless delete by value",),
    "netting skipped on no-op update": ("netting skipped on no-op update",),
    "start version v0": ("start version v0 instead of v0+1",),
    "frontier advanced on failure": ("frontier advanced on failure",),
    "weight × decimal typed to scale 6": ("weight × decimal typed to scale 6",),
    "float SUM algebraic": ("float SUM algebraic",),
}


def mutant(
    name: str, *shapes: str, scenarios: tuple[str, ...] = (), exams: tuple[str, ...] = ()
) -> Callable[[Callable[[Patch], None]], Callable[[Patch], None]]:
    def add(broken: Callable[[Patch], None]) -> Callable[[Patch], None]:
        MUTANTS[name] = Mutant(name, broken, shapes, scenarios, exams)
        return broken

    return add


def put(patch: Patch, old: Any, new: Any) -> None:
    """Put a function in the place of another wherever the compiler names it."""
    found = 0
    for name, module in list(sys.modules.items()):
        if not name.startswith("headwater."):
            continue
        for attribute, value in list(vars(module).items()):
            if value is old:
                patch.setattr(module, attribute, new)
                found += 1
            elif isinstance(value, dict) and attribute.isupper():
                for key in [k for k, v in value.items() if v is old]:
                    patch.setitem(value, key, new)
                    found += 1
    assert found, f"nobody uses {old.__name__}"


class Seen:
    """A context that answers some questions otherwise."""

    def __init__(self, ctx: DeltaContext, **answers: Any) -> None:
        self._ctx = ctx
        self.__dict__.update(answers)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ctx, name)


def equal(pairs: list[tuple[exp.Expr, exp.Expr]]) -> exp.Expr:
    whole: exp.Expr = exp.true()
    for a, b in pairs:
        whole = exp.And(this=whole, expression=exp.EQ(this=a, expression=b))
    return whole


NEVER = exp.false()
_CAME = exp.GT(this=ref(WEIGHT), expression=exp.Literal.number(0))
_WENT = exp.LT(this=ref(WEIGHT), expression=exp.Literal.number(0))


def tables_of(node: Any) -> frozenset[Any]:
    return frozenset(n.table for n in node.walk() if isinstance(n, Scan))


# Joins


@mutant("inner join with both sides new", "inner", "cross", "self_join")
def _(patch: Patch) -> None:
    rule = inner_join.delta
    put(patch, rule, lambda node, ctx: rule(node, Seen(ctx, old=ctx.new)))


@mutant("old side read live", "semi", "left", "group_group")
def _(patch: Patch) -> None:
    patch.setattr(DeltaContext, "old", lambda self, node: node)


@mutant("L⁰ ⋈ ΔR missing in left join", "left")
def _(patch: Patch) -> None:
    rule = outer_join._of_right
    put(patch, rule, lambda node, right, ctx: Filter(rule(node, right, ctx), NEVER))


@mutant("left join matches ΔR with L¹", "left", "full")
def _(patch: Patch) -> None:
    rule = outer_join._of_right
    put(patch, rule, lambda node, right, ctx: rule(node, right, Seen(ctx, old=ctx.new)))


@mutant("right rows without partner looked up in L⁰", "full", "right")
def _(patch: Patch) -> None:
    rule = outer_join._of_right
    put(patch, rule, lambda node, right, ctx: rule(node, right, Seen(ctx, new=ctx.old)))


@mutant("flips without R⁰ guard", "semi", "anti", "left")
def _(patch: Patch) -> None:
    def unguarded(kept: Any, other: Any, change: Delta, condition: Any, ctx: Any) -> flips.Flips:
        touched = Join(ctx.old(kept), change.tree, JoinKind.SEMI, condition)
        gained = Join(touched, ctx.new(other), JoinKind.SEMI, condition)
        return flips.Flips(gained, Join(touched, ctx.new(other), JoinKind.ANTI, condition))

    put(patch, flips.flips, unguarded)


@mutant("last partner's end ignored", "semi", "anti", "left_where")
def _(patch: Patch) -> None:
    rule = flips.flips
    put(patch, rule, lambda *given: flips.Flips(rule(*given).gained, None))


@mutant("self-join leg merged", "self_join", "self_join_three")
def _(patch: Patch) -> None:
    put_once(patch, inner_join.delta)


@mutant("CTE delta counted once for two references", "cte_union", "union_all")
def _(patch: Patch) -> None:
    put_once(patch, union.delta)


def put_once(patch: Patch, rule: Callable[[Any, Any], Delta]) -> None:
    """The rule sees the delta of each set of tables only the first time it asks."""

    def once(node: Any, ctx: DeltaContext) -> Delta:
        told: set[Any] = set()

        def first(part: Any) -> Delta | None:
            if tables_of(part) in told:
                return None
            told.add(tables_of(part))
            return ctx.delta(part)

        return rule(node, Seen(ctx, delta=first))

    put(patch, rule, once)


# Equality


@mutant("= instead of <=> in MERGE", "group_sum", "group_double")
def _(patch: Patch) -> None:
    put(
        patch,
        statements.matched,
        lambda pairs, *_: equal(
            [(statements.of_target(a), statements.of_source(b)) for a, b in pairs]
        ),
    )


@mutant("= instead of <=> in affected keys", "group_group", "window", "join_distinct")
def _(patch: Patch) -> None:
    put(
        patch,
        predicates.matches,
        lambda columns, keys: equal([(ref(c), ref(k)) for c, k in zip(columns, keys, strict=True)]),
    )


@mutant("NOT IN as plain anti join", "not_in")
def _(patch: Patch) -> None:
    rule = filters._not_in

    def plain(*given: Any) -> Any:
        found = rule(*given)
        return Filter(found.input, exp.true())

    put(patch, rule, plain)


@mutant("NOT IN of several values as plain anti join", "not_in_tuple")
def _(patch: Patch) -> None:
    rule = filters._matches
    put(patch, rule, lambda value, kind, members: rule(value, filters.SubqueryKind.IN, members))


@mutant("tuple IN on first column only", "in_tuple")
def _(patch: Patch) -> None:
    rule = filters._matches
    put(patch, rule, lambda *given: rule(*given)[:1])


# Aggregates


@mutant("SUM of nothing is 0", "group_sum", "global")
def _(patch: Patch) -> None:
    put(patch, state._sum, lambda plan, argument, inner: state._total(plan, argument, inner))


@mutant("group deleted when its sum is 0", "group_sum", scenarios=("E41",))
def _(patch: Patch) -> None:
    def emptied(stored: physical.State) -> exp.Expr:
        slot = next((s for s in stored.plan.slots if "_s" in s.name), stored.plan.slots[0])
        total = apply_state._combined(stored, slot)
        return exp.EQ(this=total, expression=exp.Literal.number(0))

    put(patch, apply_state._emptied, emptied)


@mutant("group kept when its count is 0", "group_sum", "distinct")
def _(patch: Patch) -> None:
    put(patch, apply_state._emptied, lambda stored: NEVER.copy())
    put(patch, apply_state._at_least, lambda count, least: count)


@mutant("MIN ignoring deletes", "group_min")
def _(patch: Patch) -> None:
    put(patch, compiling._can_merge, lambda root, ctx: True)


@mutant("MIN without netting", "group_min")
def _(patch: Patch) -> None:
    rule = state._extremum

    def of_rows_that_came(plan: Any, call: exp.Expr, argument: exp.Expr) -> exp.Expr:
        found = rule(plan, call, argument)
        slot = plan.slots[-1]
        came = exp.Case(ifs=[exp.If(this=_CAME.copy(), true=argument.copy())])
        plan.slots[-1] = replace(slot, window=type(slot.window)(this=came))
        return found

    put(patch, rule, of_rows_that_came)
    put(patch, compiling._can_merge, lambda root, ctx: True)


@mutant("AVG as average of averages", "group_avg")
def _(patch: Patch) -> None:
    def average(plan: state.StatePlan, argument: exp.Expr, inner: str | None) -> exp.Expr:
        part = exp.Avg(this=argument.copy())
        mean = plan.slot("a", f"a {argument}", state.Slot("", part, part.copy()))
        one = exp.Max(this=exp.Literal.number(1))
        times = plan.slot("t", f"t {argument}", state.Slot("", one, one.copy()))
        return exp.Div(this=mean, expression=times)

    put(patch, state._average, average)


@mutant("COUNT(DISTINCT) added", "group_distinct")
def _(patch: Patch) -> None:
    rule = state._value

    def value(plan: Any, column: Any, call: exp.Expr, types: Any) -> exp.Expr | None:
        if call.find(exp.Distinct) is None:
            return rule(plan, column, call, types)
        return plan.slot("q", call.sql(), state.Slot("", call.copy(), call.copy()))

    put(patch, rule, value)


@mutant("HAVING applied to Δ", "having", "global_having")
def _(patch: Patch) -> None:
    rule = apply_keyed.restrict

    def of_changes(node: Any, columns: Any, keys: Any) -> Any:
        def changed(found: Any) -> Any:
            if not isinstance(found, Scan):
                return found
            rows = Filter(replace(found, at=At.DELTA), _CAME.copy())
            return Project(rows, change.passed(found.columns))

        return rule(transform(node, changed), columns, keys)

    patch.setattr(apply_keyed, "restrict", of_changes)


@mutant("ROLLUP without grouping id", "rollup", scenarios=("E57",))
def _(patch: Patch) -> None:
    put(patch, aggregate.keys, lambda node: node.keys)


@mutant("weight × decimal typed to scale 6", exams=("decimals",))
def _(patch: Patch) -> None:
    def lossy(argument: exp.Expr, scale: int) -> exp.Expr:
        product = exp.Mul(this=ref(WEIGHT), expression=exp.Paren(this=argument.copy()))
        return change.cast(product, "decimal(38,6)")

    put(patch, state._weighted_decimal, lossy)


@mutant("float SUM algebraic", scenarios=("E51", "E52"))
def _(patch: Patch) -> None:
    rule = state._total

    def total(plan: Any, argument: exp.Expr, inner: str | None) -> exp.Expr | None:
        if inner != "double":
            return rule(plan, argument, inner)
        part = exp.Sum(this=exp.Mul(this=ref(WEIGHT), expression=argument.copy()))
        whole = exp.Sum(this=argument.copy())
        zero = [exp.Literal.number(0)]
        slot = state.Slot(
            "",
            exp.Coalesce(this=part, expressions=zero),
            exp.Coalesce(this=whole, expressions=[z.copy() for z in zero]),
        )
        return plan.slot("s", f"sum {argument}", slot)

    put(patch, rule, total)


# DISTINCT, set operations, windows, limits


@mutant("EXCEPT ALL as ΔL − ΔR", "except_all", "intersect_all")
def _(patch: Patch) -> None:
    def linear(node: SetOperation, ctx: DeltaContext) -> Delta:
        parts = []
        for side, sign in ((node.left, 1), (node.right, -1)):
            found = ctx.delta(side)
            if found is None:
                continue
            items = [(c, ref(n)) for c, n in zip(node.schema, side.names, strict=True)]
            weight = exp.Mul(this=ref(WEIGHT), expression=big(sign))
            parts.append(Project(found.tree, (*items, (change.WEIGHT_COLUMN, weight))))
        return Delta(added(parts, node.columns))

    put(patch, set_operation.delta, linear)
    as_bag(patch, SetOperation)


def as_bag(patch: Patch, kind: type) -> None:
    rule = physical._identity
    plain = physical.LayoutKind.BAG, ()
    put(patch, rule, lambda core: plain if isinstance(core, kind) else rule(core))


@mutant("DISTINCT ignoring non-crossing", "join_distinct", "distinct_expression")
def _(patch: Patch) -> None:
    put(patch, distinct.delta, lambda node, ctx: ctx.change(node.input))


@mutant("affected keys from inserts only", "window", "group_double", "row_number")
def _(patch: Patch) -> None:
    came = affected._parts

    def parts(node: Any, columns: Any, ctx: DeltaContext) -> list[Any]:
        def change_of(part: Any) -> Delta:
            found = ctx.change(part)
            return replace(found, tree=Filter(found.tree, _CAME.copy()))

        return came(node, columns, Seen(ctx, change=change_of))

    put(patch, came, parts)


@mutant("top-k without refill", "top", "top_offset")
def _(patch: Patch) -> None:
    def no_refill(node: Limit, ctx: DeltaContext) -> Delta:
        found = ctx.change(node.input).tree
        old = ctx.old(node)
        gone = Project(Filter(found, _WENT.copy()), change.passed(node.columns))
        came = Project(Filter(found, _CAME.copy()), change.passed(node.columns))
        left = SetOperation(old, gone, "EXCEPT", True, node.columns)
        new = replace(node, input=Union((left, came), node.columns))
        return Delta(difference(new, old, node.columns))

    put(patch, limit.delta, no_refill)
    as_bag(patch, Limit)


# Subqueries, generators, recursion


@mutant("scalar change ignored for untouched rows", "scalar", "scalar_where", "exists_or")
def _(patch: Patch) -> None:
    rule = apply._turned
    put(patch, rule, lambda node, before, ctx: Filter(rule(node, before, ctx), NEVER.copy()))


@mutant("only correlated rows of the new outer side", "scalar", "lateral")
def _(patch: Patch) -> None:
    for rule in (apply._turned, lateral.delta):
        put(patch, rule, _with_new_outer(rule))


def _with_new_outer(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda node, *given: rule(node, *given[:-1], Seen(given[-1], old=given[-1].new))


@mutant("generated rows always come", exams=("explode",))
def _(patch: Patch) -> None:
    def positive(node: Any, ctx: DeltaContext) -> Delta:
        below = ctx.change(node.input)
        return Delta(weighted(replace(node, input=below.tree), node.columns, big(1)))

    put(patch, generate.delta, positive)


@mutant("changed edges reach nothing old", exams=("recursion",))
def _(patch: Patch) -> None:
    rule = recursive._with_self
    put(patch, rule, lambda step, name, old: rule(step, name, Filter(old, NEVER.copy())))


# Reading and writing


@mutant("mixed window taken for an append", "filter", "group_min")
def _(patch: Patch) -> None:
    rule = scan.delta
    put(patch, rule, lambda node, ctx: replace(rule(node, ctx), inserts_only=True))


@mutant("MERGE source un-netted", "filter", "union_all")
def _(patch: Patch) -> None:
    put(patch, change.net, lambda delta: delta.tree)


@mutant("keyless delete by value", "project", "project_constant")
def _(patch: Patch) -> None:
    rule = bag._going

    def all_copies(writing: Any, netted: Any) -> Any:
        found = rule(writing, netted)
        return replace(found, input=found.input.input)

    put(patch, rule, all_copies)


@mutant("netting skipped on no-op update", "group_sum", "global")
def _(patch: Patch) -> None:
    rule = apply_state._window_groups

    def all_groups(stored: Any, delta: Delta) -> Any:
        found = rule(stored, delta)
        return found.input if isinstance(found, Filter) else found

    put(patch, rule, all_groups)


@mutant("expressions that can fail see rows of no version", exams=("failing",))
def _(patch: Patch) -> None:
    put(patch, totality.can_fail, lambda expression, column, overflow=True: False)


@mutant("conditions that can fail see pairs of no version", exams=("failing_pairs",))
def _(patch: Patch) -> None:
    put(patch, totality.failing_parts, lambda expression, column: iter(()))


@mutant("key pushed below the padded side of a left join", "group_left_other")
def _(patch: Patch) -> None:
    rule = restrict._join

    def as_inner(node: Join, columns: Any, keys: Any) -> Any:
        if node.kind is not JoinKind.LEFT:
            return rule(node, columns, keys)
        found = rule(replace(node, kind=JoinKind.INNER), columns, keys)
        return replace(found, kind=JoinKind.LEFT) if isinstance(found, Join) else found

    put(patch, rule, as_inner)


# values told to scans, rows read once


@mutant(
    "old rows taken from the new ones without the window", "group_group", "left", "anti", "semi"
)
def _(patch: Patch) -> None:
    put(patch, once._before, lambda chosen, ctx: chosen)


@mutant("old rows without their copies", "group_group", "left", "join_group")
def _(patch: Patch) -> None:
    real = once._before
    put(patch, once._before, lambda chosen, ctx: Distinct(real(chosen, ctx)))


@mutant("kept side of an outer join told the keys of the other", "left", "left_chain", "group_left")
def _(patch: Patch) -> None:
    patch.setattr(among, "_NARROWS_LEFT", frozenset(JoinKind))
    patch.setattr(among, "_NARROWS_RIGHT", frozenset(JoinKind))


@mutant("values of one branch told for a union", "join_group", "join_distinct")
def _(patch: Patch) -> None:
    def first(node: Any, sources: Any) -> Any:
        known = among.origins(node.inputs[0], sources)
        return {
            n: known[b] for n, b in zip(node.names, node.inputs[0].names, strict=True) if b in known
        }

    put(patch, among._of_union, first)
