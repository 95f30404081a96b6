"""Three processes change definitions all the time: ticks go on, and never see half a graph."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from bench.quiet_hub import quiet_hub

from headwater.operations import scheduler_of
from shared_spark import environment

PROCESS = Path(__file__).with_name("ddl_process.py")


def storm(folder: Path, tables: int, seconds: float) -> None:
    with quiet_hub(folder, tables) as hub:
        hub.set("enabled", False)  # no refresh is started: there is no Spark
        hub.tick()
        coordinator = scheduler_of(hub).coordinator
        storms = [
            subprocess.Popen(
                [sys.executable, PROCESS, str(folder), str(n), str(seconds)],
                env=environment(),
                stdout=subprocess.PIPE,
                text=True,
            )
            for n in range(3)
        ]
        times, sizes = [], set()
        while any(p.poll() is None for p in storms):
            started = time.perf_counter()
            hub.tick()
            times.append(time.perf_counter() - started)
            shape = coordinator._ledger.shape
            members = [m for u in shape.units.units for m in u.members]
            assert sorted(members) == sorted(shape.graph.sources), "every table in one unit"
            assert set(members) == set(coordinator._ledger.tables)
            place = {u.key: i for i, u in enumerate(shape.units.units)}
            for unit in shape.units.units:
                assert all(place[up] < place[unit.key] for up in shape.units.upstream[unit.key])
            sizes.add(len(members))
            time.sleep(0.02)
        done = [int((p.stdout.read() if p.stdout else "") or 0) for p in storms]
        assert sum(done) > 20, done
        assert len(sizes) > 1, "ticks saw the changes as they came"
        assert sorted(times)[len(times) // 2] < 1.0, "a tick does not wait for the changes"
        hub.tick()
        stored = {row.name for row in hub._runtime.store.tables.all()}
        assert stored == set(coordinator._ledger.tables), "in the end it has what there is"


def test_ticks_go_on_while_definitions_change(tmp_path: Path) -> None:
    storm(tmp_path, tables=100, seconds=3)


@pytest.mark.long
def test_ticks_go_on_in_a_long_storm(tmp_path: Path) -> None:
    storm(tmp_path, tables=1000, seconds=60)
