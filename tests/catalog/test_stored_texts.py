"""Texts of any origin are stored: errors of Spark may hold what no database takes."""

from __future__ import annotations

from datetime import timedelta

import pytest
from catalog_samples import TOTALS, new

from headwater.catalog.jobs import JobStatus, NewJob
from headwater.catalog.rows import StreamTableRow
from headwater.catalog.schedule_states import FuseState
from headwater.catalog.store import Store
from headwater.core.errors import QueryFailed
from headwater.graph.units import UnitKind

TTL = timedelta(seconds=30)
NASTY = "the value 'a\0b' in caf\udce9 is no number"


@pytest.fixture
def row(store: Store) -> StreamTableRow:
    return store.tables.add(new())


def check(text: str | None) -> None:
    """All of it is there, but for what cannot be."""
    assert text is not None
    assert "the value 'a\ufffdb' in caf" in text
    assert "is no number" in text
    text.encode()


def test_the_error_of_a_refresh(store: Store, row: StreamTableRow) -> None:
    store.history.fail(store.history.begin(row), QueryFailed(NASTY), max_consecutive_errors=3)
    (run,) = store.history.runs(TOTALS)
    check(run.error_message)
    check(store.tables.get(TOTALS).last_error_message)


def test_the_reason_of_a_refresh_that_was_not_made(store: Store, row: StreamTableRow) -> None:
    store.history.skipped([(row, "GATED", NASTY)])
    (run,) = store.history.runs(TOTALS)
    check(run.reason)


def test_the_end_of_a_job(store: Store) -> None:
    unit = NewJob("s:default.totals", UnitKind.SINGLETON, ("default.totals",), dag_version=3)
    assert store.jobs.enqueue(unit)
    job = store.jobs.claim("worker", TTL)
    assert job is not None
    store.jobs.finish(job, JobStatus.PERMANENT_FAILED, detail=NASTY)
    (ended,) = store.jobs.all()
    assert ended.status is JobStatus.PERMANENT_FAILED
    check(ended.outcome_detail)


def test_the_reason_of_a_choice_and_of_a_fuse(store: Store, row: StreamTableRow) -> None:
    store.schedule.save({row.id: {"decision_code": "GATED", "decision_reason": NASTY}})
    store.schedule.set_fuse(row.id, FuseState.BLOWN, reason=NASTY)
    state = store.schedule.all()[row.id]
    check(state.decision_reason)
    check(state.fuse_reason)


def test_the_reason_why_content_is_built_anew(store: Store, row: StreamTableRow) -> None:
    store.tables.update(TOTALS, needs_reinit=True, reinit_reason=NASTY)
    check(store.tables.get(TOTALS).reinit_reason)
