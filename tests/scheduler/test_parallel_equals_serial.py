"""The same random workload serially, in a dry run and with workers: same contents and frontiers."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

import headwater
from shared_spark import Place, check, place_in, rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

QUERIES = {
    "f": "SELECT id, x FROM s0 WHERE x > 3",
    "a": "SELECT g, SUM(x) AS s, COUNT(*) AS n FROM s0 GROUP BY g",
    "b": "SELECT g, MAX(x) AS m FROM s0 GROUP BY g",
    "j": "SELECT a.g, a.s, b.m FROM a JOIN b ON a.g = b.g",
    "c": "SELECT DISTINCT g FROM s1",
    "d": "SELECT c.g, a.n FROM c LEFT JOIN a ON c.g = a.g",
    "u": "SELECT id FROM f UNION ALL SELECT g FROM c",
    "e": "SELECT COUNT(*) AS n FROM s1",
}


def statements(rng: random.Random, rounds: int) -> list[list[str]]:
    """The same changes for every run."""
    made = []
    for number in range(rounds):
        batch = []
        for _ in range(rng.randint(1, 3)):
            table, key = rng.choice(["s0", "s1"]), rng.randrange(40)
            group, x = rng.randrange(4), rng.randrange(10)
            batch.append(
                rng.choice(
                    [
                        f"INSERT INTO {table} VALUES ({100 * number + key}, {group}, {x})",
                        f"UPDATE {table} SET x = x + 1 WHERE g = {group}",
                        f"DELETE FROM {table} WHERE id % 7 = {key % 7}",
                    ]
                )
            )
        made.append(batch)
    return made


def run(
    hub: headwater.Hub, workers: int | str, batches: list[list[str]], names: Sequence[str]
) -> list[Any]:
    """What is seen after each batch, with so many workers or in a `parallel_refresh_mode`."""
    setting = "parallel_refresh_mode" if isinstance(workers, str) else "max_parallel_workers"
    hub.set(setting, workers)
    for table in ("s0", "s1"):
        hub.sql(f"CREATE TABLE {table} (id BIGINT, g INT, x INT) USING iceberg")
        hub.sql(
            f"INSERT INTO {table} "
            "SELECT id, CAST(id % 4 AS INT), CAST(id % 9 AS INT) FROM range(40)"
        )
    for name in names:
        hub.create_stream_table(name, QUERIES[name])
    seen = []
    for batch in batches:
        for statement in batch:
            hub.sql(statement)
        report = hub.tick()
        assert not report.errors, report.errors
        contents = {name: rows(hub, name) for name in names}
        seen.append((sorted(report.units), contents, frontiers(hub)))
    check(hub, *names)
    return seen


def versions(hub: headwater.Hub, *names: str) -> list[int | None]:
    from headwater.core.names import TableName

    found = []
    for name in names:
        metadata = hub._runtime.tables.metadata(TableName.parse(name))
        assert metadata is not None
        found += [s.snapshot_id for s in metadata.ancestry(metadata.current_snapshot_id)]
    return found


def frontiers(hub: headwater.Hub) -> dict[str, dict[str, int]]:
    """Base table → how many commits ago, for each stream table."""
    result = {}
    for row in hub._runtime.store.tables.all():
        assert row.frontier is not None
        result[str(row.name)] = {
            str(base): versions(hub, base.name).index(v.snapshot_id)
            for base, v in row.frontier.base.items()
        }
    return result


def compared(
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
    seed: int,
    rounds: int,
    *numbers: int | str,
    names: Sequence[str] = tuple(QUERIES),
) -> None:
    batches = statements(random.Random(seed), rounds)
    results = []
    for workers in numbers:
        place: Place = place_in(tmp_path_factory.mktemp(f"w{workers}"))
        with place.open(spark) as hub:
            results.append(run(hub, workers, batches, names))
    assert all(result == results[0] for result in results)


def test_parallel_equals_serial(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    compared(spark, tmp_path_factory, 1, 1, 0, 4, "dry_run", names="fabj")


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 6))
def test_parallel_equals_serial_for_longer(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    compared(spark, tmp_path_factory, seed, 8, 0, 1, 4, "off", "dry_run")
