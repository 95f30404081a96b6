"""TPC-H, TPC-DS and Nexmark on the in-process engine: maintained equals recomputed, every round.

In every round each table gets inserts, deletes and updates, dimension tables too. The figures of a
run are in `build/workloads/`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from made_rows import Keys
from nexmark import KEYS as NEXMARK
from nexmark import ONLY_SPARK, nexmark
from sandboxes import Kept, Versions, keep, played
from tpc import BUILD, Workload, tpcds, tpch
from tpc_keys import TPCDS, TPCH

pytestmark = pytest.mark.untraced

ROUNDS = 3
SEED = 1

# Why a query is recomputed; all others are incremental.
FULL = {"q44": ("NO_PARTITION",), "q49": ("NO_PARTITION",)}

STAR_JOINS = (3, 7, 19, 42, 52, 55)
ROLLUPS = (27, 36, 67, 70, 86)
SET_OPERATIONS = (8, 14, 38, 87)
EXISTS = (10, 16, 35, 69, 94, 95)
CORRELATED = (1, 6, 30, 32, 41, 81, 92)
WINDOWS = (12, 20, 44, 47, 49, 51, 53, 57, 63, 89, 98)
OUTER_JOINS = (40, 78, 93, 97)
SHARED = (2, 4, 11, 23, 58, 59, 74)
TAKES_LONG = {4, 14, 23}
BY_FEATURE = sorted(
    {*STAR_JOINS, *ROLLUPS, *SET_OPERATIONS, *EXISTS, *CORRELATED, *WINDOWS, *OUTER_JOINS, *SHARED}
    - TAKES_LONG
)


@cache
def _box(name: str, seed: int) -> Versions:
    workload, keys = _workload(name)
    return played(workload, keys, ROUNDS, seed)


def _workload(name: str) -> tuple[Workload, Keys]:
    known = {"tpch": (tpch, TPCH), "tpcds": (tpcds, TPCDS), "nexmark": (nexmark, NEXMARK)}
    make, keys = known[name]
    return make(), keys


@cache
def _figures(workload: str) -> Path:
    path = BUILD / f"{workload}_duckdb.txt"
    path.write_text("")
    return path


def _judged(workload: str, kept: Kept, expected: tuple[str, ...] = ()) -> None:
    with _figures(workload).open("a") as lines:
        lines.write(f"{kept}\n")
    assert not kept.differences, "\n".join(kept.differences)
    assert kept.reasons == expected


@pytest.mark.parametrize("number", range(1, 23))
def test_tpch(number: int) -> None:
    name = f"q{number:02}"
    box = _box("tpch", SEED)
    whole = keep(box, f"{name} whole", tpch().whole(name))
    _judged("tpch", whole)
    _judged("tpch", keep(box, name, tpch().query(name)))
    assert whole.moved, "no round changed the result: this checks nothing"


@pytest.mark.parametrize("number", BY_FEATURE)
def test_tpcds_by_feature(number: int) -> None:
    name = f"q{number:02}"
    kept = keep(_box("tpcds", SEED), f"{name} whole", tpcds().whole(name))
    _judged("tpcds", kept, FULL.get(name, ()))


@pytest.mark.parametrize("name", [name for name in nexmark().texts if name not in ONLY_SPARK])
def test_nexmark(name: str) -> None:
    _judged("nexmark", keep(_box("nexmark", SEED), name, nexmark().query(name)))


@pytest.mark.long
@pytest.mark.parametrize("seed", [2, 3])
@pytest.mark.parametrize("number", range(1, 100))
def test_tpcds(number: int, seed: int) -> None:
    name = f"q{number:02}"
    box = _box("tpcds", seed)
    for label, text in ((name, tpcds().query(name)), (f"{name} whole", tpcds().whole(name))):
        _judged("tpcds", keep(box, label, text), FULL.get(name, ()))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 12))
def test_tpch_over_and_over(seed: int) -> None:
    for name in tpch().texts:
        kept = keep(_box("tpch", seed), f"{name} whole", tpch().whole(name))
        _judged("tpch", kept)
