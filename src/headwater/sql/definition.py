"""The result of `define`: a query as an operator tree, with what is known about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headwater.core.errors import Place
    from headwater.core.names import TableName
    from headwater.sql.columns import Column
    from headwater.sql.lookup import SourceField
    from headwater.sql.node import Node

Severity = Literal["full", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Fact:
    """Something about the query that decides, or should be known about, its maintenance.

    Attributes:
        reason_code: stable code, e.g. `NONDET_FUNC`.
        reason: what forces it.
        advice: how to change the query.
        place: where in the query.
        severity: `full` forbids incremental maintenance, `warning` and `info` only inform.
    """

    reason_code: str
    reason: str
    advice: str = ""
    place: Place | None = None
    severity: Severity = "full"

    def __str__(self) -> str:
        return f"{self.reason}; {self.advice}" if self.advice else self.reason


@dataclass(frozen=True)
class Definition:
    """A query, resolved.

    Attributes:
        text: the query as given.
        tree: the operator tree; has every output column, maybe in another order.
        output: visible name and tree column, in the order of the SELECT list.
        sources: tables the query reads, through views too; sorted, each once.
        used: the columns of each source that the tree reads, in table order.
        views: name of each expanded view and the hash of its text.
        uses_clock: the tree has clock holes.
        beyond_spark: Spark cannot run the text itself: it has QUALIFY, or functions in SQL.
        facts: what stands against incremental maintenance, and what to know.
    """

    text: str
    tree: Node
    output: tuple[tuple[str, Column], ...]
    sources: tuple[TableName, ...]
    used: Mapping[TableName, tuple[SourceField, ...]]
    views: Mapping[str, str] = field(default_factory=dict)
    uses_clock: bool = False
    beyond_spark: bool = False
    facts: tuple[Fact, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """The facts that only inform, as sentences."""
        return tuple(str(fact) for fact in self.facts if fact.severity != "full")
