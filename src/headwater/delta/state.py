"""Aggregates whose state can be added to: the window's groups are merged into the stored rows.

new state = stored state + Σ over the window of weight × contribution; visible = finalise(state).

Exact only in arithmetic that forms a group: counts, integer and decimal sums, and what is computed
from them. A delete contributes its old values with weight −1, so what it added is taken away
whatever else happened. A sum keeps the number of its non-NULL values and is NULL at zero; the row
count alone decides whether the group exists. MIN and MAX can only be pushed outwards: they are
merged while rows only appear, and recomputed by key otherwise. Floating-point sums lose digits
when subtracted and are never merged.

Reference: Gupta and Mumick (1995), self-maintainable aggregates. Cost: the window only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.delta.change import big, cast
from headwater.delta.program import ROW_COUNT
from headwater.sql.operators import WEIGHT, ref
from headwater.sql.types import decimal_of, is_integer, type_of

if TYPE_CHECKING:
    from headwater.sql.operators import Aggregate, Column

_MAX_PRECISION = 38
_KEPT_SCALE = 6
_AVERAGE_HEADROOM = 8
_SMALL_INTEGERS = frozenset({"tinyint", "smallint", "int"})


@dataclass(frozen=True)
class Slot:
    """One number (or extremum) of state.

    Attributes:
        name: physical column, or the name it goes by inside expressions when a visible column
            holds it.
        window: its contribution from weighted rows, an aggregate.
        whole: its value over plain rows, an aggregate.
        combine: `add`, `least` or `greatest`.
        type: type the sum is kept in, if it needs a cast.
    """

    name: str
    window: exp.Expr
    whole: exp.Expr
    combine: str = "add"
    type: str | None = None


@dataclass
class StatePlan:
    """The slots of an aggregate, and each call as an expression over them."""

    slots: list[Slot] = field(default_factory=list)
    values: dict[str, exp.Expr] = field(default_factory=dict)
    _by_meaning: dict[str, str] = field(default_factory=dict)

    @property
    def only_grows(self) -> bool:
        """Whether the state can follow only rows that appear."""
        return any(slot.combine != "add" for slot in self.slots)

    def slot(self, letter: str, meaning: str, slot: Slot) -> exp.Expr:
        """A reference to a slot, made once per meaning."""
        name = self._by_meaning.get(meaning)
        if name is None:
            name = f"__hw_{letter}{len(self.slots)}"
            self._by_meaning[meaning] = name
            self.slots.append(Slot(name, slot.window, slot.whole, slot.combine, slot.type))
        return ref(name)


def state_plan(node: Aggregate) -> StatePlan | None:
    """The state of an aggregate; None when some call cannot be merged."""
    plan = StatePlan()
    plan.slots.append(Slot(ROW_COUNT, exp.Sum(this=ref(WEIGHT)), exp.Count(this=exp.Star())))
    types = {c.name: c.type for c in node.input.columns}
    for column, call in node.calls:
        value = _value(plan, column, call, types)
        if value is None:
            return None
        plan.values[column.name] = value
    return plan


def _value(
    plan: StatePlan, column: Column, call: exp.Expr, types: dict[str, str | None]
) -> exp.Expr | None:
    condition: exp.Expr | None = None
    if isinstance(call, exp.Filter):
        condition, call = call.expression.this, call.this
    if call.find(exp.Distinct) is not None:
        return None
    match call:
        case exp.Count():
            return _count(plan, call, condition)
        case exp.CountIf():
            return _counted(plan, _both(call.this, condition))
        case exp.LogicalAnd() | exp.LogicalOr():
            return _truth(plan, call, condition)
        case exp.Sum() | exp.Avg() | exp.Min() | exp.Max():
            argument = _when(condition, call.this)
        case _:
            return None
    inner = type_of(argument, types.get)
    if isinstance(call, exp.Sum):
        return _sum(plan, argument, inner)
    if isinstance(call, exp.Avg):
        return _average(plan, argument, inner)
    return _extremum(plan, call, argument)


def _count(plan: StatePlan, call: exp.Count, condition: exp.Expr | None) -> exp.Expr:
    arguments = [call.this, *call.expressions]
    if isinstance(call.this, exp.Star) or all(isinstance(a, exp.Literal) for a in arguments):
        return _counted(plan, condition) if condition is not None else ref(ROW_COUNT)
    test = condition
    for argument in arguments:
        test = _both(_not_null(argument), test)
    return _counted(plan, test)


def _counted(plan: StatePlan, test: exp.Expr | None) -> exp.Expr:
    """The number of rows that pass a test."""
    if test is None:
        return ref(ROW_COUNT)
    slot = Slot("", _weight_where(test), _ones_where(test))
    return plan.slot("c", f"count {test.sql('spark')}", slot)


def _truth(plan: StatePlan, call: exp.Expr, condition: exp.Expr | None) -> exp.Expr:
    argument = call.this
    trues = _counted(plan, _both(argument, condition))
    falses = _counted(plan, _both(exp.Not(this=exp.Paren(this=argument.copy())), condition))
    first, second = (falses, trues) if isinstance(call, exp.LogicalAnd) else (trues, falses)
    decided = exp.Boolean(this=isinstance(call, exp.LogicalOr))
    other = exp.Boolean(this=not isinstance(call, exp.LogicalOr))
    return exp.Case(
        ifs=[
            exp.If(this=_positive(first), true=decided),
            exp.If(this=_positive(second), true=other),
        ]
    )


def _sum(plan: StatePlan, argument: exp.Expr, inner: str | None) -> exp.Expr | None:
    total = _total(plan, argument, inner)
    if total is None:
        return None
    return _unless_empty(_counted(plan, _not_null(argument)), total)


def _total(plan: StatePlan, argument: exp.Expr, inner: str | None) -> exp.Expr | None:
    """The sum as stored: 0 where the visible one is NULL."""
    exact = decimal_of(inner)
    weight = ref(WEIGHT)
    if is_integer(inner):
        part: exp.Expr = exp.Mul(this=weight, expression=cast(argument.copy(), "bigint"))
        kind = None
    elif exact is not None and _adds_exactly(*exact):
        part = _weighted_decimal(argument, exact[1])
        kind = f"decimal({min(exact[0] + 10, _MAX_PRECISION)},{exact[1]})"
    else:
        return None
    window, whole = exp.Sum(this=part), exp.Sum(this=argument.copy())
    slot = Slot("", _or_zero(window, kind), _or_zero(whole, kind), type=kind)
    return plan.slot("s", f"sum {argument.sql('spark')}", slot)


def _adds_exactly(precision: int, scale: int) -> bool:
    """Whether two sums can be added at full scale: beyond 38 digits Spark gives up scale past 6."""
    return precision + 10 < _MAX_PRECISION or scale <= _KEPT_SCALE


def _weighted_decimal(argument: exp.Expr, scale: int) -> exp.Expr:
    """Weight × decimal without the loss of scale that BIGINT * DECIMAL has."""
    kind = f"decimal({_MAX_PRECISION},{scale})"
    value = exp.Paren(this=argument.copy())
    weight = ref(WEIGHT)
    many = cast(exp.Mul(this=value.copy(), expression=cast(weight.copy(), "decimal(10,0)")), kind)
    return exp.Case(
        ifs=[
            exp.If(this=exp.EQ(this=weight, expression=exp.Literal.number(1)), true=value),
            exp.If(
                this=exp.EQ(this=weight.copy(), expression=exp.Literal.number(-1)),
                true=exp.Neg(this=value.copy()),
            ),
        ],
        default=many,
    )


def _average(plan: StatePlan, argument: exp.Expr, inner: str | None) -> exp.Expr | None:
    exact = decimal_of(inner)
    if inner not in _SMALL_INTEGERS and (exact is None or not _divides_exactly(*exact)):
        return None
    total = _total(plan, argument, inner)
    if total is None:
        return None
    count = _counted(plan, _not_null(argument))
    if exact is None:
        ratio: exp.Expr = exp.Div(this=cast(total, "double"), expression=count.copy())
    else:
        whole = exp.Div(this=total, expression=cast(count.copy(), "decimal(20,0)"))
        ratio = cast(whole, f"decimal({exact[0] + 4},{exact[1] + 4})")
    return _unless_empty(count, ratio)


def _divides_exactly(precision: int, scale: int) -> bool:
    """Whether sum / count keeps enough digits to round like the built-in average."""
    if precision + 10 > _MAX_PRECISION:
        return False
    whole = precision + 10 - scale
    kept = min(scale + 21, max(_MAX_PRECISION - whole, 6))
    return kept - (scale + 5) >= _AVERAGE_HEADROOM


def _extremum(plan: StatePlan, call: exp.Expr, argument: exp.Expr) -> exp.Expr:
    least = isinstance(call, exp.Min)
    aggregate = (exp.Min if least else exp.Max)(this=argument.copy())
    slot = Slot("", aggregate, aggregate.copy(), "least" if least else "greatest")
    return plan.slot("m", f"{slot.combine} {argument.sql('spark')}", slot)


def _when(condition: exp.Expr | None, argument: exp.Expr) -> exp.Expr:
    if condition is None:
        return argument
    return exp.Case(ifs=[exp.If(this=condition.copy(), true=argument.copy())])


def _both(test: exp.Expr, condition: exp.Expr | None) -> exp.Expr:
    if condition is None:
        return test
    return exp.And(this=exp.Paren(this=condition.copy()), expression=exp.Paren(this=test.copy()))


def _not_null(argument: exp.Expr) -> exp.Expr:
    return exp.Not(this=exp.Is(this=exp.Paren(this=argument.copy()), expression=exp.null()))


def _weight_where(test: exp.Expr) -> exp.Expr:
    return exp.Sum(this=exp.If(this=test.copy(), true=ref(WEIGHT), false=big(0)))


def _ones_where(test: exp.Expr) -> exp.Expr:
    one = exp.If(this=test.copy(), true=exp.Literal.number(1))
    return exp.Count(this=exp.Case(ifs=[one]))


def _or_zero(value: exp.Expr, kind: str | None) -> exp.Expr:
    if kind is None:
        return exp.Coalesce(this=value, expressions=[exp.Literal.number(0)])
    zero = cast(exp.Literal.number(0), kind)
    return cast(exp.Coalesce(this=value, expressions=[zero]), kind)


def _positive(count: exp.Expr) -> exp.Expr:
    return exp.GT(this=count.copy(), expression=exp.Literal.number(0))


def _unless_empty(count: exp.Expr, value: exp.Expr) -> exp.Expr:
    return exp.Case(ifs=[exp.If(this=_positive(count), true=value)])
