"""Compiles one refresh: from a definition and what changed to the statements that apply it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.core.spec import ApplyKind
from headwater.delta.apply.bag import apply_bag, apply_replace
from headwater.delta.apply.keyed import apply_keyed
from headwater.delta.apply.state import apply_state
from headwater.delta.apply.unique import apply_unique
from headwater.delta.apply.writing import Applied, Writing
from headwater.delta.change import Change
from headwater.delta.dispatch import differentiator
from headwater.delta.physical import Root, physical
from headwater.delta.program import Layout, LayoutKind, Program, Stage
from headwater.delta.statements import overwrite
from headwater.delta.verdict import strategies

__all__ = ["Change", "Program", "Stage", "compile_refresh"]

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headwater.core.names import TableName
    from headwater.delta.context import DeltaContext
    from headwater.sql.definition import Definition


def compile_refresh(
    definition: Definition, layout: Layout, changed: Mapping[TableName, Change]
) -> Program:
    """The program that brings a stream table from the old to the new versions of its sources.

    Sources that are not in `changed` are the same at both versions.
    """
    root = physical(definition, layout.unique_key)
    nodes = strategies(definition, root)
    if any(node.strategy == "X" for node in nodes):
        return Program(ApplyKind.OVERWRITE, (), overwrite(layout.initial), None, nodes, False)
    ctx = differentiator(changed, root.digits)
    if not ctx.changed(root.tree):
        return Program(ApplyKind.NONE, (), "", None, nodes, True)
    done = _applied(Writing(root, ctx, definition.sources))
    return Program(
        done.kind,
        done.stages,
        done.statement,
        done.source,
        nodes,
        True,
        done.using,
        done.whole,
    )


def _applied(writing: Writing) -> Applied:
    match writing.root.kind:
        case LayoutKind.STATE if _can_merge(writing.root, writing.ctx):
            return apply_state(writing)
        case LayoutKind.STATE | LayoutKind.KEYED:
            return apply_keyed(writing)
        case LayoutKind.REPLACE:
            return apply_replace(writing)
        case LayoutKind.UNIQUE:
            return apply_unique(writing)
        case LayoutKind.BAG:
            return apply_bag(writing)


def _can_merge(root: Root, ctx: DeltaContext) -> bool:
    """Extrema can be merged only while rows appear; otherwise their groups are recomputed."""
    if root.state is None or not root.state.plan.only_grows:
        return True
    return ctx.change(root.state.aggregate.input).inserts_only
