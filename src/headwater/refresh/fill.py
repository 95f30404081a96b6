"""Fills the holes of a compiled template: source versions, the target, the run, the clock."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headwater.core.errors import PlanBug

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headwater.core.names import TableName

_HOLE = re.compile(r"`__hw_(?:src_(?P<index>\d+)_(?P<at>new|old|delta)|(?P<target>target))`")
_TEXT_HOLE = re.compile(r"'__hw_(?P<name>run|now|before)'")


@dataclass(frozen=True, slots=True)
class Filling:
    """What goes into the holes of one run's templates.

    Attributes:
        sources: the sources in the order the template numbers them.
        new: FROM text of each source at the new frontier.
        old: FROM text of each source at the old frontier.
        delta: FROM text of each changed source's weighted rows.
        target: the stream table.
        run_id: prefix of new row ids.
        now: clock of the new frontier, as a timestamp text.
        before: clock of the old frontier.
    """

    sources: Sequence[TableName]
    new: Mapping[TableName, str]
    old: Mapping[TableName, str]
    delta: Mapping[TableName, str]
    target: str
    run_id: str
    now: str | None = None
    before: str | None = None

    def fill(self, template: str) -> str:
        """The template as a statement Spark can run."""
        return _TEXT_HOLE.sub(self._text, _HOLE.sub(self._relation, template))

    def _relation(self, match: re.Match[str]) -> str:
        if match["target"]:
            return self.target
        table = self.sources[int(match["index"])]
        known = {"new": self.new, "old": self.old, "delta": self.delta}[match["at"]]
        if table not in known:
            raise PlanBug(f"template reads {table} {match['at']}, which this run does not have")
        return known[table]

    def _text(self, match: re.Match[str]) -> str:
        value = {"run": self.run_id, "now": self.now, "before": self.before}[match["name"]]
        if value is None:
            raise PlanBug(f"template uses the {match['name']} hole, which this run does not have")
        return f"'{value}'"
