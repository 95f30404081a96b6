"""Scopes: which columns a name can mean at one point of a query, by Spark's rules."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headwater.sql.columns import Column
    from headwater.sql.node import Node


class Names:
    """Gives out column names that are unique in a tree, whatever their case."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def fresh(self, wanted: str) -> str:
        """`wanted`, with a number behind it if it is taken.

        >>> names = Names()
        >>> names.fresh("id"), names.fresh("ID")
        ('id', 'ID_1')
        """
        base = wanted.lstrip("_") if wanted.lower().startswith("__hw_") else wanted
        name, number = base, 0
        while name.lower() in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._taken.add(name.lower())
        return name


@dataclass(frozen=True, slots=True)
class Entry:
    """One column in a scope: its visible name, what it is in the tree, who it belongs to.

    `hidden` columns (the right side of USING) are found only through their qualifier.
    """

    name: str
    column: Column
    qualifier: tuple[str, ...] = ()
    hidden: bool = False

    def answers(self, name: str, qualifier: tuple[str, ...]) -> bool:
        """Whether `qualifier.name` means this column; both in lower case."""
        if self.name.lower() != name:
            return False
        return not self.hidden if not qualifier else self.belongs(qualifier)

    def belongs(self, qualifier: tuple[str, ...]) -> bool:
        """Whether `qualifier` names the relation of this column."""
        return self.qualifier[-len(qualifier) :] == qualifier


@dataclass(frozen=True, slots=True)
class Relation:
    """A node under construction with the names its columns go by."""

    node: Node
    entries: tuple[Entry, ...]

    @property
    def visible(self) -> tuple[Entry, ...]:
        """What `*` stands for."""
        return tuple(entry for entry in self.entries if not entry.hidden)

    def over(self, node: Node) -> Relation:
        """The same names over another node."""
        return replace(self, node=node)

    def aliased(self, qualifier: tuple[str, ...], columns: Sequence[str] = ()) -> Relation:
        """The relation as `alias(columns)`: visible columns only, under new names if given."""
        names = [*columns, *(entry.name for entry in self.visible[len(columns) :])]
        lowered = tuple(part.lower() for part in qualifier)
        return replace(
            self,
            entries=tuple(
                Entry(name, entry.column, lowered)
                for name, entry in zip(names, self.visible, strict=True)
            ),
        )


@dataclass(frozen=True, slots=True)
class Match:
    """A column found for the first `width` parts of a dotted name; the rest are struct fields."""

    entry: Entry
    width: int


class AmbiguousName(Exception):
    """Several columns answer to one name."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        super().__init__()
        self.entries = tuple(entries)


@dataclass(frozen=True, slots=True)
class Scope:
    """The columns in reach, and the scope of the enclosing query."""

    entries: tuple[Entry, ...] = ()
    parent: Scope | None = None

    def find(self, parts: Sequence[str]) -> Match | None:
        """Resolve a dotted name in this scope only.

        The longest qualifier wins: `a.b` is column b of relation a before field b of column a.

        Raises:
            AmbiguousName: several columns answer.
        """
        lowered = tuple(part.lower() for part in parts)
        for width in range(len(lowered) - 1, -1, -1):
            qualifier, name = lowered[:width], lowered[width]
            found = [e for e in self.entries if e.answers(name, qualifier)]
            if len({e.column.name for e in found}) > 1:
                raise AmbiguousName(found)
            if found:
                return Match(found[0], width + 1)
        return None

    def outward(self) -> Iterator[Scope]:
        """This scope, then the enclosing ones."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent
