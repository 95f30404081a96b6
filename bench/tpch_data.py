"""TPC-H for the benchmarks: tables sorted by their keys, the queries, and the refresh functions.

Texts and generator come from the older DuckDB that the workloads of the tests use. What is
generated stays below `build/`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.command import OWN_METADATA

if TYPE_CHECKING:
    from collections.abc import Iterator

    import headwater

HERE = Path(__file__).parent
TESTS = HERE.parent / "tests"
CHANGED = ("orders", "lineitem")
UNCHANGED = ("q02", "q11", "q16")
"""Queries that read neither orders nor lines: new and deleted orders leave them alone."""

_SPAN = 32
_SPARSE = 8
"""Of 32 neighbouring order keys the generator uses the first eight."""
_PLACES = _SPAN // _SPARSE


@cache
def workload() -> Any:
    """The texts and schemas, as the tests have them."""
    for folder in ("workloads", "delta"):
        sys.path.append(str(TESTS / folder))
    import tpc  # type: ignore[import-not-found]

    return tpc


def queries(*, changed_only: bool = True) -> dict[str, str]:
    """The queries without ORDER BY and LIMIT: a table has no order, and all rows are kept."""
    known = workload().tpch()
    names = [n for n in known.texts if not (changed_only and n in UNCHANGED)]
    return {name: known.whole(name) for name in names}


def generated(scale: float) -> Path:
    """The folder of the Parquet files, made when it is missing."""
    tpc = workload()
    tpc.tpch()
    folder: Path = HERE.parent / "build" / "tpch" / f"sf{scale:g}"
    if not folder.exists():
        fresh = folder.with_suffix(".new")
        subprocess.run(
            [sys.executable, str(HERE / "tpch_make.py"), str(scale), str(fresh)],
            env={**os.environ, "PYTHONPATH": str(tpc.BUILD / "duckdb")},
            check=True,
        )
        fresh.rename(folder)
    return folder


def load(hub: headwater.Hub, scale: float) -> None:
    """The eight tables as Iceberg tables, in files as they were generated: sorted by key."""
    folder = generated(scale)
    for table, columns in workload().tpch().schemas.items():
        hub.sql(f"CREATE TABLE {table} ({columns}) USING iceberg {OWN_METADATA}")
        for file in sorted((folder / table).iterdir()):
            hub.sql(f"INSERT INTO {table} SELECT /*+ COALESCE(1) */ * FROM parquet.`{file}`")


@dataclass(frozen=True)
class Range:
    """Keys from `low` to before `high`: of one place in each span, or of all."""

    low: int
    high: int
    place: int | None


@dataclass
class Walk:
    """Which orders come and which go: neighbourhoods that lie side by side.

    Both walk through all keys and begin again at the end, half of the keys apart. Each time the
    new orders take the next of the four places that a span of keys has for them, and the deleted
    ones leave theirs: as many go as come, however long it takes.

    Attributes:
        count: orders at first.
        half: half of the keys.
        gone: how far both have come; counts on after the last key.
    """

    count: int
    half: int
    gone: int = 0

    @classmethod
    def over(cls, count: int, last: int) -> Walk:
        """Through the keys of a table of so many orders."""
        return cls(count, _even(last / 2) + _SPAN)

    def step(self, share: float) -> tuple[list[Range], list[Range]]:
        """The next share of the orders: the ranges that come, those that go."""
        span = _even(self.count * share * _SPAN / _SPARSE) or _SPAN
        come = [
            Range(low, high, (turn // 2 + 1) % _PLACES)
            for turn, low, high in pieces(self.gone, span, self.half)
        ]
        # Until new orders have come half of the way, the ranges that go have no others.
        alone = self.gone + span <= self.half
        go = [
            Range(low, high, None if alone else (turn - 1) // 2 % _PLACES)
            for turn, low, high in pieces(self.gone + self.half, span, self.half)
        ]
        self.gone += span
        return come, go


@dataclass
class Changes:
    """New and deleted orders with their lines, and random updates.

    Attributes:
        scale: of the generated files, which new orders are copied from.
        updates: rounds of random updates.
    """

    hub: headwater.Hub
    scale: float
    walk: Walk
    updates: int = 0

    @classmethod
    def of(cls, hub: headwater.Hub, scale: float) -> Changes:
        """Look at the keys there are."""
        count, last = hub.sql("SELECT COUNT(*), MAX(o_orderkey) FROM orders").collect()[0]
        return cls(hub, scale, Walk.over(count, last))

    def new_and_deleted(self, share: float) -> None:
        """The refresh functions 1 and 2: a share of the orders comes, as many go."""
        come, go = self.walk.step(share)
        for one in come:
            self._insert(one)
        for one in go:
            self._delete(one)

    def random_updates(self, share: float) -> None:
        """A share of all orders and lines, anywhere, gets other amounts."""
        self.updates += 1
        every = round(1 / share)
        for table, keys, change in (
            ("orders", "o_orderkey", "o_totalprice = o_totalprice + 1"),
            ("lineitem", "l_orderkey, l_linenumber", "l_quantity = l_quantity + 1"),
        ):
            chosen = f"pmod(xxhash64({keys}, {self.updates}), {every}) = 0"
            self.hub.sql(f"UPDATE {table} SET {change} WHERE {chosen}")
            added, deleted = self._written(table)
            assert added == deleted > 0, f"{table}: {added} rows written for {deleted}"

    def _insert(self, come: Range) -> None:
        """Copies of the generated orders of a range, with the keys of another place."""
        for table, key in (("orders", "o_orderkey"), ("lineitem", "l_orderkey")):
            names = self.hub.sql(f"SELECT * FROM {table} LIMIT 0").columns
            moved = (come.place or 0) * _SPARSE
            items = ", ".join(f"{n} + {moved}" if n == key else n for n in names)
            self.hub.sql(
                f"INSERT INTO {table} SELECT /*+ COALESCE(1) */ {items} "
                f"FROM parquet.`{generated(self.scale) / table}` "
                f"WHERE {key} >= {come.low} AND {key} < {come.high}"
            )
            added, deleted = self._written(table)
            assert added > deleted == 0, f"{table}: no new rows for {come}"

    def _delete(self, go: Range) -> None:
        """The orders of a range that have been there for longest."""
        for table, key in (("lineitem", "l_orderkey"), ("orders", "o_orderkey")):
            among = "" if go.place is None else f" AND {key} % {_SPAN} DIV {_SPARSE} = {go.place}"
            self.hub.sql(
                f"DELETE FROM {table} WHERE {key} >= {go.low} AND {key} < {go.high}{among}"
            )
            added, deleted = self._written(table)
            assert added < deleted, f"{table}: no rows deleted in {go}"

    def _written(self, table: str) -> tuple[int, int]:
        """Rows that the last commit wrote into new files and took away with old ones."""
        row = self.hub.sql(
            "SELECT summary['added-records'], summary['deleted-records'] "
            f"FROM {self.hub._runtime.lake.catalog}.default.{table}.snapshots "
            "ORDER BY committed_at DESC LIMIT 1"
        ).collect()[0]
        return int(row[0] or 0), int(row[1] or 0)


def _even(key: float) -> int:
    return int(key) // _SPAN * _SPAN


def pieces(start: int, span: int, half: int) -> Iterator[tuple[int, int, int]]:
    """The ranges of keys that a walk of `span` from `start` meets, each with its half turn.

    >>> list(pieces(100, 50, 500)), list(pieces(990, 50, 500))
    ([(0, 100, 150)], [(1, 990, 1000), (2, 0, 40)])
    """
    while span > 0:
        turn, place = divmod(start, half)
        long = min(span, half - place)
        low = turn % 2 * half + place
        yield turn, low, low + long
        start, span = start + long, span - long
