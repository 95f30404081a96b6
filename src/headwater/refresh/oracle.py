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
from headwater.sql.frozen import BARE, frozen
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
    resolved: Resolved
    view: View

    @property
    def definition(self) -> Definition:
        """What is evaluated."""
        return self.resolved.definition

    def newest(self) -> str:
        """The query over the newest versions."""
        return self.at(self._newest_frontier())

    def at(self, frontier: Frontier) -> str:
        """The query over the versions of a frontier."""
        relations = self._relations(frontier)
        text = None
        if not self.definition.beyond_spark:
            text = self._pinned(self.definition.text, relations, instant(frontier))
        return text if text is not None else self._rendered(frontier, relations)

    def _pinned(self, text: str, relations: Mapping[TableName, str], now: str | None) -> str | None:
        """The user's text, views expanded, with its tables and its clock standing still."""
        if self.definition.uses_clock:
            if now is None or self._has_column_named_like_a_clock():
                return None
            text = frozen(text, now)
        failed = False

        def instead(reference: TableReference) -> str | None:
            nonlocal failed
            name = _name(reference)
            view = self.resolved.seen.views.get(name) if name is not None else None
            if view is None:
                return relations.get(name) if name is not None else None
            inside = self._pinned(view, relations, now)
            failed = failed or inside is None
            return f"(\n{inside}\n)"  # it may end with a comment

        made = substitute(text, instead)
        return None if failed else made

    def _has_column_named_like_a_clock(self) -> bool:
        fields = (f for known in self.resolved.seen.schemas.values() for f in known)
        return any(f.name.lower() in BARE for f in fields)

    def initial(self) -> str:
        """All physical columns over the newest versions."""
        frontier = self._newest_frontier()
        filling = self._filling(frontier, self._relations(frontier))
        return filling.fill(self.resolved.layout.initial)

    def _newest_frontier(self) -> Frontier:
        from headwater.core.frontier import Frontier

        clock = int(self.runtime.clock().timestamp() * 1_000_000)
        versions = {name: self.view.version(name) for name in self.definition.sources}
        return Frontier(versions, clock=clock)

    def _relations(self, frontier: Frontier) -> dict[TableName, str]:
        relations = {}
        for name, version in frontier.sources.items():
            relation = source_of(self.runtime, self.view, name).snapshot(version)
            relations[name] = self._as_seen(relation, name)
        return relations

    def _as_seen(self, relation: str, name: TableName) -> str:
        """The relation with the columns the definition knows: no hidden, no later ones."""
        metadata = self.view.metadata(name)
        now = [f.name for f in metadata.current_schema.fields] if metadata is not None else []
        known = [f.name for f in self.resolved.seen.schemas.get(name, ())]
        if now == known:
            return relation
        kept = [c for c in known if c in now]
        return f"(SELECT {', '.join(quote(c) for c in kept)} FROM {relation})"

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


def oracle(runtime: Runtime, resolved: Resolved, view: View | None = None) -> Oracle:
    """An oracle over the tables as they are now."""
    return Oracle(runtime, resolved, view or View.take(runtime))


def _name(reference: TableReference) -> TableName | None:
    try:
        return TableName.parse(".".join(reference.parts[-2:]))
    except InvalidName:
        return None
