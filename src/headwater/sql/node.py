"""The base of every relation in an operator tree: schema, inputs, structural identity, rebuild."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from sqlglot import exp

from headwater.core.errors import PlanBug

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from headwater.core.errors import Place
    from headwater.sql.columns import Column


@dataclass(frozen=True, eq=False)
class Node:
    """A relation. Subclasses say how it is made; `columns` is its schema.

    Two nodes are equal when they are built alike. The hash is computed once per node, so trees
    can be keys of dictionaries and comparing unequal trees costs next to nothing.

    Attributes:
        place: where in the SQL text the operator comes from; no part of the identity.
    """

    place: Place | None = field(default=None, compare=False, kw_only=True)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The output columns, in order."""
        raise NotImplementedError

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The relations this one is made from."""
        return ()

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        """The same operator over other inputs."""
        raise NotImplementedError

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The output column names, in order."""
        return tuple(c.name for c in self.columns)

    @cached_property
    def expressions(self) -> tuple[exp.Expr, ...]:
        """The expressions of this node itself, not those of its inputs."""
        return tuple(_expressions([getattr(self, f.name) for f in fields(self)]))

    def map_expressions(self, change: Callable[[exp.Expr], exp.Expr]) -> Self:
        """The same node with `change` applied to each of its own expressions."""
        changes: dict[str, Any] = {}
        for f in fields(self):
            value = getattr(self, f.name)
            mapped = _mapped(value, change)
            if mapped is not value:
                changes[f.name] = mapped
        return replace(self, **changes) if changes else self

    def walk(self) -> Iterator[Node]:
        """This node and everything below it, parents first."""
        yield self
        for node in self.inputs:
            yield from node.walk()

    def require(self, columns: Sequence[str], of: Node, what: str) -> None:
        """Fail when a column is not produced by `of`."""
        missing = [c for c in columns if c not in of.names]
        if missing:
            raise PlanBug(f"{what} refers to {missing}, input has {list(of.names)}")

    @cached_property
    def _parts(self) -> tuple[object, ...]:
        return tuple(getattr(self, f.name) for f in fields(self) if f.compare)

    @cached_property
    def _hash(self) -> int:
        return hash((type(self), self._parts))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Node) or type(self) is not type(other):
            return NotImplemented
        return self._hash == other._hash and self._parts == other._parts


def transform(node: Node, change: Callable[[Node], Node]) -> Node:
    """Rebuild a tree bottom-up, applying `change(node) -> Node` to every node."""
    inputs = tuple(transform(child, change) for child in node.inputs)
    same = all(new is old for new, old in zip(inputs, node.inputs, strict=True))
    return change(node if same else node.with_inputs(inputs))


def _expressions(value: object) -> Iterator[exp.Expr]:
    if isinstance(value, exp.Expr):
        yield value
    elif isinstance(value, tuple | list):
        for part in value:
            yield from _expressions(part)


def _mapped(value: object, change: Callable[[exp.Expr], exp.Expr]) -> object:
    if isinstance(value, exp.Expr):
        return change(value)
    if isinstance(value, tuple):
        parts = tuple(_mapped(part, change) for part in value)
        return value if all(a is b for a, b in zip(parts, value, strict=True)) else parts
    return value
