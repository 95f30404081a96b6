"""Runs one unit in the thread of a worker: its members, upstream first, as a tick pinned them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headwater.catalog.rows import InitiatedBy
from headwater.core.errors import HeadwaterError, StreamTableNotFound
from headwater.graph.units import UnitKind
from headwater.refresh.arms import dependency_graph
from headwater.refresh.circle import refresh_circle
from headwater.refresh.perform import failed
from headwater.refresh.run import refresh
from headwater.refresh.together import MemberFailed, refresh_together
from headwater.storage.failures import translate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headwater.core.frontier import SourceVersion
    from headwater.core.names import TableName
    from headwater.core.results import RefreshResult
    from headwater.refresh.runtime import Runtime
    from headwater.scheduler.tick_state import UnitRun

_TOGETHER = (UnitKind.ATOMIC_GROUP, UnitKind.REFRESH_GROUP)


@dataclass(frozen=True, slots=True)
class UnitResult:
    """What a unit did: the results up to the member that failed, and why it failed."""

    results: tuple[RefreshResult, ...] = ()
    failed: TableName | None = None
    error: HeadwaterError | None = None


def note_failure(
    runtime: Runtime,
    name: TableName,
    error: HeadwaterError,
    *,
    tick: int | None,
    is_retried: bool,
) -> None:
    """Leave a failed run in the history for a refresh that could not even begin."""
    with suppress(HeadwaterError):  # dropped meanwhile, or the catalog is what failed
        row = runtime.store.tables.get(name)
        run = runtime.store.history.begin(row, initiated_by=InitiatedBy.SCHEDULER, tick=tick)
        failed(runtime, row, run, error, is_retried=is_retried)


def run_unit(
    runtime: Runtime,
    run: UnitRun,
    *,
    fixed: Mapping[TableName, SourceVersion] | None,
    tick: int | None,
    is_retried: bool,
    label: str,
) -> UnitResult:
    """Refresh the members of a unit; what goes wrong is in the result.

    Args:
        runtime: the hub's parts.
        run: the unit and its members that take part.
        fixed: the versions that the tick pinned.
        tick: the tick, for the history.
        is_retried: whether a transient failure will be tried again.
        label: by which its Spark jobs can be cancelled.
    """
    results: list[RefreshResult] = []
    member = run.members[0]
    try:
        with runtime.engine.labelled(label):
            if run.unit.kind in _TOGETHER and len(run.members) > 1:
                together = refresh_together(
                    runtime,
                    run.unit.key,
                    run.members,
                    fixed=fixed,
                    tick=tick,
                    is_retried=is_retried,
                )
                return UnitResult(tuple(together))
            graph = dependency_graph(runtime) if run.unit.kind is UnitKind.CYCLIC_SCC else None
            done: set[TableName] = set()
            for member in run.members:
                circle = graph.circle_of(member) if graph is not None else frozenset()
                if graph is None or not circle:
                    results.append(
                        refresh(
                            runtime,
                            member,
                            fixed=fixed,
                            initiated_by=InitiatedBy.SCHEDULER,
                            tick=tick,
                            is_retried=is_retried,
                        )
                    )
                elif member not in done:
                    settled = refresh_circle(
                        runtime,
                        graph,
                        tuple(circle),
                        fixed=fixed,
                        initiated_by=InitiatedBy.SCHEDULER,
                        tick=tick,
                        is_retried=is_retried,
                    )
                    results += settled.values()
                    done |= circle
    except MemberFailed as error:
        return UnitResult(failed=error.name, error=error.error)
    except StreamTableNotFound:
        return UnitResult(tuple(results))  # dropped meanwhile: nothing to do
    except Exception as error:
        return UnitResult(tuple(results), member, translate(error))
    return UnitResult(tuple(results))
