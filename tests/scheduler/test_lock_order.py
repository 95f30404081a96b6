"""A tick and somebody who alters a stream table lock rows of the catalog in one order."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from bench.quiet_hub import _row
from sqlalchemy import event, insert

import headwater
from headwater.catalog import tables
from headwater.catalog.store import Store
from headwater.core.names import TableName
from headwater.core.spec import Tier

pytestmark = pytest.mark.postgres

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
ASKED, MOVED = TableName.parse("t0"), TableName.parse("t1")


def add_tables(store: Store) -> None:
    """One that its schedule asks every minute, and one whose tier changes with the next tick."""
    at = dict.fromkeys(("last_refresh_at", "created_at", "updated_at"), NOON)
    asked = {**_row(0), **at, "schedule": "* * * * *"}
    moved = {**_row(1), **at, "tier": "hot", "sla": "1h", "freshness_deadline_ms": 3_600_000}
    with store.database.write() as connection:
        for row in (asked, moved):
            connection.execute(insert(tables.stream_tables).values(row))
    store.schedule.save({store.tables.get(MOVED).id: {"sla_spare": 2}})


def test_a_tick_that_changes_a_tier_and_an_alter_do_not_wait_for_each_other(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready, begins, counted = threading.Event(), threading.Event(), threading.Event()
    failed: list[Exception] = []

    def note(*said: Any) -> None:
        if said[2].startswith("UPDATE hw_meta"):
            counted.set()

    def alter() -> None:
        with Store(postgres_url, hub="default") as store:
            event.listen(store.database.engine, "after_cursor_execute", note)
            ready.set()
            begins.wait(20)
            try:
                store.tables.update(ASKED, schedule="*/2 * * * *")
            except Exception as error:
                failed.append(error)

    with headwater.connect(catalog=postgres_url, warehouse=str(tmp_path)) as hub:
        rows = hub._runtime.store.tables
        add_tables(hub._runtime.store)
        hub.tick(now=NOON)
        looked = rows.looked

        def held(*given: Any) -> None:
            looked(*given)  # the row of the one that is altered is locked now
            begins.set()
            counted.wait(0.3)

        monkeypatch.setattr(rows, "looked", held)
        other = threading.Thread(target=alter)
        other.start()
        assert ready.wait(20)
        hub.tick(now=NOON + timedelta(minutes=2))
        other.join(20)
        assert begins.is_set() and not failed
        assert rows.get(ASKED).spec.schedule == "*/2 * * * *"
        assert rows.get(MOVED).tier is Tier.WARM
