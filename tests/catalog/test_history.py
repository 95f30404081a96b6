"""The history of refreshes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from catalog_samples import TOTALS, child, done, execute, frontier, new

from headwater.catalog.history import Outcome
from headwater.catalog.idle import Idle
from headwater.catalog.rows import InitiatedBy, RunStatus
from headwater.catalog.store import Store
from headwater.core.errors import CatalogBusy, HeadwaterError, QueryFailed
from headwater.core.spec import Action, ApplyKind, Status

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
IDLE = Idle(frontier(8), 100, "NO_CHANGES", "no source changed", duration_ms=1.5)


def outcome(**options: object) -> Outcome:
    values = {
        "action": Action.INCREMENTAL, "reason_code": "DELTA", "reason": "3 rows changed",
        "frontier": frontier(7), "version": 100, "parent_version": 99, "rows_inserted": 2,
        "rows_deleted": 1, "delta_rows": 3, "spark_jobs": 4, "apply": ApplyKind.MERGE,
        "strategy": [{"node": "Aggregate", "strategy": "A"}], "data_timestamp": NOON,
    }  # fmt: skip
    return Outcome(**{**values, **options})  # type: ignore[arg-type]


def test_a_run_from_begin_to_finish(store: Store) -> None:
    row = store.tables.add(new())
    run = store.history.begin(row, initiated_by=InitiatedBy.SCHEDULER, tick=5, now=NOON)
    (running,) = store.history.runs()
    assert (running.status, running.finished_at) == (RunStatus.RUNNING, None)

    assert store.history.finish(run, outcome(), now=NOON + timedelta(seconds=2))

    (ran,) = store.history.runs(TOTALS)
    assert (ran.status, ran.action, ran.duration_ms) == (RunStatus.COMPLETED, "INCREMENTAL", 2000.0)
    assert (ran.version, ran.parent_version, ran.tick, ran.repeats) == (100, 99, 5, 1)
    assert ran.strategy == ({"node": "Aggregate", "strategy": "A"},)
    assert ran.frontier == frontier(7)
    table = store.tables.get(TOTALS)
    assert (table.status, table.is_populated, table.version) == (Status.ACTIVE, True, 100)
    assert (table.frontier, table.frontier_head) == (frontier(7), 100)
    assert (table.last_reason_code, table.last_refresh_at) == ("DELTA", NOON + timedelta(seconds=2))
    assert table.data_timestamp == NOON
    (shown,) = store.history_rows(TOTALS)
    assert (shown.run_id, shown.apply, shown.frontier) == (
        run.run_id,
        "merge",
        {"default.orders": 7},
    )


def test_running_lists_what_has_not_ended(store: Store) -> None:
    row = store.tables.add(new())
    ended, open_run = store.history.begin(row), store.history.begin(row)
    store.history.finish(ended, outcome())
    assert [r.run_id for r in store.history.running(TOTALS)] == [open_run.run_id]


def test_a_run_of_an_older_definition_does_not_touch_the_table(store: Store) -> None:
    row = store.tables.add(new())
    run = store.history.begin(row)
    store.tables.update(TOTALS, query="SELECT 2", definition_hash="other")

    assert store.history.finish(run, outcome()) is False

    assert store.tables.get(TOTALS).frontier is None
    assert store.history.runs()[0].status is RunStatus.COMPLETED
    store.tables.remove(TOTALS)
    assert store.history.fail(run, QueryFailed("late")) is None


def test_a_schedule_changed_during_a_run_does_not_lose_the_run(store: Store) -> None:
    run = store.history.begin(store.tables.add(new()))
    store.tables.update(TOTALS, schedule="1h")
    assert store.history.finish(run, outcome())
    assert store.tables.get(TOTALS).version == 100


def test_suspending_during_a_run_stays(store: Store) -> None:
    run = store.history.begin(store.tables.add(new()))
    store.tables.update(TOTALS, status=Status.SUSPENDED)
    store.history.finish(run, outcome())
    assert store.tables.get(TOTALS).status is Status.SUSPENDED


def test_only_a_rebuild_clears_the_need_for_one(store: Store) -> None:
    row = store.tables.add(new())
    run = store.history.begin(row)
    store.tables.update(TOTALS, needs_reinit=True, reinit_reason="column dropped")
    store.history.finish(run, outcome())
    assert store.tables.get(TOTALS).needs_reinit
    store.history.finish(store.history.begin(row), outcome(action=Action.REINITIALIZE))
    assert not store.tables.get(TOTALS).needs_reinit


def test_failures_count_and_suspend(store: Store) -> None:
    row = store.tables.add(new())
    seen = []
    for _ in range(3):
        run = store.history.begin(row)
        error = QueryFailed("division by zero", hint="look at the query")
        seen.append(store.history.fail(run, error, max_consecutive_errors=3))
    assert seen == [Status.ERROR, Status.ERROR, Status.SUSPENDED]
    table = store.tables.get(TOTALS)
    assert (table.consecutive_errors, table.last_error_code) == (3, "HW5005")
    assert "division by zero" in (table.last_error_message or "")
    assert store.history.runs()[0].error_code == "HW5005"

    store.history.finish(store.history.begin(row), outcome())
    assert store.tables.get(TOTALS).consecutive_errors == 0


def test_a_failed_table_is_active_again_after_a_refresh_or_an_idle_one(store: Store) -> None:
    row = store.tables.add(new())
    store.history.finish(store.history.begin(row), outcome())

    def failed(error: HeadwaterError, *, counts: bool = True) -> Status:
        run = store.history.begin(row)
        store.history.fail(run, error, max_consecutive_errors=3, counts=counts)
        return store.tables.get(TOTALS).status

    assert failed(CatalogBusy("locked", hint="wait"), counts=False) is Status.ACTIVE
    assert failed(CatalogBusy("locked", hint="wait")) is Status.ACTIVE, "it may pass by itself"
    assert failed(QueryFailed("division by zero", hint="look")) is Status.ERROR
    store.record_idle(row, IDLE)
    assert store.tables.get(TOTALS).status is Status.ACTIVE
    assert failed(QueryFailed("division by zero", hint="look")) is Status.ERROR
    store.history.finish(store.history.begin(row), outcome())
    assert store.tables.get(TOTALS).status is Status.ACTIVE
    store.tables.update(TOTALS, status=Status.SUSPENDED)
    store.record_idle(row, IDLE)
    assert store.tables.get(TOTALS).status is Status.SUSPENDED


def test_skipped_runs_say_why(store: Store) -> None:
    run = store.history.begin(store.tables.add(new()))
    store.history.skip(run, reason_code="UPSTREAM_FAILED", reason="orders_daily failed")
    assert store.history.runs()[0].status is RunStatus.SKIPPED
    assert store.tables.get(TOTALS).last_reason == "orders_daily failed"


def test_idle_refreshes_share_one_row(store: Store) -> None:
    row = store.tables.add(new())
    ids = {store.record_idle(row, IDLE, now=NOON + timedelta(seconds=s)) for s in range(50)}
    (folded,) = store.history.runs()
    assert ids == {folded.run_id}
    assert (folded.action, folded.repeats, folded.status) == ("NO_DATA", 50, RunStatus.COMPLETED)
    assert (folded.started_at, folded.finished_at) == (NOON, NOON + timedelta(seconds=49))
    table = store.tables.get(TOTALS)
    assert (table.last_action, table.last_refresh_at) == ("NO_DATA", NOON + timedelta(seconds=49))
    assert (table.frontier, table.frontier_head) == (frontier(8), 100)
    assert table.data_timestamp is None, "an idle refresh makes no data newer"
    assert table.version is None, "an idle refresh makes no version"


def test_work_between_idle_refreshes_starts_a_new_row(store: Store) -> None:
    row = store.tables.add(new())
    store.record_idle(row, IDLE)
    store.history.finish(store.history.begin(row), outcome())
    store.record_idle(row, IDLE)
    store.record_idle(row, IDLE)
    actions = [(r.action, r.repeats) for r in store.history.runs()]
    assert actions == [("NO_DATA", 2), ("INCREMENTAL", 1), ("NO_DATA", 1)]


def test_an_idle_refresh_of_an_older_definition_keeps_its_frontier_to_itself(store: Store) -> None:
    row = store.tables.add(new())
    store.tables.update(TOTALS, query="SELECT 2", definition_hash="other")
    store.record_idle(row, IDLE)
    assert store.tables.get(TOTALS).frontier is None


def test_runs_are_newest_first_and_filtered(store: Store) -> None:
    row = store.tables.add(new())
    for number in range(5):
        run = store.history.begin(row, now=NOON + timedelta(hours=number))
        action = Action.FULL if number == 2 else Action.INCREMENTAL
        done_at = NOON + timedelta(hours=number, minutes=1)
        store.history.finish(run, outcome(action=action, version=number), now=done_at)
    assert [r.version for r in store.history.runs(TOTALS, limit=2)] == [4, 3]
    assert [r.version for r in store.history.runs(action=Action.FULL)] == [2]
    assert [r.version for r in store.history.runs(since=NOON + timedelta(hours=3))] == [4, 3]
    assert store.history.prune(NOON + timedelta(hours=3)) == 3
    assert len(store.history.runs()) == 2


def test_history_outlives_its_table(store: Store) -> None:
    row = store.tables.add(new())
    store.history.finish(store.history.begin(row), outcome())
    store.tables.remove(TOTALS)
    assert [r.name for r in store.history.runs(TOTALS)] == ["default.totals"]


_BEGIN = """
import os, sys
from catalog_samples import TOTALS
from headwater.catalog.store import Store
store = Store(sys.argv[1], hub=sys.argv[2])
print(store.history.begin(store.tables.get(TOTALS)).run_id, flush=True)
sys.stdin.readline()
"""


def test_runs_of_killed_processes_are_found(store: Store, store_url: str) -> None:
    row = store.tables.add(new())
    mine = store.history.begin(row)
    worker = child(_BEGIN, store_url, store.hub)
    assert worker.stdout is not None
    theirs = worker.stdout.readline().strip()
    assert store.history.reconcile() == (), "both processes live"

    worker.kill()
    worker.communicate()

    assert [r.run_id for r in store.history.reconcile()] == [theirs]
    assert store.history.reconcile() == ()
    by_id = {r.run_id: r for r in store.history.runs()}
    assert by_id[theirs].status is RunStatus.FAILED
    assert by_id[theirs].error_code == "HW5007"
    assert by_id[mine.run_id].status is RunStatus.RUNNING


def test_a_reused_process_number_is_another_process(store: Store) -> None:
    run = store.history.begin(store.tables.add(new()))
    execute(
        store.database,
        "UPDATE hw_history SET process_started = replace(process_started, ':', ':') || '0' "
        "WHERE run_id = :run",
        run=run.run_id,
    )
    assert [r.run_id for r in store.history.reconcile()] == [run.run_id]


def test_processes_of_other_hosts_get_time(store: Store) -> None:
    run = store.history.begin(store.tables.add(new()))
    execute(store.database, "UPDATE hw_history SET host = 'elsewhere'")
    assert store.history.reconcile() == ()
    assert store.history.reconcile(unseen_after=timedelta(hours=1)) == ()
    assert [r.run_id for r in store.history.reconcile(unseen_after=timedelta(0))] == [run.run_id]


def test_two_processes_fold_idle_refreshes_without_losing_any(store: Store, store_url: str) -> None:
    store.tables.add(new())
    code = """
import sys
from catalog_samples import TOTALS, frontier
from headwater.catalog.idle import Idle
from headwater.catalog.store import Store
store = Store(sys.argv[1], hub=sys.argv[2])
row = store.tables.get(TOTALS)
for _ in range(100):
    store.record_idle(row, Idle(frontier(8), 100, "NO_CHANGES", "no source changed"))
"""
    workers = [child(code, store_url, store.hub) for _ in range(2)]
    for worker in workers:
        done(worker)
    runs = store.history.runs()
    assert sum(r.repeats for r in runs) == 200
    assert len(runs) <= 2, "at worst each process began a row of its own"
