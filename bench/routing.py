"""Does choosing how a MERGE finds its files pay? The same refreshes, with the choice and without.

    python -m bench.routing [--rows N] [--refreshes N]

Two cases, each with two equal keyed stream tables of 1 M rows: one is refreshed with
`adaptive_merge_strategy` on, one without, in turn. In the case `all_over` each round changes keys
in all files, and sweeping should win. In the case `half` it changes keys in little more than half
of the files: sweeping is tried, rewrites nearly twice as much, and should lose.

Marks: a flip happens; the refreshes with the choice, the tries among them, take no longer in total
than those without; where sweeping is slower, the choice ends with seeking.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from dataclasses import dataclass, field
from typing import Any

import headwater
from bench import command
from headwater.core.results import RefreshResult
from headwater.observe.events import Event, RouteEvent

MARK = 1.0
SETTING = "adaptive_merge_strategy"
PARTS = {"all_over": 1.0, "half": 0.6}
"""The part of the keys, from the first on, among which changes lie."""


@dataclass
class Case:
    """One pair of stream tables, the times of their refreshes, and the ways of the chosen one."""

    name: str
    part: float
    times: dict[str, list[float]] = field(default_factory=lambda: {"on": [], "off": []})
    ways: list[tuple[str, float]] = field(default_factory=list)

    def prepare(self, hub: headwater.Hub, rows: int) -> None:
        hub.sql(
            f"CREATE TABLE src_{self.name} USING iceberg {command.OWN_METADATA} AS "
            f"SELECT id * 1000 AS id, id % 1000 AS g, id * 3 AS x FROM range(0, {rows}, 1, 8)"
        )
        for mode in self.times:
            hub.create_stream_table(
                f"{self.name}_{mode}",
                f"SELECT * FROM src_{self.name}",
                unique_key=["id"],
                refresh_mode="INCREMENTAL STRICT",
            )
            hub.maintain(f"{self.name}_{mode}")

    def round(self, hub: headwater.Hub, arguments: argparse.Namespace, number: int) -> None:
        """One change, then both; below zero they warm up, without a choice."""
        end = round(arguments.rows * 1000 * self.part)
        every = end // arguments.keys // 1000 * 1000
        place = (number + arguments.warm) * 1000 % every
        hub.sql(f"UPDATE src_{self.name} SET x = x + 1 WHERE id < {end} AND id % {every} = {place}")
        for mode in ("on", "off") if number % 2 else ("off", "on"):
            hub.set(SETTING, mode == "on" and number >= 0)
            started = time.perf_counter()
            done = hub.refresh_stream_table(f"{self.name}_{mode}")
            if number >= 0:
                self.times[mode].append((time.perf_counter() - started) * 1000)
                if mode == "on":
                    self.ways.append((way_of(done), self.times[mode][-1]))

    @property
    def total(self) -> dict[str, float]:
        return {mode: sum(found) for mode, found in self.times.items()}

    @property
    def ratio(self) -> float:
        return self.total["on"] / self.total["off"]

    @property
    def medians(self) -> dict[str, float]:
        """Of each way that was taken, and of the refreshes without a choice."""
        taken: dict[str, list[float]] = {}
        for way, ms in self.ways:
            taken.setdefault(way, []).append(ms)
        taken["without a choice"] = self.times["off"]
        return {way: round(statistics.median(found), 1) for way, found in taken.items()}

    @property
    def is_settled(self) -> bool:
        """Whether it ended with the way whose refreshes were faster, or nearly so."""
        medians = self.medians
        ways = [ms for way, ms in medians.items() if way in ("seek", "sweep")]
        return bool(ways) and medians[self.ways[-1][0]] <= 1.1 * min(ways)


def way_of(done: RefreshResult) -> str:
    """How the MERGE found its files."""
    found = [str(step["strategy"]) for step in done.strategy if step["node"] == "Merge"]
    return found[-1] if found else "none"


def run(hub: headwater.Hub, arguments: argparse.Namespace) -> dict[str, Any]:
    flips: list[str] = []

    def told(event: Event) -> None:
        if isinstance(event, RouteEvent):
            flips.append(f"{event.table}: {event.before} to {event.after}: {event.reason}")

    hub.subscribe(told)
    cases = [Case(name, part) for name, part in PARTS.items()]
    for case in cases:
        case.prepare(hub, arguments.rows)
    for number in range(-arguments.warm, arguments.refreshes):
        for case in cases:
            case.round(hub, arguments, number)
    for case in cases:
        assert all(hub.verify(f"{case.name}_{mode}").equal for mode in case.times), case.name
    ratio = sum(c.total["on"] for c in cases) / sum(c.total["off"] for c in cases)
    print(*flips, sep="\n")
    for case in cases:
        print(
            f"{case.name}: {arguments.refreshes} refreshes {case.ratio:.3f} x the time without "
            f"the choice; medians {case.medians}, at last {case.ways[-1][0]}"
        )
    print(f"all: {ratio:.3f} x (mark {MARK} x)")
    return {
        "rows": arguments.rows,
        "keys": arguments.keys,
        "refreshes": arguments.refreshes,
        "flips": flips,
        "cases": {
            case.name: {
                "ratio": round(case.ratio, 3),
                "total_ms": {mode: round(ms) for mode, ms in case.total.items()},
                "medians_ms": case.medians,
                "ways": [way for way, _ in case.ways],
                "settled": case.is_settled,
            }
            for case in cases
        },
        "ratio": round(ratio, 3),
        "mark": MARK,
        "passed": bool(flips) and ratio <= MARK and all(case.is_settled for case in cases),
    }


if __name__ == "__main__":
    known = {"rows": 1_000_000, "keys": 500, "refreshes": 36, "warm": 4}
    sys.exit(command.main("routing", __doc__, run, **known))
