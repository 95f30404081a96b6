"""Worker threads: started when needed, kept when told, ended when idle."""

from __future__ import annotations

import queue
import threading
import time

import pytest

from headwater.scheduler import workers
from headwater.scheduler.workers import Workers


def wait_until(condition: object) -> None:
    until = time.monotonic() + 10
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < until
        time.sleep(0.01)


def busy(pool: Workers, count: int) -> threading.Event:
    """So many tasks that run until the event is set."""
    go, started = threading.Event(), threading.Semaphore(0)

    def task() -> None:
        started.release()
        go.wait()

    for _ in range(count):
        pool.submit(task)
    for _ in range(count):
        assert started.acquire(timeout=10)
    return go


def test_workers_start_when_needed_and_end_when_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "IDLE_SECONDS", 0.05)
    pool = Workers()
    assert (pool.active, pool.idle) == (0, 0)
    go = busy(pool, 3)
    assert (pool.active, pool.idle) == (3, 0)
    go.set()
    wait_until(lambda: pool.active == 0)
    wait_until(lambda: pool.idle == 0)


def test_four_workers_stay_and_are_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "IDLE_SECONDS", 0.05)
    pool = Workers()
    pool.keep(4)
    assert pool.idle == 4
    names = {t.name for t in pool._threads.values()}
    busy(pool, 4).set()
    wait_until(lambda: pool.active == 0)
    time.sleep(0.3)
    assert {t.name for t in pool._threads.values()} == names, "they stay, and are the same"
    pool.close()
    wait_until(lambda: pool.idle == 0)


def test_a_worker_that_dies_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda *_: None)
    pool = Workers()
    pool.keep(1)

    def broken() -> None:
        raise RuntimeError("on purpose")

    pool.submit(broken)
    wait_until(lambda: pool.active == 0)
    busy(pool, 1).set()
    pool.close()


class SlowQueue:
    """A queue whose writer is held up for longer than an idle worker waits."""

    def __init__(self) -> None:
        self._tasks: queue.SimpleQueue[object] = queue.SimpleQueue()

    def put(self, task: object) -> None:
        time.sleep(0.2)
        self._tasks.put(task)

    def __getattr__(self, name: str) -> object:
        return getattr(self._tasks, name)


def test_a_worker_does_not_give_up_while_a_task_is_on_its_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workers, "IDLE_SECONDS", 0.05)
    pool = Workers()
    pool._tasks = SlowQueue()  # type: ignore[assignment]
    for _ in range(3):
        done = threading.Event()
        pool.submit(done.set)
        assert done.wait(5)
