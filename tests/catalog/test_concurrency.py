"""Several processes and threads on one catalog."""

from __future__ import annotations

import os
import statistics
import threading
import time
from pathlib import Path

import pytest
from catalog_samples import TOTALS, child, done, frontier, new

from headwater.catalog.idle import Idle
from headwater.catalog.store import Store
from headwater.core.names import TableName


def test_two_writers_lose_no_update(store: Store, store_url: str) -> None:
    before = store.generation()
    code = """
import sys
from catalog_samples import new
from headwater.catalog.store import Store
from headwater.core.names import TableName
store = Store(sys.argv[1], hub=sys.argv[2])
for number in range(40):
    store.tables.add(new(TableName.parse(f"t_{sys.argv[3]}_{number}")))
"""
    writers = [child(code, store_url, store.hub, n) for n in range(2)]
    for writer in writers:
        done(writer)
    assert len(store.tables.all()) == 80
    assert store.generation() == before + 80


def test_of_two_new_definitions_one_wins(store: Store, store_url: str) -> None:
    row = store.tables.add(new())
    code = """
import sys
from catalog_samples import TOTALS
from headwater.catalog.store import Store
from headwater.core.errors import RefreshConflict
store = Store(sys.argv[1], hub=sys.argv[2])
won = 0
for generation in range(1, 200):
    try:
        store.tables.update(TOTALS, expect_generation=generation, query=f"SELECT {sys.argv[3]}")
        won += 1
    except RefreshConflict:
        pass
    if store.tables.get(TOTALS).generation >= 60:
        break
print(won)
"""
    writers = [child(code, store_url, store.hub, n) for n in range(2)]
    wins = sum(int(done(writer)) for writer in writers)
    assert store.tables.get(TOTALS).generation == row.generation + wins


def test_a_killed_writer_leaves_whole_rows(store: Store, store_url: str) -> None:
    store.generation()
    code = """
import sys
from catalog_samples import new
from headwater.catalog.store import Store
from headwater.core.names import TableName
store = Store(sys.argv[1], hub=sys.argv[2])
for number in range(10_000):
    store.tables.add(new(TableName.parse(f"t_{number}")))
    if number == 3:
        print("writing", flush=True)
"""
    writer = child(code, store_url, store.hub)
    assert writer.stdout is not None
    writer.stdout.readline()
    time.sleep(0.2)
    writer.kill()
    writer.communicate()

    rows = store.tables.all()
    assert len(rows) >= 4
    assert len(store.tables.dependencies()) == len(rows), "a table without its sources is torn"
    store.tables.add(new(TableName.parse("after")))


def test_threads_share_a_store(store: Store) -> None:
    row = store.tables.add(new())
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(25):
                store.record_idle(row, Idle(frontier(), 1, "NO_CHANGES", "nothing"))
                store.tables.get(TOTALS)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert sum(r.repeats for r in store.history.runs()) == 200


def test_a_forked_child_opens_its_own_connections(store: Store) -> None:
    store.tables.add(new())
    pid = os.fork()
    if pid == 0:
        try:
            store.settings.put("from_child", 1)
            os._exit(0)
        except BaseException:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert store.settings.all() == {"from_child": 1}
    assert store.tables.get(TOTALS).name == TOTALS


@pytest.mark.timed
def test_an_idle_refresh_is_cheap(tmp_path: Path) -> None:
    """Work is bounded by processor time, waiting by the best wall time: neighbours do not count."""
    with Store(f"sqlite:///{tmp_path}/headwater.db") as store:
        store.tables.add(new())
        idle = Idle(frontier(), 1, "NO_CHANGES", "no source changed")
        waited, worked = [], []
        for _ in range(300):
            wall, processor = time.perf_counter(), time.thread_time()
            store.record_idle(store.tables.get(TOTALS), idle)
            worked.append((time.thread_time() - processor) * 1000)
            waited.append((time.perf_counter() - wall) * 1000)
    assert statistics.median(worked) < 2.0, "milliseconds to read a row and record idle"
    assert min(waited) < 2.0, "a wait for the disk would show here"
