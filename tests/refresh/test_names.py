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
