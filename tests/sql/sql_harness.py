"""Small tables in DuckDB, a lookup over them, and a way to run a query twice."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import duckdb
import sqlglot

from headwater.core.names import TableName
from headwater.sql.define import define
from headwater.sql.lookup import FunctionFact, SourceField
from headwater.sql.render import render

if TYPE_CHECKING:
    from headwater.sql.definition import Definition
    from headwater.sql.node import Node

SCHEMAS: dict[str, str] = {
    "t": "id int, g int, x int, s string, d decimal(10,2)",
    "u": "id int, k int, y int, s string",
    "v": "k int, z bigint",
    "e": "id int, a array<int>, p struct<q:int,r:string>",
    "ev": "id int, ts timestamp, day date, amount double",
}

ROWS: dict[str, list[str]] = {
    "t": [
        "(1, 1, 10, 'a', 1.50)",
        "(2, 1, NULL, 'b', 2.25)",
        "(3, 2, 10, NULL, NULL)",
        "(3, 2, 10, NULL, NULL)",
        "(4, NULL, 7, 'a', 0.01)",
        "(5, NULL, NULL, NULL, 100.00)",
    ],
    "u": [
        "(1, 1, 10, 'a')",
        "(1, 2, NULL, 'a')",
        "(2, NULL, 5, 'c')",
        "(NULL, 3, 7, 'b')",
        "(NULL, 3, 7, 'b')",
        "(6, 1, 7, NULL)",
    ],
    "v": ["(1, 100)", "(1, 100)", "(2, NULL)", "(NULL, 300)"],
    "e": [
        "(1, [1, 1, 2], {'q': 1, 'r': 'x'})",
        "(2, [], {'q': NULL, 'r': 'y'})",
        "(3, NULL, NULL)",
    ],
    "ev": [
        "(1, TIMESTAMP '2024-01-01 00:00:00', DATE '2024-01-01', 1.5)",
        "(2, TIMESTAMP '2024-06-01 12:00:00', DATE '2024-06-01', 2.5)",
    ],
}


class Tables:
    """A lookup over declared schemas."""

    def __init__(
        self,
        schemas: dict[str, str],
        views: dict[str, str] | None = None,
        functions: dict[str, FunctionFact] | None = None,
    ) -> None:
        self._fields = {TableName.parse(name): _fields(text) for name, text in schemas.items()}
        self._views = {TableName.parse(name): text for name, text in (views or {}).items()}
        self._functions = functions or {}

    def fields(self, table: TableName) -> tuple[SourceField, ...] | None:
        return self._fields.get(table)

    def view(self, name: TableName) -> str | None:
        return self._views.get(name)

    def function(self, name: str) -> FunctionFact | None:
        return self._functions.get(name)

    def names(self) -> list[TableName]:
        return [*self._fields, *self._views]


def _fields(text: str) -> tuple[SourceField, ...]:
    parts = re.split(r",\s*(?![^<(]*[>)])", text)
    return tuple(SourceField(*part.strip().split(" ", 1)) for part in parts)


LOOKUP = Tables(SCHEMAS)


def defined(text: str, lookup: Tables = LOOKUP) -> Definition:
    return define(text, lookup)


def shape(node: Node) -> str:
    """The kinds of a tree as nested text: `Filter(Scan)`."""
    inner = ", ".join(shape(child) for child in node.inputs)
    return f"{type(node).__name__}({inner})" if inner else type(node).__name__


class Duck:
    """DuckDB with the tables of a test."""

    def __init__(self, schemas: dict[str, str], rows: dict[str, list[str]]) -> None:
        self.connection = duckdb.connect()
        for name, columns in schemas.items():
            create = sqlglot.transpile(
                f"CREATE TABLE {name} ({columns})", read="spark", write="duckdb"
            )[0]
            self.connection.execute(create)
            for row in rows.get(name, []):
                self.connection.execute(f"INSERT INTO {name} VALUES {row}")

    def bag(self, spark_sql: str) -> Counter[tuple[str, ...]]:
        sql = sqlglot.transpile(spark_sql, read="spark", write="duckdb")[0]
        return Counter(tuple(map(repr, row)) for row in self.connection.execute(sql).fetchall())

    def rendered(self, definition: Definition) -> str:
        """The SQL of the tree over the tables themselves, in the order of the SELECT list."""
        body = render(definition.tree, definition.sources).sql("spark")
        for i, source in enumerate(definition.sources):
            body = body.replace(f"`__hw_src_{i}_new`", source.name)
        body = body.replace("'__hw_now'", "'2024-06-02 00:00:00'")
        columns = ", ".join(f"`{column.name}`" for _, column in definition.output)
        return f"SELECT {columns} FROM ({body}) AS q"


def assert_round_trip(duck: Duck, text: str, lookup: Any = LOOKUP) -> Definition:
    definition = define(text, lookup)
    rendered = duck.rendered(definition)
    assert duck.bag(rendered) == duck.bag(text), rendered
    return definition
