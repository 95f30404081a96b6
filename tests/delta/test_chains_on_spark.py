"""A chain of five stream tables and a diamond, on Spark and Iceberg, through one hub.

After every round each level equals the query with all levels inlined, and each refresh has written
exactly the rows by which the content differs.
"""

from __future__ import annotations

from collections import Counter

import pytest

import headwater

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

# In the order of their levels; {name} stands for a stream table below.
LEVELS = {
    "c1": "SELECT id, cust, qty FROM orders WHERE qty IS NOT NULL",
    "c2": "SELECT o.cust, c.region, o.qty FROM {c1} o LEFT JOIN cust c ON c.id = o.cust",
    "c3": "SELECT region, cust, SUM(qty) AS q, COUNT(*) AS n FROM {c2} GROUP BY region, cust",
    "c4": (
        "SELECT region, cust, q, RANK() OVER (PARTITION BY region ORDER BY q DESC) AS place "
        "FROM {c3}"
    ),
    "c5": "SELECT cust, q FROM {c4} WHERE place = 1 EXCEPT SELECT id, NULL FROM cust",
    "arm": "SELECT region, MAX(q) AS most FROM {c3} GROUP BY region",
    "top": (
        "SELECT a.region, a.most, b.cust FROM {arm} a "
        "FULL JOIN {c4} b ON b.region = a.region AND b.q = a.most"
    ),
}
ROUNDS = (
    (
        "INSERT INTO orders VALUES (5, 2, 9), (6, 3, 1)",
        "UPDATE cust SET region = 'us' WHERE id = 1",
    ),
    (
        "DELETE FROM orders WHERE cust = 2",
        "INSERT INTO orders VALUES (7, 1, 50)",
        "DELETE FROM orders WHERE id = 7",
        "INSERT INTO cust VALUES (3, 'eu')",
    ),
)


def named(name: str) -> str:
    return LEVELS[name].format(**{n: n for n in LEVELS})


def inlined(name: str) -> str:
    parts: dict[str, str] = {}
    for level, query in LEVELS.items():
        parts[level] = f"({query.format(**parts)})" if parts else f"({query})"
    return parts[name]


def seen(hub: headwater.Hub, query: str) -> Counter:
    return Counter(tuple(row) for row in hub.sql(query).collect())


def test_levels_on_spark(hub: headwater.Hub) -> None:
    hub.sql("CREATE TABLE orders (id BIGINT, cust BIGINT, qty BIGINT) USING iceberg")
    hub.sql("CREATE TABLE cust (id BIGINT, region STRING) USING iceberg")
    hub.sql("INSERT INTO orders VALUES (1, 1, 4), (2, 1, 4), (3, 2, 7), (4, 2, NULL)")
    hub.sql("INSERT INTO cust VALUES (1, 'eu'), (2, 'us')")
    for name in LEVELS:
        hub.create_stream_table(name, named(name), refresh_mode="INCREMENTAL STRICT")
    before = {name: seen(hub, f"SELECT * FROM {name}") for name in LEVELS}
    for statements in ROUNDS:
        for statement in statements:
            hub.sql(statement)
        results = {r.name.split(".")[-1]: r for r in hub.refresh("*")}
        assert set(results) == set(LEVELS)
        for name, result in results.items():
            after = seen(hub, f"SELECT * FROM {name}")
            assert after == seen(hub, f"SELECT * FROM {inlined(name)}"), name
            came, went = after - before[name], before[name] - after
            written = result.rows_inserted, result.rows_deleted
            assert written == (sum(came.values()), sum(went.values())), (name, came, went)
            before[name] = after
