"""Has a change made refreshes slower? Ratios of one run against those of the last accepted one.

    make bench-gate        or        python -m bench.gate [--rounds N] [--write]

Each case is a refresh beside a statement that an expert would write for the same change, with the
settings and the file system that refreshes have: what slows the machine down hits both. Two more
compare ten tables on two sources refreshed together with as many refreshed apart, and merges that
choose how they find their files with merges that do not. A case fails when the median of its ratios
is more than 10 % above the accepted one by more than the noise, which is measured in the same run,
and fails again when it is measured with twice and with three times as many rounds. Tables refreshed
together must read the window of each source once. `--write` accepts what was measured as
`bench/baseline.json`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import headwater
from bench import command
from bench.batching import counted_reads
from bench.growth import sorted_source
from bench.measure import in_turn

BASELINE = Path(__file__).parent / "baseline.json"
WORSE = 1.10
"""A ratio may be so much above the accepted one."""

SURE = 2.0
"""Standard errors of the median that count as noise."""

AGAIN = (2, 3)
"""A case that looks worse is measured again with so many times the rounds, until it does not."""

ROWS = 300_000
TOGETHER = 10
SOURCES = 2
ROUTING = "adaptive_merge_strategy"
SHAPES: dict[str, tuple[str, tuple[str, ...], str]] = {
    "rows": (
        "SELECT id, x + 1 AS y FROM {s} WHERE x >= 0",
        (),
        "INSERT INTO plain_rows SELECT id, x + 1 FROM {new}",
    ),
    "groups": (
        "SELECT g, SUM(x) AS s, COUNT(*) AS n FROM {s} GROUP BY g",
        (),
        "MERGE INTO plain_groups t USING (SELECT g, SUM(x) AS s, COUNT(*) AS n FROM {new} "
        "GROUP BY g) c ON t.g = c.g WHEN MATCHED THEN UPDATE SET s = t.s + c.s, n = t.n + c.n "
        "WHEN NOT MATCHED THEN INSERT *",
    ),
    "joined": (
        "SELECT part, SUM(x) AS s FROM {s} JOIN dim ON {s}.g = dim.g GROUP BY part",
        (),
        "MERGE INTO plain_joined t USING (SELECT part, SUM(x) AS s FROM {new} n JOIN dim "
        "ON n.g = dim.g GROUP BY part) c ON t.part = c.part "
        "WHEN MATCHED THEN UPDATE SET s = t.s + c.s WHEN NOT MATCHED THEN INSERT *",
    ),
    "keyed": (
        "SELECT id, g, x FROM {s}",
        ("id",),
        "MERGE INTO plain_keyed t USING (SELECT * FROM src_keyed WHERE id {new}) c "
        "ON t.id = c.id AND t.id {new} WHEN MATCHED THEN UPDATE SET * "
        "WHEN NOT MATCHED THEN INSERT *",
    ),
}
"""Query, key, and the statement of an expert, who knows the new rows."""


@dataclass(frozen=True)
class Case:
    """A refresh, what it is measured against, and what changes the source before both."""

    change: Callable[[], object]
    ours: Callable[[], object]
    peer: Callable[[], object]
    between: Callable[[], object] = lambda: None


@dataclass(frozen=True)
class Measured:
    """The ratio of one case, with the error of its median."""

    ratio: float
    error: float

    @classmethod
    def of(cls, ours: list[float], peer: list[float]) -> Measured:
        """Pairs of one round are compared: both ran under the same load.

        >>> Measured.of([2.0, 2.2, 1.8], [1.0, 1.0, 1.0]).ratio
        2.0
        """
        ratios = [a / b for a, b in zip(ours, peer, strict=True)]
        middle = statistics.median(ratios)
        spread = 1.4826 * statistics.median(abs(r - middle) for r in ratios)
        return cls(round(middle, 3), round(1.2533 * spread / len(ratios) ** 0.5, 3))

    def is_worse(self, accepted: float) -> bool:
        """Whether it is clearly above the accepted ratio.

        >>> Measured(1.2, 0.01).is_worse(1.0), Measured(1.2, 0.06).is_worse(1.0)
        (True, False)
        """
        return self.ratio - SURE * self.error > accepted * WORSE


def run(hub: headwater.Hub, arguments: argparse.Namespace) -> dict[str, Any]:
    accepted = {} if arguments.write or not BASELINE.exists() else json.loads(BASELINE.read_text())
    with counted_reads(hub) as reads:
        many = Many(hub, reads)
        known = {**{name: by_hand(hub, name) for name in prepared(hub)}, "together": many.case()}
        known["routed"] = routed(hub)
        found = measured(known, arguments.rounds, arguments.warm)
        for times in AGAIN:
            suspects = worse(found, accepted)
            if suspects:
                print(f"measured again: {', '.join(suspects)}", flush=True)
                found |= measured({n: known[n] for n in suspects}, times * arguments.rounds, 0)
    suspects = worse(found, accepted)
    for name, m in found.items():
        told = f"accepted {accepted[name]:.2f}" if name in accepted else "new"
        verdict = "WORSE" if name in suspects else "ok"
        print(f"{name:<10} {m.ratio:5.2f} ± {SURE * m.error:.2f} x  {told:<14} {verdict}")
    if many.wrong:
        print(f"windows were not read once: {many.wrong[0]}")
    for name in (r.name for r in hub.status()):
        assert hub.verify(name).equal, name
    if arguments.write:
        document = {name: m.ratio for name, m in found.items()}
        BASELINE.write_text(json.dumps(document, indent=2) + "\n")
    return {
        "ratios": {name: m.ratio for name, m in found.items()},
        "errors": {name: m.error for name, m in found.items()},
        "accepted": accepted,
        "worse": suspects,
        "windows_read_once": not many.wrong,
        "passed": not suspects and not many.wrong,
    }


def worse(found: dict[str, Measured], accepted: dict[str, float]) -> list[str]:
    """The cases that are clearly above their accepted ratio; new ones are not."""
    return [name for name, m in found.items() if name in accepted and m.is_worse(accepted[name])]


def measured(known: dict[str, Case], rounds: int, warm: int) -> dict[str, Measured]:
    steps: dict[str, Callable[[], object]] = {}
    for name, case in known.items():
        steps |= {f"{name} change": case.change, name: case.ours}
        steps |= {f"{name} between": case.between, f"{name} peer": case.peer}
    times = in_turn(steps, rounds=rounds, warm=warm)
    return {name: Measured.of(times[name], times[f"{name} peer"]) for name in known}


def prepared(hub: headwater.Hub) -> tuple[str, ...]:
    """For each shape a source in sorted files, a stream table and a plain twin."""
    hub.sql("CREATE TABLE dim USING iceberg AS SELECT id AS g, id % 10 AS part FROM range(1000)")
    for name, (query, key, _) in SHAPES.items():
        sorted_source(hub, f"src_{name}", ROWS)
        text = query.format(s=f"src_{name}")
        hub.create_stream_table(
            name, text, unique_key=list(key) or None, refresh_mode="INCREMENTAL STRICT"
        )
        order = f" ORDER BY {', '.join(key)}" if key else ""
        hub.sql(f"CREATE TABLE plain_{name} USING iceberg AS {text}{order}")
    return tuple(SHAPES)


@dataclass
class Many:
    """Stream tables on few sources: one half is refreshed together, the other one by one."""

    hub: headwater.Hub
    reads: Counter[str]
    wrong: list[dict[str, int]] = field(default_factory=list)

    def case(self) -> Case:
        names = [f"many_{i}" for i in range(SOURCES)]
        for name in names:
            sorted_source(self.hub, f"src_{name}", ROWS // 10)
        for i in range(2 * TOGETHER):
            text = f"SELECT g, SUM(x) AS s{i} FROM src_{names[i % SOURCES]} GROUP BY g"
            self.hub.create_stream_table(f"table_{i}", text, refresh_mode="INCREMENTAL STRICT")
        changes = [Change(self.hub, name) for name in names]

        def changed() -> None:
            for change in changes:
                change.appended()

        apart = [f"table_{i}" for i in range(TOGETHER, 2 * TOGETHER)]
        return Case(
            changed,
            self.together,
            lambda: [self.hub.refresh_stream_table(name) for name in apart],
        )

    def together(self) -> None:
        """Refresh one half, and note when a window was not read once."""
        self.reads.clear()
        self.hub.refresh([f"table_{i}" for i in range(TOGETHER)])
        if dict(self.reads) != {f"default.src_many_{i}": 1 for i in range(SOURCES)}:
            self.wrong.append(dict(self.reads))


def routed(hub: headwater.Hub) -> Case:
    """Merges of keys all over a table, which choose how they find their files, and which do not.

    Rows are wide enough for more than the few files from which on there is a choice.
    """
    sorted_source(hub, "src_routed", ROWS)
    for name in ("routed", "usual"):
        hub.create_stream_table(
            name,
            "SELECT id, g, x, sha2(CAST(id AS STRING), 256) AS wide FROM src_routed",
            unique_key=["id"],
            refresh_mode="INCREMENTAL STRICT",
        )
        hub.maintain(name)
    change = Change(hub, "routed")

    def scattered() -> None:
        change.scattered()
        hub.set(ROUTING, True)

    return Case(
        scattered,
        lambda: hub.refresh_stream_table("routed"),
        lambda: hub.refresh_stream_table("usual"),
        between=lambda: hub.set(ROUTING, False),
    )


@dataclass
class Change:
    """Changes of the source of one case; `last` is the new rows, as the peer reads them."""

    hub: headwater.Hub
    name: str
    number: int = 0
    last: str = ""

    def appended(self) -> None:
        """Ten new rows."""
        self.number += 1
        start = 10**9 + 10 * self.number
        rows = f"SELECT id, id % 1000 AS g, id AS x FROM range({start}, {start + 10}, 1, 1)"
        self.hub.sql(f"INSERT INTO src_{self.name} {rows}")
        self.last = f"({rows})"

    def moved(self) -> None:
        """A hundred neighbouring rows get other values."""
        self.number += 1
        low = 791_900 * self.number % (ROWS - 100)
        self.last = f"BETWEEN {low} AND {low + 99}"
        self.hub.sql(f"UPDATE src_{self.name} SET x = x + 1 WHERE id {self.last}")

    def scattered(self) -> None:
        """Two hundred rows all over the source get other values."""
        self.number += 1
        every = ROWS // 200
        self.hub.sql(
            f"UPDATE src_{self.name} SET x = x + 1 WHERE id % {every} = {self.number % every}"
        )


def by_hand(hub: headwater.Hub, name: str) -> Case:
    """The refresh of one shape beside what an expert would write for the change."""
    _, key, statement = SHAPES[name]
    change = Change(hub, name)

    def expert() -> None:
        with command.same_settings(hub) as session:
            session.sql(statement.replace("{new}", change.last))

    return Case(
        change.moved if key else change.appended,
        lambda: hub.refresh_stream_table(name),
        expert,
    )


if __name__ == "__main__":
    sys.exit(command.main("gate", __doc__, run, rounds=9, warm=4, write=False))
