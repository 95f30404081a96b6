"""Functions of the user in maintained queries: Python, wrapped Python, SQL; and QUALIFY."""

from __future__ import annotations

import pytest
from pyspark.sql.functions import udf

import headwater
from shared_spark import check, rows

pytestmark = pytest.mark.spark


@pytest.fixture
def orders(hub: headwater.Hub) -> headwater.Hub:
    hub.sql("CREATE TABLE orders (id BIGINT, shop STRING, amount INT) USING iceberg")
    hub.sql("INSERT INTO orders VALUES (1, 'a', 5), (2, 'a', NULL), (3, NULL, 7), (3, NULL, 7)")
    return hub


ROUNDS = (
    "INSERT INTO orders VALUES (4, 'b', 9), (5, 'b', 9), (6, NULL, 1)",
    "UPDATE orders SET amount = 11 WHERE id = 1",
    "DELETE FROM orders WHERE id = 4 OR amount IS NULL",
)


def refreshed(hub: headwater.Hub, *names: str) -> None:
    for statement in ROUNDS:
        hub.sql(statement)
        for result in hub.refresh(names):
            assert result.action == "INCREMENTAL", result
        check(hub, *names)


def test_functions_of_all_kinds_are_maintained(orders: headwater.Hub) -> None:
    def size(amount: int | None) -> int | None:
        return None if amount is None else len(str(amount))

    orders.register_function("size_of", size)
    orders.register_function("shout", udf(lambda text: (text or "?").upper(), "string"))
    orders.register_function("doubled", "(x INT) RETURNS INT RETURN 2 * x")
    orders.create_stream_table(
        "told",
        "SELECT shout(shop) AS shop, size_of(amount) AS digits, SUM(doubled(amount)) AS s, "
        "COUNT(*) AS n FROM orders WHERE doubled(amount) > 2 GROUP BY shout(shop), size_of(amount)",
    )
    orders.create_stream_table("each", "SELECT id, shout(shop) AS shop FROM orders")
    types = dict(orders.spark.table("told").dtypes)
    assert types["digits"] == "bigint" and types["shop"] == "string"
    refreshed(orders, "told", "each")
    assert ("B", 1, 18, 1) in rows(orders, "told")


def test_a_function_of_another_result_each_time_is_refused(orders: headwater.Hub) -> None:
    orders.register_function("dice", "() RETURNS DOUBLE RETURN rand()", False)
    with pytest.raises(headwater.HeadwaterError) as caught:
        orders.create_stream_table("t", "SELECT id, dice() AS d FROM orders")
    assert caught.value.code == "HW1007"


def test_sql_of_a_function_is_checked(orders: headwater.Hub) -> None:
    for body in ("x * 2", "(x INT) RETURNS nonsense RETURN x", "(x INT) RETURN x; DROP TABLE y"):
        with pytest.raises(headwater.HeadwaterError):
            orders.register_function("f", body)
    with pytest.raises(headwater.HeadwaterError):
        orders.create_stream_table("t", "SELECT f(amount) AS f FROM orders")


def test_qualify_is_maintained(orders: headwater.Hub) -> None:
    orders.create_stream_table(
        "newest",
        "SELECT shop, id, amount, row_number() OVER "
        "(PARTITION BY shop ORDER BY id DESC, amount) AS r FROM orders QUALIFY r = 1",
    )
    orders.create_stream_table(
        "busy",
        "SELECT shop, SUM(amount) AS s FROM orders GROUP BY shop "
        "QUALIFY rank() OVER (PARTITION BY shop IS NULL ORDER BY SUM(amount) DESC) = 1",
    )
    orders.create_stream_table(
        "same",
        "SELECT shop, id, amount, r FROM (SELECT *, row_number() OVER "
        "(PARTITION BY shop ORDER BY id DESC, amount) AS r FROM orders) WHERE r = 1",
    )
    refreshed(orders, "newest", "busy", "same")
    assert rows(orders, "newest") == rows(orders, "same")
