"""Several refreshes: selected by words, in dependency order, from one look at the sources.

Stream tables that do not read each other are refreshed side by side. One that fails takes only its
readers with it: everything else is refreshed first, and then one error tells what failed.
"""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
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
    from collections.abc import Collection, Mapping, Sequence

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
    fixed = _versions(runtime, graph.base_of(*chosen))
    with sharing(runtime, [row for row in rows if row.name in chosen]) as together:
        done = _Round(together, chosen, graph, full, strict, fixed)
        done.run(_workers(runtime))
    results = [done.results[name] for name in chosen if name in done.results]
    if done.errors:
        raise RefreshFailed(results, {str(n): e for n, e in done.errors.items()}) from next(
            iter(done.errors.values())
        )
    return results


def _workers(runtime: Runtime) -> int:
    """How many refreshes run at once."""
    if runtime.setting("parallel_refresh_mode") != "on":
        return 1
    most = int(runtime.setting("max_dynamic_refresh_workers"))
    return max(1, min(int(runtime.setting("max_parallel_workers")), most))


@dataclass
class _Round:
    """Refreshes the chosen stream tables, each after those of them that it reads."""

    runtime: Runtime
    chosen: Sequence[TableName]
    graph: Graph
    full: bool
    strict: bool | None
    fixed: Mapping[TableName, SourceVersion]
    results: dict[TableName, RefreshResult] = field(default_factory=dict)
    errors: dict[TableName, HeadwaterError] = field(default_factory=dict)

    def run(self, workers: int) -> None:
        """Refresh all; what fails is in `errors`."""
        if workers == 1 or len(self.chosen) == 1:
            for name in self.chosen:
                self._take(name, self._outcome(name, self._failed(name)))
            return
        label = f"headwater-round-{uuid.uuid4().hex}"
        with ThreadPoolExecutor(min(workers, len(self.chosen)), "headwater-refresh") as pool:
            try:
                self._side_by_side(pool, workers, label)
            except BaseException:  # the user does not want to wait any more
                pool.shutdown(wait=False, cancel_futures=True)
                self.runtime.engine.cancel(label)
                raise

    def _side_by_side(self, pool: ThreadPoolExecutor, workers: int, label: str) -> None:
        order: TopologicalSorter[TableName] = TopologicalSorter()
        for place, name in enumerate(self.chosen):  # in a circle those before it come first
            order.add(name, *self.graph.upstream({name}).intersection(self.chosen[:place]))
        order.prepare()
        ready: deque[TableName] = deque()
        running: dict[Future[RefreshResult | HeadwaterError], TableName] = {}
        while order.is_active():
            ready.extend(order.get_ready())
            while ready and len(running) < workers:
                name = ready.popleft()
                running[pool.submit(self._labelled, name, self._failed(name), label)] = name
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                name = running.pop(future)
                self._take(name, future.result())
                order.done(name)

    def _failed(self, name: TableName) -> list[TableName]:
        """What it reads that could not be refreshed."""
        return sorted(self.graph.upstream({name}) & self.errors.keys())

    def _labelled(
        self, name: TableName, failed: Sequence[TableName], label: str
    ) -> RefreshResult | HeadwaterError:
        with self.runtime.engine.labelled(label):
            return self._outcome(name, failed)

    def _outcome(
        self, name: TableName, failed: Sequence[TableName]
    ) -> RefreshResult | HeadwaterError:
        try:
            if failed:
                reason = f"it reads {', '.join(map(str, failed))}, which could not be refreshed"
                return _skipped(self.runtime, name, "UPSTREAM_FAILED", reason)
            if self.runtime.store.tables.get(name).status is Status.SUSPENDED:
                reason = "it is suspended; resume_stream_table lets it refresh again"
                return _skipped(self.runtime, name, "SUSPENDED", reason)
            return refresh(self.runtime, name, full=self.full, strict=self.strict, fixed=self.fixed)
        except Exception as error:
            return translate(error)

    def _take(self, name: TableName, outcome: RefreshResult | HeadwaterError) -> None:
        if isinstance(outcome, HeadwaterError):
            self.errors[name] = outcome
        else:
            self.results[name] = outcome


def _versions(runtime: Runtime, bases: Collection[TableName]) -> dict[TableName, SourceVersion]:
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
