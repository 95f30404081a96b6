"""Publishing a staged commit: main moves from what the run started with, or not at all."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from sources_lake import Lake, Table

from headwater.core.errors import RefreshConflict, SparkUnavailable, StorageDamaged
from headwater.core.names import TableName
from headwater.sources.database import open_database
from headwater.sources.publish import MainCommits
from headwater.sources.tables import JdbcTables
from headwater.storage.refs import SparkRefs
from headwater.storage.stage import Stamp, staged_by
from headwater.storage.stage import staged as staging

pytestmark = pytest.mark.spark


@pytest.fixture(params=["2", "3"])
def table(request: pytest.FixtureRequest, lake: Lake) -> Iterator[Table]:
    table = lake.table(
        "(id bigint)",
        properties=f"'format-version'='{request.param}', 'write.wap.enabled'='true'",
    )
    table.sql("INSERT INTO {t} VALUES (1)")
    yield table


def stage(table: Table, run: str, *statements: str) -> int:
    with staging(table.lake.spark, Stamp(run, "{}", "", table.at.snapshot_id)):
        table.sql(*(statements or ("INSERT INTO {t} VALUES (2)",)))
    snapshot = staged_by(table.metadata, run)
    assert snapshot is not None
    return snapshot.snapshot_id


def ids(table: Table) -> list[int]:
    name = table.name.sql(table.lake.catalog)
    return sorted(row[0] for row in table.lake.collect(f"SELECT id FROM {name}"))


def publish(table: Table, expect: int | None, snapshot: int) -> None:
    table.lake.tables.publish(
        table.name, expect_main=expect, snapshot_id=snapshot, spark=table.lake.commands
    )


def test_publish(table: Table) -> None:
    main = table.at.snapshot_id
    staged = stage(table, "run")
    assert ids(table) == [1]
    publish(table, main, staged)
    assert ids(table) == [1, 2]
    assert table.at.snapshot_id == staged
    assert table.metadata.branches == {}
    table.sql("INSERT INTO {t} VALUES (3)", "DELETE FROM {t} WHERE id = 1")
    assert ids(table) == [2, 3]


def test_first_rows(lake: Lake) -> None:
    for version in ("2", "3"):
        table = lake.table(
            "(id bigint)", properties=f"'format-version'='{version}', 'write.wap.enabled'='true'"
        )
        staged = stage(table, "run")
        assert table.at.snapshot_id is None
        publish(table, None, staged)
        assert ids(table) == [2]


def test_stale_parent_is_refused(table: Table) -> None:
    main = table.at.snapshot_id
    staged = stage(table, "run")
    table.sql("INSERT INTO {t} VALUES (7)")
    moved = table.at.snapshot_id
    for expected in (main, moved, None):
        with pytest.raises(RefreshConflict):
            publish(table, expected, staged)
    assert table.at.snapshot_id == moved
    assert ids(table) == [1, 7]


def test_second_of_two_runs_is_refused(table: Table) -> None:
    main = table.at.snapshot_id
    one, two = stage(table, "one"), stage(table, "two")
    publish(table, main, two)
    with pytest.raises(RefreshConflict):
        publish(table, main, one)
    assert ids(table) == [1, 2]


def test_publishing_again_changes_nothing(table: Table) -> None:
    main = table.at.snapshot_id
    staged = stage(table, "run")
    publish(table, main, staged)
    publish(table, main, staged)
    table.sql("INSERT INTO {t} VALUES (3)")
    publish(table, main, staged)
    assert ids(table) == [1, 2, 3]


def test_staged_commit_that_is_gone_is_refused(table: Table) -> None:
    main = table.at.snapshot_id
    staged = stage(table, "run")
    table.call("expire_snapshots", f"snapshot_ids => ARRAY({staged})")
    with pytest.raises(RefreshConflict, match="gone"):
        publish(table, main, staged)
    assert ids(table) == [1]


def test_counts_go_on_from_main(table: Table) -> None:
    publish(table, table.at.snapshot_id, stage(table, "run"))
    head = table.metadata.snapshot(table.at.snapshot_id)
    assert head is not None
    assert head.count("total-records") == 2


def test_run_of_an_abandoned_line_is_refused(table: Table) -> None:
    main = table.at.snapshot_id
    table.sql("INSERT INTO {t} VALUES (7)")
    abandoned = table.at.snapshot_id
    staged = stage(table, "run")
    table.call("rollback_to_snapshot", f"snapshot_id => {main}")
    with pytest.raises(RefreshConflict):
        publish(table, abandoned, staged)
    assert ids(table) == [1]


class Meddling(JdbcTables):
    """Lets something else commit after the look at the table and before the commit."""

    def __init__(self, *args: Any, meddle: Any) -> None:
        super().__init__(*args)
        self.meddle = meddle
        self.times = 0
        inside = self._commits

        class Between(MainCommits):
            def open(commits) -> Any:  # noqa: N805 - self is the outer one
                catalog = inside.open()
                if self.times < 2:
                    return _CommitLater(catalog, self)
                return catalog

        self._commits = Between(inside._name, inside._url, {})


class _CommitLater:
    """Runs `meddle` between PyIceberg's read of the table and its swap of the location."""

    def __init__(self, catalog: Any, tables: Meddling) -> None:
        self._catalog = catalog
        self._tables = tables

    def load_table(self, identifier: Any) -> Any:
        return self._catalog.load_table(identifier)

    def commit_table(self, table: Any, requirements: Any, updates: Any) -> Any:
        write = self._catalog._write_metadata

        def write_then_meddle(*args: Any, **kwargs: Any) -> None:
            write(*args, **kwargs)
            self._tables.times += 1
            self._tables.meddle()

        self._catalog._write_metadata = write_then_meddle
        try:
            return self._catalog.commit_table(table, requirements, updates)
        finally:
            self._catalog._write_metadata = write


@pytest.fixture
def second_format(lake: Lake) -> Table:
    table = lake.table("(id bigint)", properties="'write.wap.enabled'='true'")
    table.sql("INSERT INTO {t} VALUES (1)")
    return table


def test_metadata_that_moved_without_main_is_retried(second_format: Table) -> None:
    table = second_format
    main, staged = table.at.snapshot_id, stage(table, "run")
    lake = table.lake
    tables = Meddling(
        lake.addresses.iceberg_url, lake.catalog,
        meddle=lambda: table.sql("ALTER TABLE {t} SET TBLPROPERTIES ('note'='x')"),
    )  # fmt: skip
    tables.publish(table.name, expect_main=main, snapshot_id=staged)
    assert tables.times == 2
    assert ids(table) == [1, 2]
    assert table.metadata.properties["note"] == "x"
    assert table.metadata.branches == {}


def test_main_that_moved_at_the_last_moment_is_refused(second_format: Table) -> None:
    table = second_format
    main, staged = table.at.snapshot_id, stage(table, "run")
    lake = table.lake
    tables = Meddling(
        lake.addresses.iceberg_url, lake.catalog,
        meddle=lambda: table.sql("INSERT INTO {t} VALUES (7)"),
    )  # fmt: skip
    with pytest.raises(RefreshConflict):
        tables.publish(table.name, expect_main=main, snapshot_id=staged)
    assert tables.times == 1
    assert ids(table) == [1, 7]


def test_one_of_many_wins(second_format: Table) -> None:
    table = second_format
    main = table.at.snapshot_id
    runs = {
        f"run{n}": stage(table, f"run{n}", f"INSERT INTO {{t}} VALUES ({n + 10})") for n in range(4)
    }
    outcome: dict[str, str] = {}

    def one(run: str, snapshot: int) -> None:
        tables = JdbcTables(table.lake.addresses.iceberg_url, table.lake.catalog)
        try:
            tables.publish(table.name, expect_main=main, snapshot_id=snapshot)
            outcome[run] = "published"
        except RefreshConflict:
            outcome[run] = "refused"
        finally:
            tables.close()

    threads = [threading.Thread(target=one, args=item) for item in runs.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcome.values()) == ["published", "refused", "refused", "refused"]
    winner = next(b for b, o in outcome.items() if o == "published")
    assert ids(table) == [1, 10 + int(winner.removeprefix("run"))]


def test_third_format_needs_spark(lake: Lake) -> None:
    table = lake.table("(id bigint)", properties="'format-version'='3', 'write.wap.enabled'='true'")
    staged = stage(table, "run")
    with pytest.raises(SparkUnavailable):
        lake.tables.publish(table.name, expect_main=None, snapshot_id=staged)
    assert table.at.snapshot_id is None


def test_third_format_is_tried_again(lake: Lake) -> None:
    table = lake.table("(id bigint)", properties="'format-version'='3', 'write.wap.enabled'='true'")
    staged = stage(table, "run")
    real = lake.commands

    class Flaky(SparkRefs):
        calls = 0

        def fast_forward(self, name: TableName, branch: str) -> None:
            Flaky.calls += 1
            if Flaky.calls == 1:
                raise RuntimeError("Table metadata refresh is required")
            real.fast_forward(name, branch)
            if Flaky.calls == 2:
                raise ConnectionError("the answer was lost")

    flaky = Flaky(lake.spark.sql, lake.catalog)
    lake.tables.publish(table.name, expect_main=None, snapshot_id=staged, spark=flaky)
    assert Flaky.calls == 2
    assert ids(table) == [2]
    assert table.metadata.branches == {}


def test_table_that_is_gone(lake: Lake) -> None:
    name = TableName("default", "nowhere")
    with pytest.raises(StorageDamaged):
        lake.tables.publish(name, expect_main=None, snapshot_id=1)


@pytest.mark.postgres
def test_publish_on_postgres(second_format: Table, postgres_url: str) -> None:
    """The same table, registered in a PostgreSQL catalog."""
    table = second_format
    main, staged = table.at.snapshot_id, stage(table, "run")
    tables = JdbcTables(postgres_url, table.lake.catalog)
    tables.create_schema()
    location = table.lake.tables.location(table.name)
    open_database(postgres_url).change(
        [
            f"INSERT INTO iceberg_tables VALUES ('{table.lake.catalog}', '{table.name.namespace}',"
            f" '{table.name.name}', '{location}', NULL, 'TABLE')"
        ]
    )
    with pytest.raises(RefreshConflict):
        tables.publish(table.name, expect_main=17, snapshot_id=staged)
    tables.publish(table.name, expect_main=main, snapshot_id=staged)
    metadata = tables.metadata(table.name)
    assert metadata is not None
    assert metadata.current_snapshot_id == staged
    assert ids(table) == [1]
