"""Several refreshes: selected by words, in dependency order, from one look at the sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.graph.selection import Traits, select
from headwater.refresh.arms import dependency_graph
from headwater.refresh.pin import View
from headwater.refresh.run import refresh

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headwater.core.results import RefreshResult
    from headwater.refresh.runtime import Runtime


def refresh_selection(
    runtime: Runtime, selection: str | Iterable[str], *, full: bool, strict: bool | None
) -> list[RefreshResult]:
    """Refresh the selected stream tables, upstream first."""
    rows = runtime.store.tables.all()
    graph = dependency_graph(runtime)
    traits = {row.name: Traits(row.tier, row.spec.tags) for row in rows}
    chosen = select(selection, graph, traits)
    view = View.take(runtime)
    bases = {base for name in chosen for base in graph.base_of(name)}
    fixed = {base: view.version(base) for base in bases if base in view.locations}
    return [refresh(runtime, name, full=full, strict=strict, fixed=fixed) for name in chosen]
