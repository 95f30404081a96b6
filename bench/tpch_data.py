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


@dataclass
class Changes:
    """New and deleted orders with their lines, in neighbourhoods that lie side by side.

    Both walk through all keys and begin again at the end, half of the keys apart. Each time the
    new orders take the next of the four places that a span of keys has for them, and the deleted
    ones leave theirs: as many go as come, however long it takes.

    Attributes:
        scale: of the generated files, which new orders are copied from.
        inserted, deleted: how far both have come; counts on after the last key.
        updates: rounds of random updates.
        count: orders at first.
        keys: where the keys begin again.
    """

    hub: headwater.Hub
    scale: float
    inserted: int = 0
    deleted: int = 0
    updates: int = 0
    count: int = 0
    keys: int = 0

    def start(self) -> None:
        """Look at the keys there are."""
        self.count, last = self.hub.sql("SELECT COUNT(*), MAX(o_orderkey) FROM orders").collect()[0]
        self.keys = last // _SPAN * _SPAN + _SPAN
        self.inserted, self.deleted = self._even(last * 0.05), self._even(last * 0.55)

    def new_and_deleted(self, share: float) -> None:
        """The refresh functions 1 and 2: a share of the orders comes, as many go."""
        span = self._even(self.count * share * _SPAN / _SPARSE) or _SPAN
        for turn, low, high in pieces(self.inserted, span, self.keys):
            self._insert(low, high, (turn + 1) % _PLACES)
        self.inserted += span
        for turn, low, high in pieces(self.deleted, span, self.keys):
            self._delete(low, high, turn % _PLACES)
        self.deleted += span

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

    def _insert(self, low: int, high: int, place: int) -> None:
        """Copies of the generated orders of a range, with the keys of another place."""
        for table, key in (("orders", "o_orderkey"), ("lineitem", "l_orderkey")):
            names = self.hub.sql(f"SELECT * FROM {table} LIMIT 0").columns
            items = ", ".join(f"{n} + {place * _SPARSE}" if n == key else n for n in names)
            self.hub.sql(
                f"INSERT INTO {table} SELECT /*+ COALESCE(1) */ {items} "
                f"FROM parquet.`{generated(self.scale) / table}` "
                f"WHERE {key} >= {low} AND {key} < {high}"
            )
            added, deleted = self._written(table)
            assert added > deleted == 0, f"{table}: no new rows from {low} on"

    def _delete(self, low: int, high: int, place: int) -> None:
        """The orders of a range that have been there for longest."""
        first, end = place * _SPARSE, place * _SPARSE + _SPARSE
        # Until new orders have come half of the way, a range has no others.
        others = self.inserted >= self.keys // 2
        for table, key in (("lineitem", "l_orderkey"), ("orders", "o_orderkey")):
            among = f" AND {key} % {_SPAN} >= {first} AND {key} % {_SPAN} < {end}" if others else ""
            self.hub.sql(f"DELETE FROM {table} WHERE {key} >= {low} AND {key} < {high}{among}")
            added, deleted = self._written(table)
            assert added < deleted, f"{table}: no rows deleted from {low} on"

    def _written(self, table: str) -> tuple[int, int]:
        """Rows that the last commit wrote into new files and took away with old ones."""
        row = self.hub.sql(
            "SELECT summary['added-records'], summary['deleted-records'] "
            f"FROM {self.hub._runtime.lake.catalog}.default.{table}.snapshots "
            "ORDER BY committed_at DESC LIMIT 1"
        ).collect()[0]
        return int(row[0] or 0), int(row[1] or 0)

    def _even(self, key: float) -> int:
        return int(key) // _SPAN * _SPAN


def pieces(start: int, span: int, keys: int) -> Iterator[tuple[int, int, int]]:
    """The ranges of keys that a walk of `span` from `start` meets, each with its turn.

    >>> list(pieces(100, 50, 1000)), list(pieces(990, 50, 1000))
    ([(0, 100, 150)], [(0, 990, 1000), (1, 0, 40)])
    """
    while span > 0:
        turn, low = divmod(start, keys)
        high = min(low + span, keys)
        yield turn, low, high
        start, span = start + high - low, span - (high - low)
