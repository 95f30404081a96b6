"""The one table of delta rules, and the contract every rule's result is checked against."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headwater.core.errors import PlanBug
from headwater.delta.context import DeltaContext
from headwater.delta.rules import (
    aggregate,
    distinct,
    generate,
    inner_join,
    lateral,
    limit,
    outer_join,
    project,
    recursive,
    reference,
    reshape,
    scan,
    semi_join,
    set_operation,
    union,
    window,
)
from headwater.delta.rules import apply as apply_rule
from headwater.delta.rules import filter as filter_rule
from headwater.delta.steady import STEADY
from headwater.sql.operators import (
    WEIGHT,
    Aggregate,
    Apply,
    Distinct,
    Filter,
    Generate,
    Join,
    JoinKind,
    Lateral,
    Limit,
    Node,
    Opaque,
    Project,
    Recursive,
    Reference,
    Reshape,
    Scan,
    SetOperation,
    Union,
    Values,
    Window,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headwater.core.names import TableName
    from headwater.delta.change import Change, Delta
    from headwater.delta.steady import Loose


def differentiator(sources: Mapping[TableName, Change], digits: Loose = STEADY) -> DeltaContext:
    """A context that finds deltas by the rules below."""
    return DeltaContext(sources, differentiate, digits=digits)


def differentiate(node: Node, ctx: DeltaContext) -> Delta:
    """Apply the rule of a node's kind and check what it gives."""
    delta = RULES[type(node)](node, ctx)
    _check(node, delta)
    return delta


def _join(node: Join, ctx: DeltaContext) -> Delta:
    return _JOINS[node.kind](node, ctx)


def _constant(node: Node, ctx: DeltaContext) -> Delta:
    raise PlanBug(f"{type(node).__name__} has no delta")


def _check(node: Node, delta: Delta) -> None:
    wanted = (*node.names, WEIGHT)
    if delta.tree.names != wanted:
        raise PlanBug(
            f"delta of {type(node).__name__} has columns {delta.tree.names}, wanted {wanted}"
        )


_JOINS: dict[JoinKind, Callable[[Join, DeltaContext], Delta]] = {
    JoinKind.INNER: inner_join.delta,
    JoinKind.LEFT: outer_join.delta,
    JoinKind.RIGHT: outer_join.delta,
    JoinKind.FULL: outer_join.delta,
    JoinKind.SEMI: semi_join.delta,
    JoinKind.ANTI: semi_join.delta,
}

RULES: dict[type[Node], Callable[[Any, DeltaContext], Delta]] = {
    Scan: scan.delta,
    Values: _constant,
    Filter: filter_rule.delta,
    Project: project.delta,
    Join: _join,
    Union: union.delta,
    SetOperation: set_operation.delta,
    Distinct: distinct.delta,
    Aggregate: aggregate.delta,
    Window: window.delta,
    Limit: limit.delta,
    Generate: generate.delta,
    Reshape: reshape.delta,
    Apply: apply_rule.delta,
    Lateral: lateral.delta,
    Recursive: recursive.delta,
    Reference: reference.delta,
    Opaque: _constant,
}
