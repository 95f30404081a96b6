"""Leases and fencing, with real processes where they matter."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from catalog_samples import child, done

from headwater.catalog.leases import Lease
from headwater.catalog.store import Store
from headwater.core.errors import RefreshConflict

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
TTL = timedelta(seconds=30)


def held(lease: Lease | None) -> Lease:
    assert lease is not None
    return lease


def test_one_holder_at_a_time(store: Store) -> None:
    first = held(store.leases.acquire("leader", "a", TTL, now=NOON))
    assert store.leases.acquire("leader", "b", TTL, now=NOON + TTL / 2) is None
    assert store.leases.acquire("leader", "a", TTL, now=NOON) is None, "not even for its holder"
    assert store.leases.holder("leader", now=NOON) == first
    assert store.leases.acquire("other", "b", TTL, now=NOON) is not None


def test_tokens_only_grow(store: Store) -> None:
    first = held(store.leases.acquire("leader", "a", TTL, now=NOON))
    second = held(store.leases.acquire("leader", "b", TTL, now=NOON + TTL))
    assert store.leases.release(second)
    third = held(store.leases.acquire("leader", "a", TTL, now=NOON))
    assert [first.token, second.token, third.token] == [1, 2, 3]


def test_renewal_keeps_the_token_until_expiry(store: Store) -> None:
    lease = held(store.leases.acquire("leader", "a", TTL, now=NOON))
    renewed = held(store.leases.renew(lease, TTL, now=NOON + TTL / 2))
    assert (renewed.token, renewed.expires_at) == (lease.token, NOON + TTL / 2 + TTL)
    assert store.leases.acquire("leader", "b", TTL, now=NOON + TTL) is None
    assert store.leases.renew(renewed, TTL, now=renewed.expires_at) is None, "expired is lost"


def test_who_lost_a_lease_can_do_nothing_with_it(store: Store) -> None:
    old = held(store.leases.acquire("leader", "a", TTL, now=NOON))
    newer = held(store.leases.acquire("leader", "b", TTL, now=NOON + TTL))

    assert store.leases.renew(old, TTL, now=NOON) is None
    assert store.leases.release(old) is False
    with pytest.raises(RefreshConflict, match="taken over"):
        store.intents.add("diamond", [{"name": "t"}], fences=[old])
    assert store.intents.pending() == ()

    store.intents.add("diamond", [{"name": "t"}], fences=[newer])
    assert [i.unit_key for i in store.intents.pending()] == ["diamond"]


def test_the_clock_of_the_database_counts_by_default(store: Store) -> None:
    assert store.leases.acquire("leader", "a", timedelta(seconds=-1)) is not None
    assert store.leases.acquire("leader", "b", TTL) is not None, "the first was born expired"
    assert store.leases.acquire("leader", "c", TTL) is None


def test_hubs_do_not_share_leases(store: Store, store_url: str) -> None:
    assert store.leases.acquire("leader", "a", TTL)
    with Store(store_url, hub=store.hub + "_other") as other:
        assert other.leases.acquire("leader", "a", TTL)


_HOLD = """
import sys
from datetime import timedelta
from headwater.catalog.store import Store
store = Store(sys.argv[1], hub=sys.argv[2])
lease = store.leases.acquire("leader", "child", timedelta(hours=1))
print(lease.token, flush=True)
sys.stdin.readline()
print(store.leases.renew(lease, timedelta(hours=1)) is not None, flush=True)
"""


def test_a_killed_holder_is_replaced_at_once(store: Store, store_url: str) -> None:
    holder = child(_HOLD, store_url, store.hub)
    assert holder.stdout is not None
    assert holder.stdout.readline().strip() == "1"
    assert store.leases.acquire("leader", "me", TTL) is None, "its holder lives"

    holder.kill()
    holder.communicate()

    assert held(store.leases.acquire("leader", "me", TTL)).token == 2


def test_a_holder_that_slept_too_long_finds_out(store: Store, store_url: str) -> None:
    holder = child(_HOLD, store_url, store.hub)
    assert holder.stdout is not None
    holder.stdout.readline()
    later = datetime.now(UTC) + timedelta(hours=2)
    assert held(store.leases.acquire("leader", "me", TTL, now=later)).token == 2

    out, err = holder.communicate("go on\n", timeout=60)

    assert out.strip() == "False", err


def test_of_many_processes_one_gets_the_lease(store: Store, store_url: str) -> None:
    store.generation()
    code = """
import sys, os
from datetime import timedelta
from headwater.catalog.store import Store
store = Store(sys.argv[1], hub=sys.argv[2])
store.generation()
print("ready", flush=True)
sys.stdin.readline()
lease = store.leases.acquire("leader", str(os.getpid()), timedelta(hours=1))
print(lease.token if lease else 0, flush=True)
sys.stdin.readline()
"""
    workers = [child(code, store_url, store.hub) for _ in range(3)]
    for worker in workers:
        assert worker.stdout is not None
        worker.stdout.readline()
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    tokens = sorted(w.stdout.readline().strip() for w in workers if w.stdout)
    for worker in workers:
        done(worker)
    assert tokens == ["0", "0", "1"]
