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
    import headwater

HERE = Path(__file__).parent
TESTS = HERE.parent / "tests"
CHANGED = ("orders", "lineitem")
UNCHANGED = ("q02", "q11", "q16")
"""Queries that read neither orders nor lines: new and deleted orders leave them alone."""

_SPAN = 32
_SPARSE = 8
"""Of 32 neighbouring order keys the generator uses the first eight."""


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
    """New and deleted orders with their lines, in neighbourhoods that no round meets twice."""

    hub: headwater.Hub
    inserted: int = 0
    deleted: int = 0
    updates: int = 0

    def start(self) -> None:
        """Look at the keys there are."""
        row = self.hub.sql("SELECT COUNT(*), MAX(o_orderkey) FROM orders").collect()[0]
        self.count, last = row
        self.inserted, self.deleted = self._even(last * 0.05), self._even(last * 0.55)

    def new_and_deleted(self, share: float) -> None:
        """The refresh functions 1 and 2: a share of the orders comes, as many go."""
        span = self._even(self.count * share * _SPAN / _SPARSE) or _SPAN
        self._insert(self.inserted, self.inserted + span)
        self.inserted += span
        for table, key in (("lineitem", "l_orderkey"), ("orders", "o_orderkey")):
            low, high = self.deleted, self.deleted + span
            self.hub.sql(f"DELETE FROM {table} WHERE {key} >= {low} AND {key} < {high}")
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

    def _insert(self, low: int, high: int) -> None:
        """Copies of the orders of a range, with the keys beside theirs that are free."""
        for table, key in (("orders", "o_orderkey"), ("lineitem", "l_orderkey")):
            names = self.hub.sql(f"SELECT * FROM {table} LIMIT 0").columns
            items = ", ".join(f"{n} + {_SPARSE}" if n == key else n for n in names)
            self.hub.sql(
                f"INSERT INTO {table} SELECT /*+ COALESCE(1) */ {items} FROM {table} "
                f"WHERE {key} >= {low} AND {key} < {high} AND {key} % {_SPAN} < {_SPARSE}"
            )

    def _even(self, key: float) -> int:
        return int(key) // _SPAN * _SPAN
