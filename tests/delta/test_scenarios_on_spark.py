"""The known traps through a hub, on Spark and Iceberg: real tables, real statements, real windows.

A cross-section runs each time, with one scenario per mechanism and all in which Spark answers
other than other engines; the rest is long.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter

import pytest
from test_scenarios import FULL, SCENARIOS, expected_rows, texts, typed_columns

import headwater

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

OFTEN = {
    "E03", "E06", "E08", "E12", "E13", "E19", "E22", "E27", "E28", "E30", "E31", "E32", "E38",
    "E40", "E45", "E48", "E50", "E52", "E57", "E58", "E61", "E63", "E64", "E66", "E71", "E72",
}  # fmt: skip

# What Spark gives for the query on Iceberg tables where that is not what it gives on others.
ON_ICEBERG = {
    # Files are skipped by their largest number, which NaN does not count for and -0.0 is below 0.
    "E06": "",
}


@pytest.mark.parametrize(
    "scenario",
    [
        pytest.param(s, id=s["id"], marks=() if s["id"] in OFTEN else pytest.mark.long)
        for s in SCENARIOS
    ],
)
def test_scenario_on_spark(hub: headwater.Hub, scenario: dict[str, str]) -> None:
    for name, columns, body in typed_columns(scenario):
        hub.sql(f"CREATE TABLE {name} ({columns}) USING iceberg")
        if body:
            hub.sql(f"INSERT INTO {name} VALUES {body}")
    full = FULL.get(scenario["id"])
    mode = "AUTO" if full else "INCREMENTAL STRICT"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", headwater.HeadwaterWarning)
        hub.create_stream_table("seen", scenario["query"], refresh_mode=mode)
    before = stored(hub)
    for statement in scenario["changes"].split(";"):
        hub.sql(statement)
    result = hub.refresh_stream_table("seen")
    after = seen(hub)
    wanted = ON_ICEBERG.get(scenario["id"], scenario["after"])
    assert texts(bag(hub.sql(scenario["query"]).collect())) == expected_rows(wanted)
    assert after == expected_rows(wanted)
    if full:
        assert (result.action, result.reason_code) == ("FULL", full)
        return
    assert result.action in ("INCREMENTAL", "NO_DATA"), result.reason
    now = stored(hub)
    differ = sum((now - before).values()), sum((before - now).values())
    assert (result.rows_inserted, result.rows_deleted) == differ


def bag(rows: list[tuple]) -> Counter:
    return Counter(tuple(row) for row in rows)


def seen(hub: headwater.Hub) -> Counter:
    return texts(bag(hub.table("seen").collect()))


def stored(hub: headwater.Hub) -> Counter:
    """The rows on disk with what only maintenance reads, but for row ids."""
    table = hub.spark.table("hw.default.seen")
    kept = [name for name in table.columns if name != "__hw_id"]
    return texts(bag(table.select(*kept).collect()))


def test_cross_section_names_scenarios() -> None:
    assert {s["id"] for s in SCENARIOS} >= OFTEN
    assert all(re.fullmatch(r"E\d\d", name) for name in OFTEN)
