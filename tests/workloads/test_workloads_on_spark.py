"""TPC-H, TPC-DS and Nexmark as stream tables on Spark and Iceberg, through rounds of changes.

In every round each table gets inserts, deletes and updates in one commit, dimension tables too;
then every stream table is refreshed, strictly incrementally, and compared with its query at the
recorded frontier. The figures of a run are in `build/workloads/`.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest
from hubs import Figures, Site, create, refresh
from made_rows import Keys
from nexmark import KEYS as NEXMARK
from nexmark import nexmark
from tpc import BUILD, Workload, tpcds, tpch
from tpc_keys import TPCDS, TPCH

import headwater

pytestmark = [pytest.mark.spark, pytest.mark.timeout(7200)]

ROUNDS = 3
SEED = 1
WHOLE = "_whole"
FULL = {"q44": "NO_PARTITION", "q49": "NO_PARTITION"}


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", headwater.HeadwaterWarning)
        yield


@cache
def _lines(workload: str) -> Path:
    path = BUILD / f"{workload}_spark.txt"
    path.write_text("")
    return path


def play(
    hub: headwater.Hub, workload: Workload, keys: Keys, names: Iterable[str], rounds: int = ROUNDS
) -> list[Figures]:
    """Maintain queries through the rounds; those with all of their rows are called `…_whole`."""
    queries = {name: text_of(workload, name) for name in names}
    plain = {name.removesuffix(WHOLE) for name in queries}
    site = Site(hub, workload, keys, {name: workload.texts[name] for name in plain}, SEED)
    found = [create(hub, name, text, "INCREMENTAL STRICT") for name, text in queries.items()]
    for _ in range(rounds):
        site.change()
        for figures in found:
            refresh(hub, figures)
    with _lines(workload.name).open("a") as lines:
        lines.writelines(f"{figures}\n" for figures in found)
    return found


def text_of(workload: Workload, name: str) -> str:
    """The query as it is maintained: with LIMIT and a total order, or without LIMIT."""
    plain = name.removesuffix(WHOLE)
    return workload.query(plain) if plain == name else workload.whole(plain)


def both_forms(workload: Workload, names: Iterable[str]) -> Iterator[str]:
    """A limit is recomputed from all rows: below it only the whole query runs a delta."""
    for name in names:
        yield name
        if workload.query(name) != workload.texts[name]:
            yield name + WHOLE


def judge(found: list[Figures]) -> None:
    problems = [f"{f.name}: {problem}" for f in found for problem in f.problems]
    assert not problems, "\n".join(problems)


def test_tpch_cross_section(hub: headwater.Hub) -> None:
    judge(play(hub, tpch(), TPCH, ("q03_whole", "q13", "q21"), rounds=1))


def test_tpcds_cross_section(hub: headwater.Hub) -> None:
    judge(play(hub, tpcds(), TPCDS, ("q36_whole",), rounds=1))


def test_nexmark_cross_section(hub: headwater.Hub) -> None:
    judge(play(hub, nexmark(), NEXMARK, ("q04", "q11", "q19"), rounds=1))


SESSIONS = {
    "by_name": "SELECT k, session_window, COUNT(*) AS n FROM ev "
    "GROUP BY k, session_window(ts, '10 seconds')",
    "by_field": "SELECT e.k, session_window.start AS opened, session_window.end, "
    "SUM(x) AS s FROM ev e WHERE x > 0 GROUP BY e.k, session_window(e.ts, '10 seconds')",
    "by_call": "SELECT k % 2 AS odd, session_window(ts, '1 minute').start AS opened, MAX(x) AS m "
    "FROM ev GROUP BY k % 2, session_window(ts, '1 minute') HAVING COUNT(*) > 1",
}


@pytest.mark.parametrize("rounds", [1, pytest.param(3, marks=pytest.mark.long)])
def test_sessions(hub: headwater.Hub, rounds: int) -> None:
    """Times on a grid of five seconds: some rows are just a gap apart, some at the same time."""
    rng = random.Random(SEED)

    def some(count: int) -> str:
        rows = [
            f"({rng.randint(1, 3)}, {_moment(rng)}, {rng.choice((-1, 1, 2, 3))})"
            for _ in range(count)
        ]
        return ", ".join(rows)

    hub.sql("CREATE TABLE ev (k int, ts timestamp, x int) USING iceberg")
    hub.sql(f"INSERT INTO ev VALUES {some(40)}")
    found = [create(hub, name, text, "INCREMENTAL STRICT") for name, text in SESSIONS.items()]
    for _ in range(rounds):
        hub.sql("DELETE FROM ev WHERE k = 1 AND x = 3")
        hub.sql("UPDATE ev SET ts = ts + INTERVAL 5 SECONDS WHERE k = 2 AND x = 1")
        hub.sql(f"INSERT INTO ev VALUES {some(4)}")
        for figures in found:
            refresh(hub, figures)
    judge(found)
    assert all(figures.moved for figures in found)


def _moment(rng: random.Random) -> str:
    if rng.random() < 0.05:
        return "NULL"
    return f"timestamp_seconds(1767225600 + {5 * rng.randint(0, 90)})"


@pytest.mark.long
def test_tpch(hub: headwater.Hub) -> None:
    judge(play(hub, tpch(), TPCH, both_forms(tpch(), tpch().texts)))


@pytest.mark.long
@pytest.mark.parametrize("first", range(1, 100, 11))
def test_tpcds(hub: headwater.Hub, first: int) -> None:
    names = [f"q{n:02}" for n in range(first, first + 11)]
    names = [name for name in names if name not in FULL]
    judge(play(hub, tpcds(), TPCDS, both_forms(tpcds(), names)))


@pytest.mark.long
def test_queries_that_are_recomputed(hub: headwater.Hub) -> None:
    site = Site(hub, tpcds(), TPCDS, {name: tpcds().texts[name] for name in FULL}, SEED)
    for name, reason in FULL.items():
        query = tpcds().query(name)
        assert {n.reason_code for n in hub.validate(query).reasons} == {reason}
        figures = create(hub, name, query, "AUTO")
        site.change()
        refresh(hub, figures, incremental=False)
        judge([figures])
        assert hub.history(name)[0].reason_code == reason


@pytest.mark.long
def test_nexmark(hub: headwater.Hub) -> None:
    judge(play(hub, nexmark(), NEXMARK, nexmark().texts))
