"""Worker processes that are kept: a unit finds them ready, and pays nothing for their start."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.quiet_hub import quiet_hub
from recovery import wait_until

from headwater.scheduler import process_pool
from headwater.scheduler.process_pool import ProcessPool


@pytest.fixture
def pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ProcessPool]:
    """Workers for a server that is never asked for anything; idle ones end at once."""
    monkeypatch.setattr(process_pool, "IDLE_SECONDS", 0.0)
    with quiet_hub(tmp_path, 1) as hub:
        hub.set("spark_connect_url", "sc://127.0.0.1:1")
        made = ProcessPool(hub._runtime)
        yield made
        made.close()


def start_cost(pool: ProcessPool) -> tuple[float, int]:
    """How long a unit waits for a worker, and which one it gets."""
    started = time.perf_counter()
    wait_until(lambda: pool.prepare(1), 60)
    worker = pool.take()
    assert worker is not None
    took = time.perf_counter() - started
    pool.give_back(worker)
    return took, worker.pid


@pytest.mark.timed
def test_kept_workers_cost_a_unit_nothing(pool: ProcessPool) -> None:
    cold, first = start_cost(pool)
    pool.keep(0)
    again, second = start_cost(pool)
    assert first != second, "one that is not kept ends, and the next unit starts another"
    pool.keep(2)
    wait_until(lambda: pool.idle == 2, 60)
    kept = {worker.pid for worker in pool._idle}
    warm = []
    for _ in range(10):
        took, pid = start_cost(pool)
        warm.append(took)
        assert pid in kept
        pool.keep(2)
    assert {worker.pid for worker in pool._idle} == kept, "the same two, however idle"
    print(f"cold {cold:.3f} s and {again:.3f} s, warm {max(warm) * 1000:.2f} ms")
    assert max(warm) * 10 < min(cold, again), (warm, cold, again)
