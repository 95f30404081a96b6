"""What all builders of one definition share: lookup, names, facts, pending subqueries, errors."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from headwater.sql.build.scope import Names, Relation, Scope
from headwater.sql.columns import Column
from headwater.sql.definition import Fact, Severity
from headwater.sql.parse import place_of
from headwater.sql.types import type_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sqlglot import exp

    from headwater.core.errors import HeadwaterError, Place
    from headwater.core.names import TableName
    from headwater.sql.lookup import Lookup
    from headwater.sql.nesting import SubqueryKind


class BuildQuery(Protocol):
    """Builds a query inside a scope."""

    def __call__(self, ast: exp.Expr, outer: Scope | None, ctx: Context) -> Relation:
        """The relation of `ast`; `outer` is the scope of the query around it."""


@dataclass(frozen=True)
class PendingSubquery:
    """A subquery met in an expression, waiting for the node it is evaluated over."""

    kind: SubqueryKind
    build: Callable[[], Relation]
    built: Relation
    place: Place | None


@dataclass
class Session:
    """The state of one definition, filled while the tree is built."""

    text: str
    lookup: Lookup
    names: Names = field(default_factory=Names)
    types: dict[str, str | None] = field(default_factory=dict)
    facts: dict[Fact, None] = field(default_factory=dict)
    pending: list[PendingSubquery] = field(default_factory=list)
    taken: set[int] = field(default_factory=set)
    views: dict[str, str] = field(default_factory=dict)
    uses_clock: bool = False
    beyond_spark: bool = False


@dataclass(frozen=True)
class Context:
    """Where in the definition a builder is.

    Attributes:
        text: the SQL text being read: the query, or a view it reads.
        ctes: common table expressions in reach, by lower-case name.
        anchor: inside a view, the place of its reference in the query.
        expanding: views being expanded, to find circles.
    """

    session: Session
    query: BuildQuery
    text: str
    ctes: Mapping[str, Callable[[], Relation]] = field(default_factory=dict)
    anchor: Place | None = None
    expanding: tuple[TableName, ...] = ()

    def with_cte(self, name: str, build: Callable[[], Relation]) -> Context:
        """The context in which `name` is a common table expression."""
        return replace(self, ctes={**self.ctes, name.lower(): build})

    def column(self, wanted: str, type: str | None = None) -> Column:
        """A new column of the tree."""
        column = Column(self.session.names.fresh(wanted or "c"), type)
        self.session.types[column.name] = type
        return column

    def computed(self, wanted: str, expression: exp.Expr) -> Column:
        """A new column for the value of a resolved expression."""
        return self.column(wanted, self.type_of(expression))

    def type_of(self, expression: exp.Expr) -> str | None:
        """The type of a resolved expression, where certain."""
        return type_of(expression, self.session.types.get)

    def place(self, expression: exp.Expr | None) -> Place | None:
        """Where `expression` stands in the query the user gave."""
        return self.anchor or place_of(expression, self.text)

    def error(
        self, kind: type[HeadwaterError], what: str, at: exp.Expr | None, hint: str = ""
    ) -> HeadwaterError:
        """An error about a part of the query."""
        return kind(what, hint=hint, place=self.place(at), sql=self.session.text)

    def note(
        self, code: str, reason: str, advice: str, at: exp.Expr | None, severity: Severity = "full"
    ) -> None:
        """Record a fact about the query."""
        self.session.facts[Fact(code, reason, advice, self.place(at), severity)] = None
