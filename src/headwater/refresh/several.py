"""Several refreshes: selected by words, in dependency order, from one look at the sources.

A stream table that fails takes only its readers with it: everything else is refreshed first, and
then one error tells what failed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from headwater.core.errors import HeadwaterError, InvalidOption, RefreshFailed
from headwater.core.results import RefreshResult
from headwater.core.spec import Action, ApplyKind, Status
from headwater.graph.selection import Traits, select
from headwater.refresh.arms import dependency_graph
from headwater.refresh.pin import View
from headwater.refresh.run import refresh
from headwater.refresh.scans import sharing
from headwater.storage.failures import translate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headwater.core.frontier import SourceVersion
    from headwater.core.names import TableName
    from headwater.graph.dependencies import Graph
    from headwater.refresh.runtime import Runtime


def refresh_selection(
    runtime: Runtime, selection: str | Iterable[str], *, full: bool, strict: bool | None
) -> list[RefreshResult]:
    """Refresh the selected stream tables, upstream first.

    A suspended stream table is skipped, and so are the readers of one that failed.

    Raises:
        RefreshFailed: some failed; it carries the results of the others.
    """
    if not isinstance(selection, str | Iterable):
        raise InvalidOption(
            f"the selection cannot be {selection!r}", hint="give names, or '*' for all"
        )
    rows = runtime.store.tables.all()
    graph = dependency_graph(runtime)
    traits = {row.name: Traits(row.tier, row.spec.tags) for row in rows}
    chosen = select(selection, graph, traits)
    fixed = _versions(runtime, {base for name in chosen for base in graph.base_of(name)})
    with sharing(runtime, [row for row in rows if row.name in chosen]) as together:
        results, errors = _all(together, chosen, graph, full=full, strict=strict, fixed=fixed)
    if errors:
        raise RefreshFailed(results, {str(name): e for name, e in errors.items()}) from next(
            iter(errors.values())
        )
    return results


def _all(
    runtime: Runtime,
    chosen: Sequence[TableName],
    graph: Graph,
    *,
    full: bool,
    strict: bool | None,
    fixed: Mapping[TableName, SourceVersion],
) -> tuple[list[RefreshResult], dict[TableName, HeadwaterError]]:
    """Refresh one after the other; what failed takes its readers with it."""
    results: list[RefreshResult] = []
    errors: dict[TableName, HeadwaterError] = {}
    for name in chosen:
        failed = sorted(graph.upstream({name}) & errors.keys())
        try:
            if failed:
                reason = f"it reads {', '.join(map(str, failed))}, which could not be refreshed"
                results.append(_skipped(runtime, name, "UPSTREAM_FAILED", reason))
            elif runtime.store.tables.get(name).status is Status.SUSPENDED:
                reason = "it is suspended; resume_stream_table lets it refresh again"
                results.append(_skipped(runtime, name, "SUSPENDED", reason))
            else:
                results.append(refresh(runtime, name, full=full, strict=strict, fixed=fixed))
        except Exception as error:
            errors[name] = translate(error)
    return results, errors


def _versions(runtime: Runtime, bases: set[TableName]) -> dict[TableName, SourceVersion]:
    """The versions that all refreshes share; a base table that cannot be read is left out.

    Its readers find it themselves, and fail each for itself.
    """
    view = View.take(runtime)
    found = {}
    for base in bases & view.locations.keys():
        try:
            found[base] = view.version(base)
        except HeadwaterError:
            continue
    return found


def _skipped(runtime: Runtime, name: TableName, code: str, reason: str) -> RefreshResult:
    """Note in the history that a refresh was not made."""
    row = runtime.store.tables.get(name)
    run = runtime.store.history.begin(row)
    runtime.store.history.skip(run, reason_code=code, reason=reason)
    return RefreshResult(
        name=str(name),
        action=Action.SKIPPED.value,
        reason_code=code,
        reason=reason,
        rows_inserted=0,
        rows_deleted=0,
        delta_rows=0,
        duration_ms=0.0,
        frontier=row.frontier.versions() if row.frontier else {},
        version=row.version,
        run_id=run.run_id,
        spark_jobs=0,
        strategy=(),
        apply=ApplyKind.NONE.value,
    )
