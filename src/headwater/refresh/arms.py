"""Diamonds: sources that show one base table at different versions must be brought together.

The lagging arms are refreshed to one pin first; if they still disagree, the table waits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headwater.core.errors import DependencyCycle, HeadwaterError
from headwater.graph.dependencies import Graph
from headwater.refresh.definitions import Stored
from headwater.refresh.pin import View
from headwater.refresh.plan import plan_refresh

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headwater.catalog.rows import StreamTableRow
    from headwater.core.frontier import SourceVersion
    from headwater.core.names import TableName
    from headwater.core.results import RefreshResult
    from headwater.refresh.pin import Pin
    from headwater.refresh.runtime import Runtime


def dependency_graph(runtime: Runtime) -> Graph:
    """What reads what, from the catalog."""
    reads: dict[TableName, set[TableName]] = {row.name: set() for row in runtime.store.tables.all()}
    for name, dependency in runtime.store.tables.dependencies():
        reads.setdefault(name, set()).add(dependency.source)
    return Graph.build(reads, circular=True)


@dataclass(frozen=True, slots=True)
class Aligned:
    """The versions that the arms were brought to, or the reason why they still disagree."""

    fixed: Mapping[TableName, SourceVersion]
    disagreement: str | None = None


def align_arms(
    runtime: Runtime,
    row: StreamTableRow,
    pinned: Pin,
    refresh: Callable[..., RefreshResult],
) -> Aligned:
    """Refresh the stream tables below to common versions."""
    graph = dependency_graph(runtime)
    if graph.circle_of(row.name):
        raise DependencyCycle(
            f"{row.name} reads itself through other stream tables",
            hint="set allow_circular, or take it out of the query of another",
        )
    below = graph.upstream({row.name})
    view = pinned.view
    fixed = {base: view.version(base) for base in graph.base_of(row.name)}
    for name in graph.order:
        if name in below:
            try:
                refresh(runtime, name, fixed=fixed)
            except HeadwaterError as error:
                why = f"{name} could not be brought to the version of the others: {error.what}"
                return Aligned(fixed, why)
    _, again = plan_refresh(runtime, row, view=View.take(runtime), fixed=fixed)
    if not again.conflicts:
        return Aligned(fixed)
    tables = ", ".join(str(t) for t in again.conflicts)
    arms = ", ".join(sorted(str(n) for n in Stored.read(row.definition).stream_tables))
    return Aligned(fixed, f"{arms} do not show the same version of {tables}")
