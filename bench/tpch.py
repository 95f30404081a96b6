"""Refreshing the queries of TPC-H against computing them again, from few changes to many.

    python -m bench.tpch [--scale 1] [--shares 0.0001,0.001,0.01,0.1] [--rounds N] [--queries q01,…]

The sources are sorted by their keys. Each round brings new orders with their lines and deletes as
many (refresh functions 1 and 2 of the benchmark), then all stream tables are refreshed in mode
AUTO, and the peer, `INSERT OVERWRITE` of the same queries into plain tables, runs in turn with that
on the same state. The total is that of refreshing all together. Figures of one query come from a
second change in the same round, after which each is refreshed by itself: together, the first reader
of a window would pay for all. Queries that read neither orders nor lines are left out. Random
updates of both tables (refresh function 3) have rounds and recomputations of their own and are told
apart.

Marks: at 0.1 % all refreshes together ≤ 0.25 × all recomputations, at 0.01 % ≤ 0.2 ×; no query
slower than 1.1 × its recomputation. `--full N` recomputes in the first N rounds only. With `--keep
FOLDER` the hub stays for the next run, with `--merge` the results join those of the last run.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import headwater
from bench.command import options
from bench.measure import RESULTS, median, save
from bench.tpch_data import Changes, Walk, load, queries
from headwater.core.results import RefreshResult

MARKS = {0.0001: 0.2, 0.001: 0.25}
SLOWEST = 1.1
CURSOR = "changes.json"
Change = Callable[[], None]


@dataclass
class Rounds:
    """What was measured after one kind of change, in milliseconds."""

    together: list[float] = field(default_factory=list)
    apart: dict[str, list[RefreshResult]] = field(default_factory=dict)
    full: dict[str, list[float]] = field(default_factory=dict)


def main() -> int:
    arguments = options(
        __doc__,
        {
            "scale": 1.0,
            "shares": "0.0001,0.001,0.01,0.1",
            "rounds": 7,
            "warm": 2,
            "full": 7,
            "random": 0.001,
            "queries": "",
            "verify": True,
            "prepare": False,
            "keep": "",
            "merge": False,
        },
    )
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(arguments.keep or temporary)
        with headwater.connect(folder / "lake") as hub:
            result = run(hub, folder / CURSOR, arguments)
    if arguments.prepare:
        return 0
    name = "tpch" if arguments.scale == 1 else f"tpch_sf{arguments.scale:g}"
    result = judged(merged(RESULTS / f"{name}.json", result) if arguments.merge else result)
    save(name, result)
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
    shares = {}
    for share in map(float, filter(None, arguments.shares.split(","))):
        done = measured(hub, chosen, partial(changes.new_and_deleted, share), arguments)
        keep(cursor, changes)
        shares[f"{share:g}"] = told = figures(done)
        show(f"{share:.2%} new and deleted", told)
    updates = None
    if arguments.random:
        done = measured(hub, chosen, partial(changes.random_updates, arguments.random), arguments)
        keep(cursor, changes)
        updates = {"share": arguments.random, **figures(done)}
        show(f"{arguments.random:.2%} random updates", updates)
    if arguments.verify:
        wrong = [name for name in chosen if not hub.verify(name).equal]
        assert not wrong, wrong
    return {
        "scale": arguments.scale,
        "rounds": arguments.rounds,
        "full_rounds": min(arguments.full, arguments.rounds),
        "queries": list(chosen),
        "total_is_of": "all stream tables refreshed together; figures of queries are of each apart",
        "shares": shares,
        "random_updates": updates,
        "marks": {"total": {f"{s:g}": m for s, m in MARKS.items()}, "slowest": SLOWEST},
    }


def merged(file: Path, result: dict[str, Any]) -> dict[str, Any]:
    """The result with the shares of an earlier run of the same scale and queries."""
    if not file.exists():
        return result
    before = json.loads(file.read_text())
    if any(before.get(key) != result[key] for key in ("scale", "queries")):
        return result
    shares = before["shares"] | result["shares"]
    ordered = {share: shares[share] for share in sorted(shares, key=float)}
    updates = result["random_updates"] or before["random_updates"]
    return {**result, "shares": ordered, "random_updates": updates}


def judged(result: dict[str, Any]) -> dict[str, Any]:
    """The result with what it passed: the shares with a mark must be there."""
    passed = {
        share: told["total_ratio"] <= MARKS.get(float(share), SLOWEST)
        and told["slowest"] <= SLOWEST
        for share, told in result["shares"].items()
    }
    missing = [f"{share:g}" for share in MARKS if f"{share:g}" not in passed]
    is_passed = all(passed.values()) and not missing
    return {**result, "passed_shares": passed, "missing_shares": missing, "passed": is_passed}


def prepared(hub: headwater.Hub, cursor: Path, scale: float, chosen: dict[str, str]) -> Changes:
    """Sources, stream tables and their plain twins; what a kept hub has already stays."""
    known = {row.name for row in hub.status()}
    if cursor.exists():
        stored = json.loads(cursor.read_text())
        changes = Changes(hub, scale, Walk(**stored["walk"]), stored["updates"])
    else:
        load(hub, scale)
        changes = Changes.of(hub, scale)
    keep(cursor, changes)
    for name, text in chosen.items():
        started = time.perf_counter()
        if f"default.{name}" not in known:
            hub.create_stream_table(name, text)
        columns = f"AS SELECT * FROM {name} LIMIT 0"
        hub.sql(f"CREATE TABLE IF NOT EXISTS full_{name} USING iceberg {columns}")
        if f"default.{name}" not in known:
            print(f"created {name} in {time.perf_counter() - started:.1f} s", flush=True)
    return changes


def keep(cursor: Path, changes: Changes) -> None:
    document = {"walk": asdict(changes.walk), "updates": changes.updates}
    cursor.write_text(json.dumps(document))


def measured(
    hub: headwater.Hub, chosen: dict[str, str], change: Change, arguments: argparse.Namespace
) -> Rounds:
    """Rounds of one kind of change; the first ones warm up."""
    rounds = Rounds()
    for number in range(-arguments.warm, arguments.rounds):
        found = rounds if number >= 0 else Rounds()
        change()
        if number % 2 and number < arguments.full:
            recompute(hub, chosen, found)
        found.together.append(refreshed_together(hub, chosen))
        change()
        for name in chosen:
            found.apart.setdefault(name, []).append(hub.refresh_stream_table(name))
        if number % 2 == 0 and number < arguments.full:
            recompute(hub, chosen, found)
    return rounds


def recompute(hub: headwater.Hub, chosen: dict[str, str], found: Rounds) -> None:
    """What it takes to compute each query again."""
    started = time.perf_counter()
    for name, text in chosen.items():
        before = time.perf_counter()
        hub.sql(f"INSERT OVERWRITE full_{name} {text}")
        found.full.setdefault(name, []).append((time.perf_counter() - before) * 1000)
    print(f"computed all in {(time.perf_counter() - started) * 1000:.0f} ms", flush=True)


def refreshed_together(hub: headwater.Hub, chosen: dict[str, str]) -> float:
    started = time.perf_counter()
    done = hub.refresh(list(chosen))
    took = (time.perf_counter() - started) * 1000
    told = " ".join(f"{r.name.removeprefix('default.')}:{r.duration_ms:.0f}" for r in done)
    print(f"refreshed in {took:.0f} ms: {told}", flush=True)
    return took


def figures(rounds: Rounds) -> Any:
    full = {name: median(times) for name, times in rounds.full.items()}
    apart = {name: median([r.duration_ms for r in found]) for name, found in rounds.apart.items()}
    queries: dict[str, dict[str, Any]] = {
        name: {
            "refresh_ms": round(apart[name]),
            "full_ms": round(full[name]),
            "ratio": round(apart[name] / full[name], 3),
            "actions": [r.action for r in found],
            "reason_code": found[-1].reason_code,
            "apply": found[-1].apply,
            "spark_jobs": found[-1].spark_jobs,
        }
        for name, found in rounds.apart.items()
    }
    total = median(rounds.together)
    return {
        "total_ms": round(total),
        "total_apart_ms": round(sum(apart.values())),
        "total_full_ms": round(sum(full.values())),
        "total_ratio": round(total / sum(full.values()), 3),
        "slowest": max(q["ratio"] for q in queries.values()),
        "queries": queries,
    }


def show(title: str, told: Any) -> None:
    print(f"\n{title}: {told['total_ms']} ms against {told['total_full_ms']} ms, ", end="")
    print(f"{told['total_ratio']:.3f} x; slowest apart {told['slowest']:.2f} x")
    for name, q in told["queries"].items():
        print(
            f"  {name} {q['refresh_ms']:>6} ms  full {q['full_ms']:>6} ms  {q['ratio']:.2f} x  "
            f"{q['actions'][-1]} {q['reason_code']} {q['apply']} {q['spark_jobs']} jobs",
            flush=True,
        )


if __name__ == "__main__":
    sys.exit(main())
