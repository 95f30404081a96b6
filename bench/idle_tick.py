"""What a tick costs that has nothing to do, with many stream tables; no Spark.

    python -m bench.idle_tick [--rounds N]

Marks: 1,000 stream tables under 20 ms, 10,000 under 60 ms, one query that looks for changes. One in
ten has a cron schedule: ticks look at these every time, whether their appointment has come.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from bench.measure import median, save
from bench.quiet_hub import quiet_hub

MARKS = {1_000: 20.0, 10_000: 60.0}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=40)
    arguments = parser.parse_args()
    rows = {str(count): measured(count, arguments.rounds) for count in MARKS}
    quick = all(rows[str(count)]["median_ms"] < mark for count, mark in MARKS.items())
    passed = quick and all(row["looks_per_tick"] == 1 for row in rows.values())
    save("idle_tick", {"marks_ms": {str(k): v for k, v in MARKS.items()}, "ticks": rows,
                       "passed": passed})  # fmt: skip
    for count, row in rows.items():
        print(f"{count} stream tables: {row}")
    return 0 if passed else 1


def measured(count: int, rounds: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        hub = quiet_hub(Path(folder), count, cron=count // 10)
        started = time.perf_counter()
        hub.tick()
        first = (time.perf_counter() - started) * 1000
        looks = count_looks(hub)
        times = []
        for _ in range(rounds):
            started = time.perf_counter()
            report = hub.tick()
            times.append((time.perf_counter() - started) * 1000)
            assert report.idle, report.units
        hub.close()
    return {
        "median_ms": round(median(times), 2),
        "p95_ms": round(sorted(times)[int(len(times) * 0.95)], 2),
        "first_ms": round(first, 1),
        "looks_per_tick": len(looks) / rounds,
    }


def count_looks(hub: object) -> list[str]:
    """Every query on the catalog of Iceberg from now on."""
    database = hub._runtime.tables._database  # type: ignore[attr-defined]
    seen: list[str] = []
    fetch = database.fetch

    def counted(statement: str, parameters: object = ()) -> object:
        seen.append(statement)
        return fetch(statement, parameters)

    database.fetch = counted
    return seen


if __name__ == "__main__":
    sys.exit(main())
