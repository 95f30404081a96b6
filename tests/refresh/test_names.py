"""Sources by any name the catalog allows: capitals, and names with the catalog before them."""

from __future__ import annotations

import pytest

import headwater
from shared_spark import Place, check, rows

pytestmark = pytest.mark.spark


def test_capitals_and_three_part_names(spark: object, place: Place) -> None:
    with place.open(spark) as hub:  # type: ignore[arg-type]
        hub.sql("CREATE NAMESPACE hw.Sales")
        hub.sql("CREATE TABLE hw.Sales.LineItem (Id INT, Qty INT) USING iceberg")
        hub.sql("INSERT INTO hw.Sales.LineItem VALUES (1, 2), (2, NULL)")
        hub.sql("CREATE TABLE Orders (id INT) USING iceberg")
        hub.sql("INSERT INTO Orders VALUES (1)")
        hub.create_stream_table(
            "Totals",
            "SELECT l.id, SUM(l.qty) AS total FROM hw.sales.lineitem l JOIN orders o "
            "ON o.id = l.id GROUP BY l.id",
        )
        hub.create_stream_table("over", "SELECT * FROM hw.default.totals WHERE total > 1")
        hub.sql("INSERT INTO hw.Sales.LineItem VALUES (1, 5)")
        assert hub.refresh_stream_table("totals").action == "INCREMENTAL"
    with place.open(spark) as hub:  # type: ignore[arg-type]
        hub.sql("UPDATE hw.Sales.LineItem SET qty = 9 WHERE qty = 2")
        hub.sql("INSERT INTO Orders VALUES (2)")
        hub.tick()
        assert {r.action for r in hub.refresh()} <= {"INCREMENTAL", "NO_DATA"}
        check(hub, "totals", "over")
        assert rows(hub, "TOTALS") == [(1, 14), (2, None)]
        assert rows(hub, "over") == [(1, 14)]
        assert hub.dependencies("totals")


def test_a_table_that_is_missing_is_told_with_those_that_are_near(hub: headwater.Hub) -> None:
    hub.sql("CREATE TABLE Orders (id INT) USING iceberg")
    with pytest.raises(headwater.HeadwaterError) as caught:
        hub.create_stream_table("t", "SELECT id FROM Order")
    assert "orders" in str(caught.value)


def test_names_mean_what_they_mean_in_the_session(hub: headwater.Hub) -> None:
    hub.sql("CREATE TABLE src (g INT, x INT) USING iceberg")
    hub.sql("INSERT INTO src VALUES (1, 10), (1, 20)")
    hub.create_stream_table("t", "SELECT g, AVG(x) AS a FROM src GROUP BY g")
    hub.create_stream_table("other", "SELECT g, MAX(x) AS m FROM src GROUP BY g")
    hub.sql("CREATE NAMESPACE sales")
    hub.sql("CREATE TABLE sales.t (z INT) USING iceberg")

    def columns(relation: str) -> list[str]:
        return hub.sql(f"SELECT * FROM {relation}").columns

    hub.sql("CREATE TEMPORARY VIEW t AS SELECT 5 AS five")
    assert (columns("t"), columns("default.t")) == (["five"], ["g", "a"])
    hub.sql("DROP VIEW t")
    assert columns("t") == ["g", "a"]
    hub.sql("USE sales")
    assert (columns("t"), columns("default.t")) == (["z"], ["g", "a"])
    with pytest.raises(headwater.HeadwaterError, match="TABLE_OR_VIEW_NOT_FOUND"):
        columns("other")
    hub.sql("USE spark_catalog.default")
    assert columns("hw.default.t") == ["g", "a"]
    with pytest.raises(headwater.HeadwaterError, match="TABLE_OR_VIEW_NOT_FOUND"):
        columns("default.t")
    hub.sql("USE hw.default")

    sampled = hub.sql("SELECT t.* FROM t TABLESAMPLE (100 PERCENT) REPEATABLE (3) WHERE t.g = 1")
    assert [tuple(row) for row in sampled.collect()] == [(1, 15.0)]
    made = hub.sql("SHOW CREATE TABLE t").collect()[0][0]
    assert made.startswith("CREATE TABLE hw.default.t (\n  g INT,\n  a DOUBLE)\nUSING iceberg")
    assert [row[0] for row in hub.sql("DESCRIBE t").collect()] == ["g", "a"]
    told = {row[0]: row[1] for row in hub.sql("DESCRIBE STREAM TABLE t").collect()}
    assert told["query"] == "SELECT g, AVG(x) AS a FROM src GROUP BY g"
    assert (told["columns"], told["unique_key"]) == ("`g` int, `a` double", "[]")
