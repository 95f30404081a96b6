"""Stream tables that are created or dropped while ticks go on: no tick takes them for damaged."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from headwater.refresh import lifecycle
from shared_spark import check

if TYPE_CHECKING:
    from collections.abc import Callable

    import headwater

pytestmark = pytest.mark.spark

HALF_DONE = 1.5
"""Seconds in which a tick meets a table of which only a part is there."""


def ticking_meanwhile(hub: headwater.Hub, real: Callable[..., Any], told: list[Any]) -> Any:
    """In place of a call: a tick begins, and only then the call is made."""

    def slow(*args: Any, **options: Any) -> Any:
        ticking = threading.Thread(target=lambda: told.append(hub.tick()))
        told.append(ticking)
        ticking.start()
        ticking.join(HALF_DONE)
        return real(*args, **options)

    return slow


def report(told: list[Any]) -> headwater.TickReport:
    told[0].join()
    made: headwater.TickReport = told[1]
    return made


@pytest.mark.parametrize("initialize", [True, False])
def test_a_table_that_is_being_created_is_waited_for(
    hub: headwater.Hub, monkeypatch: pytest.MonkeyPatch, initialize: bool
) -> None:
    hub.sql("CREATE TABLE src (id BIGINT, x INT) USING iceberg")
    hub.sql("INSERT INTO src VALUES (1, 1)")
    told: list[Any] = []
    slow = ticking_meanwhile(hub, lifecycle._create_storage, told)
    monkeypatch.setattr(lifecycle, "_create_storage", slow)
    hub.create_stream_table("t", "SELECT sum(x) AS s FROM src", initialize=initialize)

    assert report(told).errors == {}
    assert {run.status for run in hub.history("t")} == {"COMPLETED"}
    assert (hub.status("t")[0].status, hub.status("t")[0].consecutive_errors) == ("ACTIVE", 0)
    check(hub, "t")


def test_a_table_that_is_being_dropped_is_not_damaged(
    hub: headwater.Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.sql("CREATE TABLE src (id BIGINT, x INT) USING iceberg")
    hub.sql("INSERT INTO src VALUES (1, 1)")
    hub.create_stream_table("t", "SELECT sum(x) AS s FROM src")
    hub.create_stream_table("kept", "SELECT count(*) AS n FROM src")
    hub.sql("INSERT INTO src VALUES (2, 2)")
    told: list[Any] = []
    tables = hub._runtime.store.tables
    monkeypatch.setattr(tables, "remove", ticking_meanwhile(hub, tables.remove, told))
    hub.drop_stream_table("t")

    assert report(told).errors == {}
    assert [run.status for run in hub.history(limit=10) if run.name == "default.t"] == ["COMPLETED"]
    assert [row.name for row in hub.status()] == ["default.kept"]
    check(hub, "kept")
