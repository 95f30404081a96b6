"""What the apply steps share: the compilation they belong to and how plans become text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headwater.core.errors import PlanBug
from headwater.delta.once import read_once
from headwater.delta.program import TARGET, USING
from headwater.delta.stages import Stager, reads_content
from headwater.sql.operators import At, Column, Node, Reference, Scan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headwater.core.names import TableName
    from headwater.core.spec import ApplyKind
    from headwater.delta.context import DeltaContext
    from headwater.delta.physical import Root
    from headwater.delta.program import Stage


@dataclass(frozen=True)
class Applied:
    """The statement that changes the target, and what must be staged before it."""

    kind: ApplyKind
    stages: tuple[Stage, ...]
    statement: str
    source: str | None = None
    using: str | None = None
    whole: tuple[str, ...] = ()


@dataclass(frozen=True)
class Using:
    """The source of a MERGE: stages, text, and the stage that holds all of it."""

    stages: tuple[Stage, ...]
    sql: str
    source: str | None
    whole: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Where its values are asked for: the stage, or what it is called once it is one."""
        return self.source or USING

    def merged(self, kind: ApplyKind, statement: str) -> Applied:
        """The statement that merges it."""
        inside = None if self.source else self.sql
        return Applied(kind, self.stages, statement, self.source, inside, self.whole)


@dataclass(frozen=True)
class Writing:
    """One compilation: the stored relation, the changes, the sources in hole order."""

    root: Root
    ctx: DeltaContext
    sources: Sequence[TableName]

    def using(self, tree: Node) -> Using:
        """The source of a MERGE.

        A MERGE reads its source several times, so one that reads tables is staged as a whole;
        one that reads only changes is small and stays in the statement.
        """
        tree = read_once(tree, self.ctx)
        stager = self._stager(tree)
        rest = stager.taken(tree, whole=reads_content(tree))
        source = rest.name if isinstance(rest, Reference) and rest.name != TARGET else None
        text = stager.text(rest)
        return Using(stager.stages, text, source, stager.whole)

    def query(self, tree: Node) -> Using:
        """Stages and text of a query that is read once."""
        tree = read_once(tree, self.ctx)
        stager = self._stager(tree)
        rest = stager.taken(tree)
        text = stager.text(rest)
        return Using(stager.stages, text, None, stager.whole)

    def _stager(self, tree: Node) -> Stager:
        for scan in (n for n in tree.walk() if isinstance(n, Scan)):
            if scan.at is not At.NEW and scan.table not in self.ctx.sources:
                raise PlanBug(f"the plan reads {scan.at.value} {scan.table}, which did not change")
        return Stager(self.ctx.shared, self.ctx.staged, self.sources)

    def stored(self, names: Sequence[str]) -> Node:
        """Columns of the target as it is before this refresh."""
        types = {c.name: c.type for c in self.root.tree.columns}
        return Reference(TARGET, tuple((n, Column(n, types.get(n))) for n in names))
