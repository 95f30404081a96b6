"""Compiled programs on Spark and Iceberg: what DuckDB cannot tell, and one shape per mechanism."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import test_failing_rows as failing_rows
from delta_harness import World, compiled, prepared, split_columns
from test_random_tables import QUERIES, world
from test_scenarios import scenario_world
from test_special_shapes import EDGES, PATHS, graph

from headwater.core.names import TableName
from headwater.refresh.among import with_values

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SCENARIOS = {s["id"]: s for s in json.loads((Path(__file__).parent / "scenarios.json").read_text())}
TARGET = "hw.delta_suite.target"
SHAPES = [
    "group_sum", "group_double", "left", "window", "except_all", "top", "scalar_where_correlated",
    "lateral_top", "cube_distinct", "full",
]  # fmt: skip


@pytest.mark.parametrize("name", ["E30", "E50", "E58", "E66", "E72"])
def test_scenario(spark: SparkSession, name: str) -> None:
    scenario = SCENARIOS[name]
    check(spark, scenario["query"], scenario_world(scenario, noise=True))


@pytest.mark.parametrize("name", SHAPES)
def test_shape(spark: SparkSession, name: str) -> None:
    check(spark, QUERIES[name], world("mixed", 6))


@pytest.mark.parametrize("name", ["project", "filter", "group_sum", "join_condition", "scalar_key"])
def test_rows_of_no_version_do_not_fail(spark: SparkSession, name: str) -> None:
    """Spark moves filters below a grouping, to where rows that cancel out still are."""
    check(spark, failing_rows.QUERIES[name], failing_rows.of_no_version())


@pytest.mark.parametrize("name", ["project", "inner", "left", "scalar_of_one_row"])
def test_pairs_of_no_version_do_not_fail(spark: SparkSession, name: str) -> None:
    back = name in ("project", "inner")
    check(spark, failing_rows.PAIRS[name], failing_rows.never_side_by_side(name, back=back))


def test_division_by_zero_in_a_passing_row(spark: SparkSession) -> None:
    world = World(
        {"t": "id int, x int"},
        {"t": [(1, 1)]},
        {"t": [(1, 2), (2, 5)]},
        passing={"t": [(9, 0)]},
    )
    check(spark, "SELECT id, 10 / x AS q FROM t WHERE 10 DIV x > 1", world)


def test_recursion(spark: SparkSession) -> None:
    rng = random.Random(4)
    check(spark, PATHS, World(EDGES, graph(rng), graph(rng), random=rng))


def check(spark: SparkSession, query: str, tables: World) -> None:
    """Load at the old content, refresh, compare with the query on the new content."""
    schemas = tuple(tables.schemas.items())
    definition, plan = prepared(query, schemas, ())
    changes = {}
    for name, schema in tables.schemas.items():
        columns = split_columns(schema)
        weighted, change = tables.window(name)
        _view(spark, f"{name}_old", columns, tables.old[name])
        _view(spark, f"{name}_new", columns, tables.new[name])
        _view(spark, f"{name}_delta", [*columns, "__hw_w bigint"], weighted)
        _view(spark, name, columns, tables.new[name])
        if change is not None and TableName.parse(name) in definition.sources:
            changes[TableName.parse(name)] = change

    def filled(text: str, new: str) -> str:
        for i, source in enumerate(definition.sources):
            for at, table in (("new", new), ("old", "old"), ("delta", "delta")):
                text = text.replace(f"`__hw_src_{i}_{at}`", f"`{source.name}_{table}`")
        text = with_values(text, lambda stage, key: None)
        return text.replace("`__hw_target`", TARGET).replace("'__hw_run'", f"'{new}'")

    spark.sql("CREATE NAMESPACE IF NOT EXISTS hw.delta_suite")
    spark.sql(f"DROP TABLE IF EXISTS {TARGET}")
    spark.sql(f"CREATE TABLE {TARGET} USING iceberg AS {filled(plan.initial, 'old')}")
    program = compiled(query, schemas, (), tuple(sorted(changes.items())))
    assert changes
    assert program.incremental
    for stage in program.stages:
        spark.sql(f"CACHE TABLE `{stage.name}` AS {filled(stage.sql, 'new')}")
    spark.sql(filled(program.statement, "new"))
    for stage in program.stages:
        spark.sql(f"DROP VIEW `{stage.name}`")
    visible = ", ".join(f"`{n}`" for n in plan.visible)
    assert _rows(spark, f"SELECT {visible} FROM {TARGET}") == _rows(spark, query)


def _view(spark: SparkSession, name: str, columns: list[str], rows: list[tuple]) -> None:
    typed = [column.split(" ", 1) for column in columns]
    items = ", ".join(f"CAST({n} AS {kind}) AS {n}" for n, kind in typed)
    names = ", ".join(n for n, _ in typed)
    listed = rows or [(None,) * len(columns)]
    values = ", ".join(f"({', '.join(map(_literal, row))})" for row in listed)
    where = "" if rows else " WHERE FALSE"
    query = f"SELECT {items} FROM VALUES {values} AS v({names}){where}"
    spark.sql(query).createOrReplaceTempView(name)


def _literal(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, float):
        return f"double('{value}')"
    if isinstance(value, (list, tuple)):
        return f"array({', '.join(map(_literal, value))})"
    return f"'{value}'" if isinstance(value, str) else str(value)


def _rows(spark: SparkSession, query: str) -> Counter:
    return Counter(
        tuple("NaN" if v != v else tuple(v) if isinstance(v, list) else v for v in row)
        for row in spark.sql(query).collect()
    )
