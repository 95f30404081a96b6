"""How merges change rows: chosen from what the last ones wrote again, told, refused by a user."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headwater.core.names import TableName
from headwater.observe.events import WarningEvent
from headwater.refresh import conf
from headwater.storage import write_mode
from headwater.storage.sizing import MIB
from headwater.storage.write_mode import FIXED, FORMAT, MERGE_MODE, Rewritten, WriteMode, choose
from shared_spark import check, refresh

if TYPE_CHECKING:
    import headwater

COPY, MARK = WriteMode.COPY, WriteMode.MARK
MUCH, LITTLE = [Rewritten(20.0 * MIB, 2000)] * 3, [Rewritten(1.0 * MIB, 2000)] * 3
MANY = [Rewritten(1.0 * MIB, 200_000)] * 3


@pytest.mark.parametrize(
    ("properties", "has_subscribers", "rewritten", "mode", "reason"),
    [
        ({}, False, [], COPY, ""),
        ({}, False, MUCH[:2], COPY, ""),
        ({}, False, LITTLE + MUCH, COPY, ""),
        ({}, False, MUCH + LITTLE, MARK, "merges write 20 MiB again"),
        ({}, False, MANY[:2] + LITTLE, MARK, "merges write 200,000 rows again"),
        ({}, False, MANY[:1] + LITTLE, COPY, ""),
        ({}, True, MUCH, COPY, ""),
        ({MERGE_MODE: MARK.value}, False, LITTLE, MARK, ""),
        ({MERGE_MODE: MARK.value}, True, MUCH, COPY, "it has subscribers"),
        ({FIXED: COPY.value}, False, MUCH, COPY, ""),
        ({FIXED: MARK.value}, True, [], MARK, f"the table property {FIXED} says so"),
        ({FIXED: "sometimes"}, False, MUCH, MARK, "merges write 20 MiB again"),
    ],
)
def test_choice(
    properties: dict[str, str],
    has_subscribers: bool,
    rewritten: list[Rewritten],
    mode: WriteMode,
    reason: str,
) -> None:
    chosen = choose(properties, has_subscribers=has_subscribers, rewritten=rewritten)
    assert (chosen.mode, chosen.reason) == (mode, reason)
    assert (FORMAT in chosen.properties()) == (mode is MARK)


def properties_of(hub: headwater.Hub, name: str) -> dict[str, str]:
    metadata = hub._runtime.tables.metadata(TableName.parse(name))
    assert metadata is not None
    return {**metadata.properties, FORMAT: str(metadata.format_version)}


def change(hub: headwater.Hub, number: int) -> None:
    """Updates all over, a row that goes, a new one, a copy of a key that went."""
    hub.sql(f"UPDATE src SET x = x + {number} WHERE id % 97000 = 5000")
    hub.sql(f"DELETE FROM src WHERE id = {number}000")
    hub.sql(f"INSERT INTO src VALUES ({-number}, 1), ({number - 1}000, NULL)")


@pytest.mark.spark
def test_a_table_is_turned_and_back(hub: headwater.Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conf, "SMALL_TARGET_FILES", 0)
    monkeypatch.setattr(conf, "SMALL_TARGET_ROWS", 0)
    monkeypatch.setattr(write_mode, "MUCH", 1)
    monkeypatch.setattr(write_mode, "MERGES", 1)
    told: list[str] = []
    hub.subscribe(lambda e: told.append(e.code) if isinstance(e, WarningEvent) else None)
    hub.sql("CREATE TABLE src USING iceberg AS SELECT id, id AS x FROM range(2000, 900000, 1000)")
    for name in ("turned", "refused"):
        hub.create_stream_table(
            name, "SELECT id, x FROM src", unique_key=["id"], refresh_mode="INCREMENTAL STRICT"
        )
    hub.sql(f"ALTER TABLE refused SET TBLPROPERTIES ('{FIXED}' = '{COPY.value}')")
    change(hub, 2)
    refresh(hub, "turned", "refused")
    reasons = {row.name: row.reason for row in hub.maintain()}
    assert "merges are merge-on-read from now on" in reasons["default.turned"]
    assert told.count("WRITE_MODE_CHANGED") == 1
    found = properties_of(hub, "turned")
    assert (found[MERGE_MODE], found[FORMAT]) == (MARK.value, "3")
    assert properties_of(hub, "refused")[MERGE_MODE] == COPY.value

    change(hub, 3)
    marked, copied = refresh(hub, "turned", "refused")
    assert (marked.rows_inserted, marked.rows_deleted) == (
        copied.rows_inserted,
        copied.rows_deleted,
    )
    hub.create_stream_table("sums", "SELECT x % 7 AS g, SUM(id) AS s FROM turned GROUP BY 1")
    change(hub, 4)
    refresh(hub, "turned", "sums")
    (row,) = hub.maintain("turned")
    assert (row.delete_files_before > 0, row.delete_files_after) == (True, 0)
    assert properties_of(hub, "turned")[MERGE_MODE] == MARK.value, "readers have the change log"
    change(hub, 5)
    assert "by log" in refresh(hub, "turned", "sums")[1].reason

    hub.sql(f"ALTER TABLE turned SET TBLPROPERTIES ('{FIXED}' = '{COPY.value}')")
    (row,) = hub.maintain("turned")
    assert f"copy-on-write from now on: the table property {FIXED} says so" in row.reason
    assert properties_of(hub, "turned")[MERGE_MODE] == COPY.value
    change(hub, 6)
    refresh(hub, "turned", "sums")
    check(hub, "turned", "sums")
