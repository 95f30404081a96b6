"""How close a small refresh comes to the cheapest thing Iceberg can do: a one-row append.

    make bench        or        python -m bench.refresh_floor [--rounds N]

10 changed rows, a source of 1 M rows, 10 k groups; fencing on: lease, staging, compare-and-swap.
Marks: aggregate ≤ 2.0 × the bare append, filter and projection of appended rows ≤ 1.6 ×.

The bare append of the marks has the settings, the file system and the table properties of a
refresh: what is left of the ratio to it is the work of the refresh itself. A second one runs in the
session of `hub.sql`: Spark and Iceberg as they are. Settings that only refreshes have are printed.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import headwater
from bench.measure import in_turn, median, save
from headwater.core.names import TableName
from headwater.core.results import RefreshResult
from headwater.refresh.conf import SMALL_REFRESH
from headwater.storage.jobs import counted_jobs
from headwater.storage.spark import set_all
from headwater.storage.target import Field, create

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MARKS = {"aggregate": 2.0, "projection": 1.6}
BARE = "bare append"
SAME = "bare append, same settings"
TABLES = {BARE: "bare", SAME: "same", **{name: name for name in MARKS}}


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

    alike = session_of_a_refresh(hub)
    actions: dict[str, Callable[[], object]] = {
        "change": change,
        BARE: lambda: hub.sql("INSERT INTO bare VALUES (1, 'a')"),
        SAME: lambda: alike.sql("INSERT INTO same VALUES (1, 'a')"),
        "aggregate": lambda: refresh("aggregate"),
        "projection": lambda: refresh("projection"),
    }
    times = in_turn(actions, rounds=rounds, warm=warm)
    change()
    statements = {name: counted_statements(actions[name]) for name in TABLES}
    for name in MARKS:
        assert last[name].action == "INCREMENTAL", last[name]
        assert hub.verify(name).equal
    jobs = {name: last[name].spark_jobs for name in MARKS}
    for name, session in ((BARE, hub._runtime.engine.user), (SAME, alike)):
        with counted_jobs(session, name) as count:
            actions[name]()
            jobs[name] = count.total
    medians = {name: round(median(values), 1) for name, values in times.items()}
    ratios, usual_ratios = (
        {name: round(median(times[name]) / median(times[bare]), 2) for name in MARKS}
        for bare in (SAME, BARE)
    )
    for name in (BARE, SAME):
        print(
            f"{name}: {medians[name]:.0f} ms (median of {rounds}), {work(jobs, statements, name)}"
        )
    for name, mark in MARKS.items():
        print(
            f"{name:<11} {medians[name]:.0f} ms = {ratios[name]:.2f} x (mark {mark} x), "
            f"{usual_ratios[name]:.2f} x of Spark as it is, {work(jobs, statements, name)}, "
            f"apply {last[name].apply}"
        )
    own = own_settings(hub)
    for key, value in own.items():
        print(f"only refreshes: {key} = {value}")
    return {
        "medians_ms": medians,
        "only_refreshes": own,
        "ratios": ratios,
        "ratios_of_spark_as_it_is": usual_ratios,
        "marks": MARKS,
        "spark_jobs": jobs,
        "statements": statements,
        "session_settings": {
            BARE: session_settings(hub._runtime.engine.user),
            "refreshes": session_settings(alike),
        },
        "table_properties": {name: properties(hub, table) for name, table in TABLES.items()},
        "passed": all(ratios[name] <= mark for name, mark in MARKS.items()),
    }


def work(jobs: dict[str, int], statements: dict[str, int], name: str) -> str:
    return f"{jobs[name]} Spark jobs, {statements[name]} statements"


def counted_statements(action: Callable[[], object]) -> int:
    """How many SQL statements an action sends to Spark, whichever session it uses."""
    from pyspark.sql import SparkSession

    real, texts = SparkSession.sql, []

    def counting(session: SparkSession, text: str, *args: object, **named: object) -> object:
        texts.append(text)
        return real(session, text, *args, **named)

    SparkSession.sql = counting
    try:
        action()
    finally:
        SparkSession.sql = real
    return len(texts)


def session_of_a_refresh(hub: headwater.Hub) -> SparkSession:
    """A session like those of the pool, which no refresh uses."""
    session = hub._runtime.engine._session()
    set_all(session, SMALL_REFRESH)
    return session


def session_settings(session: SparkSession) -> dict[str, str]:
    return {k: v for k, v in sorted(session.conf.getAll.items()) if k.startswith("spark.sql.")}


def properties(hub: headwater.Hub, table: str) -> dict[str, str]:
    found = hub.sql(f"SHOW TBLPROPERTIES {table}").collect()
    return {row.key: row.value for row in found if row.key != "current-snapshot-id"}


def own_settings(hub: headwater.Hub) -> dict[str, str]:
    """What a small refresh sets in its session, and the session of `hub.sql` has not."""
    runtime = hub._runtime
    lake, started = runtime.lake, runtime.engine.given is None
    conf = {**lake.refresh_conf(bare_files=started), **SMALL_REFRESH}
    return {k: v for k, v in conf.items() if runtime.engine.user.conf.get(k, None) != v}


def prepare(hub: headwater.Hub) -> None:
    hub.sql("CREATE TABLE bare (id BIGINT, x STRING) USING iceberg")
    engine = hub._runtime.engine
    fields = (Field("id", "BIGINT"), Field("x", "STRING"))
    create(engine, engine.worker, TableName.parse("same"), fields)
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
