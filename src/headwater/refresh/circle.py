"""Refreshes stream tables that read each other in a circle, round by round, until nothing changes.

All queries of a circle are monotone. Rows that were only added to what it reads are passed around
until no member gets a new one: that is the smallest content that fits all queries. When rows were
taken away, members could keep rows that only support each other, so the circle is computed from the
start: each member once with the others empty as far as they were not computed yet, then round by
round. A mark in the catalog makes sure that a start that was interrupted is made again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headwater.catalog.rows import InitiatedBy
from headwater.core.errors import DependencyCycle, FixpointNotReached, HeadwaterError
from headwater.core.names import TableName
from headwater.core.spec import Action
from headwater.refresh.decide import by_owner
from headwater.refresh.definitions import resolved_for
from headwater.refresh.locks import table_lock
from headwater.refresh.perform import failed
from headwater.refresh.pin import Circle, View
from headwater.refresh.plan import plan_refresh
from headwater.refresh.recover import recover_unrecorded
from headwater.refresh.run import Asked, not_planned, refresh_once
from headwater.sources.source import Kind
from headwater.sql.monotone import obstacle

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headwater.core.frontier import SourceVersion
    from headwater.core.results import RefreshResult
    from headwater.graph.dependencies import Graph
    from headwater.refresh.definitions import Resolved
    from headwater.refresh.runtime import Runtime

_ADDED = (Kind.NONE, Kind.APPEND)
_REASON = "its circle is computed from the start"


def check_circle(runtime: Runtime, graph: Graph, name: TableName, resolved: Resolved) -> None:
    """Refuse a circle whose queries may take rows away.

    Raises:
        DependencyCycle: the message names the circle, the query and the part of it.
    """
    circle = graph.circle_of(name)
    for member in sorted(circle):
        row = runtime.store.tables.find(member)
        own = member == name
        if row is None and not own:
            continue
        known = resolved if own or row is None else resolved_for(runtime, row)
        found = obstacle(known.definition)
        if found is None and known.verdict.incremental:
            continue
        what = found.what if found is not None else "it cannot be maintained incrementally"
        raise DependencyCycle(
            f"{' and '.join(map(str, sorted(circle)))} read each other, and {member} is not "
            f"monotone: {what}",
            hint="a circle may filter, join, unite and remove duplicates, nothing else",
            place=found.place if found is not None and own else None,
            sql=known.definition.text if own else None,
        )


def refresh_circle(
    runtime: Runtime,
    graph: Graph,
    members: Sequence[TableName],
    *,
    fixed: Mapping[TableName, SourceVersion] | None = None,
    initiated_by: InitiatedBy = InitiatedBy.MANUAL,
    tick: int | None = None,
    is_retried: bool = False,
    full: bool = False,
) -> dict[TableName, RefreshResult]:
    """Bring all members of a circle to their smallest common content.

    Returns:
        For each member its last refresh that changed something, or its last one.

    Raises:
        FixpointNotReached: the circle did not settle in as many rounds as the settings allow.
    """
    asked = Asked(
        full=False,
        strict=None,
        fixed=fixed,
        initiated_by=initiated_by,
        tick=tick,
        is_retried=is_retried,
    )
    first = min(members)
    with table_lock(runtime, TableName(first.namespace, f"__hw_circle_{first.name}")):
        return _Rounds(runtime, graph, sorted(members), asked).run(from_start=full)


class _Rounds:
    """One refresh of a circle."""

    def __init__(
        self, runtime: Runtime, graph: Graph, members: Sequence[TableName], asked: Asked
    ) -> None:
        self._runtime = runtime
        self._members = members
        self._asked = asked
        view = View.take(runtime)
        bases = graph.base_of(*members)
        given = asked.fixed or {}
        known = {b: given.get(b) or view.version(b) for b in bases if b in view.locations}
        self._circle = Circle(frozenset(members), known)
        self._results: dict[TableName, RefreshResult] = {}

    def run(self, *, from_start: bool) -> dict[TableName, RefreshResult]:
        limit = int(self._runtime.setting("max_fixpoint_iterations"))
        if from_start or self._must_start_anew():
            self._start_anew(asked_for=from_start or self._altered())
        for _ in range(limit):
            changed = [self._refresh(name) for name in self._members]
            if not any(changed):
                return self._results
        self._fail(limit)
        raise AssertionError("unreachable")

    def _must_start_anew(self) -> bool:
        """Whether a member reads something from which rows may have been taken away."""
        view = View.take(self._runtime)
        for name in self._members:
            row = recover_unrecorded(self._runtime, name)
            if row.needs_reinit:
                return True
            try:
                planned, _ = plan_refresh(
                    self._runtime, row, view=view, fixed=self._asked.fixed, circle=self._circle
                )
            except HeadwaterError as error:
                not_planned(self._runtime, row, self._asked, error)
                raise
            if planned.old is None or planned.decision.reason_code in (
                "FOREIGN_WRITE",
                "DEFINITION_CHANGED",
                "NEEDS_REINIT",
            ):
                return True
            outside = planned.windows.keys() - self._circle.members
            if any(planned.windows[source].kind not in _ADDED for source in outside):
                return True
        return False

    def _altered(self) -> bool:
        """Whether the owner of a member gave a reason to compute it again."""
        rows = (self._runtime.store.tables.get(name) for name in self._members)
        return any(row.needs_reinit and by_owner(row.reinit_reason) for row in rows)

    def _start_anew(self, *, asked_for: bool) -> None:
        for name in self._members:
            self._runtime.store.tables.update(name, needs_reinit=True, reinit_reason=_REASON)
        for number, name in enumerate(self._members):
            self._refresh(name, empty=frozenset(self._members[number:]), full=asked_for)

    def _refresh(
        self, name: TableName, empty: frozenset[TableName] = frozenset(), *, full: bool = False
    ) -> bool:
        """Refresh one member; whether that changed its content."""
        before = self._runtime.store.tables.get(name).version
        circle = Circle(self._circle.members, self._circle.base, empty)
        result = refresh_once(self._runtime, name, replace(self._asked, full=full), circle)
        changed = result.version != before
        if changed or name not in self._results or self._results[name].action == Action.NO_DATA:
            self._results[name] = result
        return changed

    def _fail(self, limit: int) -> None:
        """No member can be trusted: each gets the error, and starts anew next time."""
        error: HeadwaterError = FixpointNotReached(
            f"{' and '.join(map(str, self._members))} read each other, and did not settle in "
            f"{limit} rounds",
            hint="let the circle remove duplicates (UNION, DISTINCT) and make no new values, or "
            "raise max_fixpoint_iterations",
        )
        for name in self._members:
            row = self._runtime.store.tables.update(name, needs_reinit=True, reinit_reason=_REASON)
            run = self._runtime.store.history.begin(
                row, initiated_by=self._asked.initiated_by, tick=self._asked.tick
            )
            failed(self._runtime, row, run, error)
        raise error
