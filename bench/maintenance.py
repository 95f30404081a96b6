"""Does a big keyed table stay as fast as new? Many small refreshes, with maintenance in between.

    python -m bench.maintenance [--rows N] [--refreshes N] [--every N]

A stream table of 2 M rows with a key and without readers; each refresh brings updates of 100
neighbouring keys. Old versions are kept for seconds rather than minutes, so that maintenance lets
them go while this runs. Marks: after 200 refreshes reading it costs ≤ 1.2 × a stream table of the
same query that was created just now, and refreshes have not slowed down by more than 20 %. The time
of maintenance is told apart.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import headwater
from bench import command
from bench.measure import in_turn, median
from headwater.refresh import maintain
from headwater.storage.expire import KEPT_VERSIONS

MARKS = {"read": 1.2, "slower": 1.2}
QUERY = "SELECT id, g, x FROM src"
EDGE = 15
"""Refreshes at the beginning and at the end whose medians are compared."""


def run(hub: headwater.Hub, arguments: argparse.Namespace) -> dict[str, Any]:
    maintain.READ_FOR = timedelta(seconds=arguments.keep_seconds)
    hub.sql(
        f"CREATE TABLE src USING iceberg {command.OWN_METADATA} AS "
        f"SELECT id, id % 1000 AS g, id * 3 AS x FROM range(0, {arguments.rows}, 1, 32)"
    )
    hub.create_stream_table("keyed", QUERY, unique_key=["id"], refresh_mode="INCREMENTAL STRICT")
    refreshes: list[float] = []
    upkeep: list[float] = []
    expired = 0
    for number in range(arguments.warm + arguments.refreshes):
        start = (number * 7919) % (arguments.rows - 100)
        hub.sql(f"UPDATE src SET x = x + 1 WHERE id BETWEEN {start} AND {start + 99}")
        took = timed(lambda: hub.refresh_stream_table("keyed"))
        if number >= arguments.warm:
            refreshes.append(took)
        if number % arguments.every == arguments.every - 1:
            started = time.perf_counter()
            (row,) = hub.maintain("keyed")
            upkeep.append((time.perf_counter() - started) * 1000)
            expired += row.versions_expired
            print(
                f"{number + 1}: refresh {took:.0f} ms, maintenance {upkeep[-1]:.0f} ms, "
                f"{row.files_rewritten} files rewritten, {row.versions_expired} versions expired"
            )
    assert hub.verify("keyed").equal
    assert expired > 0 or arguments.refreshes <= 2 * KEPT_VERSIONS, "no version has been let go"
    reads = read_times(hub)
    read_ratio = median(reads["kept"]) / median(reads["fresh"])
    slower = median(refreshes[-EDGE:]) / median(refreshes[:EDGE])
    print(
        f"after {len(refreshes)} refreshes: reading {read_ratio:.2f} x a new stream table, "
        f"refreshes {slower:.2f} x the first ones ({median(refreshes[-EDGE:]):.0f} ms), "
        f"maintenance {median(upkeep):.0f} ms every {arguments.every}"
    )
    return {
        "rows": arguments.rows,
        "refreshes": len(refreshes),
        "read_ratio": round(read_ratio, 3),
        "slower": round(slower, 3),
        "first_ms": round(median(refreshes[:EDGE]), 1),
        "last_ms": round(median(refreshes[-EDGE:]), 1),
        "expired_versions": expired,
        "maintenance_ms": [round(ms) for ms in upkeep],
        "marks": MARKS,
        "passed": read_ratio <= MARKS["read"] and slower <= MARKS["slower"],
    }


def read_times(hub: headwater.Hub) -> dict[str, list[float]]:
    hub.create_stream_table("fresh", QUERY, unique_key=["id"])

    def read(name: str) -> Callable[[], object]:
        return lambda: hub.sql(f"SELECT SUM(x), COUNT(DISTINCT g), MAX(id) FROM {name}").collect()

    return in_turn({"kept": read("keyed"), "fresh": read("fresh")}, rounds=9, warm=4)


def timed(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return (time.perf_counter() - started) * 1000


if __name__ == "__main__":
    known = {"rows": 2_000_000, "refreshes": 200, "every": 25, "warm": 5, "keep_seconds": 10}
    sys.exit(command.main("maintenance", __doc__, run, **known))
