"""Refreshing the queries of TPC-H against computing them again, from few changes to many.

    python -m bench.tpch [--scale 1] [--shares 0.0001,0.001,0.01,0.1] [--rounds N] [--queries q01,…]

The sources are sorted by their keys. Each round brings new orders with their lines and deletes as
many (refresh functions 1 and 2 of the benchmark), then all stream tables are refreshed together in
mode AUTO. The peer is `INSERT OVERWRITE` of the same query into a plain table. Queries that read
neither orders nor lines are left out. Random updates of both tables (refresh function 3) are told
apart, after everything else.

Marks: at 0.1 % all refreshes together ≤ 0.25 × all recomputations, at 0.01 % ≤ 0.2 ×; no query
slower than 1.1 × its recomputation. With `--keep FOLDER` the hub stays for the next run.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import headwater
from bench.command import options
from bench.measure import median, save
from bench.tpch_data import Changes, load, queries
from headwater.core.results import RefreshResult

MARKS = {0.0001: 0.2, 0.001: 0.25}
SLOWEST = 1.1
CURSOR = "changes.json"

Round = tuple[float, list[RefreshResult]]
"""Milliseconds of a round, and what each refresh did."""


def main() -> int:
    arguments = options(
        __doc__,
        {
            "scale": 1.0,
            "shares": "0.0001,0.001,0.01,0.1",
            "rounds": 3,
            "warm": 1,
            "full": 1,
            "random": 0.001,
            "queries": "",
            "apart": False,
            "verify": True,
            "prepare": False,
            "keep": "",
        },
    )
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(arguments.keep or temporary)
        with headwater.connect(folder / "lake") as hub:
            result = run(hub, folder / CURSOR, arguments)
    if arguments.prepare:
        return 0
    save("tpch" if arguments.scale == 1 else f"tpch_sf{arguments.scale:g}", result)
    return 0 if result["passed"] else 1


def run(hub: headwater.Hub, cursor: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    chosen = {
        name: text
        for name, text in queries().items()
        if not arguments.queries or name in arguments.queries.split(",")
    }
    changes = prepared(hub, cursor, arguments.scale, chosen)
    if arguments.prepare:
        return {}
    rounds: dict[float, list[Round]] = {}
    for share in map(float, arguments.shares.split(",")):
        rounds[share] = [
            refreshed(hub, chosen, lambda s=share: changes.new_and_deleted(s), arguments.apart)
            for _ in range((0 if rounds else arguments.warm) + arguments.rounds)
        ][-arguments.rounds :]
        keep(cursor, changes)
    recomputed = full_times(hub, chosen, arguments.full)
    shares: dict[float, dict[str, Any]] = {}
    for share, done in rounds.items():
        shares[share] = figures(done, recomputed)
        show(f"{share:.2%} new and deleted", shares[share])
    updates = None
    if arguments.random:
        done = [refreshed(hub, chosen, lambda: changes.random_updates(arguments.random), False)]
        keep(cursor, changes)
        updates = figures(done, recomputed)
        show(f"{arguments.random:.2%} random updates", updates)
    if arguments.verify:
        wrong = [name for name in chosen if not hub.verify(name).equal]
        assert not wrong, wrong
    return {
        "scale": arguments.scale,
        "full_ms": {name: round(ms) for name, ms in recomputed.items()},
        "shares": {f"{share:g}": told for share, told in shares.items()},
        "random_updates": updates,
        "marks": {"total": {f"{s:g}": m for s, m in MARKS.items()}, "slowest": SLOWEST},
        "passed": all(
            told["total_ratio"] <= MARKS.get(share, 1.0) and told["slowest"] <= SLOWEST
            for share, told in shares.items()
        ),
    }


def prepared(hub: headwater.Hub, cursor: Path, scale: float, chosen: dict[str, str]) -> Changes:
    """Sources, stream tables and their plain twins; what a kept hub has already stays."""
    changes = Changes(hub)
    known = {row.name for row in hub.status()}
    if not cursor.exists():
        load(hub, scale)
    changes.start()
    if cursor.exists():
        vars(changes).update(json.loads(cursor.read_text()))
    keep(cursor, changes)
    for name, text in chosen.items():
        if f"default.{name}" in known:
            continue
        started = time.perf_counter()
        hub.create_stream_table(name, text)
        hub.sql(f"CREATE TABLE full_{name} USING iceberg AS SELECT * FROM {name} LIMIT 0")
        print(f"created {name} in {time.perf_counter() - started:.1f} s", flush=True)
    return changes


def keep(cursor: Path, changes: Changes) -> None:
    names = ("inserted", "deleted", "updates")
    cursor.write_text(json.dumps({name: getattr(changes, name) for name in names}))


def full_times(hub: headwater.Hub, chosen: dict[str, str], rounds: int) -> dict[str, float]:
    """What it takes to compute each query again; Spark is warm by then."""
    times: dict[str, list[float]] = {name: [] for name in chosen}
    for _ in range(rounds):
        for name, text in chosen.items():
            started = time.perf_counter()
            hub.sql(f"INSERT OVERWRITE full_{name} {text}")
            times[name].append((time.perf_counter() - started) * 1000)
            print(f"all of {name}: {times[name][-1]:.0f} ms", flush=True)
    return {name: median(found) for name, found in times.items()}


def refreshed(hub: headwater.Hub, chosen: dict[str, str], change: Any, apart: bool) -> Round:
    """One change, then all stream tables: together, or each by itself."""
    change()
    started = time.perf_counter()
    if apart:
        done = [hub.refresh_stream_table(name) for name in chosen]
    else:
        done = list(hub.refresh(list(chosen)))
    took = (time.perf_counter() - started) * 1000
    told = " ".join(f"{r.name.removeprefix('default.')}:{r.duration_ms:.0f}" for r in done)
    print(f"refreshed in {took:.0f} ms: {told}", flush=True)
    return took, done


def figures(rounds: list[Round], full: dict[str, float]) -> Any:
    taken: dict[str, list[RefreshResult]] = {name: [] for name in full}
    for _, done in rounds:
        for result in done:
            taken[result.name.removeprefix("default.")].append(result)
    queries = {
        name: {
            "refresh_ms": round(median([r.duration_ms for r in results])),
            "full_ms": round(full[name]),
            "ratio": round(median([r.duration_ms for r in results]) / full[name], 3),
            "action": results[-1].action,
            "reason_code": results[-1].reason_code,
            "apply": results[-1].apply,
            "spark_jobs": results[-1].spark_jobs,
        }
        for name, results in taken.items()
    }
    total = median([took for took, _ in rounds])
    return {
        "total_ms": round(total),
        "total_full_ms": round(sum(full.values())),
        "total_ratio": round(total / sum(full.values()), 3),
        "slowest": max(q["ratio"] for q in queries.values()),
        "queries": queries,
    }


def show(title: str, told: Any) -> None:
    print(f"\n{title}: {told['total_ms']} ms against {told['total_full_ms']} ms, ", end="")
    print(f"{told['total_ratio']:.3f} x; slowest {told['slowest']:.2f} x")
    for name, q in told["queries"].items():
        print(
            f"  {name} {q['refresh_ms']:>6} ms  full {q['full_ms']:>6} ms  {q['ratio']:.2f} x  "
            f"{q['action']} {q['reason_code']} {q['apply']} {q['spark_jobs']} jobs",
            flush=True,
        )


if __name__ == "__main__":
    sys.exit(main())
