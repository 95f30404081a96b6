"""One row of the catalog that cannot be read: it is told, and all other stream tables go on."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from bench.quiet_hub import write_source
from failing_units import NOW, Units, after, hub_with_readers
from sqlalchemy import update

import headwater
from headwater.catalog import tables
from headwater.catalog.generation import bump
from headwater.observe.events import Event, WarningEvent

DAMAGES = [
    ("schedule", "0 6 * * * Europe/Nowhere", "30s"),
    ("tier", "lukewarm", "hot"),
    ("definition", '{"sources": ["default.my-table"]}', '{"sources": ["default.source3"]}'),
]


def put(hub: headwater.Hub, column: str, value: str) -> None:
    """Write a column of t3 straight into the catalog."""
    rows = tables.stream_tables
    with hub._runtime.store.database.write() as connection:
        now = datetime.now(UTC)
        changed = update(rows).where(rows.c.name == "t3")
        connection.execute(changed.values({column: value, "updated_at": now}))
        bump(connection, "default", now)


def unreadable(hub: headwater.Hub) -> list[str]:
    """The tables of which listeners are told from now on."""
    told: list[str] = []

    def listen(said: Event) -> None:
        if isinstance(said, WarningEvent) and said.code == "UNREADABLE":
            told.append(said.table)

    hub.subscribe(listen)
    return told


@pytest.mark.parametrize(("column", "bad", "good"), DAMAGES, ids=[d[0] for d in DAMAGES])
def test_a_damaged_row_stops_no_other_and_comes_back_when_it_is_repaired(
    tmp_path: Path, units: Units, column: str, bad: str, good: str
) -> None:
    with hub_with_readers(tmp_path) as hub:
        told = unreadable(hub)
        hub.tick(now=NOW)
        put(hub, column, bad)
        write_source(tmp_path, "source3", 2)
        hub.tick(now=after(seconds=1))
        assert units.taken() == ["default.t2"], "t3 reads source3 too"
        hub.alter_stream_table("t1", schedule="30s")
        hub.tick(now=after(seconds=2))
        assert told == ["default.t3"]
        units.taken()
        put(hub, column, good)
        hub.tick(now=after(seconds=40))
        assert "default.t3" in units.taken()


@pytest.mark.parametrize(("column", "bad", "good"), DAMAGES, ids=[d[0] for d in DAMAGES])
def test_the_health_of_a_hub_names_a_damaged_row(
    tmp_path: Path, column: str, bad: str, good: str
) -> None:
    with hub_with_readers(tmp_path) as hub:
        put(hub, column, bad)
        (row,) = (row for row in hub.health_check() if row.check_name == "catalog_rows")
        assert row.severity == "ERROR"
        assert "default.t3" in row.detail
        put(hub, column, good)
        assert "catalog_rows" not in {row.check_name for row in hub.health_check()}


def test_a_scheduler_that_starts_over_a_damaged_row_runs_the_others(
    tmp_path: Path, units: Units
) -> None:
    with hub_with_readers(tmp_path) as hub:
        told = unreadable(hub)
        put(hub, "schedule", "0 6 * * * Europe/Nowhere")
        write_source(tmp_path, "source3", 2)
        for second in (0, 40):
            hub.tick(now=after(seconds=second))
            assert units.taken() == ["default.t2"]
        assert told == ["default.t3"]
