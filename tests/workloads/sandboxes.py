"""A workload on the in-process engine: its tables at every version, and queries kept fresh."""

from __future__ import annotations

import math
import random
import time
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal

import duckdb
import pyarrow as pa
from delta_harness import Maintained, Rows, Sandbox, check_churn
from duck import duck_type
from made_rows import Keys, Maker
from rounds import next_round
from tpc import Workload

from headwater.delta.verdict import verdict


class Versions(Sandbox):
    """Tables of some thousand rows with versions."""

    def _made(self, name: str, columns: tuple[tuple[str, str], ...], rows: Rows) -> str:
        table = f"{self._prefix}_{name}"
        listed = ", ".join(f'"{n}" {duck_type(kind)}' for n, kind in columns)
        self.con.execute(f'CREATE TABLE "{table}" ({listed})')
        if rows:
            names = [n for n, _ in columns]
            values = pa.table([pa.array(c) for c in zip(*rows, strict=True)], names=names)
            self.con.register("__arriving", values)
            self.con.execute(f'INSERT INTO "{table}" SELECT * FROM __arriving')
            self.con.unregister("__arriving")
        self._tables.append(table)
        return table


@dataclass
class Kept:
    """How a query fared: what it held at first and after each round."""

    name: str
    incremental: bool
    reasons: tuple[str, ...]
    kind: str
    sizes: list[int] = field(default_factory=list)
    moved: int = 0
    seconds: float = 0.0
    differences: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        how = "incremental" if self.incremental else "/".join(self.reasons)
        rows = "→".join(map(str, self.sizes))
        return f"{self.name:<18} {how:<16} {self.kind:<8} {self.seconds:6.2f} s  rows {rows}"


def connect() -> duckdb.DuckDBPyConnection:
    """An engine that orders joins by itself."""
    con = duckdb.connect(config={"threads": 1})
    con.execute("CREATE MACRO array_repeat(v, n) AS list_transform(range(n), lambda x: v)")
    return con


def played(workload: Workload, keys: Keys, rounds: int, seed: int) -> Versions:
    """A sandbox with all rounds in it; every version stays readable."""
    maker = Maker(workload.schemas, keys, workload.texts, seed)
    box = Versions(connect(), workload.schemas, maker.first())
    for number in range(rounds):
        changes = next_round(maker, box.rows)
        after = {table: change.applied(box.rows[table]) for table, change in changes.items()}
        box.step(after, random.Random(number), noise=number == 1)
    return box


def keep(box: Versions, name: str, query: str) -> Kept:
    """Follow all rounds with one stream table and compare with the query after each."""
    box.con.execute("BEGIN")
    try:
        return _followed(box, name, query)
    finally:
        box.con.execute("ROLLBACK")


def _followed(box: Versions, name: str, query: str) -> Kept:
    started = time.process_time()
    table = Maintained(box, query, frame=box.frames[0])
    reasons = [n.reason_code for n in verdict(table.definition).nodes if n.strategy == "X"]
    kept = Kept(name, not reasons, tuple(sorted(set(reasons))), table.layout.kind.name)
    kept.sizes.append(table.rows.total())
    for number, frame in enumerate(box.frames[1:], 1):
        before, stored = table.rows, table.stored
        _, reported = table.refresh(frame)
        check_churn(table.layout, stored, table.stored, reported)
        kept.sizes.append(table.rows.total())
        kept.moved += table.rows != before
        missing, unexpected = difference(box.answer(query, frame), table.rows)
        if missing or unexpected:
            kept.differences.append(
                f"round {number}: missing {missing[:3]} unexpected {unexpected[:3]}"
            )
    kept.seconds = time.process_time() - started
    return kept


def difference(expected: Counter, found: Counter) -> tuple[Rows, Rows]:
    """Rows too few and too many; doubles may differ in the last digits, decimals may not.

    AVG of decimals is a rounded decimal in Spark and a double in DuckDB: those are close.
    """
    missing = sorted((expected - found).elements(), key=_order)
    unexpected = sorted((found - expected).elements(), key=_order)
    for row in list(missing):
        partner = next((other for other in unexpected if _close(row, other)), None)
        if partner is not None:
            missing.remove(row)
            unexpected.remove(partner)
    return missing, unexpected


def _order(row: tuple) -> str:
    return repr(row)


def _close(one: tuple, other: tuple) -> bool:
    return all(a == b or _close_numbers(a, b) for a, b in zip(one, other, strict=True))


def _close_numbers(a: object, b: object) -> bool:
    if not {type(a), type(b)} <= {float, Decimal} or type(a) is type(b) is Decimal:
        return False
    digits = 1e-12 if type(a) is type(b) else 1e-6
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=digits)
