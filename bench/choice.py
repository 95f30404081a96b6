"""Does AUTO take the faster way? A mixed workload, each refresh timed both ways.

    python -m bench.choice [--rounds N]

Every case is one query over sources of its own and one habit of change, kept by three twins: one in
mode AUTO, one that always applies the delta, one that always computes everything. After each
change all three refresh, in turning order. AUTO was right when the way it took was the faster one
by the times of the other two, or within 10 % of it. Samples are gathered while the workload runs:
the first rounds after the warm-up count, although nothing can be predicted yet. A refresh during
which the machine stood still for a second is left out, and told.

Marks: right in ≥ 87.5 %, AUTO's own time ≤ 1.1 × that of a perfect chooser, full being right in
30–70 % of at least 64 refreshes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import headwater
from bench.measure import save
from headwater.refresh.cost import NEW_TABLE

CLOSE = 1.1
RIGHT = 0.875
TOTAL = 1.1
LEAST = 64
FULL_RIGHT = (0.3, 0.7)
TWINS = {"auto": "AUTO", "delta": "INCREMENTAL STRICT", "full": "FULL"}


@dataclass
class Case:
    """One query with its habit of change; `change` gets the round and writes to the sources."""

    name: str
    query: str
    change: Callable[[headwater.Hub, int], None]
    rows: int
    groups: int = 1000
    files: int = 2
    grow: Callable[[headwater.Hub, int], None] | None = None

    def prepare(self, hub: headwater.Hub) -> None:
        hub.sql(
            f"CREATE TABLE {self.source} USING iceberg AS SELECT id, id % {self.groups} AS g, "
            f"id * 7 % 1000 AS x, CAST(id AS STRING) AS c "
            f"FROM range(0, {self.rows}, 1, {self.files})"
        )
        hub.sql(
            f"ALTER TABLE {self.source} SET TBLPROPERTIES "
            "('write.metadata.delete-after-commit.enabled' = 'true')"
        )
        for twin, mode in TWINS.items():
            text = self.query.format(s=self.source)
            hub.create_stream_table(f"{twin}_{self.name}", text, refresh_mode=mode)

    @property
    def source(self) -> str:
        return f"src_{self.name}"


@dataclass
class Seen:
    """One refresh of a case, three times."""

    case: str
    round: int
    action: str
    reason: str
    disturbed: bool = False
    took: dict[str, float] = field(default_factory=dict)

    @property
    def is_full_right(self) -> bool:
        return self.took["full"] < self.took["delta"]

    @property
    def chosen_ms(self) -> float:
        return self.took["full" if self.action == "FULL" else "delta"]

    @property
    def best_ms(self) -> float:
        return min(self.took["full"], self.took["delta"])

    @property
    def is_right(self) -> bool:
        return self.chosen_ms <= CLOSE * self.best_ms


class Pulse:
    """Notices when this process was stopped: then nothing that was measured means anything."""

    def __init__(self) -> None:
        self.stops = 0
        threading.Thread(target=self._beat, daemon=True).start()

    def _beat(self) -> None:
        last = time.monotonic()
        while True:
            time.sleep(0.1)
            now = time.monotonic()
            self.stops += now - last > 1.0
            last = now


_pulse = Pulse()
_next = iter(range(10_000_000, 10**12, 1_000_000))


def append(
    name: str, rows: int, group: str = "id % 1000", word: str = "new"
) -> Callable[[headwater.Hub, int], None]:
    def change(hub: headwater.Hub, number: int) -> None:
        start = next(_next)
        hub.sql(
            f"INSERT INTO src_{name} SELECT id, {group}, id % 1000, '{word}' "
            f"FROM range({start}, {start + rows}, 1, 1)"
        )

    return change


def update(name: str, rows: int = 1) -> Callable[[headwater.Hub, int], None]:
    def change(hub: headwater.Hub, number: int) -> None:
        start = 100 * number + 3
        hub.sql(f"UPDATE src_{name} SET x = x + 1 WHERE id BETWEEN {start} AND {start + rows - 1}")

    return change


def update_new(name: str) -> Callable[[headwater.Hub, int], None]:
    """One of the rows that were appended last, in a file of many."""

    def change(hub: headwater.Hub, number: int) -> None:
        newest = f"SELECT MAX(id) - {1000 + number} FROM src_{name} WHERE c = 'grown'"
        row = hub.sql(newest).collect()[0][0]
        hub.sql(f"UPDATE src_{name} SET x = x + 1 WHERE id = {row}")

    return change


def in_turn(*changes: Callable[[headwater.Hub, int], None]) -> Callable[[headwater.Hub, int], None]:
    return lambda hub, number: changes[number % len(changes)](hub, number)


SUM = "SELECT g, SUM(x) AS s, COUNT(*) AS n FROM {s} GROUP BY g"
ROWS = "SELECT id, g, x + 1 AS y FROM {s} WHERE x > 10"
RANK = "SELECT id, g, x, ROW_NUMBER() OVER (PARTITION BY g ORDER BY x, id) AS r FROM {s}"
EXTREMES = "SELECT g, MIN(x) AS low, MAX(x) AS high FROM {s} GROUP BY g"
JOIN = "SELECT {s}.id, {s}.x, dim.name FROM {s} JOIN dim ON {s}.g = dim.g"
JOIN_SUM = "SELECT dim.part, SUM({s}.x) AS s FROM {s} JOIN dim ON {s}.g = dim.g GROUP BY dim.part"


def cases() -> list[Case]:
    return [
        Case("tail", SUM, append("tail", 10), rows=2_000_000),
        Case("stream", ROWS, append("stream", 1000), rows=1_000_000),
        Case("one_row", ROWS, update("one_row"), rows=1_000_000),
        Case("one_sum", SUM, update("one_sum"), rows=1_500_000),
        Case("few_rows", EXTREMES, update("few_rows", 20), rows=600_000, files=1),
        Case("all_ranks", RANK, append("all_ranks", 5000), rows=100_000),
        Case("one_rank", RANK, append("one_rank", 50, group="7"), rows=400_000, groups=5000),
        Case("enriched", JOIN, append("enriched", 100), rows=1_000_000),
        Case("small", JOIN_SUM, update("small"), rows=20_000, files=1),
        Case(
            "sawtooth",
            SUM,
            in_turn(append("sawtooth", 10), append("sawtooth", 10), append("sawtooth", 500_000)),
            rows=1_000_000,
        ),
        Case(
            "grown",
            ROWS,
            in_turn(append("grown", 10), update_new("grown")),
            rows=10_000,
            files=1,
            grow=append("grown", 250_000, word="grown"),
        ),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--warm", type=int, default=3)
    parser.add_argument("--only", default="", help="names of cases, with commas")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    chosen = [c for c in cases() if not arguments.only or c.name in arguments.only.split(",")]
    with (
        tempfile.TemporaryDirectory() as folder,
        headwater.connect(Path(folder) / "lake") as hub,
    ):
        result = run(hub, chosen, arguments.rounds, arguments.warm)
    save("choice", result)
    return 0 if result["passed"] else 1


def run(hub: headwater.Hub, chosen: list[Case], rounds: int, warm: int) -> dict[str, Any]:
    hub.sql(
        "CREATE TABLE dim USING iceberg AS SELECT id AS g, id % 50 AS part, "
        "CAST(id AS STRING) AS name FROM range(0, 5000)"
    )
    for case in chosen:
        case.prepare(hub)
        print(f"prepared {case.name}", flush=True)
    created = time.monotonic()
    for case in chosen:
        for number in range(4 if case.grow is not None else 0):
            assert case.grow is not None
            case.grow(hub, number)
            refreshed(hub, case, number, strict=True)
    seen: list[Seen] = []
    for number in range(warm + rounds):
        if number == warm:
            time.sleep(max(0.0, NEW_TABLE.total_seconds() + 1 - (time.monotonic() - created)))
        for case in chosen:
            case.change(hub, number)
            one = refreshed(hub, case, number)
            if number >= warm:
                seen.append(one)
                print(shown(one), flush=True)
    for case in chosen:
        assert hub.verify(f"auto_{case.name}").equal, case.name
    calm = [one for one in seen if not one.disturbed]
    return {"left_out": len(seen) - len(calm), **summary(calm)}


def refreshed(hub: headwater.Hub, case: Case, number: int, *, strict: bool | None = None) -> Seen:
    order = list(TWINS)
    order = order[number % 3 :] + order[: number % 3]
    one = Seen(case.name, number, "", "")
    stops = _pulse.stops
    for twin in order:
        started = time.perf_counter()
        done = hub.refresh_stream_table(
            f"{twin}_{case.name}", strict=strict if twin == "auto" else None
        )
        one.took[twin] = (time.perf_counter() - started) * 1000
        if twin == "auto":
            one.action, one.reason = done.action, done.reason_code
    one.disturbed = _pulse.stops > stops
    return one


def shown(one: Seen) -> str:
    return (
        f"{one.case:<10} {one.round:>2}  delta {one.took['delta']:7.0f} ms  full "
        f"{one.took['full']:7.0f} ms  {one.action:<11} {'' if one.is_right else 'WRONG '}"
        f"{one.reason}{' (disturbed)' if one.disturbed else ''}"
    )


def summary(seen: list[Seen]) -> dict[str, Any]:
    right = sum(s.is_right for s in seen) / len(seen)
    full_right = sum(s.is_full_right for s in seen) / len(seen)
    perfect = sum(s.best_ms for s in seen)
    ways = sum(s.chosen_ms for s in seen)
    own = sum(s.took["auto"] for s in seen)
    judged = {
        f"at least {LEAST} refreshes": len(seen) >= LEAST,
        f"right in {RIGHT:.1%}": right >= RIGHT,
        f"own time {TOTAL} x a perfect chooser": own <= TOTAL * perfect,
        "full right in {:.0%} to {:.0%}".format(*FULL_RIGHT): (
            FULL_RIGHT[0] <= full_right <= FULL_RIGHT[1]
        ),
    }
    print(
        f"{len(seen)} refreshes: right in {right:.1%}, full was right in {full_right:.0%}, "
        f"AUTO took {own / perfect:.2f} x a perfect chooser ({ways / perfect:.2f} x by the times "
        f"of the ways it took); always delta {sum(s.took['delta'] for s in seen) / perfect:.2f} x, "
        f"always full {sum(s.took['full'] for s in seen) / perfect:.2f} x"
    )
    print(*(f"{'ok    ' if held else 'MISSED'} {mark}" for mark, held in judged.items()), sep="\n")
    return {
        "refreshes": len(seen),
        "right": round(right, 4),
        "full_right": round(full_right, 4),
        "total_over_perfect": round(own / perfect, 3),
        "ways_over_perfect": round(ways / perfect, 3),
        "always_delta_over_perfect": round(sum(s.took["delta"] for s in seen) / perfect, 3),
        "always_full_over_perfect": round(sum(s.took["full"] for s in seen) / perfect, 3),
        "marks": {"right": RIGHT, "total": TOTAL, "least": LEAST, "full_right": FULL_RIGHT},
        "judged": judged,
        "passed": all(judged.values()),
        "cases": [
            {
                "case": s.case,
                "round": s.round,
                "action": s.action,
                "reason_code": s.reason,
                "right": s.is_right,
                **{f"{twin}_ms": round(ms, 1) for twin, ms in s.took.items()},
            }
            for s in seen
        ],
    }


if __name__ == "__main__":
    sys.exit(main())
