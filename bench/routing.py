"""Does choosing how a MERGE finds its files pay? The same refreshes, with the choice and without.

    python -m bench.routing [--rows N] [--refreshes N]

Two equal keyed stream tables of 1 M rows; each round changes keys all over them and refreshes both,
one with `adaptive_merge_strategy` on, in turn. Marks: a flip happens, and the refreshes with the
choice, the tries among them, take no longer in total than those without.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from typing import Any

import headwater
from bench import command
from headwater.observe.events import Event, RouteEvent

MARK = 1.0
SETTING = "adaptive_merge_strategy"


def run(hub: headwater.Hub, arguments: argparse.Namespace) -> dict[str, Any]:
    flips: list[str] = []

    def told(event: Event) -> None:
        if isinstance(event, RouteEvent):
            flips.append(f"{event.before} to {event.after}: {event.reason}")

    hub.subscribe(told)
    hub.sql(
        f"CREATE TABLE src USING iceberg {command.OWN_METADATA} AS "
        f"SELECT id * 1000 AS id, id % 1000 AS g, id * 3 AS x FROM range(0, {arguments.rows}, 1, 8)"
    )
    names = {"on": "chosen", "off": "usual"}
    for name in names.values():
        hub.create_stream_table(
            name, "SELECT * FROM src", unique_key=["id"], refresh_mode="INCREMENTAL STRICT"
        )
        hub.maintain(name)
    times: dict[str, list[float]] = {"on": [], "off": []}
    every = arguments.rows // arguments.keys * 1000
    for number in range(arguments.warm + arguments.refreshes):
        offset = number * 1000
        hub.sql(f"UPDATE src SET x = x + 1 WHERE id % {every} = {offset}")
        for mode in ("on", "off") if number % 2 else ("off", "on"):
            hub.set(SETTING, mode == "on" and number >= arguments.warm)
            started = time.perf_counter()
            hub.refresh_stream_table(names[mode])
            if number >= arguments.warm:
                times[mode].append((time.perf_counter() - started) * 1000)
    for name in names.values():
        assert hub.verify(name).equal
    total = {mode: round(sum(found)) for mode, found in times.items()}
    ratio = total["on"] / total["off"]
    print(*flips, sep="\n")
    print(f"{arguments.refreshes} refreshes: {ratio:.3f} x the time without the choice")
    return {
        "rows": arguments.rows,
        "keys": arguments.keys,
        "refreshes": arguments.refreshes,
        "flips": flips,
        "total_ms": total,
        "medians_ms": {m: round(statistics.median(found), 1) for m, found in times.items()},
        "ratio": round(ratio, 3),
        "mark": MARK,
        "passed": bool(flips) and ratio <= MARK,
    }


if __name__ == "__main__":
    known = {"rows": 1_000_000, "keys": 500, "refreshes": 36, "warm": 4}
    sys.exit(command.main("routing", __doc__, run, **known))
