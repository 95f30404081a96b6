"""The stages of a refresh, as values: one walker runs them, `explain` prints the same list."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headwater.refresh.pin import NO_CIRCLE, Circle

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headwater.core.frontier import Frontier, SourceVersion
    from headwater.core.names import TableName
    from headwater.refresh.decide import Decision
    from headwater.refresh.outlook import Outlook
    from headwater.sources.source import Window

PIN, WINDOW, DECIDE, COMPILE = "pin", "window", "decide", "compile"
APPLY, PUBLISH, RECORD = "apply", "publish", "record"
ORDER = (PIN, WINDOW, DECIDE, COMPILE, APPLY, PUBLISH, RECORD)


@dataclass(frozen=True)
class Planned:
    """A refresh up to its decision: nothing was written yet.

    Attributes:
        old: frontier the stream table has, None before the first load.
        new: frontier it is to have.
        windows: change window of each source; empty when there is nothing to compare with.
        parent: snapshot main points to; what publishing will require.
        own: the last commit of a refresh on that line.
        decision: what to do, and why.
        outlook: what it has to work through, and what that is expected to take.
        fixed: the versions it was asked to read.
        arms: what stream tables among these hold at them.
        circle: the circle that the stream table is in.
    """

    table: TableName
    old: Frontier | None
    new: Frontier
    windows: Mapping[TableName, Window]
    parent: int | None
    own: int | None
    decision: Decision
    outlook: Outlook
    fixed: Mapping[TableName, SourceVersion] | None = None
    arms: Mapping[TableName, Frontier] | None = None
    circle: Circle = NO_CIRCLE


@dataclass(frozen=True)
class Step:
    """One stage as `explain` shows it."""

    stage: str
    what: str
    statements: tuple[str, ...] = field(default_factory=tuple)
