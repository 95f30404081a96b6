"""TPC-H, TPC-DS and Nexmark as stream tables on Spark and Iceberg, through rounds of changes.

In every round each table gets inserts, deletes and updates in one commit, dimension tables too;
then every stream table is refreshed, strictly incrementally, and compared with its query at the
recorded frontier. The figures of a run are in `build/workloads/`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
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
    hub: headwater.Hub, workload: Workload, keys: Keys, names: Iterable[str], seed: int = SEED
) -> list[Figures]:
    """Maintain queries through the rounds."""
    texts = {name: workload.texts[name] for name in names}
    site = Site(hub, workload, keys, texts, seed)
    found = [create(hub, name, workload.query(name), "INCREMENTAL STRICT") for name in texts]
    for _ in range(ROUNDS):
        site.change()
        for figures in found:
            refresh(hub, figures)
    with _lines(workload.name).open("a") as lines:
        lines.writelines(f"{figures}\n" for figures in found)
    return found


def judge(found: list[Figures]) -> None:
    problems = [f"{f.name}: {problem}" for f in found for problem in f.problems]
    assert not problems, "\n".join(problems)


def test_tpch_cross_section(hub: headwater.Hub) -> None:
    names = ("q01", "q03", "q04", "q13", "q15", "q17", "q21", "q22")
    judge(play(hub, tpch(), TPCH, names))


def test_tpcds_cross_section(hub: headwater.Hub) -> None:
    judge(play(hub, tpcds(), TPCDS, ("q36", "q51", "q93")))


def test_nexmark_cross_section(hub: headwater.Hub) -> None:
    judge(play(hub, nexmark(), NEXMARK, ("q04", "q05", "q19")))


@pytest.mark.long
def test_tpch(hub: headwater.Hub) -> None:
    judge(play(hub, tpch(), TPCH, tpch().texts))


@pytest.mark.long
@pytest.mark.parametrize("first", range(1, 100, 11))
def test_tpcds(hub: headwater.Hub, first: int) -> None:
    names = [f"q{n:02}" for n in range(first, first + 11)]
    judge(play(hub, tpcds(), TPCDS, [name for name in names if name not in FULL]))


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
