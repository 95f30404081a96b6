"""What the compiler hands to a refresh: the physical layout and the statements of one window."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headwater.core.results import NodeStrategy
    from headwater.core.spec import ApplyKind

TARGET = "__hw_target"
RUN = "__hw_run"
ROW_ID = "__hw_id"
ROW_COUNT = "__hw_n"
STAGE_PREFIX = "__hw_stage_"
USING = "__hw_stage_using"
"""Name of the source of a MERGE, where a refresh computes it before the statement."""


class LayoutKind(Enum):
    """How the rows of a stream table are identified."""

    STATE = "one row per group, with hidden state that changes are added to"
    KEYED = "one row per key, recomputed when the key is affected"
    REPLACE = "rows with ids, recomputed by the keys they belong to"
    UNIQUE = "one row per declared key"
    BAG = "rows with ids, inserted and deleted one by one"


@dataclass(frozen=True)
class Layout:
    """The physical columns of a stream table: visible ones under user names, then hidden ones.

    Attributes:
        visible: columns of the query, in order.
        hidden: columns that only maintenance needs; all start with `__hw_`.
        key: physical columns that are unique together, empty if none are.
        bag: rows carry `__hw_id` because equal rows may occur.
        apply: how a refresh writes, in words.
        initial: query template for all physical columns in order, at the new version.
        kind: how rows are identified.
        unique_key: the key the user declared.
    """

    visible: tuple[str, ...]
    hidden: tuple[str, ...]
    key: tuple[str, ...]
    bag: bool
    apply: str
    initial: str
    kind: LayoutKind
    unique_key: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """All physical columns, in order."""
        return (*self.visible, *self.hidden)


@dataclass(frozen=True)
class Stage:
    """A query to be computed once and read by name."""

    name: str
    sql: str


@dataclass(frozen=True)
class Program:
    """One refresh as templates: stages in order, then one statement that changes the target.

    Attributes:
        apply: how the statement writes.
        stages: what must be computed before.
        statement: the template of the statement.
        source: the stage whose rows the statement applies: without rows it changes nothing; None
            if the statement computes them itself.
        using: the query by which the statement computes them, as it stands there; it may be
            computed before instead, as `USING`, whose values the statement asks for.
        whole: the tables that are read without being told any values, once for each time.
        strategy: what is done at each node.
        incremental: whether the statement applies changes only.
    """

    apply: ApplyKind
    stages: tuple[Stage, ...]
    statement: str
    source: str | None
    strategy: tuple[NodeStrategy, ...]
    incremental: bool
    using: str | None = None
    whole: tuple[str, ...] = ()
