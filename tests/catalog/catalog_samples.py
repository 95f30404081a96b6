"""Sample rows and child processes for the tests of the catalog."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlalchemy import text

from headwater.catalog.database import Database
from headwater.catalog.rows import Dependency, NewStreamTable, SourceType
from headwater.core.frontier import Frontier, SourceVersion
from headwater.core.names import TableName
from headwater.core.spec import RefreshMode, StreamTableSpec, Tier

ORDERS = TableName.parse("orders")
TOTALS = TableName.parse("totals")


def spec(name: TableName = TOTALS, **options: Any) -> StreamTableSpec:
    return replace(
        StreamTableSpec(
            name=name,
            query="SELECT customer, sum(amount) AS total FROM orders GROUP BY customer",
            schedule="5m",
            refresh_mode=RefreshMode.INCREMENTAL,
            sla="30 seconds",
            tier=Tier.WARM,
            unique_key=("customer",),
            comment="Müller's “total” 💧",
            tags=("nightly", "sales"),
        ),
        **options,
    )


def new(
    name: TableName = TOTALS, *sources: TableName, of: SourceType = SourceType.TABLE, **options: Any
) -> NewStreamTable:
    return NewStreamTable(
        spec=spec(name, **options),
        definition_hash="abc",
        columns=(("customer", "string"), ("total", "decimal(20,2)")),
        dependencies=tuple(
            Dependency(source, of, ("customer", "amount")) for source in sources or (ORDERS,)
        ),
        layout={"visible": ["customer", "total"], "hidden": ["__hw_count"], "bag": False},
        definition={"sources": {"default.orders": {"uuid": "u1", "fields": [1, 2]}}},
        freshness_deadline_ms=30_000,
    )


def frontier(snapshot: int | None = 2**62 + 1) -> Frontier:
    return Frontier({ORDERS: SourceVersion("u1", snapshot, 3)}, clock=17, views={"v": "hash"})


def execute(database: Database, statement: str, **values: object) -> None:
    """Change the database behind the back of the store."""
    with database.write() as connection:
        connection.execute(text(statement), values)


def child(code: str, *arguments: object) -> subprocess.Popen[str]:
    """A real second process that runs `code`; its arguments are `sys.argv[1:]`."""
    source = str(Path(__file__).parents[2] / "src")
    here = str(Path(__file__).parent)
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([source, here])}
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def done(process: subprocess.Popen[str]) -> str:
    """What a child printed; its failure is the failure of the test."""
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out.strip()
