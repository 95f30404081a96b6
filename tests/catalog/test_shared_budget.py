"""Two hubs of one catalog database share their workers: the cap holds, and neither starves."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from catalog_samples import ORDERS, TOTALS
from catalog_samples import new as sample

from headwater.catalog.job_loads import Load, Waiting
from headwater.catalog.jobs import Job, JobStatus, NewJob
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


def leaves_room(load: Load, *, cap: int, quota: int = 0) -> bool:
    """As the dispatcher asks."""
    budget = Budget(per_hub=8, cap=cap, quota=quota, hubs=load.hubs)
    return budget.free(load.here, load.elsewhere, load.waiting) > 0


class Hubs:
    """Hubs that all want as many workers as they get; the first always asks first."""

    def __init__(self, url: str, count: int, cap: int) -> None:
        self.stores = [Store(url, hub=f"hub{number}") for number in range(count)]
        self.cap = cap
        self.running: list[list[Job]] = [[] for _ in self.stores]
        self.ended = [0] * count
        self._number = 0

    def queue(self, *places: int) -> None:
        self._number += 1
        for place in places:
            store = self.stores[place]
            assert store.jobs.enqueue(new(self._number), owner=owner_name(), ttl=TTL)

    def claim(self, place: int) -> bool:
        store = self.stores[place]
        quota = int(store.settings.all().get("per_hub_worker_quota", 0))
        job = store.jobs.claim(
            owner_name(), TTL, within=lambda load: leaves_room(load, cap=self.cap, quota=quota)
        )
        if job is not None:
            self.running[place].append(job)
        return job is not None

    def claim_all(self) -> list[int]:
        """Each hub takes what it may; what each has then."""
        for place in range(len(self.stores)):
            while self.claim(place):
                assert sum(map(len, self.running)) <= self.cap
        return [len(jobs) for jobs in self.running]

    def finish_one(self, place: int) -> None:
        job = self.running[place].pop(0)
        assert self.stores[place].jobs.finish(job, JobStatus.SUCCEEDED)
        self.ended[place] += 1


@pytest.fixture
def make_hubs(fresh_url: str) -> Iterator[Callable[[int, int], Hubs]]:
    made: list[Hubs] = []

    def make(count: int, cap: int) -> Hubs:
        made.append(Hubs(fresh_url, count, cap))
        return made[-1]

    yield make
    for hubs in made:
        for store in hubs.stores:
            store.close()


@pytest.mark.parametrize(
    ("count", "cap", "taken"),
    [
        (2, 2, [1, 1]),
        (2, 3, [2, 1]),
        (2, 4, [2, 2]),
        (2, 8, [4, 4]),
        (3, 2, [1, 1, 0]),
        (3, 3, [1, 1, 1]),
        (3, 4, [2, 1, 1]),
        (3, 8, [3, 3, 2]),
    ],
)
def test_no_hub_takes_what_another_one_waits_for(
    make_hubs: Callable[[int, int], Hubs], count: int, cap: int, taken: list[int]
) -> None:
    """All have queued jobs: each gets its share, and a freed worker does not always go back."""
    hubs = make_hubs(count, cap)
    for _ in range(10):
        hubs.queue(*range(count))
    assert hubs.claim_all() == taken
    for _ in range(3):
        for place in range(count):
            if hubs.running[place]:
                hubs.finish_one(place)
                hubs.queue(*range(count))
                while hubs.claim(place):  # the hub that freed it asks first
                    pass
                now = hubs.claim_all()
                assert sum(now) == cap, "no worker idles"
    assert min(hubs.ended) * 3 >= max(hubs.ended), hubs.ended


def test_a_hub_bursts_while_nobody_waits_and_the_whole_is_not_busy(
    make_hubs: Callable[[int, int], Hubs],
) -> None:
    hubs = make_hubs(2, 8)
    hubs.queue(1)
    assert hubs.claim(1)
    for _ in range(8):
        hubs.queue(0)
    assert hubs.claim_all() == [6, 1], "one and a half times its share of four"
    hubs.finish_one(0)
    hubs.finish_one(0)
    for _ in range(6):
        hubs.queue(1)
    assert not hubs.claim(0), "the other one waits for a part of its share"
    assert hubs.claim_all() == [4, 4]


def test_given_quotas_are_shares(make_hubs: Callable[[int, int], Hubs]) -> None:
    hubs = make_hubs(2, 4)
    hubs.stores[0].settings.put("per_hub_worker_quota", 1)
    hubs.stores[1].settings.put("per_hub_worker_quota", 3)
    for _ in range(6):
        hubs.queue(0, 1)
    assert hubs.claim_all() == [1, 3]
    hubs.finish_one(1)
    assert not hubs.claim(0), "it has its share, and the other one is short of its own"
    assert hubs.claim_all() == [1, 3]


@pytest.fixture
def stores(fresh_url: str) -> Iterator[list[Store]]:
    opened = [Store(fresh_url, hub="one"), Store(fresh_url, hub="two")]
    yield opened
    for store in opened:
        store.close()


def test_both_hubs_get_their_share_and_the_cap_holds(stores: list[Store]) -> None:
    """Each hub runs jobs of 20 ms as fast as it may; a third thread counts what runs."""
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
                    within=lambda load: leaves_room(load, cap=4),
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

    for number in range(6):
        one.enqueue(new(number), owner=owner, ttl=TTL)
    claimed = [
        one.claim(owner, TTL, within=lambda load: leaves_room(load, cap=4)) for _ in range(6)
    ]
    assert [job is not None for job in claimed] == [True] * 4 + [False] * 2
    assert one.loads() == {"one": (4, 2)}
    assert stores[1].jobs.load() == Load(0, 4, 2, (Waiting(4, 0, True),))


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
