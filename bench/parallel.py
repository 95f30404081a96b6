"""How much faster a tick is with several workers: 50 equal stream tables, and a chain of 12.

    python -m bench.parallel [--rounds N]

Marks, on 2 cores: 50 equal tables with 4 workers at least 1.6 times as fast as one by one; a chain
loses at most 10 %.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import headwater
from bench.measure import median, save

WORKERS = 4
TABLES = 50
CHAIN = 12
LEAST_GAIN, MOST_LOSS = 1.6, 1.10


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--warm", type=int, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        equal = measured(Path(folder) / "equal", make_equal, arguments.rounds, arguments.warm)
        chain = measured(Path(folder) / "chain", make_chain, arguments.rounds, arguments.warm)
    result = {
        "equal": {**equal, "gain": round(equal["serial_ms"] / equal["parallel_ms"], 2)},
        "chain": {**chain, "loss": round(chain["parallel_ms"] / chain["serial_ms"], 3)},
        "workers": WORKERS,
        "marks": {"gain": LEAST_GAIN, "loss": MOST_LOSS},
    }
    passed = result["equal"]["gain"] >= LEAST_GAIN and result["chain"]["loss"] <= MOST_LOSS  # type: ignore[index]
    save("parallel", {**result, "passed": passed})
    print(result)
    return 0 if passed else 1


def measured(folder: Path, make: object, rounds: int, warm: int) -> dict[str, float]:
    """Milliseconds of a tick, one by one and with workers, in turn."""
    times: dict[int, list[float]] = {0: [], WORKERS: []}
    with headwater.connect(folder) as hub:
        count = make(hub)  # type: ignore[operator]
        for number in range(warm + rounds):
            for workers in times:
                hub.set("max_parallel_workers", workers)
                hub._runtime.setting.resolved(fresh=True)  # type: ignore[attr-defined]
                hub.sql(f"INSERT INTO src VALUES ({number}, {number % 7}, {workers})")
                started = time.perf_counter()
                report = hub.tick()
                took = (time.perf_counter() - started) * 1000
                assert len(report.refreshed) == count, (len(report.refreshed), report.errors)
                if number >= warm:
                    times[workers].append(took)
        assert all(hub.verify(row.name).equal for row in hub.status()[:5])
    return {
        "serial_ms": round(median(times[0]), 1),
        "parallel_ms": round(median(times[WORKERS]), 1),
        "tables_per_second_serial": round(count * 1000 / median(times[0]), 2),
        "tables_per_second_parallel": round(count * 1000 / median(times[WORKERS]), 2),
    }


def make_equal(hub: headwater.Hub) -> int:
    make_source(hub)
    for number in range(TABLES):
        hub.create_stream_table(
            f"t{number}", f"SELECT g, SUM(x) AS s, COUNT(*) + {number} AS n FROM src GROUP BY g"
        )
    return TABLES


def make_chain(hub: headwater.Hub) -> int:
    make_source(hub)
    hub.create_stream_table("t0", "SELECT id, g, x FROM src")
    for number in range(1, CHAIN):
        hub.create_stream_table(f"t{number}", f"SELECT id, g, x + 1 AS x FROM t{number - 1}")
    return CHAIN


def make_source(hub: headwater.Hub) -> None:
    hub.sql("CREATE TABLE src (id BIGINT, g INT, x INT) USING iceberg")
    hub.sql("INSERT INTO src SELECT id, CAST(id % 50 AS INT), CAST(id AS INT) FROM range(2000)")


if __name__ == "__main__":
    sys.exit(main())
