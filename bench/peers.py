"""Refreshes against what an expert would write by hand for the same tables and changes.

    python -m bench.peers [--scale 1] [--share 0.001] [--rounds N] [--keep FOLDER]

Queries 1, 3, 5, 10, 12, 13 and 18 of TPC-H on sources sorted by their keys; each round brings new
orders with their lines and deletes as many. Refreshes run in mode AUTO with their fences on; the
expert's statement has none, and neither keeps a history nor can be started twice. It runs in a
session with the file system of refreshes, and is tuned: of their settings for few changes and for
many it has those that were faster while warming up. At the end both have the same rows.

Mark: no refresh takes more than 1.15 × the expert's statement, nor do all together.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import headwater
from bench.command import differing_rows, options, same_settings
from bench.experts import EXPERTS, Expert
from bench.measure import median, save
from bench.tpch import CURSOR, keep, prepared
from bench.tpch_data import queries

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MARK = 1.15


def main() -> int:
    arguments = options(
        __doc__,
        {"scale": 1.0, "share": 0.001, "rounds": 7, "warm": 5, "keep": "", "queries": ""},
    )
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(arguments.keep or temporary)
        with headwater.connect(folder / "lake") as hub:
            result = run(hub, folder / CURSOR, arguments)
    save("peers" if arguments.scale == 1 else f"peers_sf{arguments.scale:g}", result)
    return 0 if result["passed"] else 1


def run(hub: headwater.Hub, cursor: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    known = queries()
    wanted = arguments.queries.split(",") if arguments.queries else EXPERTS
    chosen = {name: known[name] for name in wanted}
    changes = prepared(hub, cursor, arguments.scale, chosen)
    for name in chosen:
        hub.sql(f"DROP TABLE IF EXISTS peer_{name}")
        hub.sql(EXPERTS[name].table)
        hub.refresh_stream_table(name)
    taken = {name: Taken() for name in chosen}
    for number in range(-arguments.warm, arguments.rounds):
        before = versions(hub)
        changes.new_and_deleted(arguments.share)
        keep(cursor, changes)
        window = Window(hub, before, versions(hub))
        for name in chosen:
            taken[name].round(hub, name, window, number)
    for name in chosen:
        assert hub.verify(name).equal, name
        assert differing_rows(hub, name, f"peer_{name}") == 0, name
    return summary(taken, arguments)


def summary(taken: dict[str, Taken], arguments: argparse.Namespace) -> dict[str, Any]:
    medians = {n: {w: round(median(ms), 1) for w, ms in t.ms.items()} for n, t in taken.items()}
    ours, expert = (sum(m[way] for m in medians.values()) for way in ("ours", "expert"))
    ratios = {n: round(m["ours"] / m["expert"], 3) for n, m in medians.items()}
    for name, m in medians.items():
        told = "few changes" if taken[name].small else "many changes"
        print(
            f"{name} {m['ours']:7.0f} ms  expert {m['expert']:7.0f} ms  {ratios[name]:.2f} x "
            f"{'ok' if ratios[name] <= MARK else 'SLOWER'}  {'/'.join(sorted(taken[name].actions))}"
            f"  expert with settings for {told}"
        )
    print(f"all {ours:7.0f} ms  expert {expert:7.0f} ms  {ours / expert:.2f} x (mark {MARK} x)")
    return {
        "scale": arguments.scale,
        "share": arguments.share,
        "rounds": arguments.rounds,
        "medians_ms": medians,
        "ratios": ratios,
        "actions": {name: sorted(t.actions) for name, t in taken.items()},
        "expert_has_small_settings": {name: t.small for name, t in taken.items()},
        "ratio": round(ours / expert, 3),
        "mark": MARK,
        "slower": [name for name, ratio in ratios.items() if ratio > MARK],
        "passed": ours <= MARK * expert and all(r <= MARK for r in ratios.values()),
    }


@dataclass
class Taken:
    """The times of one query, in milliseconds, and the settings that suit its expert."""

    ms: dict[str, list[float]] = field(default_factory=lambda: {"ours": [], "expert": []})
    tried: dict[bool, list[float]] = field(default_factory=lambda: {True: [], False: []})
    actions: set[str] = field(default_factory=set)

    @property
    def small(self) -> bool:
        """Whether the settings for few changes were faster."""
        return min(self.tried[True], default=math.inf) <= min(self.tried[False], default=math.inf)

    def round(self, hub: headwater.Hub, name: str, window: Window, number: int) -> None:
        """Both after one change, in turn; below zero they warm up."""
        small = self.small if number >= 0 else bool(number % 2)
        for way in ("ours", "expert") if number % 2 else ("expert", "ours"):
            started = time.perf_counter()
            if way == "ours":
                self.actions.add(hub.refresh_stream_table(name).action)
            else:
                window.merged(EXPERTS[name], small)
            took = (time.perf_counter() - started) * 1000
            if number >= 0:
                self.ms[way].append(took)
            elif way == "expert":
                self.tried[small].append(took)


def versions(hub: headwater.Hub) -> dict[str, int]:
    catalog = hub._runtime.lake.catalog
    text = "SELECT snapshot_id FROM {c}.default.{t}.history ORDER BY made_current_at DESC LIMIT 1"
    return {
        table: hub.sql(text.format(c=catalog, t=table)).collect()[0][0]
        for table in ("orders", "lineitem")
    }


@dataclass
class Window:
    """The changes between two versions of both tables, as the expert reads them."""

    hub: headwater.Hub
    before: dict[str, int]
    after: dict[str, int]

    def merged(self, expert: Expert, small: bool) -> None:
        """Read the changes, look at their keys, merge."""
        with same_settings(self.hub, small=small) as session:
            self._merged(expert, session)

    def _merged(self, expert: Expert, session: SparkSession) -> None:
        names = {
            "l_old": f"lineitem VERSION AS OF {self.before['lineitem']}",
            "l_new": f"lineitem VERSION AS OF {self.after['lineitem']}",
            "o_old": f"orders VERSION AS OF {self.before['orders']}",
            "o_new": f"orders VERSION AS OF {self.after['orders']}",
        }
        ranges: list[tuple[int, int]] = []
        for table, short, columns in (
            ("lineitem", "dl", expert.lines),
            ("orders", "do", expert.orders),
        ):
            if columns:
                names[short] = f"expert_{short}"
                ranges += self._staged(session, table, names[short], columns, self._is_raw(expert))
        tests = {
            f"{letter}_in": " OR ".join(
                f"{letter}_orderkey BETWEEN {low} AND {high}" for low, high in ranges
            )
            for letter in ("l", "o")
        }
        text = expert.merge
        for name, value in {**names, **{n: f"({t})" for n, t in tests.items()}}.items():
            text = text.replace(f"{{{name}}}", value)
        session.sql(text)

    def _is_raw(self, expert: Expert) -> bool:
        """Sums of all changes need no netting: copied rows cancel out in them."""
        return "_orderkey" not in expert.lines + expert.orders

    def _staged(
        self, session: SparkSession, table: str, view: str, columns: str, raw: bool
    ) -> list[tuple[int, int]]:
        source = (
            f"{self.hub._runtime.lake.catalog}.default.{table}.changes WITH (`start-snapshot-id` = "
            f"'{self.before[table]}', `end-snapshot-id` = '{self.after[table]}')"
        )
        sign = "IF(_change_type = 'INSERT', 1, -1)"
        if raw:
            session.sql(
                f"CREATE OR REPLACE TEMP VIEW {view} AS SELECT {columns}, {sign} AS w FROM {source}"
            )
            return []
        frame = session.sql(
            f"SELECT {columns}, SUM({sign}) AS w FROM {source} GROUP BY {columns} "
            f"HAVING SUM({sign}) <> 0"
        ).localCheckpoint()
        frame.createOrReplaceTempView(view)
        key = f"{table[0]}_orderkey"
        rows = session.sql(f"SELECT MIN({key}), MAX({key}) FROM {view} GROUP BY w > 0").collect()
        return [(row[0], row[1]) for row in rows]


if __name__ == "__main__":
    sys.exit(main())
