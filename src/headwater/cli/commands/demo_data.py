"""The SQL of the demo: sources, stream tables, and rounds of changes to the sources."""

from __future__ import annotations

from dataclasses import dataclass

NAMESPACE = "demo"
DAYS = 180
ORDERS = DAYS * 50_000
CUSTOMERS = 20_000
FIRST_DAY = "DATE '2026-01-01'"
LAST_DAY = "DATE '2026-06-29'"

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
(id BIGINT NOT NULL, customer_id BIGINT, amount DECIMAL(10, 2), day DATE)
USING iceberg PARTITIONED BY (day)""",
        f"ALTER TABLE {NAMESPACE}.orders SET IDENTIFIER FIELDS id",
        f"""INSERT INTO {NAMESPACE}.orders
SELECT id,
       id * 7919 % {CUSTOMERS},
       cast((id * 104729 % 50000) / 100 AS DECIMAL(10, 2)),
       date_add({FIRST_DAY}, cast(id div {ORDERS // DAYS} AS INT))
FROM range({ORDERS})""",
    ),
}
SIZES = {"customers": CUSTOMERS, "orders": ORDERS}


@dataclass(frozen=True, slots=True)
class Sample:
    """One stream table of the demo."""

    name: str
    about: str
    query: str
    options: str = ""

    @property
    def full_name(self) -> str:
        """The name with its namespace."""
        return f"{NAMESPACE}.{self.name}"

    @property
    def statement(self) -> str:
        """The statement that creates it."""
        return f"CREATE STREAM TABLE {self.full_name} {self.options}AS\n{self.query}"


STREAM_TABLES = (
    Sample(
        "large_orders",
        "a filter",
        f"""SELECT id, customer_id, amount, day
FROM {NAMESPACE}.orders WHERE amount >= 490""",
        "UNIQUE KEY (id) ",
    ),
    Sample(
        "daily_sales",
        "a join and an aggregate",
        f"""SELECT o.day, c.region, count(*) AS orders, sum(o.amount) AS revenue
FROM {NAMESPACE}.orders o JOIN {NAMESPACE}.customers c ON o.customer_id = c.id
GROUP BY o.day, c.region""",
    ),
    Sample(
        "customer_totals",
        "an aggregate of 20,000 groups",
        f"""SELECT customer_id, count(*) AS orders, sum(amount) AS revenue
FROM {NAMESPACE}.orders GROUP BY customer_id""",
    ),
    Sample(
        "region_totals",
        "a small one, made from daily_sales",
        f"""SELECT region, sum(orders) AS orders, sum(revenue) AS revenue
FROM {NAMESPACE}.daily_sales GROUP BY region""",
    ),
)
SHOWN = STREAM_TABLES[1]
RESULT = f"SELECT * FROM {NAMESPACE}.region_totals ORDER BY region"


@dataclass(frozen=True, slots=True)
class Round:
    """Changes of the sources that one refresh takes up."""

    title: str
    statements: tuple[str, ...]


def _new_orders(number: int) -> tuple[str, ...]:
    first = ORDERS + number * 1000
    return (
        f"""INSERT INTO {NAMESPACE}.orders
SELECT id, id * 31 % {CUSTOMERS}, cast(id % 500 AS DECIMAL(10, 2)), {LAST_DAY}
FROM range({first}, {first + 500})""",
    )


def _corrected_orders(number: int) -> tuple[str, ...]:
    first = ORDERS - number * 1000
    return (
        f"""UPDATE {NAMESPACE}.orders SET amount = amount + 10
WHERE day = {LAST_DAY} AND id BETWEEN {first} AND {first + 199}""",
        f"""DELETE FROM {NAMESPACE}.orders
WHERE day = {LAST_DAY} AND id BETWEEN {first + 500} AND {first + 549}""",
    )


ROUNDS = (
    Round("500 new orders, the first time: Spark compiles its code", _new_orders(1)),
    Round("500 new orders again", _new_orders(2)),
    Round("200 amounts are corrected, 50 orders cancelled", _corrected_orders(1)),
    Round("200 amounts are corrected, 50 orders cancelled again", _corrected_orders(2)),
    Round(
        "a customer moves, and with him his orders",
        (f"UPDATE {NAMESPACE}.customers SET region = 'center' WHERE id = 17",),
    ),
)
WARM = (1, 3)
"""The places of the rounds that stand for a running hub."""
