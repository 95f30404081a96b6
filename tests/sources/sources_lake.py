"""A lake on a real Spark: one JVM for the session, one SQLite catalog, tables with unique names."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from headwater.core.frontier import SourceVersion
from headwater.core.names import TableName
from headwater.sources.iceberg import IcebergSource
from headwater.sources.metadata import TableMetadata
from headwater.sources.source import How, Window
from headwater.sources.tables import JdbcTables
from headwater.sql.lookup import SourceField
from headwater.storage.lake import Lake as Addresses
from headwater.storage.spark import Engine


@dataclass
class Table:
    """One table of a test: writes by SQL, `{t}` is its name."""

    lake: Lake
    name: TableName
    source: IcebergSource

    def sql(self, *statements: str) -> None:
        for statement in statements:
            self.lake.spark.sql(statement.format(t=self.name.sql(self.lake.catalog)))

    def call(self, procedure: str, arguments: str = "") -> None:
        extra = f", {arguments}" if arguments else ""
        self.lake.spark.sql(
            f"CALL {self.lake.catalog}.system.{procedure}(table => '{self.name}'{extra})"
        )

    @property
    def at(self) -> SourceVersion:
        return self.source.latest()

    @property
    def metadata(self) -> TableMetadata:
        metadata = self.lake.tables.metadata(self.name)
        assert metadata is not None
        return metadata

    def used(self, *names: str) -> list[SourceField]:
        schema = self.metadata.current_schema
        fields = [schema.field(n) for n in names] if names else list(schema.fields)
        return [SourceField(f.name, f.type) for f in fields if f is not None]

    def window(
        self,
        since: SourceVersion,
        columns: Sequence[SourceField] | None = None,
        *,
        without: frozenset[How] = frozenset(),
    ) -> Window:
        columns = self.used() if columns is None else columns
        return self.source.window(since, self.at, columns, without=without)

    def rows(self, at: SourceVersion, columns: Sequence[SourceField]) -> Counter[Any]:
        names = ", ".join([*(f"`{c.name}`" for c in columns), "1"])
        found = self.lake.collect(f"SELECT {names} FROM {self.source.snapshot(at)}")
        return Counter(tuple(map(str, row[:-1])) for row in found)

    def check(
        self,
        since: SourceVersion,
        columns: Sequence[SourceField] | None = None,
        before: Counter[Any] | None = None,
        *,
        without: frozenset[How] = frozenset(),
    ) -> Window:
        """The window since `since`, netted, is the rows now minus the rows then."""
        columns = self.used() if columns is None else columns
        until = self.at
        window = self.source.window(since, until, columns, without=without)
        old = self.rows(since, columns) if before is None else before
        difference = self.rows(until, columns)
        difference.subtract(old)
        assert self.netted(window, columns) == {k: v for k, v in difference.items() if v}
        return window

    def netted(self, window: Window, columns: Sequence[SourceField]) -> dict[Any, int]:
        if window.sql is None:
            return {}
        names = ", ".join([*(f"`{c.name}`" for c in columns), "`__hw_w`"])
        total: Counter[Any] = Counter()
        for *values, weight in self.lake.collect(f"SELECT {names} FROM {window.sql}"):
            assert weight in (1, -1)
            assert window.kind == "MIXED" or weight == 1
            total[tuple(map(str, values))] += weight
        return {k: v for k, v in total.items() if v}


@dataclass
class Lake:
    """Spark, its catalog, and the tables Headwater sees in it."""

    spark: Any
    tables: JdbcTables
    addresses: Addresses
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    @property
    def catalog(self) -> str:
        return self.addresses.catalog

    def collect(self, text: str) -> list[Any]:
        return self.spark.sql(text).collect()

    def table(self, create: str = "({t})", *, properties: str = "") -> Table:
        """Create a table: `create` is a column list, or `AS SELECT …`."""
        name = TableName("default", f"t{next(self._numbers)}")
        with_properties = f"TBLPROPERTIES ({properties})" if properties else ""
        columns, _, query = create.partition("AS SELECT")
        self.spark.sql(
            f"CREATE TABLE {name.sql(self.catalog)} {columns} USING iceberg {with_properties}"
            + (f" AS SELECT{query}" if query else "")
        )
        return Table(self, name, IcebergSource(name, self.tables, self.catalog))


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    folder: Path = tmp_path_factory.mktemp("lake")
    addresses = Addresses.in_folder(folder, {"spark.master": "local[2]"})
    tables = JdbcTables(addresses.iceberg_url, addresses.catalog)
    tables.create_schema()
    engine = Engine(addresses)
    spark = engine.user
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    yield Lake(spark, tables, addresses)
    tables.close()
    engine.close()
