"""The query itself, as Spark evaluates it: the user's own text with every table pinned.

It shares nothing with the delta compiler, so that `verify` compares two independent answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headwater.core.errors import InvalidName
from headwater.core.names import TableName, quote
from headwater.refresh.fill import Filling
from headwater.refresh.pin import View
from headwater.refresh.plan import source_of
from headwater.refresh.write import instant
from headwater.sql.references import substitute

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headwater.core.frontier import Frontier
    from headwater.refresh.definitions import Resolved
    from headwater.refresh.runtime import Runtime
    from headwater.sql.definition import Definition
    from headwater.sql.references import TableReference


@dataclass(frozen=True)
class Oracle:
    """A definition with the tables it may read."""

    runtime: Runtime
    definition: Definition
    view: View

    def newest(self) -> str:
        """The query over the newest versions."""
        return self.at(self._newest_frontier())

    def at(self, frontier: Frontier) -> str:
        """The query over the versions of a frontier."""
        relations = self._relations(frontier)
        text = None
        if not self.definition.uses_clock and not self.definition.views:
            text = substitute(self.definition.text, lambda ref: _pinned(ref, relations))
        return text if text is not None else self._rendered(frontier, relations)

    def initial(self, resolved: Resolved) -> str:
        """All physical columns over the newest versions."""
        frontier = self._newest_frontier()
        return self._filling(frontier, self._relations(frontier)).fill(resolved.layout.initial)

    def _newest_frontier(self) -> Frontier:
        from headwater.core.frontier import Frontier

        clock = int(self.runtime.clock().timestamp() * 1_000_000)
        versions = {name: self.view.version(name) for name in self.definition.sources}
        return Frontier(versions, clock=clock)

    def _relations(self, frontier: Frontier) -> dict[TableName, str]:
        relations = {}
        for name, version in frontier.sources.items():
            relations[name] = _visible(
                source_of(self.runtime, self.view, name).snapshot(version), self.view, name
            )
        return relations

    def _rendered(self, frontier: Frontier, relations: Mapping[TableName, str]) -> str:
        """The query through its operator tree, where the text itself cannot be pinned."""
        from headwater.sql.operators import Project
        from headwater.sql.render import to_sql

        items = tuple((column, column.ref) for _, column in self.definition.output)
        tree = Project(self.definition.tree, items)
        sql = to_sql(tree, sources=self.definition.sources)
        names = ", ".join(quote(name) for name, _ in self.definition.output)
        filled = self._filling(frontier, relations).fill(sql)
        return f"SELECT * FROM ({filled}) AS `__hw_q`({names})"

    def _filling(self, frontier: Frontier, relations: Mapping[TableName, str]) -> Filling:
        return Filling(
            sources=self.definition.sources,
            new=relations,
            old={},
            delta={},
            target="",
            run_id="check",
            now=instant(frontier),
        )


def oracle(runtime: Runtime, definition: Definition, view: View | None = None) -> Oracle:
    """An oracle over the tables as they are now."""
    return Oracle(runtime, definition, view or View.take(runtime))


def _visible(relation: str, view: View, name: TableName) -> str:
    """The relation without hidden columns, so that `SELECT *` sees what a user sees."""
    metadata = view.metadata(name)
    fields = metadata.current_schema.fields if metadata is not None else ()
    if not any(f.name.startswith("__hw_") for f in fields):
        return relation
    shown = ", ".join(quote(f.name) for f in fields if not f.name.startswith("__hw_"))
    return f"(SELECT {shown} FROM {relation})"


def _pinned(reference: TableReference, relations: Mapping[TableName, str]) -> str | None:
    try:
        name = TableName.parse(".".join(reference.parts[-2:]))
    except InvalidName:
        return None
    return relations.get(name)
