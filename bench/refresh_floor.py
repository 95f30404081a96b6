"""How close a small refresh comes to the cheapest thing Iceberg can do: a one-row append.

    make bench        or        python -m bench.refresh_floor [--rounds N]

10 changed rows, a source of 1 M rows, 10 k groups; fencing on: lease, staging, compare-and-swap.
Marks: aggregate ≤ 2.5 × the bare append, filter and projection of appended rows ≤ 2 ×.

The bare append runs in the session of `hub.sql`: Spark and Iceberg as they are. Settings that only
refreshes have are printed.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
from pathlib import Path

import headwater
from bench.measure import in_turn, median, save
from headwater.core.results import RefreshResult
from headwater.refresh.conf import SMALL_REFRESH

MARKS = {"aggregate": 2.5, "projection": 2.0}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--warm", type=int, default=15)
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        headwater.connect(Path(folder) / "lake") as hub,
    ):
        result = run(hub, arguments.rounds, arguments.warm)
    save("refresh_floor", result)
    return 0 if result["passed"] else 1


def run(hub: headwater.Hub, rounds: int, warm: int) -> dict[str, object]:
    prepare(hub)
    ids = itertools.count(10_000_000, 10)
    last: dict[str, RefreshResult] = {}

    def change() -> None:
        start = next(ids)
        hub.sql(
            f"INSERT INTO src SELECT id, id * 7 % 10000, id, 'n' FROM range({start}, {start + 10})"
        )

    def refresh(name: str) -> None:
        last[name] = hub.refresh_stream_table(name)

    times = in_turn(
        {
            "change": change,
            "bare append": lambda: hub.sql("INSERT INTO bare VALUES (1, 'a')"),
            "aggregate": lambda: refresh("aggregate"),
            "projection": lambda: refresh("projection"),
        },
        rounds=rounds,
        warm=warm,
    )
    for name in MARKS:
        assert last[name].action == "INCREMENTAL", last[name]
        assert hub.verify(name).equal
    bare = median(times["bare append"])
    medians = {name: round(median(values), 1) for name, values in times.items()}
    ratios = {name: round(median(times[name]) / bare, 2) for name in MARKS}
    print(f"bare one-row append: {bare:.0f} ms (median of {rounds})")
    for name, mark in MARKS.items():
        print(
            f"{name:<11} {medians[name]:.0f} ms = {ratios[name]:.2f} x (mark {mark} x), "
            f"{last[name].spark_jobs} Spark jobs, apply {last[name].apply}"
        )
    own = own_settings(hub)
    for key, value in own.items():
        print(f"only refreshes: {key} = {value}")
    return {
        "medians_ms": medians,
        "only_refreshes": own,
        "ratios": ratios,
        "marks": MARKS,
        "spark_jobs": {name: last[name].spark_jobs for name in MARKS},
        "passed": all(ratios[name] <= mark for name, mark in MARKS.items()),
    }


def own_settings(hub: headwater.Hub) -> dict[str, str]:
    """What a small refresh sets in its session, and the session of `hub.sql` has not."""
    runtime = hub._runtime
    lake, started = runtime.lake, runtime.engine.given is None
    conf = {**lake.refresh_conf(bare_files=started), **SMALL_REFRESH}
    return {k: v for k, v in conf.items() if runtime.engine.user.conf.get(k, None) != v}


def prepare(hub: headwater.Hub) -> None:
    hub.sql("CREATE TABLE bare (id BIGINT, x STRING) USING iceberg")
    hub.sql(
        "CREATE TABLE src USING iceberg AS SELECT id, id % 10000 AS g, id * 3 AS x, "
        "CAST(id AS STRING) AS c FROM range(0, 1000000, 1, 4)"
    )
    hub.sql(
        "ALTER TABLE src SET TBLPROPERTIES ('write.metadata.delete-after-commit.enabled'='true')"
    )
    hub.create_stream_table("aggregate", "SELECT g, SUM(x) AS s, COUNT(*) AS n FROM src GROUP BY g")
    hub.create_stream_table("projection", "SELECT id, x + 1 AS y FROM src WHERE x > 0")


if __name__ == "__main__":
    sys.exit(main())
