"""The decision: every situation has one action and one reason."""

from __future__ import annotations

from dataclasses import replace

import pytest
from situations import CALM, CHANGED, MB, QUIET

from headwater.core.spec import Action, RefreshMode
from headwater.refresh.decide import (
    MIN_ROWS_FOR_RATIO,
    QUERY_CHANGED,
    REPAIR,
    Situation,
    SourceChange,
    decide,
)

ACTIVE = replace(CALM, changes=(CHANGED, QUIET))
GAP = replace(CHANGED, kind="GAP", how="full", reason_code="SNAPSHOT_EXPIRED", reason="expired")
HUGE = replace(CHANGED, changed_rows=400_000)
REWRITES = "TOO_MUCH_REWRITTEN"
REWRITTEN = SourceChange(
    "default.src", "MIXED", "changes", "CHANGES", "updates", None, 1_000_000, 20 * MB
)
EMPTIED = replace(REWRITTEN, total_rows=0)
MANY = replace(CHANGED, changed_rows=5000)
SMALL = replace(REWRITTEN, rewritten_bytes=MB)

ASKED_FOR = [
    (replace(ACTIVE, needs_reinit=f"{QUERY_CHANGED} (rebuild)"), True),
    (replace(ACTIVE, needs_reinit=REPAIR), True),
    (replace(ACTIVE, needs_reinit="view v was changed"), False),
    (replace(ACTIVE, needs_reinit="view v was changed", forced=True), True),
    (replace(ACTIVE, needs_reinit="view v was changed", populated=False), True),
    (replace(ACTIVE, forced=True), True),
    (replace(ACTIVE, foreign="a stranger"), False),
]


@pytest.mark.parametrize(("situation", "asked_for"), ASKED_FOR)
def test_strict_tables_allow_what_their_owner_asked_for(
    situation: Situation, asked_for: bool
) -> None:
    assert decide(situation).is_full
    assert decide(situation).asked_for is asked_for


CASES = [
    (replace(ACTIVE, delta_reads=3, full_reads=2), Action.FULL, "DELTA_READS_MORE"),
    (replace(ACTIVE, delta_reads=2, full_reads=2), Action.INCREMENTAL, "CHANGES"),
    (replace(ACTIVE, delta_reads=3, full_reads=0), Action.INCREMENTAL, "CHANGES"),
    (replace(ACTIVE, delta_reads=3, full_reads=2, strict=True), Action.INCREMENTAL, "CHANGES"),
    (CALM, Action.NO_DATA, "NO_CHANGES"),
    (replace(CALM, changes=()), Action.NO_DATA, "NO_CHANGES"),
    (
        replace(CALM, changes=(replace(QUIET, reason_code="COMPACTION_ONLY"),)),
        Action.NO_DATA,
        "COMPACTION_ONLY",
    ),
    (replace(CALM, clock_moved=True), Action.INCREMENTAL, "CHANGES"),
    (ACTIVE, Action.INCREMENTAL, "CHANGES"),
    (replace(CALM, forced=True), Action.FULL, "REQUESTED"),
    (replace(ACTIVE, forced=True, needs_reinit="altered"), Action.REINITIALIZE, "NEEDS_REINIT"),
    (replace(CALM, foreign="a stranger"), Action.FULL, "FOREIGN_WRITE"),
    (replace(CALM, populated=False), Action.FULL, "INITIAL"),
    (replace(CALM, definition_changed=True), Action.FULL, "DEFINITION_CHANGED"),
    (replace(CALM, mode=RefreshMode.FULL), Action.NO_DATA, "NO_CHANGES"),
    (replace(ACTIVE, mode=RefreshMode.FULL), Action.FULL, "MODE_FULL"),
    (replace(ACTIVE, changes=(GAP,)), Action.FULL, "SNAPSHOT_EXPIRED"),
    (
        replace(ACTIVE, incremental=False, obstacle=("NONDET_FUNC", "uuid()")),
        Action.FULL,
        "NONDET_FUNC",
    ),
    (replace(ACTIVE, incremental=False), Action.FULL, "NOT_INCREMENTAL"),
    (replace(ACTIVE, changes=(HUGE,)), Action.FULL, "TOO_MUCH_CHANGED"),
    (replace(ACTIVE, changes=(HUGE,), mode=RefreshMode.STRICT), Action.INCREMENTAL, "CHANGES"),
    (
        replace(ACTIVE, changes=(replace(HUGE, changed_rows=MIN_ROWS_FOR_RATIO, total_rows=5),)),
        Action.INCREMENTAL,
        "CHANGES",
    ),
    (replace(ACTIVE, changes=(replace(HUGE, total_rows=None),)), Action.INCREMENTAL, "CHANGES"),
    (
        replace(ACTIVE, changes=(replace(HUGE, changed_rows=20_000, total_rows=5),), by_key=True),
        Action.FULL,
        "TOO_MUCH_CHANGED",
    ),
    (replace(ACTIVE, changes=(MANY,), keys=4000), Action.FULL, "ALL_KEYS_CHANGED"),
    (replace(ACTIVE, changes=(MANY,), keys=5001), Action.INCREMENTAL, "CHANGES"),
    (replace(ACTIVE, changes=(MANY,)), Action.INCREMENTAL, "CHANGES"),
    (replace(ACTIVE, changes=(MANY,), keys=4000, strict=True), Action.INCREMENTAL, "CHANGES"),
    (
        replace(ACTIVE, changes=(replace(MANY, changed_rows=999),), keys=10),
        Action.INCREMENTAL,
        "CHANGES",
    ),
    (replace(ACTIVE, changes=(EMPTIED,), source_bytes=0), Action.FULL, REWRITES),
    (replace(ACTIVE, changes=(EMPTIED, CHANGED), source_bytes=0), Action.INCREMENTAL, "CHANGES"),
    (replace(ACTIVE, changes=(REWRITTEN,), source_bytes=20 * MB), Action.FULL, REWRITES),
    (replace(ACTIVE, changes=(REWRITTEN,), source_bytes=60 * MB), Action.INCREMENTAL, "CHANGES"),
    (replace(ACTIVE, changes=(SMALL,), source_bytes=MB), Action.INCREMENTAL, "CHANGES"),
    (
        replace(ACTIVE, changes=(REWRITTEN,), source_bytes=20 * MB, max_change_ratio=0.5),
        Action.INCREMENTAL,
        "CHANGES",
    ),
    (
        replace(ACTIVE, changes=(REWRITTEN,), source_bytes=20 * MB, strict=True),
        Action.INCREMENTAL,
        "CHANGES",
    ),
]


@pytest.mark.parametrize(("situation", "action", "code"), CASES)
def test_decision(situation: Situation, action: Action, code: str) -> None:
    decision = decide(situation)
    assert (decision.action, decision.reason_code) == (action, code)
    assert decision.reason
    assert decision.is_full == (action in (Action.FULL, Action.REINITIALIZE))


def test_only_unasked_full_refreshes_can_be_refused() -> None:
    assert decide(replace(CALM, forced=True)).asked_for
    assert decide(replace(ACTIVE, mode=RefreshMode.FULL)).asked_for
    assert not decide(replace(ACTIVE, changes=(GAP,))).asked_for
    assert not decide(replace(CALM, foreign="x")).asked_for
