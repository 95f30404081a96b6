"""A second copy of a relation in the same tree: equal content, columns with names of their own.

Every column of a tree has a name that no other has; a relation that is read twice must be renamed
the second time.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from headwater.sql.columns import Column, ref
from headwater.sql.grouping import Reshape
from headwater.sql.nesting import Opaque, Recursive, Reference
from headwater.sql.node import Node
from headwater.sql.relations import Scan
from headwater.sql.select_block import substituted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# What these are made of is text or has names of its own.
_FIXED = (Reshape, Opaque, Recursive, Reference)
_NAMES = ("keys", "sets")


def renewed(node: Node, fresh: Callable[[str], str]) -> tuple[Node, Mapping[str, str]] | None:
    """The copy, and the new name of each column; None for relations that cannot be renamed."""
    if any(isinstance(part, _FIXED) for part in node.walk()):
        return None
    made = dict.fromkeys(name for part in node.walk() for name in part.names)
    names = {name: fresh(name) for name in made}
    return _copied(node, names), names


def _copied(node: Node, names: Mapping[str, str]) -> Node:
    changes: dict[str, Any] = {}
    for f in fields(node):
        value = getattr(node, f.name)
        if isinstance(node, Scan) and f.name == "fields":
            changes[f.name] = tuple((source, _column(c, names)) for source, c in value)
        else:
            changes[f.name] = _value(value, names, named=f.name in _NAMES)
    return replace(node, **changes)


def _value(value: object, names: Mapping[str, str], *, named: bool) -> object:
    if isinstance(value, Node):
        return _copied(value, names)
    if isinstance(value, Column):
        return _column(value, names)
    if isinstance(value, exp.Expr):
        return substituted(value, {old: ref(new) for old, new in names.items()})
    if isinstance(value, tuple):
        return tuple(_value(part, names, named=named) for part in value)
    return names.get(value, value) if named and isinstance(value, str) else value


def _column(column: Column, names: Mapping[str, str]) -> Column:
    return replace(column, name=names[column.name])
