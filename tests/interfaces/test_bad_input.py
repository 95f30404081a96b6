"""Bad input, through every door, on real Spark: the right error, its place, a hint, no change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from bad_input_cases import CASES, GOOD, Case

import headwater
from headwater.core.errors import HeadwaterError, Place
from shared_spark import place_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::headwater.HeadwaterWarning"),
]


@pytest.fixture(scope="module")
def shop(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[headwater.Hub]:
    """Two sources, a stream table over one, and one over that."""
    with place_in(tmp_path_factory.mktemp("shop")).open(spark) as hub:
        hub.sql(
            "CREATE TABLE orders (id BIGINT, customer BIGINT, price INT, word STRING) USING iceberg"
        )
        hub.sql("CREATE TABLE customers (id BIGINT, name STRING) USING iceberg")
        hub.sql("INSERT INTO orders VALUES (1, 1, 10, 'x'), (2, 2, 20, 'y'), (2, 1, 0, 'z')")
        hub.sql("INSERT INTO customers VALUES (1, 'Ann'), (2, 'Bo')")
        hub.create_stream_table("a", "SELECT id, customer, price FROM orders")
        hub.create_stream_table(
            "b", "SELECT customer, sum(price) AS total FROM a GROUP BY customer"
        )
        yield hub


def state(hub: headwater.Hub) -> dict[str, Any]:
    """Everything that bad input must not change; the history of runs may grow."""
    tables = sorted(hub._runtime.tables.table_names())
    metadata = {str(name): hub._runtime.tables.metadata(name) for name in tables}
    content = " UNION ALL ".join(
        f"SELECT '{name}', to_json(struct(*)) FROM {name.sql('hw')}" for name in tables
    )
    runs = {"last_action": None, "last_reason_code": None, "last_reason": None, "last_error": None}
    return {
        "status": [
            replace(row, **runs, last_refresh_at=None, consecutive_errors=0) for row in hub.status()
        ],
        "dependencies": hub.dependencies(),
        "settings": hub.settings(),
        "tables": {
            name: (table.current_snapshot_id, table.current_schema.fields, table.branches)
            for name, table in metadata.items()
            if table is not None
        },
        "content": sorted(tuple(row) for row in hub.spark.sql(content).collect()),
    }


def refused(hub: headwater.Hub, case: Case) -> HeadwaterError:
    with pytest.raises(HeadwaterError) as caught:
        case.call(hub)
    error = caught.value
    assert type(error) is case.error, error
    assert error.what.strip()
    assert error.hint.strip()
    assert error.place == (None if case.place is None else Place(*case.place)), error
    assert "Exception" not in error.what
    if error.place is not None:
        assert error.sql is not None
    return error


@pytest.fixture(scope="module")
def untouched(shop: headwater.Hub) -> dict[str, Any]:
    return state(shop)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_refused_and_nothing_changed(
    shop: headwater.Hub, untouched: dict[str, Any], case: Case
) -> None:
    refused(shop, case)
    assert state(shop) == untouched


def test_the_hub_still_works(shop: headwater.Hub) -> None:
    assert [r.action for r in shop.refresh("*")] == ["NO_DATA", "NO_DATA"]
    assert shop.verify("b").equal


def test_odd_texts_are_stored_as_they_are(shop: headwater.Hub) -> None:
    """What looks like SQL in a comment, a tag or a string is only a text."""
    comment = 'it\'s \\ "all" `text`; DROP TABLE orders; --\n/* 名 */'
    before = state(shop)["tables"]
    made = shop.create_stream_table(
        "odd",
        "SELECT id, '; DROP TABLE orders' AS w FROM a",
        comment=comment,
        tags=["a'; --", "b c"],
    )
    assert (made.status().comment, made.status().tags) == (comment, ("a'; --", "b c"))
    assert made.table().select("w").distinct().collect()[0][0] == "; DROP TABLE orders"
    assert made.verify().equal
    shop.drop_stream_table("odd")
    assert state(shop)["tables"] == before


def test_a_single_tag_or_column_may_be_a_text(shop: headwater.Hub) -> None:
    made = shop.create_stream_table(
        "one", "SELECT DISTINCT id FROM a", tags="nightly", unique_key="id"
    )
    assert made.status().tags == ("nightly",)
    shop.drop_stream_table("one")


def test_durations_may_be_numbers(shop: headwater.Hub) -> None:
    made = shop.create_stream_table("timed", GOOD, schedule=90, sla=300)
    assert made.status().schedule == "1m30s"
    shop.drop_stream_table("timed")
