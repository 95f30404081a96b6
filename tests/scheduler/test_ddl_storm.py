"""Three processes change definitions all the time: ticks go on, and never see half a graph."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import pytest
from bench.quiet_hub import quiet_hub

from headwater.catalog import turnstile
from headwater.operations import scheduler_of
from shared_spark import environment

if TYPE_CHECKING:
    from headwater.scheduler.coordinator import Coordinator

PROCESS = Path(__file__).with_name("ddl_process.py")


class Waits:
    """How long this thread waited for its turn to write."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds, self._enter = 0.0, turnstile._entered
        self._thread = threading.get_ident()
        monkeypatch.setattr(turnstile, "_entered", self._entered)

    def _entered(self, path: str) -> int | None:
        started = time.perf_counter()
        handle = self._enter(path)
        if threading.get_ident() == self._thread:
            self.seconds += time.perf_counter() - started
        return handle

    def taken(self) -> float:
        waited, self.seconds = self.seconds, 0.0
        return waited


def storm(folder: Path, waits: Waits, tables: int, seconds: float, usual: float) -> None:
    """Tables that are new are dispatched to workers, where they fail: there is no Spark.

    A tick waits for the catalog for the few writers that came before it. Its own work grows with
    the stream tables that changed and those connected to them: `usual` bounds the median of both,
    by the clock and in seconds of a processor.
    """
    with quiet_hub(folder, tables) as hub:
        hub.set("max_consecutive_errors", 1)
        hub.set("adaptive_batch_coalescing", False)
        hub.tick()
        coordinator = scheduler_of(hub).coordinator
        quiet = median(begun(coordinator)[0] for _ in range(5))
        storms = [
            subprocess.Popen(
                [sys.executable, PROCESS, str(folder), str(n), str(seconds)],
                env=environment(),
                stdout=subprocess.PIPE,
                text=True,
            )
            for n in range(3)
        ]
        times, works, waited, sizes = [], [], [], set()
        while any(p.poll() is None for p in storms):
            waits.taken()
            took, work = begun(coordinator)
            times.append(took)
            works.append(work)
            waited.append(waits.taken())
            sizes.add(check_shape(coordinator))
            coordinator.pump(0.02)
        done = [int((p.stdout.read() if p.stdout else "") or 0) for p in storms]
        assert sum(done) > 20, done
        assert len(sizes) > 1, "ticks saw the changes as they came"
        ticks = f"{len(times)} ticks, median {median(times):.3f} s, slowest {max(times):.3f} s"
        print(f"{sum(done)} changes, {ticks}; waited {median(waited):.3f} s, {max(waited):.3f} s, "
              f"own work {median(works):.3f} s")  # fmt: skip
        assert median(waited) < 0.05, f"ticks do not wait: {sorted(waited)}"
        assert max(waited) < 0.5, f"no tick waits for long: {sorted(waited)}"
        assert median(times) < usual + 5 * quiet, f"ticks go on: {quiet}, {sorted(times)}"
        assert median(works) < usual + 5 * quiet, f"they work little: {quiet}, {sorted(works)}"
        assert max(times) < 1 + 20 * quiet, f"no tick takes long: {quiet}, {sorted(times)}"
        hub.tick()
        stored = {row.name for row in hub._runtime.store.tables.all()}
        assert stored == set(coordinator._ledger.tables), "in the end it has what there is"
        jobs = hub._runtime.store.jobs.all()
        assert len(jobs) > 5, "units were dispatched meanwhile"
        assert all(job.finished_at is not None for job in jobs)


def begun(coordinator: Coordinator) -> tuple[float, float]:
    """How long one tick takes, without what it starts, and how much of that is its own work."""
    started, working = time.perf_counter(), time.thread_time()
    coordinator.begin()
    return time.perf_counter() - started, time.thread_time() - working


def check_shape(coordinator: Coordinator) -> int:
    """Every table is in one unit, every unit after those it reads; returns how many there are."""
    shape = coordinator._ledger.shape
    members = [m for u in shape.units.units for m in u.members]
    assert sorted(members) == sorted(shape.graph.sources), "every table in one unit"
    assert set(members) == set(coordinator._ledger.tables)
    place = {u.key: i for i, u in enumerate(shape.units.units)}
    for unit in shape.units.units:
        assert all(place[up] < place[unit.key] for up in shape.units.upstream[unit.key])
    return len(members)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> Waits:
    return Waits(monkeypatch)


@pytest.mark.timed
def test_ticks_go_on_while_definitions_change(tmp_path: Path, waits: Waits) -> None:
    storm(tmp_path, waits, tables=100, seconds=3, usual=0.1)


@pytest.mark.long
def test_ticks_go_on_in_a_long_storm(tmp_path: Path, waits: Waits) -> None:
    storm(tmp_path, waits, tables=1000, seconds=60, usual=0.1)
