"""The SQL of the demo: sources, stream tables, and two rounds of changes to the sources."""

from __future__ import annotations

NAMESPACE = "demo"
ORDERS = 200_000
CUSTOMERS = 5_000

SOURCES = {
    "customers": (
        f"DROP TABLE IF EXISTS {NAMESPACE}.customers",
        f"""CREATE TABLE {NAMESPACE}.customers (id BIGINT NOT NULL, name STRING, region STRING)
USING iceberg""",
        f"ALTER TABLE {NAMESPACE}.customers SET IDENTIFIER FIELDS id",
        f"""INSERT INTO {NAMESPACE}.customers
SELECT id,
       concat('Customer ', id),
       element_at(array('north', 'east', 'south', 'west'), cast(id % 4 AS INT) + 1)
FROM range({CUSTOMERS})""",
    ),
    "orders": (
        f"DROP TABLE IF EXISTS {NAMESPACE}.orders",
        f"""CREATE TABLE {NAMESPACE}.orders
(id BIGINT NOT NULL, customer_id BIGINT, amount DECIMAL(10, 2), day DATE) USING iceberg""",
        f"ALTER TABLE {NAMESPACE}.orders SET IDENTIFIER FIELDS id",
        f"""INSERT INTO {NAMESPACE}.orders
SELECT id,
       id * 7919 % {CUSTOMERS},
       cast((id * 104729 % 50000) / 100 AS DECIMAL(10, 2)),
       date_add(DATE '2026-01-01', cast(id % 90 AS INT))
FROM range({ORDERS})""",
    ),
}

STREAM_TABLES = (
    (
        "large_orders",
        "a filter and a projection",
        f"""CREATE STREAM TABLE {NAMESPACE}.large_orders UNIQUE KEY (id) AS
SELECT id, customer_id, amount FROM {NAMESPACE}.orders WHERE amount >= 450""",
    ),
    (
        "order_details",
        "a join of two sources",
        f"""CREATE STREAM TABLE {NAMESPACE}.order_details UNIQUE KEY (id) AS
SELECT o.id, o.day, o.amount, c.name, c.region
FROM {NAMESPACE}.orders o JOIN {NAMESPACE}.customers c ON o.customer_id = c.id""",
    ),
    (
        "customer_totals",
        "an aggregate with thousands of groups",
        f"""CREATE STREAM TABLE {NAMESPACE}.customer_totals AS
SELECT customer_id, count(*) AS orders, sum(amount) AS revenue
FROM {NAMESPACE}.orders GROUP BY customer_id""",
    ),
    (
        "region_totals",
        "an aggregate over another stream table",
        f"""CREATE STREAM TABLE {NAMESPACE}.region_totals COMMENT 'revenue of each region' AS
SELECT region, count(*) AS orders, sum(amount) AS revenue
FROM {NAMESPACE}.order_details GROUP BY region""",
    ),
)

RESULT = f"SELECT * FROM {NAMESPACE}.region_totals ORDER BY region"
EXPLAINED = f"{NAMESPACE}.region_totals"


def changes(number: int) -> tuple[str, ...]:
    """Inserts, updates and deletes on both sources; each round touches other rows."""
    first = ORDERS + number * 1000
    return (
        f"""INSERT INTO {NAMESPACE}.orders
SELECT id, id % {CUSTOMERS}, cast(id % 500 AS DECIMAL(10, 2)), DATE '2026-04-01'
FROM range({first}, {first + 500})""",
        f"""UPDATE {NAMESPACE}.orders SET amount = amount + 10
WHERE id BETWEEN {number * 1000} AND {number * 1000 + 199}""",
        f"""DELETE FROM {NAMESPACE}.orders
WHERE id BETWEEN {number * 1000 + 500} AND {number * 1000 + 549}""",
        f"UPDATE {NAMESPACE}.customers SET region = 'center' WHERE id = {number * 10}",
        f"INSERT INTO {NAMESPACE}.customers VALUES ({CUSTOMERS + number}, 'New customer', 'north')",
        f"DELETE FROM {NAMESPACE}.customers WHERE id = {number * 10 + 5}",
    )
