"""Diamonds: sources that show one base table at different versions must be brought together.

Nobody else refreshes the stream tables below meanwhile, so all of them reach one pin; what was
waiting reads exactly the versions that they had then, however far they move on afterwards. If one
of them fails, the table above waits.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headwater.core.errors import DependencyCycle, HeadwaterError
from headwater.graph.dependencies import Graph
from headwater.refresh.definitions import Stored
from headwater.refresh.locks import table_lock
from headwater.refresh.pin import View
from headwater.refresh.plan import current_frontier, plan_refresh
from headwater.storage.head import read_head

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from headwater.catalog.rows import StreamTableRow
    from headwater.core.frontier import Frontier, SourceVersion
    from headwater.core.names import TableName
    from headwater.core.results import RefreshResult
    from headwater.refresh.runtime import Runtime


def dependency_graph(runtime: Runtime) -> Graph:
    """What reads what, from the catalog."""
    reads: dict[TableName, set[TableName]] = {row.name: set() for row in runtime.store.tables.all()}
    for name, dependency in runtime.store.tables.dependencies():
        reads.setdefault(name, set()).add(dependency.source)
    return Graph.build(reads, circular=True)


@dataclass(frozen=True, slots=True)
class Aligned:
    """What the stream tables below were brought to.

    Attributes:
        fixed: the version of each base table and of each stream table below.
        arms: the frontier of each of these stream tables at that version.
        disagreement: why they could not be brought together.
    """

    fixed: Mapping[TableName, SourceVersion]
    arms: Mapping[TableName, Frontier] = field(default_factory=dict)
    disagreement: str | None = None


def align_arms(
    runtime: Runtime, row: StreamTableRow, refresh: Callable[..., RefreshResult]
) -> Aligned:
    """Bring the stream tables below one that is not locked to common versions."""
    graph = dependency_graph(runtime)
    if graph.circle_of(row.name):
        raise DependencyCycle(
            f"{row.name} reads itself through other stream tables",
            hint="set allow_circular, or take it out of the query of another",
        )
    found = brought_together(runtime, graph, [row.name], refresh)
    if found.disagreement is not None:
        return found
    view = View.take(runtime)
    _, again = plan_refresh(runtime, row, view=view, fixed=found.fixed, arms=found.arms)
    if not again.conflicts:
        return found
    tables = ", ".join(str(t) for t in again.conflicts)
    arms = ", ".join(sorted(str(n) for n in Stored.read(row.definition).stream_tables))
    return Aligned(found.fixed, disagreement=f"{arms} do not show the same version of {tables}")


def brought_together(
    runtime: Runtime,
    graph: Graph,
    members: Iterable[TableName],
    refresh: Callable[..., RefreshResult],
) -> Aligned:
    """Refresh the stream tables below some others to one pin, while nobody else refreshes them."""
    above = set(members)
    found = graph.upstream(above) - above
    below = [name for name in graph.order if name in found]
    with ExitStack() as locks:
        for name in sorted(below):
            if not graph.circle_of(name):  # a circle is locked as a whole, before its members
                locks.enter_context(table_lock(runtime, name))
        view = View.take(runtime)
        bases = graph.base_of(*above)
        fixed = {base: view.version(base) for base in bases if base in view.locations}
        for name in below:
            try:
                refresh(runtime, name, fixed=fixed)
            except HeadwaterError as error:
                why = f"{name} could not be brought to the version of the others: {error.what}"
                return Aligned(fixed, disagreement=why)
        return _shown(runtime, below, fixed)


def _shown(
    runtime: Runtime, below: Iterable[TableName], fixed: Mapping[TableName, SourceVersion]
) -> Aligned:
    """What stream tables hold now."""
    view, arms = View.take(runtime), {}
    versions = dict(fixed)
    for name in below:
        metadata = view.metadata(name)
        head = read_head(metadata) if metadata is not None else None
        frontier = current_frontier(runtime.store.tables.get(name), head) if head else None
        if frontier is not None:
            arms[name], versions[name] = frontier, view.version(name)
    return Aligned(versions, arms)
