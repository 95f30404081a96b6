"""Does it pay to read a change window once? 50 stream tables on 5 sources, refreshed together.

    python -m bench.batching [--tables N] [--sources N] [--rounds N]

Each round adds ten rows to every source and refreshes all stream tables, in turn with
`adaptive_batch_coalescing` on and off. Marks: one scan per source and round, ≥ 10 % more refreshes
per second.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from typing import Any

import headwater
from bench import command
from bench.measure import median
from headwater.observe.events import ScanEvent

MARK = 1.1
SETTING = "adaptive_batch_coalescing"
SHAPES = (
    "SELECT g, SUM(x) AS s FROM {s} GROUP BY g",
    "SELECT id, x + {n} AS y FROM {s} WHERE x % 50 = {n}",
    "SELECT g, COUNT(*) AS n, MAX(x) AS high FROM {s} WHERE id > {n} GROUP BY g",
    "SELECT h, AVG(x) AS a FROM {s} WHERE g > {n} GROUP BY h",
    "SELECT id, g, c FROM {s} WHERE g = {n}",
)


def run(hub: headwater.Hub, arguments: argparse.Namespace) -> dict[str, Any]:
    prepare(hub, arguments.tables, arguments.sources)
    ids = itertools.count(10_000_000, 10)
    scans: list[ScanEvent] = []
    hub.subscribe(lambda event: scans.append(event) if isinstance(event, ScanEvent) else None)
    times: dict[bool, list[float]] = {True: [], False: []}
    counted: dict[bool, list[int]] = {True: [], False: []}
    for number in range(arguments.warm + arguments.rounds):
        for shared in (True, False) if number % 2 else (False, True):
            hub.set(SETTING, shared)
            time.sleep(1.1)  # settings of other processes are looked at once a second
            start = next(ids)
            for i in range(arguments.sources):
                hub.sql(
                    f"INSERT INTO src_{i} SELECT id, id % 100, id % 7, id % 1000, 'new' "
                    f"FROM range({start}, {start + 10}, 1, 1)"
                )
            scans.clear()
            started = time.perf_counter()
            done = hub.refresh("*")
            took = time.perf_counter() - started
            assert all(r.action == "INCREMENTAL" for r in done), done
            if number >= arguments.warm:
                times[shared].append(took)
                counted[shared].append(len(scans))
                print(f"round {number} shared={shared}: {took:.2f} s, {len(scans)} shared scans")
    for i in range(0, arguments.tables, 10):
        assert hub.verify(f"t_{i}").equal
    rates = {on: arguments.tables / median(values) for on, values in times.items()}
    gain = rates[True] / rates[False]
    one_scan = set(counted[True]) == {arguments.sources}
    print(
        f"{arguments.tables} tables on {arguments.sources} sources: {rates[True]:.2f} refreshes/s "
        f"with shared scans, {rates[False]:.2f} without: {gain:.2f} x; scans per round "
        f"{sorted(set(counted[True]))}"
    )
    return {
        "tables": arguments.tables,
        "sources": arguments.sources,
        "rounds": arguments.rounds,
        "refreshes_per_second": {"shared": round(rates[True], 2), "apart": round(rates[False], 2)},
        "gain": round(gain, 3),
        "scans_per_round": counted[True],
        "mark": MARK,
        "passed": gain >= MARK and one_scan,
    }


def prepare(hub: headwater.Hub, tables: int, sources: int) -> None:
    for i in range(sources):
        hub.sql(
            f"CREATE TABLE src_{i} USING iceberg {command.OWN_METADATA} AS "
            "SELECT id, id % 100 AS g, id % 7 AS h, id % 1000 AS x, CAST(id AS STRING) AS c "
            "FROM range(0, 100000, 1, 1)"
        )
    for n in range(tables):
        shape = SHAPES[(n // sources) % len(SHAPES)]
        hub.create_stream_table(f"t_{n}", shape.format(s=f"src_{n % sources}", n=n))


if __name__ == "__main__":
    sys.exit(command.main("batching", __doc__, run, tables=50, sources=5, rounds=7, warm=2))
