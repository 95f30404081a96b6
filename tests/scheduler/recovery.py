"""What the tests of killed and stopped processes share: a small hub, and what must hold after."""

from __future__ import annotations

import time
from collections.abc import Callable

import headwater
from headwater.core.names import TableName

TABLES = ("sums", "counts", "means", "lone")


def prepare(hub: headwater.Hub) -> None:
    """A diamond and a table beside it."""
    hub.sql("CREATE TABLE src (id BIGINT, g INT, x INT) USING iceberg")
    hub.sql("INSERT INTO src SELECT id, CAST(id % 3 AS INT), CAST(id AS INT) FROM range(20)")
    hub.create_stream_table("sums", "SELECT g, SUM(x) AS s FROM src GROUP BY g")
    hub.create_stream_table("counts", "SELECT g, COUNT(*) AS n FROM src GROUP BY g")
    hub.create_stream_table("means", "SELECT s.g, s.s, c.n FROM sums s JOIN counts c ON s.g = c.g")
    hub.create_stream_table("lone", "SELECT id, x * 2 AS y FROM src WHERE x > 1")


def wait_until(condition: Callable[[], object], seconds: float = 180) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not come true"
        time.sleep(0.2)


def has_all(hub: headwater.Hub) -> bool:
    """Whether every stream table shows the newest version of the source."""
    newest = hub._runtime.tables.metadata(TableName.parse("src"))
    assert newest is not None
    rows = hub._runtime.store.tables.all()
    return all(
        row.frontier is not None
        and {v.snapshot_id for v in row.frontier.base.values()} == {newest.current_snapshot_id}
        for row in rows
    )


def orphans(hub: headwater.Hub) -> list[object]:
    """Jobs and runs that nobody works on."""
    jobs = [j for j in hub.parallel_job_status() if j.status in ("RUNNING", "QUEUED")]
    return [*jobs, *(h for h in hub.history(limit=200) if h.status == "RUNNING")]
