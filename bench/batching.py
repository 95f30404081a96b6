"""Does it pay to read a change window once? 50 stream tables on 5 sources, refreshed together.

    python -m bench.batching [--tables N] [--sources N] [--rounds N]

Each round adds ten rows to every source and refreshes all stream tables, in turn with
`adaptive_batch_coalescing` on and off. Every read of a window counts, shared or not. Marks: one
read per source and round, ≥ 10 % more refreshes per second.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import headwater
from bench import command
from bench.measure import median
from headwater.observe.events import Event, ScanEvent
from headwater.refresh import write as refresh_write

MARK = 1.1
write: Any = refresh_write
SETTING = "adaptive_batch_coalescing"
SHARED = "__hw_window_"
"""In the text of a read that goes to a shared scan."""
SHAPES = (
    "SELECT g, SUM(x) AS s FROM {s} GROUP BY g",
    "SELECT id, x + {n} AS y FROM {s} WHERE x % 50 = {n}",
    "SELECT g, COUNT(*) AS n, MAX(x) AS high FROM {s} WHERE id > {n} GROUP BY g",
    "SELECT h, AVG(x) AS a FROM {s} WHERE g > {n} GROUP BY h",
    "SELECT id, g, c FROM {s} WHERE g = {n}",
)


@contextmanager
def counted_reads(hub: headwater.Hub) -> Iterator[Counter[str]]:
    """How often the window of each source is read: by scans that are shared, and by refreshes."""
    reads: Counter[str] = Counter()
    usual = write.window_reads

    def told(event: Event) -> None:
        if isinstance(event, ScanEvent):
            reads[event.table] += 1

    def noted(*arguments: Any) -> Any:
        found = usual(*arguments)
        for table, text in found.texts.items():
            reads[str(table)] += SHARED not in text
        return found

    hub.subscribe(told)
    write.window_reads = noted
    try:
        yield reads
    finally:
        write.window_reads = usual


def run(hub: headwater.Hub, arguments: argparse.Namespace) -> dict[str, Any]:
    prepare(hub, arguments.tables, arguments.sources)
    with counted_reads(hub) as reads:
        times, counted = measured(hub, arguments, reads)
    for i in range(0, arguments.tables, 10):
        assert hub.verify(f"t_{i}").equal
    rates = {on: arguments.tables / median(values) for on, values in times.items()}
    gain = rates[True] / rates[False]
    once = dict.fromkeys((f"default.src_{i}" for i in range(arguments.sources)), 1)
    one_read = all(found == once for found in counted[True])
    told = {on: sorted({sum(found.values()) for found in counted[on]}) for on in (True, False)}
    print(
        f"{arguments.tables} tables on {arguments.sources} sources: {rates[True]:.2f} refreshes/s "
        f"with shared reads, {rates[False]:.2f} without: {gain:.2f} x (mark {MARK} x); reads of "
        f"windows per round {told[True]}, apart {told[False]}"
    )
    if not one_read:
        print(f"MISSED one read per source and round: {counted[True]}")
    return {
        "tables": arguments.tables,
        "sources": arguments.sources,
        "rounds": arguments.rounds,
        "refreshes_per_second": {"shared": round(rates[True], 2), "apart": round(rates[False], 2)},
        "gain": round(gain, 3),
        "reads_per_round": {"shared": told[True], "apart": told[False]},
        "one_read_per_source": one_read,
        "mark": MARK,
        "passed": gain >= MARK and one_read,
    }


def measured(
    hub: headwater.Hub, arguments: argparse.Namespace, reads: Counter[str]
) -> tuple[dict[bool, list[float]], dict[bool, list[dict[str, int]]]]:
    """Seconds of the rounds, shared and apart, and how often each window was read in them."""
    ids = itertools.count(10_000_000, 10)
    times: dict[bool, list[float]] = {True: [], False: []}
    counted: dict[bool, list[dict[str, int]]] = {True: [], False: []}
    for number in range(arguments.warm + arguments.rounds):
        for shared in (True, False) if number % 2 else (False, True):
            hub.set(SETTING, shared)
            time.sleep(1.1)  # settings of other processes are looked at once a second
            add_rows(hub, arguments.sources, next(ids))
            reads.clear()
            started = time.perf_counter()
            done = hub.refresh("*")
            took = time.perf_counter() - started
            assert all(r.action == "INCREMENTAL" for r in done), done
            if number >= arguments.warm:
                times[shared].append(took)
                counted[shared].append(dict(reads))
                print(f"round {number} shared={shared}: {took:.2f} s, {reads.total()} reads")
    return times, counted


def add_rows(hub: headwater.Hub, sources: int, start: int) -> None:
    for i in range(sources):
        hub.sql(
            f"INSERT INTO src_{i} SELECT id, id % 100, id % 7, id % 1000, 'new' "
            f"FROM range({start}, {start + 10}, 1, 1)"
        )


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
