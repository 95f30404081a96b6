"""Tells how each operator of a query is maintained and what that reads, or why it cannot be."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from headwater.core.results import NodeStrategy, Verdict
from headwater.delta.context import has_clock
from headwater.delta.linear_step import is_linear_step
from headwater.delta.physical import Root, physical
from headwater.delta.predicates import equal_columns
from headwater.delta.program import LayoutKind
from headwater.delta.restrict import partition_columns
from headwater.delta.rules.aggregate import keys as group_keys
from headwater.sql.operators import (
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
    from collections.abc import Callable, Mapping, Sequence

    from headwater.sql.definition import Definition, Fact

_Names = tuple[str, ...]
_WINDOW: _Names = ("changes",)
_NEW: _Names = ("changes", "new")
_BOTH: _Names = ("changes", "old", "new")


_NO_EQUALITY = re.compile(r"\bmap<|\bvariant\b(?!:)")
_REFUSED = frozenset({"NONDET_FUNC"})
_READS_ALL = "reads the whole input: no column tells which rows may enter or leave the limit"
_LOOSE = (
    "compared with the stored rows: values that depend on the order of rows, such as sums of "
    "floating-point numbers, may come out in other digits when they are computed again"
)
_THETA_ONLY = "no equality in the condition: exact, but each change is compared with every row"


@dataclass(frozen=True)
class _Reason:
    code: str
    text: str
    advice: str = ""


def verdict(definition: Definition) -> Verdict:
    """Whether and how a query can be maintained incrementally."""
    nodes = strategies(definition, physical(definition))
    return Verdict(
        incremental=all(node.strategy != "X" for node in nodes),
        nodes=nodes,
        warnings=definition.warnings,
        columns=tuple(name for name, _ in definition.output),
        sources=tuple(str(s) for s in definition.sources),
    )


def strategies(definition: Definition, root: Root) -> tuple[NodeStrategy, ...]:
    """One entry per operator, root first, then what else forbids incremental maintenance."""
    facts = {f.reason_code: f for f in reversed(definition.facts) if f.severity == "full"}
    bodies = _bodies(definition.tree)
    found = [
        _completed(_of_node(node, root, inside=id(node) in bodies), facts)
        for node in definition.tree.walk()
    ]
    told = {n.reason_code for n in found if n.strategy == "X"}
    found += [_of_fact(fact) for code, fact in facts.items() if code not in told]
    found += _of_types(definition)
    return tuple(found)


def _bodies(tree: Node) -> set[int]:
    """The nodes of subqueries and lateral bodies: they are computed anew, row by row."""
    found: set[int] = set()
    for node in tree.walk():
        match node:
            case Apply():
                found |= {id(part) for part in node.subquery.walk()}
            case Lateral():
                found |= {id(part) for part in node.right.walk()}
    return found


def _of_fact(fact: Fact) -> NodeStrategy:
    refused = " (no stream table can be made of it)" if fact.reason_code in _REFUSED else ""
    return NodeStrategy(
        "query",
        "X",
        reason_code=fact.reason_code,
        reason=fact.reason + refused,
        advice=fact.advice or None,
        place=fact.place,
    )


def _completed(node: NodeStrategy, facts: Mapping[str, Fact]) -> NodeStrategy:
    """A reason with the advice and the place that the query itself gives for it."""
    fact = facts.get(node.reason_code or "")
    if fact is None:
        return node
    return replace(node, advice=node.advice or fact.advice or None, place=fact.place or node.place)


def _of_node(node: Node, root: Root, *, inside: bool) -> NodeStrategy:
    reason = _reason(node)
    name = _name(node)
    if inside and isinstance(node, Window) and not has_clock(node):
        detail = "computed anew with the row that it belongs to"
        return NodeStrategy(name, "R", detail, (), _NEW, place=node.place)
    if reason is not None:
        return NodeStrategy(
            name,
            "X",
            reason_code=reason.code,
            reason=reason.text,
            advice=reason.advice or None,
            place=node.place,
        )
    if node is root.core and root.kind is not LayoutKind.BAG:
        return _of_root(node, name, root)
    code, keys, reads = _STRATEGIES[type(node)](node)
    is_compared = node is root.core and root.again is not None
    detail = _LOOSE if is_compared else _detail(node, keys)
    return NodeStrategy(name, code, detail, keys, reads, place=node.place)


def _detail(node: Node, keys: _Names) -> str:
    match node:
        case Join() if not keys:
            return _THETA_ONLY
        case Limit():
            return _READS_ALL
        case _:
            return ""


def _of_root(node: Node, name: str, root: Root) -> NodeStrategy:
    match root.kind:
        case LayoutKind.STATE:
            grows = root.state is not None and root.state.plan.only_grows
            detail = "merged while rows only appear, else recomputed by group" if grows else ""
            reads = _NEW if grows else _WINDOW
            return NodeStrategy(name, "A", detail, root.key, reads, place=node.place)
        case LayoutKind.KEYED | LayoutKind.REPLACE:
            detail = "affected keys recomputed and compared with the stored rows"
            if isinstance(node, Limit):
                detail = _READS_ALL
            return NodeStrategy(name, "K", detail, root.key, _NEW, place=node.place)
        case _:
            code, keys, reads = _STRATEGIES[type(node)](node)
            detail = "" if root.again is None else _LOOSE
            return NodeStrategy(name, code, detail, keys, reads, place=node.place)


def _reason(node: Node) -> _Reason | None:
    """Why a node forbids incremental maintenance."""
    if has_clock(node) and not isinstance(node, Filter):
        return _Reason(
            "CLOCK",
            "the current time is used outside a filter, so every row may change",
            "compare a column with the current time in WHERE instead",
        )
    match node:
        case Opaque() if node.inputs or node.reason_code != "TABLE_FUNCTION":
            return _Reason(node.reason_code, node.reason)
        case Window() if not partition_columns(node):
            return _window_reason(node)
        case Limit() if not node.order:
            return _Reason(
                "LIMIT_NO_ORDER",
                "LIMIT without ORDER BY may give any rows",
                "add ORDER BY with a unique last column",
            )
        case Recursive() if not is_linear_step(node):
            return _Reason(
                "RECURSION_NONLINEAR",
                "the recursive step does more than filter, project and join its own rows once",
                "keep aggregates, outer joins and set operations outside the recursion",
            )
        case _:
            return None


def _window_reason(node: Window) -> _Reason:
    if len(node.calls) > 1 and all(_partitioned(call) for _, call in node.calls):
        return _Reason(
            "DISJOINT_PARTITIONS",
            "the window functions share no PARTITION BY column",
            "split the query into one stream table per partitioning",
        )
    return _Reason(
        "NO_PARTITION",
        "a window without PARTITION BY: one new row can change every row of the result",
        "add PARTITION BY",
    )


def _partitioned(call: Any) -> bool:
    return bool(call.args.get("partition_by"))


def without_equality(columns: Sequence[tuple[str, str | None]]) -> NodeStrategy | None:
    """The obstacle that columns (name and type) are whose values cannot be compared, if any is."""
    bad = [name for name, type in columns if _unequal(type)]
    if not bad:
        return None
    return NodeStrategy(
        "query",
        "X",
        reason_code="UNSUPPORTED_TYPE",
        reason=f"rows with {', '.join(bad)} cannot be compared: its type has no equality",
        advice="turn maps into array_sort(map_entries(m)) and variants into text",
    )


def _of_types(definition: Definition) -> list[NodeStrategy]:
    found = without_equality([(name, column.type) for name, column in definition.output])
    return [replace(found, place=definition.tree.place)] if found is not None else []


def _unequal(type: str | None) -> bool:
    return type is not None and _NO_EQUALITY.search(type) is not None


def _name(node: Node) -> str:
    if isinstance(node, Scan):
        return f"Scan {node.table}"
    if isinstance(node, Join):
        return f"Join {node.kind.value.lower()}"
    return type(node).__name__


_Told = tuple[str, _Names, _Names]


def _linear(node: Node) -> _Told:
    return "L", (), _WINDOW


def _filter(node: Filter) -> _Told:
    return "L", (), (("changes", "old") if has_clock(node) else _WINDOW)


def _join(node: Join) -> _Told:
    pairs = equal_columns(node.condition, node.left, node.right)
    keys = tuple(a for a, _ in pairs)
    return ("B" if node.kind is JoinKind.INNER else "F"), keys, _BOTH


def _by_all(node: Node) -> _Told:
    return "K", node.names, _BOTH


_STRATEGIES: dict[type[Node], Callable[[Any], _Told]] = {
    Scan: _linear,
    Values: lambda node: ("L", (), ()),
    Reference: lambda node: ("L", (), ()),
    Filter: _filter,
    Project: _linear,
    Union: _linear,
    Generate: _linear,
    Join: _join,
    SetOperation: _by_all,
    Distinct: _by_all,
    Aggregate: lambda node: ("K", group_keys(node), _BOTH),
    Window: lambda node: ("K", partition_columns(node), _BOTH),
    Limit: lambda node: ("K", (), _BOTH),
    Reshape: lambda node: ("L", (), _WINDOW) if node.unpivot else ("K", node.keys, _BOTH),
    Apply: lambda node: ("R", (), _BOTH),
    Lateral: lambda node: ("R", (), _BOTH),
    Recursive: lambda node: ("B", (), _BOTH),
    Opaque: lambda node: ("L", (), ()),
}
