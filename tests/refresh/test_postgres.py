"""A hub whose catalogs live in PostgreSQL: the whole life of stream tables."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import text

import headwater
from headwater.core.errors import HeadwaterError, RefreshFailed, UniqueKeyViolated
from shared_spark import Place, check, environment, rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from postgres_server import PostgresServer

pytestmark = [
    pytest.mark.spark,
    pytest.mark.postgres,
    pytest.mark.filterwarnings("ignore::headwater.HeadwaterWarning"),
]

TABLES = {
    "details": "SELECT o.id, c.region, o.price FROM orders o JOIN customers c ON o.customer = c.id",
    "totals": "SELECT region, count(*) AS n, sum(price) AS price FROM details GROUP BY region",
    "cheap": "SELECT id, price FROM orders WHERE price < 50",
}
ROUNDS = (
    ("INSERT INTO orders VALUES (4, 2, 40), (5, 1, 500)",),
    (
        "UPDATE orders SET price = price + 1 WHERE id = 1",
        "DELETE FROM orders WHERE id = 3",
        "UPDATE customers SET region = 'east' WHERE id = 2",
    ),
    (
        "MERGE INTO orders o USING (SELECT 1 AS id UNION ALL SELECT 9) s ON o.id = s.id "
        "WHEN MATCHED THEN UPDATE SET price = 7 "
        "WHEN NOT MATCHED THEN INSERT (id, customer, price) VALUES (s.id, 1, 70)",
        "INSERT INTO customers VALUES (3, 'west')",
        "INSERT INTO orders VALUES (10, 3, 3)",
    ),
    ("DELETE FROM customers WHERE id = 1",),
)
READING = """
import sys
import headwater
hub = headwater.connect(catalog=sys.argv[1], warehouse=sys.argv[2])
print(*(f"{r.name} {r.status}" for r in hub.status()), sep=", ")
print({r.name for r in hub.history(limit=500)} == {r.name for r in hub.status()})
print([r.action for r in hub.refresh("*")], hub._runtime.engine.running, "pyspark" in sys.modules)
"""


@pytest.fixture(scope="module")
def place(postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("postgres"), postgres_url)


def make(hub: headwater.Hub) -> None:
    hub.sql("CREATE TABLE orders (id BIGINT, customer BIGINT, price INT) USING iceberg")
    hub.sql("CREATE TABLE customers (id BIGINT, region STRING) USING iceberg")
    hub.sql("INSERT INTO customers VALUES (1, 'north'), (2, 'south')")
    hub.sql("INSERT INTO orders VALUES (1, 1, 10), (2, 2, 20), (3, 1, 30)")
    for name, query in TABLES.items():
        hub.create_stream_table(name, query, tags=["shop"], comment=f"it's {name}")


def test_whole_life(spark: SparkSession, place: Place) -> None:
    with place.open(spark) as hub:
        make(hub)
        check(hub, *TABLES)
    for statements in ROUNDS:
        with place.open(spark) as hub:
            for statement in statements:
                hub.sql(statement)
            done = {r.name: r for r in hub.refresh("tag:shop")}
            assert list(done) == ["default.cheap", "default.details", "default.totals"]
            assert {r.action for r in done.values()} <= {"INCREMENTAL", "FULL", "NO_DATA"}
            check(hub, *TABLES)
    with place.open(spark) as hub:
        assert rows(hub, "totals") == [("east", 2, 60), ("west", 1, 3)]
        assert rows(hub, "cheap") == [(1, 7), (10, 3), (2, 20), (4, 40)]
        assert [r.action for r in hub.refresh("*")] == ["NO_DATA"] * 3


def test_another_process_reads_and_finds_nothing_to_do(place: Place) -> None:
    """Without Java at hand: status, history and an idle refresh need none."""
    done = subprocess.run(
        [sys.executable, "-c", READING, place.catalog, place.warehouse],
        env={**environment(), "JAVA_HOME": "/nowhere", "PATH": "/nowhere"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "default.cheap ACTIVE, default.details ACTIVE, default.totals ACTIVE",
        "True",
        "['NO_DATA', 'NO_DATA', 'NO_DATA'] False False",
    ]


def test_status_history_and_settings_are_kept(spark: SparkSession, place: Place) -> None:
    with place.open(spark) as hub:
        hub.set("max_consecutive_errors", 7)
    with place.open(spark) as hub:
        (status,) = hub.status("totals")
        assert (status.tags, status.comment) == (("shop",), "it's totals")
        assert status.frontier == {"default.details": hub.status("details")[0].version}
        runs = hub.history("totals")
        assert [r.status for r in runs] == ["COMPLETED"] * len(runs)
        assert runs[-1].initiated_by == "INITIAL"
        assert [r.run_id for r in runs] == sorted((r.run_id for r in runs), reverse=True)
        assert {(d.name, d.source) for d in hub.dependencies()} == {
            ("default.cheap", "default.orders"),
            ("default.details", "default.customers"),
            ("default.details", "default.orders"),
            ("default.totals", "default.details"),
        }
        assert hub.settings()["max_consecutive_errors"].value == 7


def test_batches_and_failures(spark: SparkSession, place: Place) -> None:
    with place.open(spark) as hub:
        hub.create_stream_table("keyed", "SELECT id, price FROM orders", unique_key="id")
        with hub.batch():
            hub.sql("INSERT INTO orders VALUES (20, 2, 1)")
            assert hub.refresh_stream_table("keyed").action == "NO_DATA"
        assert hub.refresh_stream_table("keyed").rows_inserted == 1
        before = rows(hub, "keyed")
        hub.sql("INSERT INTO orders VALUES (20, 2, 2)")
        with pytest.raises(UniqueKeyViolated):
            hub.refresh_stream_table("keyed")
        assert rows(hub, "keyed") == before
        assert hub.history("keyed", limit=1)[0].error_code == "HW3003"
        hub.drop_stream_table("keyed")
        assert "default.keyed" not in {r.name for r in hub.status()}


def test_lost_connections_come_back(
    spark: SparkSession, place: Place, postgres_server: PostgresServer
) -> None:
    """The server ends every session, as it does when it restarts: at most a retry is needed."""
    import psycopg

    with place.open(spark) as hub:
        hub.refresh("*")
        hub.sql("INSERT INTO orders VALUES (30, 2, 1)")
        with psycopg.connect(postgres_server.url(driver="postgresql"), autocommit=True) as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> "
                "pg_backend_pid() AND datname = %s",
                (place.catalog.rpartition("/")[2],),
            )
        patiently(lambda: hub.refresh("*"))
        assert (30, 1) in patiently(lambda: rows(hub, "cheap"))
        check(hub, *TABLES)


def patiently(do: Callable[[], Any]) -> Any:
    """Try again as long as the error says that it may help."""
    for _ in range(3):
        try:
            return do()
        except RefreshFailed as error:
            assert {e.kind for e in error.errors.values()} == {"transient"}, error
        except HeadwaterError as error:
            assert error.kind == "transient", error
    return do()


def test_a_hub_gives_its_connections_back(place: Place, spark: SparkSession) -> None:
    def connections() -> int:
        with place.open(spark) as hub, hub._runtime.store.database.read() as connection:
            held = text("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
            return int(connection.execute(held).scalar_one())

    def used() -> None:
        with place.open(spark) as hub:
            hub.sql("CREATE TABLE IF NOT EXISTS kept (id BIGINT) USING iceberg")
            hub.sql("INSERT INTO kept VALUES (1)")
            with hub._runtime.engine.exclusive() as session:
                session.sql("SELECT count(*) FROM kept").collect()

    used()
    before = connections()
    for _ in range(5):
        used()
    assert connections() <= before
