"""The first half of a refresh: pin, window, decide. Reads metadata only, starts no Spark job."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from headwater.core.errors import (
    AppendOnlyViolated,
    FullRefreshRefused,
    SourceSchemaChanged,
    StorageDamaged,
)
from headwater.core.spec import Action, RefreshMode
from headwater.delta.program import LayoutKind
from headwater.refresh.decide import Decision, Situation, SourceChange, decide, settled
from headwater.refresh.definitions import Stored, changed_view, resolved_for
from headwater.refresh.outlook import (
    WORTH_SKIPPING,
    changes_in,
    outlook,
    predicted,
    source_sizes,
)
from headwater.refresh.pin import NO_CIRCLE, Circle, Pin, View, pin
from headwater.refresh.stages import DECIDE, PIN, WINDOW, Planned
from headwater.sources.iceberg import IcebergSource
from headwater.sources.source import How, Kind, Window
from headwater.storage.head import Head, read_head

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headwater.catalog.rows import StreamTableRow
    from headwater.core.frontier import Frontier, SourceVersion
    from headwater.core.names import TableName
    from headwater.refresh.runtime import Runtime


_SCAN = re.compile(r"`__hw_src_(\d+)_new`")


def current_frontier(row: StreamTableRow | None, head: Head) -> Frontier | None:
    """What the head equals: the advanced frontier of the catalog while it holds, else the commit's.

    An empty delta moves the frontier without a commit; that copy is valid only for the very commit
    it was written for.
    """
    if head.own is None:
        return None
    if row is not None and row.frontier is not None and row.frontier_head == head.own.snapshot_id:
        return row.frontier
    return head.frontier


def plan_refresh(
    runtime: Runtime,
    row: StreamTableRow,
    *,
    view: View,
    full: bool = False,
    strict: bool | None = None,
    fixed: Mapping[TableName, SourceVersion] | None = None,
    arms: Mapping[TableName, Frontier] | None = None,
    without: frozenset[How] = frozenset(),
    circle: Circle = NO_CIRCLE,
    tell: Callable[[str, str], None] = lambda stage, moment: None,
) -> tuple[Planned, Pin]:
    """Decide what a refresh of this stream table has to do; `tell` hears of its stages."""
    metadata = view.metadata(row.name)
    if metadata is None:
        raise StorageDamaged(
            f"the table behind stream table {row.name} is missing",
            hint=f"run repair_stream_table('{row.name}')",
        )
    stored = Stored.read(row.definition)
    head = read_head(metadata)
    old = current_frontier(row, head)
    clock = int(runtime.clock().timestamp() * 1_000_000) if stored.uses_clock else None
    tell(PIN, "start")
    pinned = pin(
        view,
        stored,
        old,
        clock=clock,
        fixed=fixed,
        arms=arms,
        advanced=lambda n, h: _arm(runtime, n, h),
        circle=circle,
    )
    tell(PIN, "end")
    tell(WINDOW, "start")
    windows = _windows(runtime, view, stored, old, pinned.frontier, without)
    ahead = outlook(view, pinned.frontier, windows)
    tell(WINDOW, "end")
    tell(DECIDE, "start")
    situation = Situation(
        mode=row.spec.refresh_mode,
        forced=full,
        populated=head.own is not None,
        needs_reinit=_unfit(runtime, row, stored),
        foreign=_foreign(head) if head.own is not None else None,
        definition_changed=head.definition_hash != row.definition_hash,
        incremental=stored.incremental,
        obstacle=stored.obstacle,
        changes=[_change(name, window) for name, window in windows.items()],
        clock_moved=stored.uses_clock and old is not None and old.clock != clock,
        max_change_ratio=float(runtime.setting("differential_max_change_ratio")),
        by_key=row.layout.get("kind") == LayoutKind.REPLACE.value,
        keys=_keys(row, head),
        source_bytes=ahead.source_bytes,
        strict=_is_strict(row, strict=strict),
    )
    if settled(situation) is None:
        ahead = replace(ahead, forecast=predicted(runtime, row, ahead))
        delta_reads, full_reads = _whole_reads(runtime, row, view, pinned.frontier, windows)
        situation = replace(
            situation,
            forecast=ahead.forecast,
            prediction_ratio=float(runtime.setting("prediction_ratio")),
            delta_reads=delta_reads,
            full_reads=full_reads,
        )
    decision = decide(situation)
    decision = _with_promises(row, windows, decision)
    _check_strict(row, windows, decision, strict=strict)
    planned = Planned(
        table=row.name,
        old=old,
        new=pinned.frontier,
        windows=windows,
        parent=metadata.current_snapshot_id,
        own=head.own.snapshot_id if head.own else None,
        decision=decision,
        outlook=ahead,
        fixed=fixed,
        arms=arms,
        circle=circle,
    )
    tell(DECIDE, "end")
    return planned, pinned


def _keys(row: StreamTableRow, head: Head) -> int | None:
    """How many keys there can be, where all rows of a changed key are computed again."""
    again = (LayoutKind.REPLACE.value, LayoutKind.KEYED.value)
    if head.own is None or row.layout.get("kind") not in again:
        return None
    return head.own.count("total-records")


def _whole_reads(
    runtime: Runtime,
    row: StreamTableRow,
    view: View,
    frontier: Frontier,
    windows: Mapping[TableName, Window],
) -> tuple[int, int]:
    """Bytes of the tables that the delta and the query read whole; small ones do not count."""
    sizes = source_sizes(view, frontier)
    if sum(sizes.values()) < WORTH_SKIPPING:
        return 0, 0
    resolved = resolved_for(runtime, row)
    program = runtime.templates.program(resolved, changes_in(windows))
    by_name = {str(name): size for name, size in sizes.items()}
    delta = sum(by_name[name] for name in program.whole)
    full = sum(sizes[resolved.sources[int(i)]] for i in _SCAN.findall(resolved.layout.initial))
    return delta, full


def _unfit(runtime: Runtime, row: StreamTableRow, stored: Stored) -> str | None:
    """Why the storage does not fit the definition any more."""
    if row.needs_reinit:
        return row.reinit_reason or "the definition changed"
    return changed_view(runtime, stored)


def _arm(runtime: Runtime, name: TableName, head: Head) -> Frontier | None:
    return current_frontier(runtime.store.tables.find(name), head)


def _windows(
    runtime: Runtime,
    view: View,
    stored: Stored,
    old: Frontier | None,
    new: Frontier,
    without: frozenset[How],
) -> dict[TableName, Window]:
    if old is None:
        return {}
    windows = {}
    for name, until in new.sources.items():
        since = old.sources.get(name)
        if since is None:
            return {}
        source = source_of(runtime, view, name)
        windows[name] = source.window(since, until, stored.used.get(name, ()), without=without)
    return windows


def source_of(runtime: Runtime, view: View, name: TableName) -> IcebergSource:
    """The source, as the view shows it."""
    return IcebergSource(runtime.tables.spelled(name), view, runtime.lake.catalog)


def check_schema(table: TableName, windows: Mapping[TableName, Window]) -> None:
    """Fail when a used column of a source is not what the definition was compiled with."""
    for name, window in windows.items():
        if window.schema_change is not None:
            change = window.schema_change
            raise SourceSchemaChanged(
                f"{table} cannot be refreshed: in {name}, {change.reason} ({change.code})",
                hint="restore the column, or alter the query; the next refresh rebuilds the table "
                "if the query still fits",
            )


def _foreign(head: Head) -> str | None:
    if head.foreign is None:
        return None
    return (
        f"snapshot {head.foreign.snapshot_id} ({head.foreign.operation}) was not written by a "
        "refresh of this stream table"
    )


def _change(name: TableName, window: Window) -> SourceChange:
    exact = window.kind is Kind.APPEND
    return SourceChange(
        table=str(name),
        kind=window.kind.value,
        how=window.how.value,
        reason_code=window.reason_code,
        reason=window.reason,
        changed_rows=window.added_records if exact else None,
        total_rows=window.total_records,
        rewritten_bytes=window.planned_bytes if window.kind is Kind.MIXED else 0,
    )


def _with_promises(
    row: StreamTableRow, windows: Mapping[TableName, Window], decision: Decision
) -> Decision:
    """Look at a delta of an append-only table: more than new rows fail, or are told in AUTO."""
    broken = [str(name) for name, window in windows.items() if window.kind is Kind.MIXED]
    if not row.spec.append_only or decision.action is not Action.INCREMENTAL or not broken:
        return decision
    told = f"{row.name} is append-only, but {', '.join(broken)} had deletes or updates"
    if row.spec.refresh_mode is not RefreshMode.AUTO:
        raise AppendOnlyViolated(
            told, hint="alter the stream table with append_only=False, or refresh with full=True"
        )
    return replace(
        decision, reason_code="APPEND_ONLY_BROKEN", reason=f"{told}: they are applied as well"
    )


def _is_strict(row: StreamTableRow, *, strict: bool | None) -> bool:
    return row.spec.refresh_mode is RefreshMode.STRICT if strict is None else strict


def _check_strict(
    row: StreamTableRow,
    windows: Mapping[TableName, Window],
    decision: Decision,
    *,
    strict: bool | None,
) -> None:
    if _is_strict(row, strict=strict) and decision.is_full and not decision.asked_for:
        if decision.action is not Action.REINITIALIZE:
            check_schema(row.name, windows)
        raise FullRefreshRefused(
            f"{row.name} needs a full refresh ({decision.reason_code}: {decision.reason}) "
            "and strict mode forbids it",
            hint=f"run refresh_stream_table('{row.name}', full=True) to allow it once",
        )
