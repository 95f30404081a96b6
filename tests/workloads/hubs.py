"""A workload on Spark and Iceberg: its tables in a hub, and each query a stream table."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from made_rows import Keys, Maker, Row
from rounds import TableRound, next_round
from tpc import Workload

import headwater
from churn import churn, stored


@dataclass
class Figures:
    """How the stream table of one query fared."""

    name: str
    strategy: str = ""
    apply: set[str] = field(default_factory=set)
    sizes: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    moved: int = 0
    problems: list[str] = field(default_factory=list)
    rows: Counter = field(default_factory=Counter)

    def __str__(self) -> str:
        rows = "→".join(map(str, self.sizes))
        spent = " ".join(f"{s:.1f}" for s in self.seconds)
        how = f"{self.strategy} by {'/'.join(sorted(self.apply)) or 'none'}"
        return f"{self.name:<12} {how:<34} {spent} s  rows {rows}"


class Site:
    """A hub with the tables that some queries of a workload read."""

    def __init__(
        self,
        hub: headwater.Hub,
        workload: Workload,
        keys: Keys,
        texts: Mapping[str, str],
        seed: int,
    ) -> None:
        self.hub, self.workload, self.keys = hub, workload, keys
        self.maker = Maker(workload.schemas, keys, texts, seed)
        self.rows = {table: rows for table, rows in self.maker.first().items() if rows}
        for table, rows in self.rows.items():
            hub.sql(f"CREATE TABLE {table} ({workload.schemas[table]}) USING iceberg")
            self._arrive(table, rows)
            hub.sql(f"INSERT INTO {table} SELECT * FROM arriving")

    def change(self) -> None:
        """One round: all tables change, each in one commit."""
        for table, change in next_round(self.maker, self.rows).items():
            self._merge(table, change)
            self.rows[table] = change.applied(self.rows[table])

    def _merge(self, table: str, change: TableRound) -> None:
        names = [name for name, _ in self.maker.columns[table]]
        news = [*change.inserted, *(new for _, new in change.updated)]
        rows = [(*row, False) for row in news] + [(*row, True) for row in change.deleted]
        self._arrive(table, rows, ", gone boolean")
        found = " AND ".join(f"t.{name} = c.{name}" for name in self.keys.primary[table])
        assigned = ", ".join(f"t.{name} = c.{name}" for name in names)
        values = ", ".join(f"c.{name}" for name in names)
        self.hub.sql(
            f"MERGE INTO {table} t USING arriving c ON {found} "
            f"WHEN MATCHED AND c.gone THEN DELETE WHEN MATCHED THEN UPDATE SET {assigned} "
            f"WHEN NOT MATCHED THEN INSERT ({', '.join(names)}) VALUES ({values})"
        )

    def _arrive(self, table: str, rows: list[Row], more: str = "") -> None:
        frame = self.hub.spark.createDataFrame(
            rows, self.workload.schemas[table] + more, verifySchema=False
        )
        frame.coalesce(1).createOrReplaceTempView("arriving")


def create(hub: headwater.Hub, name: str, query: str, mode: str) -> Figures:
    """A stream table for a query."""
    verdict = hub.validate(query)
    figures = Figures(name, strategy=verdict.nodes[0].strategy)
    hub.create_stream_table(name, query, refresh_mode=mode)
    figures.rows = stored(hub, name)
    figures.sizes.append(figures.rows.total())
    return figures


def refresh(hub: headwater.Hub, figures: Figures, *, incremental: bool = True) -> None:
    """Refresh and compare with the query at the recorded frontier; count what was written."""
    started = time.perf_counter()
    result = hub.refresh_stream_table(figures.name)
    figures.seconds.append(time.perf_counter() - started)
    figures.apply.add(str(result.apply))
    figures.moved += bool(result.delta_rows)
    if incremental and result.action not in ("INCREMENTAL", "NO_DATA"):
        figures.problems.append(f"{result.action} {result.reason_code}: {result.reason}")
    report = hub.verify(figures.name)
    if not report.equal:
        figures.problems.append(str(report))
    before, figures.rows = figures.rows, stored(hub, figures.name)
    if churned := churn(result, before, figures.rows):
        figures.problems.append(churned)
    figures.sizes.append(figures.rows.total())
