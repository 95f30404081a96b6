"""Two hubs of one catalog database share their workers: the cap holds, and neither starves."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from catalog_samples import ORDERS, TOTALS
from catalog_samples import new as sample

from headwater.catalog.jobs import JobStatus, Load, NewJob
from headwater.catalog.owners import is_gone, owner_name
from headwater.catalog.rows import NewStreamTable
from headwater.catalog.schedule_states import FuseState
from headwater.catalog.store import Store
from headwater.core.spec import Tier
from headwater.graph.units import UnitKind
from headwater.scheduler.tick_budget import Budget

TTL = timedelta(seconds=10)


def new(number: int) -> NewJob:
    return NewJob(f"singleton:t{number}", UnitKind.SINGLETON, (f"default.t{number}",), 1)


@pytest.fixture
def stores(fresh_url: str) -> Iterator[list[Store]]:
    opened = [Store(fresh_url, hub="one"), Store(fresh_url, hub="two")]
    yield opened
    for store in opened:
        store.close()


def test_both_hubs_get_their_share_and_the_cap_holds(stores: list[Store]) -> None:
    """Each hub runs jobs of 20 ms as fast as it may; a third thread counts what runs."""
    budget = {"per_hub": 4, "cap": 4}
    ended = {"one": 0, "two": 0}
    most = {"all": 0}
    deadline = time.monotonic() + 3
    guard = threading.Lock()

    def worker(store: Store, number: int) -> None:
        owner = owner_name()
        while time.monotonic() < deadline:
            store.jobs.enqueue(new(number), owner=owner, ttl=TTL)
            queued = [
                j for j in store.jobs.all(JobStatus.QUEUED) if j.unit_key.endswith(f"t{number}")
            ]
            job = (
                store.jobs.claim(
                    owner,
                    TTL,
                    job_id=queued[0].job_id,
                    within=lambda load: (
                        Budget(**budget, hubs=load.hubs).free(load.here, load.elsewhere) > 0
                    ),
                )
                if queued
                else None
            )
            if job is None:
                time.sleep(0.005)
                continue
            running = store.jobs.loads()
            with guard:
                most["all"] = max(most["all"], sum(r for r, _ in running.values()))
            time.sleep(0.02)
            assert store.jobs.finish(job, JobStatus.SUCCEEDED)
            with guard:
                ended[store.hub] += 1

    threads = [
        threading.Thread(target=worker, args=(store, number))
        for store in stores
        for number in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most["all"] <= 4, "never more than the cap"
    assert min(ended.values()) * 3 >= max(ended.values()), f"neither starves: {ended}"


def test_a_hub_alone_uses_all_workers(stores: list[Store]) -> None:
    one = stores[0].jobs
    owner = owner_name()

    def leaves_room(load: Load) -> bool:
        return Budget(per_hub=8, cap=4, hubs=load.hubs).free(load.here, load.elsewhere) > 0

    for number in range(6):
        one.enqueue(new(number), owner=owner, ttl=TTL)
    claimed = [one.claim(owner, TTL, within=leaves_room) for _ in range(6)]
    assert [job is not None for job in claimed] == [True] * 4 + [False] * 2
    assert one.loads() == {"one": (4, 2)}
    assert stores[1].jobs.load() == Load(0, 4, 2)


def test_jobs_of_a_dead_owner_are_closed_at_once(stores: list[Store]) -> None:
    jobs = stores[0].jobs
    dead = "|".join([*owner_name().split("|")[:1], "999999", "boot:ns:1", "x"])
    jobs.enqueue(new(1), owner=dead, ttl=TTL)
    jobs.enqueue(new(2), owner=dead, ttl=TTL)
    assert jobs.claim(dead, TTL) is not None
    assert jobs.reap() == (), "their leases still hold"
    assert is_gone(dead)
    assert not is_gone(owner_name())
    assert not is_gone("something else")
    lost = jobs.reap(is_gone=is_gone)
    assert {(j.unit_key, j.status) for j in lost} == {
        ("singleton:t1", JobStatus.RETRYABLE_FAILED),
        ("singleton:t2", JobStatus.CANCELLED),
    }
    assert [j.unit_key for j in jobs.failures()] == ["singleton:t1"]
    assert jobs.enqueue(new(1), owner=owner_name(), ttl=TTL) is not None
    assert jobs.failures() == (), "a newer attempt is under way"


def test_what_the_scheduler_remembers(store: Store) -> None:
    row = store.tables.add(new_table())
    assert store.schedule.all() == {}
    store.schedule.save(
        {
            row.id: {"decision_code": "NOT_DUE", "decision_reason": "later", "sla_misses": 2},
            row.id + 1000: {"decision_code": "NOT_DUE"},
        }
    )
    store.schedule.save({row.id: {"sla_spare": 1}})
    state = store.schedule.all()[row.id]
    assert (state.decision_code, state.sla_misses, state.sla_spare) == ("NOT_DUE", 2, 1)
    assert store.schedule.fuses() == {}
    store.schedule.set_fuse(row.id, FuseState.BLOWN, reason="too many", ceiling=10)
    fuse = store.schedule.fuses()[row.id]
    assert (fuse.fuse_state, fuse.fuse_ceiling, fuse.sla_misses) == (FuseState.BLOWN, 10, 2)
    store.tables.remove(row.name)
    assert store.schedule.all() == {}, "forgotten with the stream table"


def test_gates_groups_and_ticks(store: Store) -> None:
    generation = store.generation()
    assert store.gates.close(ORDERS)
    assert not store.gates.close(ORDERS)
    assert store.gates.all() == {ORDERS}
    assert store.gates.open(ORDERS)
    assert not store.gates.open(ORDERS)
    store.groups.put("g", [ORDERS, TOTALS])
    store.groups.put("g", [TOTALS, ORDERS])
    assert store.groups.all() == {"g": (TOTALS, ORDERS)}
    assert store.groups.drop("g")
    assert not store.groups.drop("g")
    assert store.generation() > generation, "every coordinator sees it"
    tick = store.ticks.begin({"default.orders": 7, "default.empty": None}, units=2)
    assert store.ticks.versions(tick) == {"default.orders": 7, "default.empty": None}
    assert store.ticks.versions(tick + 1) == {}
    store.ticks.finish(tick)
    now = datetime.now(UTC)
    for second in range(3):
        store.ticks.idle(now + timedelta(seconds=second), 1.0, 12)
    (idle,) = store.history.runs()
    assert (idle.name, idle.repeats, idle.reason_code) == ("*", 3, "IDLE_TICK")
    assert store.ticks.last_at() == now + timedelta(seconds=2)
    assert store.past.totals().refreshes == 0, "an idle tick is no refresh"
    assert store.ticks.prune(now + timedelta(days=1)) == 1


def test_outlines_are_read_where_something_changed(store: Store) -> None:
    row = store.tables.add(new_table())
    (outline,) = store.outlines.read()
    assert (outline.name, outline.reads, outline.deadline_ms) == (TOTALS, (ORDERS,), 30_000)
    before = store.outlines.stamps()
    store.tables.update(TOTALS, tier=Tier.COLD)
    assert store.outlines.stamps() != before
    assert store.outlines.read([row.id])[0].tier is Tier.COLD
    assert store.outlines.read([row.id + 1]) == ()


def new_table() -> NewStreamTable:
    return replace(sample(), definition={"sources": ["default.orders"], "uses_clock": False})


def test_a_batch_that_began_after_the_look_may_be_half_in_it(store: Store) -> None:
    before = store.batches.begin()
    look = store.batches.look()
    assert look.may_hold(before)
    assert not look.may_hold(None)
    assert not look.may_hold("an id of another writer")
    time.sleep(0.002)
    unseen = store.batches.begin()
    store.batches.close(unseen)
    assert look.may_hold(unseen), "it came and went since"
    store.batches.close(before)
    later = store.batches.look()
    assert not later.may_hold(before)
    assert not later.may_hold(unseen)
    assert later.ids == frozenset()
