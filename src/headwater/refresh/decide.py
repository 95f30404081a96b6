"""Decides what a refresh does: nothing, the delta, everything. Pure; every choice has a reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headwater.core.spec import Action, RefreshMode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headwater.refresh.cost import Forecast

MIN_ROWS_FOR_RATIO = 100_000
"""Below this many changed rows a delta is always cheaper than its reading is worth estimating."""

MIN_ROWS_BY_KEY = 10_000
"""The same where each changed row makes all rows of its key be computed again."""

MIN_ROWS_FOR_KEYS = 1_000
"""Fewer changed rows are never taken for a change of all keys."""

MIN_BYTES_FOR_RATIO = 1024 * 1024
"""Below this size the windows of rewritten files are read at once."""

COPIES = 3.0
"""A rewritten file holds rows that did not change: its bytes count a third of changed rows."""


QUERY_CHANGED = "the query was changed"
REPAIR = "a repair was asked for"


def by_owner(reason: str | None) -> bool:
    """Whether the owner of a stream table gave this reason to compute everything again."""
    return reason is not None and reason.startswith((QUERY_CHANGED, REPAIR))


@dataclass(frozen=True, slots=True)
class SourceChange:
    """What the decision must know about one source's window.

    Attributes:
        changed_rows: rows that were added; None when files were rewritten.
        rewritten_bytes: what the window reads when files were rewritten, copied rows included.
    """

    table: str
    kind: str
    how: str
    reason_code: str
    reason: str
    changed_rows: int | None = None
    total_rows: int | None = None
    rewritten_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Situation:
    """Everything the decision looks at.

    Attributes:
        mode: the declared refresh mode.
        forced: a full refresh was asked for.
        populated: the stream table has a commit of ours.
        needs_reinit: the definition no longer fits the storage; why, or None.
        foreign: a description of somebody else's write, or None.
        definition_changed: the last commit was computed with another definition.
        incremental: the compiler's verdict.
        obstacle: reason code and text when the verdict is no.
        changes: one per source.
        clock_moved: a temporal filter may let rows in or out although no source changed.
        max_change_ratio: share of a source above which a full refresh is cheaper.
        by_key: a changed row makes all rows of its key be computed again.
        keys: rows that are stored, where changed rows make their keys be computed again: no more
            keys than that; None elsewhere.
        source_bytes: size of all sources: what a full refresh reads.
        delta_reads: bytes of tables that the delta reads whole, for each time it does.
        full_reads: the same of the query itself; 0 where both are not worth comparing.
        strict: a full refresh that nobody asked for is refused: cost is no reason for one then.
        forecast: what both ways are expected to take.
        prediction_ratio: how much dearer than a full refresh a delta must be expected to be.
    """

    mode: RefreshMode
    forced: bool
    populated: bool
    needs_reinit: str | None
    foreign: str | None
    definition_changed: bool
    incremental: bool
    obstacle: tuple[str, str] | None
    changes: Sequence[SourceChange]
    clock_moved: bool = False
    max_change_ratio: float = 0.15
    by_key: bool = False
    keys: int | None = None
    source_bytes: int = 0
    delta_reads: int = 0
    full_reads: int = 0
    strict: bool = False
    forecast: Forecast | None = None
    prediction_ratio: float = 1.5


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do, why, and whether the mode allows it."""

    action: Action
    reason_code: str
    reason: str
    asked_for: bool = False

    @property
    def is_full(self) -> bool:
        """Whether everything is computed again."""
        return self.action in (Action.FULL, Action.REINITIALIZE)


def decide(now: Situation) -> Decision:
    """The first rule that applies."""
    return settled(now) or cheaper(now)


def settled(now: Situation) -> Decision | None:
    """The decision where there is no choice between a delta and everything."""
    for rule in (_forced, _storage, _idle, _mode, _gap, _verdict):
        decision = rule(now)
        if decision is not None:
            return decision
    return None


def cheaper(now: Situation) -> Decision:
    """The cheaper of the two ways: as predicted, or by fixed limits while nothing is predicted."""
    if now.mode is not RefreshMode.STRICT and not now.strict:
        predicted = now.forecast is not None and now.forecast.incremental_ms is not None
        decision = _predicted(now) if predicted else _fixed_limits(now)
        if decision is not None:
            return decision
    changed = [c for c in now.changes if c.kind != "NONE"]
    how = ", ".join(f"{c.table} by {c.how}" for c in changed) or "the clock"
    return Decision(Action.INCREMENTAL, "CHANGES", f"changes of {how}")


def _forced(now: Situation) -> Decision | None:
    if now.needs_reinit is not None:
        asked_for = by_owner(now.needs_reinit) or now.forced or not now.populated
        return Decision(Action.REINITIALIZE, "NEEDS_REINIT", now.needs_reinit, asked_for=asked_for)
    if now.forced:
        return Decision(Action.FULL, "REQUESTED", "a full refresh was asked for", asked_for=True)
    return None


def _storage(now: Situation) -> Decision | None:
    if now.foreign is not None:
        return Decision(Action.FULL, "FOREIGN_WRITE", now.foreign)
    if not now.populated:
        return Decision(Action.FULL, "INITIAL", "first load of the stream table", asked_for=True)
    if now.definition_changed:
        return Decision(Action.FULL, "DEFINITION_CHANGED", "the last commit has another definition")
    return None


def _idle(now: Situation) -> Decision | None:
    if now.clock_moved or any(c.kind != "NONE" for c in now.changes):
        return None
    if any(c.reason_code == "COMPACTION_ONLY" for c in now.changes):
        return Decision(Action.NO_DATA, "COMPACTION_ONLY", "sources were only compacted")
    return Decision(Action.NO_DATA, "NO_CHANGES", "no source has changed")


def _mode(now: Situation) -> Decision | None:
    if now.mode is RefreshMode.FULL:
        return Decision(Action.FULL, "MODE_FULL", "the refresh mode is FULL", asked_for=True)
    return None


def _gap(now: Situation) -> Decision | None:
    for change in now.changes:
        if change.kind == "GAP":
            return Decision(Action.FULL, change.reason_code, f"{change.table}: {change.reason}")
    return None


def _verdict(now: Situation) -> Decision | None:
    if now.incremental:
        return None
    code, reason = now.obstacle or ("NOT_INCREMENTAL", "the query has no delta rule")
    return Decision(Action.FULL, code, reason)


def _predicted(now: Situation) -> Decision | None:
    told = now.forecast
    if told is None or not told.exceeds(now.prediction_ratio):
        return None
    return Decision(
        Action.FULL,
        "PREDICTED_COST_EXCEEDS_FULL",
        f"the delta of {told.load.bytes:,} bytes is predicted to take {told.incremental_ms:.0f} ms,"
        f" over {now.prediction_ratio:g} times the {told.full_ms:.0f} ms of a full refresh "
        f"({told.samples} samples)",
    )


def _fixed_limits(now: Situation) -> Decision | None:
    return _ratio(now) or _all_keys(now) or _rewritten(now) or _reads_more(now)


def _ratio(now: Situation) -> Decision | None:
    for change in now.changes:
        if change.changed_rows is None or not change.total_rows:
            continue
        least = MIN_ROWS_BY_KEY if now.by_key else MIN_ROWS_FOR_RATIO
        limit = max(least, change.total_rows * now.max_change_ratio)
        if change.changed_rows > limit:
            share = change.changed_rows / change.total_rows
            return Decision(
                Action.FULL,
                "TOO_MUCH_CHANGED",
                f"{change.table}: {change.changed_rows:,} of {change.total_rows:,} rows changed "
                f"({share:.0%}), above the limit of {now.max_change_ratio:.0%}",
            )
    return None


def _all_keys(now: Situation) -> Decision | None:
    """Where as many rows changed as there are keys, computing those again is computing all."""
    changed = sum(change.changed_rows or 0 for change in now.changes)
    if now.keys is None or changed < max(MIN_ROWS_FOR_KEYS, now.keys):
        return None
    return Decision(
        Action.FULL,
        "ALL_KEYS_CHANGED",
        f"{changed:,} rows changed and their keys are computed again: the stream table has no more "
        f"than {now.keys:,}",
    )


def _rewritten(now: Situation) -> Decision | None:
    """Rewritten files are read twice and netted row by row; a full refresh reads them once."""
    read = sum(change.rewritten_bytes for change in now.changes)
    limit = max(MIN_BYTES_FOR_RATIO, now.source_bytes * now.max_change_ratio * COPIES)
    emptied = all(change.total_rows == 0 for change in now.changes)
    if read <= limit or not (now.source_bytes or emptied):
        return None
    return Decision(
        Action.FULL,
        "TOO_MUCH_REWRITTEN",
        f"the windows read {read:,} bytes of rewritten files, all sources have "
        f"{now.source_bytes:,}: above the limit of {now.max_change_ratio * COPIES:.0%}",
    )


def _reads_more(now: Situation) -> Decision | None:
    """A delta that goes over more tables than the query does is no saving."""
    if not now.full_reads or now.delta_reads <= now.full_reads:
        return None
    return Decision(
        Action.FULL,
        "DELTA_READS_MORE",
        f"the delta reads {now.delta_reads:,} bytes of whole tables, the query itself "
        f"{now.full_reads:,}",
    )
