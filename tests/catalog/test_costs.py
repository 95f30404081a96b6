"""What refreshes took: kept with the run, shared, pruned, gone with the definition."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from catalog_samples import TOTALS, child, done, frontier, new

from headwater.catalog import costs
from headwater.catalog.costs import Cost
from headwater.catalog.history import Outcome
from headwater.catalog.rows import StreamTableRow
from headwater.catalog.stats import refresh_stats
from headwater.catalog.store import Store
from headwater.core.errors import QueryFailed
from headwater.core.spec import Action, ApplyKind, Way

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
COST = Cost(
    is_full=False,
    specialisation="default.orders:APPEND",
    apply="merge",
    planned_bytes=2**40,
    planned_rows=None,
    source_bytes=2**41,
    warmth=2,
    duration_ms=123.5,
    expected_incremental_ms=100.0,
    way=Way.SEEK,
    files=64,
    files_rewritten=3,
)


def finish(store: Store, row: StreamTableRow, cost: Cost | None, now: datetime = NOON) -> bool:
    action = Action.FULL if cost is not None and cost.is_full else Action.INCREMENTAL
    run = store.history.begin(row, now=now - timedelta(seconds=1))
    outcome = Outcome(
        action, "CHANGES", "changes", frontier(7), 100, rows_inserted=3, delta_rows=3,
        apply=ApplyKind.MERGE, cost=cost,
    )  # fmt: skip
    return store.history.finish(run, outcome, now=now)


def test_a_cost_is_kept_with_its_run(store: Store) -> None:
    row = store.tables.add(new())
    assert finish(store, row, COST)
    assert finish(store, row, None)
    (kept,) = store.costs.of(row.id, row.generation)
    assert kept.cost == COST
    assert (kept.measured_at, kept.reason_code, kept.delta_rows) == (NOON, "CHANGES", 3)


def test_another_process_knows_the_cost(store: Store, store_url: str) -> None:
    row = store.tables.add(new())
    finish(store, row, COST)
    code = """
import sys
from headwater.catalog.store import Store
url, hub, table, generation = sys.argv[1:]
with Store(url, hub=hub) as store:
    (kept,) = store.costs.of(int(table), int(generation))
    print(kept.cost.duration_ms, kept.cost.source_bytes)
"""
    told = done(child(code, store_url, store.hub, row.id, row.generation))
    assert told == f"123.5 {2**41}"


def test_full_refreshes_stay_when_deltas_have_left_the_window(store: Store) -> None:
    row = store.tables.add(new())
    finish(store, row, replace(COST, is_full=True, specialisation="full"), NOON)
    finish(store, row, COST, NOON + timedelta(minutes=1))
    finish(store, row, COST, NOON + timedelta(minutes=90))
    found = store.costs.of(row.id, row.generation, since=NOON + timedelta(minutes=30))
    assert [(c.cost.is_full, c.measured_at - NOON) for c in found] == [
        (False, timedelta(minutes=90)),
        (True, timedelta()),
    ]


def test_costs_of_an_older_definition_do_not_count(store: Store) -> None:
    row = store.tables.add(new())
    finish(store, row, COST)
    renewed = store.tables.update(TOTALS, definition_hash="other")
    assert renewed.generation != row.generation
    assert store.costs.of(renewed.id, renewed.generation) == ()
    assert not finish(store, row, COST)
    assert len(store.costs.of(row.id, row.generation)) == 1
    store.tables.remove(TOTALS)
    assert store.costs.of(row.id, row.generation) == ()


def test_old_costs_leave_and_full_ones_stay_longer(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(costs, "KEPT", 5)
    monkeypatch.setattr(costs, "_PRUNE_EVERY", 1)
    row = store.tables.add(new())
    finish(store, row, replace(COST, is_full=True))
    for _ in range(20):
        finish(store, row, COST)
    with store.database.read() as connection:
        kept = connection.execute(
            costs._C.select().where(costs._C.c.stream_table_id == row.id)
        ).all()
    assert len(kept) == 5 + 1
    assert sum(bool(c.is_full) for c in kept) == 1
    found = store.costs.of(row.id, row.generation)
    assert [c.cost.is_full for c in found] == [False] * 4 + [True]


def test_refresh_stats_sum_up_the_history(store: Store) -> None:
    assert refresh_stats(store, NOON) == ()
    row = store.tables.add(new())
    finish(store, row, COST, NOON)
    finish(store, row, replace(COST, is_full=True), NOON + timedelta(seconds=5))
    run = store.history.begin(row)
    store.history.fail(run, QueryFailed("no"))
    (stats,) = refresh_stats(store, NOON + timedelta(seconds=9))
    assert (stats.total_refreshes, stats.successful_refreshes, stats.failed_refreshes) == (3, 2, 1)
    assert (stats.incremental_refreshes, stats.full_refreshes) == (1, 1)
    assert (stats.total_rows_inserted, stats.avg_duration_ms) == (6, 1000.0)
    assert (stats.p95_duration_ms, stats.staleness_secs) == (1000.0, 4.0)
    assert (stats.last_refresh_status, stats.refresh_tier) == ("FAILED", "warm")
