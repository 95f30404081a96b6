"""The foundation's shapes through rounds of changes; each refresh is checked against the oracle."""

from __future__ import annotations

import warnings

import pytest

import headwater
from shared_spark import check, rows

pytestmark = pytest.mark.spark

QUERIES = {
    "scan": "SELECT * FROM orders",
    "filter": "SELECT id, amount FROM orders WHERE amount > 5 AND cust IS NOT NULL",
    "project": "SELECT cust, CASE WHEN amount > 5 THEN 'big' ELSE 'small' END AS size FROM orders",
    "union_all": "SELECT cust FROM orders UNION ALL SELECT id FROM cust",
    "union_same": "SELECT cust FROM orders WHERE id < 4 UNION ALL SELECT cust FROM orders",
    "join": "SELECT o.id, c.region, o.amount FROM orders o JOIN cust c ON o.cust = c.id",
    "join3": (
        "SELECT o.id, c.region, r.boss FROM orders o JOIN cust c ON o.cust = c.id "
        "JOIN regions r ON r.region = c.region AND r.boss <> 'x'"
    ),
    "self_join": "SELECT a.id, b.id AS other FROM orders a JOIN orders b ON a.cust = b.cust",
    "null_safe": "SELECT o.id, c.region FROM orders o JOIN cust c ON o.cust <=> c.id",
    "cross": "SELECT c.id, r.boss FROM cust c CROSS JOIN regions r",
    "count": "SELECT cust, COUNT(*) AS n, COUNT(amount) AS k FROM orders GROUP BY cust",
    "sum": (
        "SELECT cust, SUM(amount) AS s, AVG(amount) AS a, SUM(qty) AS q FROM orders GROUP BY cust"
    ),
    "extrema": "SELECT cust, MIN(amount) AS lo, MAX(amount) AS hi FROM orders GROUP BY cust",
    "avg_int": "SELECT cust, AVG(qty) AS a, SUM(qty) + 1 AS q FROM orders GROUP BY cust",
    "doubles": "SELECT cust, SUM(weight) AS w, AVG(weight) AS aw FROM orders GROUP BY cust",
    "hidden_key": "SELECT SUM(qty) AS q FROM orders GROUP BY cust",
    "computed_key": "SELECT id % 2 AS odd, COUNT(*) AS n FROM orders GROUP BY id % 2",
    "global": "SELECT COUNT(*) AS n, SUM(amount) AS s, MIN(qty) AS q FROM orders",
    "global_join": "SELECT COUNT(*) AS n FROM orders o JOIN cust c ON o.cust = c.id",
    "agg_join": (
        "SELECT c.region, SUM(o.amount) AS s, COUNT(*) AS n FROM orders o "
        "JOIN cust c ON o.cust = c.id GROUP BY c.region"
    ),
    "agg_of_agg": (
        "SELECT n, COUNT(*) AS m FROM (SELECT cust, COUNT(*) AS n FROM orders GROUP BY cust) q "
        "GROUP BY n"
    ),
}

ROUNDS = (
    ("INSERT INTO orders VALUES (5, 2, 2.50, 1, 0.1), (6, NULL, NULL, NULL, NULL)",),
    ("UPDATE orders SET amount = amount + 1, weight = weight * 3 WHERE cust = 1",),
    (
        "DELETE FROM orders WHERE id = 1",
        "UPDATE cust SET region = 'asia' WHERE id = 2",
        "INSERT INTO cust VALUES (3, 'eu'), (NULL, 'none')",
        "UPDATE orders SET cust = 3 WHERE id = 5",
    ),
    ("INSERT INTO orders VALUES (2, 1, 3.50, 2, 1e300)", "DELETE FROM regions WHERE region = 'eu'"),
    ("DELETE FROM orders WHERE qty = 2", "DELETE FROM cust WHERE id = 1"),
    ("UPDATE orders SET id = id",),
    ("DELETE FROM orders",),
    ("INSERT INTO orders VALUES (7, 2, 9.99, 4, 2.5)", "INSERT INTO regions VALUES ('asia', 'x')"),
)


def prepare(hub: headwater.Hub) -> None:
    hub.sql(
        "CREATE TABLE orders (id BIGINT, cust BIGINT, amount DECIMAL(10,2), qty INT, "
        "weight DOUBLE) USING iceberg"
    )
    hub.sql("CREATE TABLE cust (id BIGINT, region STRING) USING iceberg")
    hub.sql("CREATE TABLE regions (region STRING, boss STRING) USING iceberg")
    hub.sql("INSERT INTO cust VALUES (1, 'eu'), (2, 'us')")
    hub.sql("INSERT INTO regions VALUES ('eu', 'ann'), ('us', 'bob')")
    hub.sql(
        "INSERT INTO orders VALUES (1, 1, 10.50, 1, 1.5), (2, 1, 3.50, 2, 1e300), "
        "(2, 1, 3.50, 2, 1e300), (3, 2, 7.00, NULL, double('NaN')), (4, 2, NULL, -1, 0.3)"
    )


SHORT = (ROUNDS[0] + ROUNDS[1], ROUNDS[2] + ROUNDS[3] + ROUNDS[4])
SOME = ("filter", "union_same", "join", "self_join", "sum", "extrema", "hidden_key", "global")


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("names", "rounds"),
    [
        pytest.param(SOME, SHORT, id="some"),
        pytest.param(tuple(QUERIES), ROUNDS, id="all", marks=pytest.mark.long),
    ],
)
def test_every_shape_stays_exact(
    hub: headwater.Hub, names: tuple[str, ...], rounds: tuple[tuple[str, ...], ...]
) -> None:
    prepare(hub)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", headwater.HeadwaterWarning)
        for name in names:
            hub.create_stream_table(name, QUERIES[name], refresh_mode="INCREMENTAL STRICT")
            check(hub, name)
    for statements in rounds:
        before = {name: rows(hub, name) for name in names}
        for statement in statements:
            hub.sql(statement)
        for name in names:
            result = hub.refresh_stream_table(name)
            check(hub, name)
            assert result.action in ("INCREMENTAL", "NO_DATA"), (name, result)
            assert (result.rows_inserted, result.rows_deleted) == difference(
                before[name], rows(hub, name)
            ), (name, statements, result)


def difference(old: list[tuple[object, ...]], new: list[tuple[object, ...]]) -> tuple[int, int]:
    """Rows that came and rows that went, as bags."""
    left = [repr(r) for r in old]
    came = 0
    for row in map(repr, new):
        if row in left:
            left.remove(row)
        else:
            came += 1
    return came, len(left)


def test_a_chain_of_stream_tables(hub: headwater.Hub) -> None:
    prepare(hub)
    hub.create_stream_table("c1", "SELECT id, cust, amount FROM orders WHERE amount IS NOT NULL")
    hub.create_stream_table(
        "c2", "SELECT cust, SUM(amount) AS s, COUNT(*) AS n FROM c1 GROUP BY cust"
    )
    hub.create_stream_table("c3", "SELECT c.region, t.s FROM c2 t JOIN cust c ON c.id = t.cust")
    hub.create_stream_table("c4", "SELECT region, MAX(s) AS best FROM c3 GROUP BY region")
    for statements in ROUNDS[:3]:
        for statement in statements:
            hub.sql(statement)
        hub.refresh("*")
        check(hub, "c1", "c2", "c3", "c4")
        inlined = hub.sql(
            "SELECT region, MAX(s) FROM (SELECT c.region, t.s FROM (SELECT cust, SUM(amount) AS s "
            "FROM orders WHERE amount IS NOT NULL GROUP BY cust) t JOIN cust c ON c.id = t.cust) "
            "GROUP BY region"
        ).collect()
        assert rows(hub, "c4") == sorted(map(tuple, inlined), key=repr)


def test_hidden_columns_never_show(hub: headwater.Hub) -> None:
    prepare(hub)
    hub.create_stream_table("t", "SELECT cust, SUM(qty) AS q FROM orders GROUP BY cust")
    assert hub.table("t").columns == ["cust", "q"]
    assert hub.sql("SELECT * FROM t").columns == ["cust", "q"]
    assert hub.sql("SELECT x.* FROM t AS x").columns == ["cust", "q"]
    assert hub.sql("SELECT DISTINCT * FROM default.t").columns == ["cust", "q"]
    union = hub.sql("SELECT * FROM t UNION ALL SELECT id, id FROM orders")
    assert union.columns == ["cust", "q"]
    described = [r[0] for r in hub.sql("DESCRIBE TABLE t").collect()]
    assert not [c for c in described if c.startswith("__hw_")]
    hub.create_stream_table("u", "SELECT * FROM t")
    assert hub.table("u").columns == ["cust", "q"]
