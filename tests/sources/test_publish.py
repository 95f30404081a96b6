"""Publishing a staged commit: main moves from what the run started with, or not at all."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import pytest
from sources_lake import Lake, Table

from headwater.core.errors import CatalogBusy, RefreshConflict, StorageDamaged
from headwater.core.names import TableName
from headwater.sources.database import open_database
from headwater.sources.files import IcebergFiles, local_path
from headwater.sources.publish import KEPT_DOCUMENTS, MainCommits
from headwater.sources.tables import JdbcTables
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
    table.lake.tables.publish(table.name, expect_main=expect, snapshot_id=snapshot)


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


class MeddledFiles(IcebergFiles):
    """Lets something else commit after the new metadata was written and before the swap."""

    def __init__(self, meddle: Callable[[], object]) -> None:
        super().__init__()
        self.meddle = meddle
        self.written: list[str] = []

    def write(self, location: str, content: bytes) -> None:
        super().write(location, content)
        self.written.append(location)
        if len(self.written) <= 2:
            self.meddle()


@pytest.fixture
def second_format(lake: Lake) -> Table:
    table = lake.table("(id bigint)", properties="'write.wap.enabled'='true'")
    table.sql("INSERT INTO {t} VALUES (1)")
    return table


def test_metadata_that_moved_without_main_is_retried(second_format: Table) -> None:
    table = second_format
    main, staged = table.at.snapshot_id, stage(table, "run")
    notes = iter("xyz")
    files = MeddledFiles(
        lambda: table.sql(f"ALTER TABLE {{t}} SET TBLPROPERTIES ('note'='{next(notes)}')")
    )
    tables = JdbcTables(table.lake.addresses.iceberg_url, table.lake.catalog, files=files)
    tables.publish(table.name, expect_main=main, snapshot_id=staged)
    assert [Path(local_path(f) or "").exists() for f in files.written] == [False, False, True]
    assert ids(table) == [1, 2]
    assert table.metadata.properties["note"] == "y"
    assert table.metadata.branches == {}


def test_main_that_moved_at_the_last_moment_is_refused(second_format: Table) -> None:
    table = second_format
    main, staged = table.at.snapshot_id, stage(table, "run")
    files = MeddledFiles(lambda: table.sql("INSERT INTO {t} VALUES (7)"))
    tables = JdbcTables(table.lake.addresses.iceberg_url, table.lake.catalog, files=files)
    with pytest.raises(RefreshConflict):
        tables.publish(table.name, expect_main=main, snapshot_id=staged)
    assert len(files.written) == 1
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


def test_nothing_of_the_table_is_lost(table: Table) -> None:
    """Tags, properties and unknown keys stay; the logs go on; Spark reads what was before."""
    table.sql("ALTER TABLE {t} CREATE TAG kept", "ALTER TABLE {t} SET TBLPROPERTIES ('note'='x')")
    main, staged = table.at.snapshot_id, stage(table, "run")
    files, place = IcebergFiles(), table.lake.tables.location(table.name)
    before = msgspec.json.decode(files.read(place))
    publish(table, main, staged)
    place = table.lake.tables.location(table.name)
    after = msgspec.json.decode(files.read(place))
    moved = {"last-updated-ms", "current-snapshot-id", "refs", "snapshot-log", "metadata-log"}
    assert {k: v for k, v in after.items() if k not in moved} == {
        k: v for k, v in before.items() if k not in moved
    }
    assert after["refs"]["kept"] == before["refs"]["kept"]
    assert [e["snapshot-id"] for e in after["snapshot-log"]] == [main, staged]
    assert after["last-updated-ms"] >= before["last-updated-ms"]
    name = table.name.sql(table.lake.catalog)
    assert table.lake.collect(f"SELECT id FROM {name} VERSION AS OF 'kept'")[0][0] == 1
    table.call("rollback_to_snapshot", f"snapshot_id => {main}")
    assert ids(table) == [1]


def test_a_lost_answer_is_no_second_commit(table: Table) -> None:
    """The swap arrived, the answer did not: the table itself tells, at the next look."""
    main, staged = table.at.snapshot_id, stage(table, "run")
    tables = JdbcTables(table.lake.addresses.iceberg_url, table.lake.catalog)
    real, swaps = tables._database, []

    class Forgetful:
        def update(self, statement: str, parameters: Sequence[object]) -> int:
            swaps.append(real.update(statement, parameters))
            raise CatalogBusy("the connection was lost")

    tables._commits = MainCommits(tables, Forgetful(), IcebergFiles())
    tables.publish(table.name, expect_main=main, snapshot_id=staged)
    assert swaps == [1]
    assert ids(table) == [1, 2]
    assert table.metadata.branches == {}


def test_old_metadata_documents_are_removed(table: Table) -> None:
    for number in range(KEPT_DOCUMENTS):
        run = stage(table, f"run{number}", f"INSERT INTO {{t}} VALUES ({number + 2})")
        publish(table, table.at.snapshot_id, run)
    newest = Path(local_path(table.lake.tables.location(table.name)) or "")
    known = msgspec.json.decode(newest.read_bytes())["metadata-log"]
    kept = {Path(local_path(e["metadata-file"]) or "") for e in known} | {newest}
    assert len(known) == KEPT_DOCUMENTS
    assert set(newest.parent.glob("*.metadata.json")) == kept
    assert ids(table) == list(range(1, KEPT_DOCUMENTS + 2))


def test_compressed_metadata(lake: Lake) -> None:
    table = lake.table(
        "(id bigint)",
        properties="'write.metadata.compression-codec'='gzip', 'write.wap.enabled'='true'",
    )
    publish(table, None, stage(table, "run"))
    assert ids(table) == [2]
    table.sql("INSERT INTO {t} VALUES (3)")
    assert ids(table) == [2, 3]


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
