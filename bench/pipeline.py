"""A pipeline in the style of TPC-DI: staging, dimensions with history, facts, aggregates.

    python -m bench.pipeline [--scale 1] [--rounds N]

Ten stream tables on five logs. Each day brings, in one batch, customers and accounts that changed,
securities that moved to another sector, prices, new trades, trades that were cancelled and a late
correction. A version of a dimension is valid until the next one; facts join the version that was
valid on their day. `hub.refresh("*")` runs against `INSERT OVERWRITE` of the same ten queries, in
their order, on the same state. All stream tables are verified.

Mark: the refreshes of a day take no longer than computing everything again.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from typing import Any

import headwater
from bench import command
from bench.measure import median

MARK = 1.0
DAYS = 300
"""Days before the first batch; day 0 has the first version of everything."""

_NEXT = "LEAD(day) OVER (PARTITION BY {key} ORDER BY day)"
_NUMBER = "ROW_NUMBER() OVER (PARTITION BY {key} ORDER BY day)"
_VALID = "{d}.valid_from <= {day} AND ({d}.valid_to IS NULL OR {day} < {d}.valid_to)"


def _history(key: str, columns: str, staged: str) -> str:
    """Versions of the rows of a dimension, each valid until the next."""
    return (
        f"SELECT {key}, {columns}, {_NUMBER.format(key=key)} AS version, day AS valid_from, "
        f"{_NEXT.format(key=key)} AS valid_to FROM {staged}"
    )


QUERIES = {
    "stg_customer": "SELECT c_id, day, UPPER(TRIM(name)) AS name, tier, region "
    "FROM customer_log WHERE tier BETWEEN 1 AND 3",
    "stg_account": "SELECT a_id, day, c_id, status FROM account_log WHERE c_id IS NOT NULL",
    "stg_trade": "SELECT t_id, day, a_id, s_id, quantity, CAST(price AS DECIMAL(12, 2)) AS price, "
    "CAST(quantity * price AS DECIMAL(18, 2)) AS amount FROM trade_log WHERE quantity > 0",
    "dim_customer": _history("c_id", "name, tier, region", "{p}stg_customer"),
    "dim_account": _history("a_id", "c_id, status", "{p}stg_account"),
    "dim_security": _history("s_id", "sector", "security_log"),
    "fact_trade": "SELECT t.t_id, t.day, t.s_id, a.c_id, a.version AS account_version, s.sector, "
    "t.quantity, t.amount FROM {p}stg_trade t "
    f"JOIN {{p}}dim_account a ON t.a_id = a.a_id AND {_VALID.format(d='a', day='t.day')} "
    f"JOIN {{p}}dim_security s ON t.s_id = s.s_id AND {_VALID.format(d='s', day='t.day')}",
    "fact_price": "SELECT m.s_id, m.day, m.close, s.sector, s.version FROM price_log m "
    f"JOIN {{p}}dim_security s ON m.s_id = s.s_id AND {_VALID.format(d='s', day='m.day')}",
    "agg_sector": "SELECT sector, day, COUNT(*) AS trades, SUM(amount) AS amount "
    "FROM {p}fact_trade GROUP BY sector, day",
    "agg_region": "SELECT c.region, c.tier, COUNT(*) AS trades, SUM(f.amount) AS amount "
    "FROM {p}fact_trade f "
    f"JOIN {{p}}dim_customer c ON f.c_id = c.c_id AND {_VALID.format(d='c', day='f.day')} "
    "GROUP BY c.region, c.tier",
}
"""In the order in which they read each other; `{p}` stands before tables of the pipeline."""


@dataclass
class Logs:
    """What comes in from outside, day by day."""

    hub: headwater.Hub
    scale: float
    day: int = DAYS
    trades: int = 0

    def first(self) -> None:
        """Everything up to the first batch."""
        self.trades = self._count(1_000_000)
        for table, rows in {
            "customer_log": self._customers("id", "0", 0, self._count(40_000)),
            "account_log": self._accounts("id", "0", 0, self._count(80_000)),
            "security_log": self._securities("id", "0", 0, self._count(4_000)),
            "price_log": self._prices("0", 0, self._count(4_000)),
            "trade_log": self._trades(f"id % {DAYS}", 0, self.trades),
        }.items():
            self.hub.sql(f"CREATE TABLE {table} USING iceberg {command.OWN_METADATA} AS {rows}")

    def one_day(self) -> None:
        """One batch: refreshes see all of it or nothing."""
        self.day += 1
        new, day = self._count(2_000), str(self.day)
        with self.hub.batch():
            self._add("customer_log", self._customers(*self._some(40_000, 40), day, 0, 40))
            self._add("account_log", self._accounts(*self._some(80_000, 80), day, 0, 80))
            self._add("security_log", self._securities(*self._some(4_000, 4), day, 0, 4))
            self._add("price_log", self._prices(day, 0, self._count(4_000)))
            self._add("trade_log", self._trades(day, self.trades, self.trades + new))
            low = self.trades - new // 2
            self.hub.sql(f"DELETE FROM trade_log WHERE t_id BETWEEN {low} AND {low + new // 100}")
            late = self.day * 7 % self._count(40_000)
            self.hub.sql(f"UPDATE customer_log SET tier = tier % 3 + 1 WHERE c_id = {late}")
        self.trades += new

    def _add(self, table: str, rows: str) -> None:
        self.hub.sql(f"INSERT INTO {table} {rows}")

    def _count(self, rows: int) -> int:
        return max(10, round(rows * self.scale))

    def _some(self, rows: int, few: int) -> tuple[str]:
        """Other neighbouring ids each day."""
        return (f"(id + {self.day * few}) % {self._count(rows)}",)

    def _customers(self, key: str, day: str, low: int, high: int) -> str:
        return (
            f"SELECT {key} AS c_id, CAST({day} AS INT) AS day, CONCAT(' name ', {key}) AS name, "
            f"CAST(({key} + {day}) % 3 + 1 AS INT) AS tier, CONCAT('r', ({key} + {day}) % 20) "
            f"AS region FROM range({low}, {high}, 1, 1)"
        )

    def _accounts(self, key: str, day: str, low: int, high: int) -> str:
        return (
            f"SELECT {key} AS a_id, CAST({day} AS INT) AS day, {key} DIV 2 AS c_id, "
            f"IF({day} = 0, 'new', CONCAT('status ', {day} % 5)) AS status "
            f"FROM range({low}, {high}, 1, 1)"
        )

    def _securities(self, key: str, day: str, low: int, high: int) -> str:
        return (
            f"SELECT {key} AS s_id, CAST({day} AS INT) AS day, CONCAT('s', ({key} + {day}) % 30) "
            f"AS sector FROM range({low}, {high}, 1, 1)"
        )

    def _prices(self, day: str, low: int, high: int) -> str:
        return (
            f"SELECT id AS s_id, CAST({day} AS INT) AS day, CAST(10 + (id + {day}) % 90 AS "
            f"DECIMAL(12, 2)) AS close FROM range({low}, {high}, 1, 1)"
        )

    def _trades(self, day: str, low: int, high: int) -> str:
        files = max(1, (high - low) // 62_500)
        return (
            f"SELECT id AS t_id, CAST({day} AS INT) AS day, id * 7919 % {self._count(80_000)} AS "
            f"a_id, id * 31 % {self._count(4_000)} AS s_id, CAST(id % 50 AS INT) AS quantity, "
            f"CAST(10 + id % 90 AS DECIMAL(12, 2)) AS price FROM range({low}, {high}, 1, {files})"
        )


def run(hub: headwater.Hub, arguments: argparse.Namespace) -> dict[str, Any]:
    logs = Logs(hub, arguments.scale)
    logs.first()
    for name, query in QUERIES.items():
        hub.create_stream_table(name, query.format(p=""))
        hub.sql(f"CREATE TABLE full_{name} USING iceberg AS {query.format(p='full_')} LIMIT 0")
        print(f"created {name}", flush=True)
    took: dict[str, list[float]] = {"refresh": [], "full": []}
    last = {}
    for number in range(-arguments.warm, arguments.rounds):
        logs.one_day()
        for way in ("refresh", "full") if number % 2 else ("full", "refresh"):
            started = time.perf_counter()
            if way == "refresh":
                last = {r.name.removeprefix("default."): r for r in hub.refresh("*")}
            else:
                for name, query in QUERIES.items():
                    hub.sql(f"INSERT OVERWRITE full_{name} {query.format(p='full_')}")
            if number >= 0:
                took[way].append((time.perf_counter() - started) * 1000)
        told = " ".join(f"{n}:{r.action}:{r.duration_ms:.0f}" for n, r in last.items())
        print(f"day {logs.day}: {told}", flush=True)
    for name in QUERIES:
        assert hub.verify(name).equal, name
        assert command.differing_rows(hub, name, f"full_{name}") == 0, name
    medians = {way: round(median(times), 1) for way, times in took.items()}
    ratio = medians["refresh"] / medians["full"]
    print(
        f"{len(QUERIES)} stream tables: {medians['refresh']:.0f} ms a day, all again "
        f"{medians['full']:.0f} ms: {ratio:.2f} x (mark {MARK} x)"
    )
    return {
        "scale": arguments.scale,
        "rounds": arguments.rounds,
        "tables": len(QUERIES),
        "medians_ms": medians,
        "last_day": {
            name: {"action": r.action, "apply": r.apply, "ms": round(r.duration_ms)}
            for name, r in last.items()
        },
        "ratio": round(ratio, 3),
        "mark": MARK,
        "passed": ratio <= MARK,
    }


if __name__ == "__main__":
    sys.exit(command.main("pipeline", __doc__, run, scale=1.0, rounds=7, warm=3))
