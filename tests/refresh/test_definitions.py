"""Definitions over time: schema changes of sources, altered queries, views, modes and promises."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import pytest

from headwater.core.errors import (
    AppendOnlyViolated,
    FullRefreshRefused,
    HeadwaterWarning,
    InvalidOption,
    InvalidQuery,
    NotIncremental,
    QueryFailed,
    RefreshAwaited,
    SourceSchemaChanged,
    StreamTableSuspended,
    UniqueKeyViolated,
)
from headwater.refresh.compare import Difference, compare
from shared_spark import check, rows

if TYPE_CHECKING:
    import headwater

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore:SOURCE_WITHOUT_KEY")]


@pytest.fixture
def lake(hub: headwater.Hub) -> headwater.Hub:
    hub.sql("CREATE TABLE src (id BIGINT, g INT, x INT, note STRING) USING iceberg")
    hub.sql("INSERT INTO src VALUES (1, 1, 10, 'a'), (2, 1, 20, 'b'), (3, 2, 5, NULL)")
    return hub


def told(record: list[warnings.WarningMessage]) -> list[str]:
    return [w.message.code for w in record if isinstance(w.message, HeadwaterWarning)]


def test_unused_columns_may_come_and_go(lake: headwater.Hub) -> None:
    lake.create_stream_table("t", "SELECT g, SUM(x) AS s FROM src GROUP BY g")
    lake.create_stream_table("star", "SELECT * FROM src")
    lake.sql("ALTER TABLE src ADD COLUMN extra INT")
    assert lake.refresh_stream_table("t").action == "NO_DATA"
    lake.sql("INSERT INTO src VALUES (4, 2, 7, 'c', 1)")
    for name in ("t", "star"):
        assert lake.refresh_stream_table(name).action == "INCREMENTAL"
        check(lake, name)
    assert lake.table("star").columns == ["id", "g", "x", "note"]
    lake.sql("ALTER TABLE src DROP COLUMN extra")
    lake.sql("DELETE FROM src WHERE id = 1")
    for name in ("t", "star"):
        assert lake.refresh_stream_table(name).action == "INCREMENTAL"
        check(lake, name)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ("ALTER TABLE src DROP COLUMN x", "SOURCE_COLUMN_DROPPED"),
        ("ALTER TABLE src RENAME COLUMN x TO y", "SOURCE_COLUMN_RENAMED"),
        ("ALTER TABLE src ALTER COLUMN x TYPE BIGINT", "SOURCE_COLUMN_RETYPED"),
    ],
)
def test_used_column_changed(lake: headwater.Hub, change: str, code: str) -> None:
    lake.create_stream_table("t", "SELECT g, SUM(x) AS s FROM src GROUP BY g")
    before = rows(lake, "t")
    lake.sql(change)
    with pytest.raises(SourceSchemaChanged, match=code):
        lake.refresh_stream_table("t")
    assert lake.status("t")[0].needs_reinit
    assert rows(lake, "t") == before
    if code == "SOURCE_COLUMN_RETYPED":
        result = lake.refresh_stream_table("t")
        assert (result.action, result.reason_code) == ("REINITIALIZE", "NEEDS_REINIT")
        check(lake, "t")
        lake.sql("INSERT INTO src VALUES (9, 9, 5000000000, 'z')")
        assert lake.refresh_stream_table("t").action == "INCREMENTAL"
        check(lake, "t")
        assert not lake.status("t")[0].needs_reinit


def test_dropped_and_added_again_is_another_column(lake: headwater.Hub) -> None:
    lake.create_stream_table("t", "SELECT id, x FROM src")
    lake.sql("ALTER TABLE src DROP COLUMN x")
    lake.sql("ALTER TABLE src ADD COLUMN x INT")
    with pytest.raises(SourceSchemaChanged, match="another column has its name"):
        lake.refresh_stream_table("t")
    assert lake.refresh_stream_table("t").action == "REINITIALIZE"
    check(lake, "t")
    assert {r[1] for r in rows(lake, "t")} == {None}


def test_altered_query_is_classified(lake: headwater.Hub) -> None:
    lake.create_stream_table("t", "SELECT g, SUM(x) AS s FROM src GROUP BY g")
    version = lake.status("t")[0].version
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        lake.alter_stream_table("t", query="select   g, sum(x) AS s from src group by g")
    assert told(record) == []
    assert lake.refresh_stream_table("t").action == "NO_DATA"
    assert lake.status("t")[0].version == version
    for query, kind, more in (
        ("SELECT g, SUM(x) AS s, COUNT(*) AS n FROM src GROUP BY g", "compatible", []),
        ("SELECT g, CAST(MAX(x) AS STRING) AS s FROM src GROUP BY g", "rebuild", []),
        ("SELECT id, note FROM src WHERE x > 5", "rebuild", ["SOURCE_WITHOUT_KEY"]),
    ):
        with warnings.catch_warnings(record=True) as record:
            warnings.simplefilter("always")
            lake.alter_stream_table("t", query=query)
        assert told(record) == ["FULL_REFRESH_BY_ALTER", *more]
        assert kind in str(record[0].message)
        result = lake.refresh_stream_table("t")
        assert (result.action, result.reason_code) == ("REINITIALIZE", "NEEDS_REINIT")
        check(lake, "t")
        lake.sql("INSERT INTO src VALUES (7, 2, 30, 'n')")
        assert lake.refresh_stream_table("t").action == "INCREMENTAL"
        check(lake, "t")


def test_a_new_query_that_fails_leaves_content_and_columns(lake: headwater.Hub) -> None:
    lake.create_stream_table("t", "SELECT g, SUM(x) AS s FROM src GROUP BY g")
    with warnings.catch_warnings(record=True):
        lake.alter_stream_table("t", query="SELECT id, CAST(100 / (x - 5) AS STRING) AS s FROM src")
    columns = lake.sql("DESCRIBE hw.default.t").collect()
    for _ in range(2):
        with pytest.raises(QueryFailed, match="DIVIDE_BY_ZERO"):
            lake.refresh_stream_table("t")
        assert lake.sql("DESCRIBE hw.default.t").collect() == columns
        assert lake.table("t").columns == ["g", "s"]
        assert rows(lake, "t") == [(1, 30), (2, 5)]
        assert lake.status("t")[0].needs_reinit
    lake.sql("DELETE FROM src WHERE x = 5")
    assert lake.refresh_stream_table("t").action == "REINITIALIZE"
    check(lake, "t")
    assert lake.table("t").columns == ["id", "s"]


def test_a_replacement_that_cannot_be_loaded_leaves_all_as_it_was(lake: headwater.Hub) -> None:
    lake.create_stream_table("t", "SELECT g, SUM(x) AS s FROM src GROUP BY g", schedule="1h")
    before, sources = lake.status("t"), lake.dependencies("t")
    lake.sql("CREATE TABLE other (y INT) USING iceberg")
    lake.sql("INSERT INTO other VALUES (0)")
    with warnings.catch_warnings(record=True):
        with pytest.raises(QueryFailed, match="DIVIDE_BY_ZERO"):
            lake.create_stream_table("t", "SELECT 1 / y AS z FROM other", or_replace=True)
        assert (lake.status("t"), lake.dependencies("t")) == (before, sources)
        with pytest.raises(InvalidOption, match="cannot be changed"):
            lake.create_stream_table(
                "t", "SELECT y FROM other", or_replace=True, partition_by=["y"]
            )
        assert (lake.status("t"), lake.dependencies("t")) == (before, sources)
        assert lake.refresh_stream_table("t").action == "NO_DATA"
        check(lake, "t")
        lake.alter_stream_table("t", status="SUSPENDED")
        lake.create_stream_table("t", "SELECT y FROM other", or_replace=True)
    assert lake.status("t")[0].status == "ACTIVE"
    assert rows(lake, "t") == [(0,)]


def test_what_a_query_leaves_open_is_warned_of_once(lake: headwater.Hub) -> None:
    query = "SELECT g, x FROM src ORDER BY x LIMIT 2"
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        lake.create_stream_table("t", query)
        lake.refresh_stream_table("t")
    assert told(record).count("TIES") == 1
    assert "equal in ORDER BY" in str(lake.explain("t"))


def test_validate_asks_a_running_spark(lake: headwater.Hub) -> None:
    query = "SELECT id, map_filter(map('a', x), (k, v) -> v > 1) AS m FROM src"
    assert [n.reason_code for n in lake.validate(query).reasons] == ["UNSUPPORTED_TYPE"]
    with pytest.raises(QueryFailed) as refused:
        lake.validate("SELECT nosuch(x) AS y FROM src")
    assert refused.value.place is not None


def test_keyless_source_warns_once_where_it_matters(lake: headwater.Hub) -> None:
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        lake.create_stream_table("agg", "SELECT g, COUNT(*) AS n FROM src GROUP BY g")
    assert told(record) == []
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        lake.create_stream_table("bag", "SELECT a.id FROM src a JOIN src b ON a.id = b.id")
    assert told(record) == ["SOURCE_WITHOUT_KEY"]
    lake.sql("CREATE TABLE keyed (id BIGINT NOT NULL, x INT) USING iceberg")
    lake.sql("ALTER TABLE keyed SET IDENTIFIER FIELDS id")
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        lake.create_stream_table("bag2", "SELECT id, x FROM keyed")
    assert told(record) == []


def test_views_are_expanded_and_their_changes_noticed(lake: headwater.Hub) -> None:
    lake.sql("CREATE VIEW big AS SELECT id, g, x FROM src WHERE x >= 10")
    lake.create_stream_table("t", "SELECT g, COUNT(*) AS n FROM big GROUP BY g")
    check(lake, "t")
    lake.sql("INSERT INTO src VALUES (5, 2, 50, 'e')")
    assert lake.refresh_stream_table("t").action == "INCREMENTAL"
    check(lake, "t")
    lake.sql("CREATE OR REPLACE VIEW big AS SELECT id, g, x FROM src WHERE x >= 20")
    result = lake.refresh_stream_table("t")
    assert result.action == "REINITIALIZE"
    assert "view default.big was changed" in result.reason
    check(lake, "t")
    assert rows(lake, "t") == [(1, 1), (2, 1)]


def test_modes(lake: headwater.Hub) -> None:
    query = "SELECT id, ROW_NUMBER() OVER (ORDER BY x, id) AS r FROM src"
    with pytest.raises(NotIncremental, match="NO_PARTITION"):
        lake.create_stream_table("t", query, refresh_mode="INCREMENTAL")
    lake.create_stream_table("t", query)
    lake.sql("INSERT INTO src VALUES (4, 2, 1, 'd')")
    result = lake.refresh_stream_table("t")
    assert (result.action, result.reason_code) == ("FULL", "NO_PARTITION")
    check(lake, "t")
    with pytest.raises(NotIncremental):
        lake.alter_stream_table("t", refresh_mode="DIFFERENTIAL")
    with pytest.raises(FullRefreshRefused, match="NO_PARTITION"):
        lake.sql("INSERT INTO src VALUES (6, 2, 1, 'd')")
        lake.refresh_stream_table("t", strict=True)
    lake.create_stream_table("f", "SELECT g FROM src", refresh_mode="FULL")
    lake.sql("INSERT INTO src VALUES (8, 3, 1, 'd')")
    result = lake.refresh_stream_table("f")
    assert (result.action, result.reason_code, result.apply) == ("FULL", "MODE_FULL", "overwrite")
    check(lake, "f")


def test_strict_refuses_what_nobody_asked_for_and_tells_it(lake: headwater.Hub) -> None:
    lake.sql("CREATE VIEW big AS SELECT id, g, x FROM src WHERE x >= 10")
    query = "SELECT g, SUM(x) AS s FROM big GROUP BY g"
    lake.create_stream_table("t", query, refresh_mode="INCREMENTAL STRICT")
    lake.sql("CREATE OR REPLACE VIEW big AS SELECT id, g, x FROM src WHERE x >= 20")
    with pytest.raises(FullRefreshRefused, match=r"view default\.big was changed"):
        lake.refresh_stream_table("t")
    told, run = lake.status("t")[0], lake.history("t", limit=1)[0]
    assert (told.consecutive_errors, run.status, run.error_code) == (1, "FAILED", "HW3001")
    assert "view default.big was changed" in (told.last_error or "")
    assert rows(lake, "t") == [(1, 30)]
    assert lake.refresh_stream_table("t", full=True).action == "REINITIALIZE"
    check(lake, "t")
    assert lake.status("t")[0].consecutive_errors == 0
    lake.alter_stream_table("t", query=query.replace("big", "src"))
    assert lake.refresh_stream_table("t").action == "REINITIALIZE"
    lake.sql("ALTER TABLE src ALTER COLUMN x TYPE BIGINT")
    with pytest.raises(SourceSchemaChanged, match="SOURCE_COLUMN_RETYPED"):
        lake.refresh_stream_table("t")
    assert lake.status("t")[0].needs_reinit
    for _ in range(2):
        with pytest.raises(FullRefreshRefused, match="SOURCE_COLUMN_RETYPED"):
            lake.refresh_stream_table("t")
    assert lake.status("t")[0].status == "SUSPENDED"
    assert lake.repair_stream_table("t").action == "REINITIALIZE"
    check(lake, "t")


def test_promises(lake: headwater.Hub) -> None:
    lake.create_stream_table("k", "SELECT id, x FROM src", unique_key="id")
    lake.sql("UPDATE src SET x = x + 1 WHERE id = 1")
    result = lake.refresh_stream_table("k")
    assert (result.rows_inserted, result.rows_deleted) == (1, 1)
    check(lake, "k")
    lake.sql("INSERT INTO src VALUES (1, 7, 7, 'again')")
    with pytest.raises(UniqueKeyViolated):
        lake.refresh_stream_table("k")
    assert len(rows(lake, "k")) == 3
    lake.sql("DELETE FROM src WHERE g = 7")
    lake.create_stream_table("i", "SELECT id FROM src", unique_key="id")
    lake.create_stream_table(
        "h", "SELECT g % 2 AS h, SUM(x) AS s FROM src GROUP BY g", unique_key="h"
    )
    lake.sql("INSERT INTO src VALUES (1, 7, 7, 'again')")
    for name in ("i", "h"):
        with pytest.raises(UniqueKeyViolated):
            lake.refresh_stream_table(name)
    lake.sql("DELETE FROM src WHERE g = 1")
    for name in ("i", "h"):
        lake.refresh_stream_table(name)
        check(lake, name)
    assert rows(lake, "i") == [(1,), (3,)]
    assert rows(lake, "h") == [(0, 5), (1, 7)]
    lake.create_stream_table(
        "a", "SELECT id FROM src", append_only=True, refresh_mode="INCREMENTAL"
    )
    lake.sql("INSERT INTO src VALUES (11, 7, 7, 'more')")
    assert lake.refresh_stream_table("a").apply == "append"
    lake.sql("DELETE FROM src WHERE id = 11")
    with pytest.raises(AppendOnlyViolated):
        lake.refresh_stream_table("a")
    lake.alter_stream_table("a", refresh_mode="AUTO")
    result = lake.refresh_stream_table("a")
    assert (result.action, result.reason_code) == ("INCREMENTAL", "APPEND_ONLY_BROKEN")
    assert "default.src had deletes or updates" in result.reason
    check(lake, "a")


def test_failures_in_a_row_suspend_and_resume_goes_on(lake: headwater.Hub) -> None:
    lake.create_stream_table("t", "SELECT id, 100 / x AS y FROM src")
    lake.sql("INSERT INTO src VALUES (9, 1, 0, 'zero')")
    for _ in range(3):
        with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
            lake.refresh_stream_table("t")
    assert lake.status("t")[0].status == "SUSPENDED"
    with pytest.raises(StreamTableSuspended):
        lake.refresh_stream_table("t")
    lake.sql("DELETE FROM src WHERE x = 0")
    lake.resume_stream_table("t")
    lake.refresh_stream_table("t", full=True)
    check(lake, "t")
    assert lake.status("t")[0].status == "ACTIVE"
    assert lake.status("t")[0].consecutive_errors == 0


def test_sources_that_lose_their_history(lake: headwater.Hub) -> None:
    lake.create_stream_table("t", "SELECT g, SUM(x) AS s FROM src GROUP BY g")
    first = lake.sql("SELECT snapshot_id FROM hw.default.src.snapshots").collect()[0][0]
    lake.sql("INSERT INTO src VALUES (4, 4, 4, 'd')")
    lake.refresh_stream_table("t")
    lake.sql(f"CALL hw.system.rollback_to_snapshot('default.src', {first})")
    result = lake.refresh_stream_table("t")
    assert result.action == "INCREMENTAL"
    check(lake, "t")
    lake.sql("INSERT INTO src VALUES (5, 5, 5, 'e')")
    lake.sql("INSERT INTO src VALUES (6, 6, 6, 'f')")
    lake.sql(
        "CALL hw.system.expire_snapshots(table => 'default.src', "
        "older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1)"
    )
    result = lake.refresh_stream_table("t")
    assert (result.action, result.reason_code) == ("FULL", "SNAPSHOT_EXPIRED")
    check(lake, "t")
    lake.sql("DROP TABLE src PURGE")
    with pytest.raises(Exception, match="missing"):
        lake.refresh_stream_table("t")
    lake.sql("CREATE TABLE src (id BIGINT, g INT, x INT, note STRING) USING iceberg")
    lake.sql("INSERT INTO src VALUES (1, 1, 1, 'new')")
    result = lake.refresh_stream_table("t")
    assert (result.action, result.reason_code) == ("FULL", "SOURCE_RECREATED")
    check(lake, "t")


@pytest.mark.parametrize("version", [2, 3])
def test_merge_on_read_sources(hub: headwater.Hub, version: int) -> None:
    hub.sql(
        "CREATE TABLE src (id BIGINT, x INT) USING iceberg TBLPROPERTIES "
        f"('format-version'='{version}', 'write.delete.mode'='merge-on-read', "
        "'write.update.mode'='merge-on-read', 'write.merge.mode'='merge-on-read')"
    )
    hub.sql("INSERT INTO src SELECT id, id % 3 FROM range(100)")
    hub.create_stream_table("t", "SELECT x, COUNT(*) AS n FROM src GROUP BY x")
    for statement in (
        "DELETE FROM src WHERE id = 5",
        "UPDATE src SET x = 7 WHERE id = 6",
        "INSERT INTO src VALUES (200, 1)",
    ):
        hub.sql(statement)
        assert hub.refresh_stream_table("t").action == "INCREMENTAL"
        check(hub, "t")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, map('a', id) AS m FROM src",
        "SELECT id, named_struct('m', map('a', id)) AS m FROM src",
        "SELECT g, map_from_entries(collect_list(struct(id, x))) AS m FROM src GROUP BY g",
    ],
)
def test_a_column_without_equality_is_computed_anew_with_the_reason(
    lake: headwater.Hub, query: str
) -> None:
    with pytest.raises(NotIncremental, match="UNSUPPORTED_TYPE: rows with m"):
        lake.create_stream_table("strict", query, refresh_mode="INCREMENTAL")
    lake.create_stream_table("t", query)
    lake.sql("INSERT INTO src VALUES (4, 2, 7, 'c')")
    result = lake.refresh_stream_table("t")
    assert (result.action, result.reason_code) == ("FULL", "UNSUPPORTED_TYPE")
    check(lake, "t")
    assert [(s.name, s.incremental) for s in lake.status()] == [("default.t", False)]
    with pytest.raises(NotIncremental, match="UNSUPPORTED_TYPE"):
        lake.alter_stream_table("t", refresh_mode="INCREMENTAL")


def test_types_that_tables_lack_are_refused_but_not_names_like_them(lake: headwater.Hub) -> None:
    for query in ("SELECT parse_json(note) AS v FROM src", "SELECT array(NULL) AS v FROM src"):
        with pytest.raises(InvalidQuery, match=r"'v' has type .*, which a table cannot store"):
            lake.create_stream_table("t", query)
    assert lake.status() == ()
    lake.create_stream_table("t", "SELECT named_struct('void', id, 'map', g) AS interval FROM src")
    lake.sql("DELETE FROM src WHERE id = 1")
    assert lake.refresh_stream_table("t").action == "INCREMENTAL"
    check(lake, "t")


def test_what_follows_a_query_is_not_part_of_it(lake: headwater.Hub) -> None:
    lake.create_stream_table("t", "-- all\nSELECT id, ';' AS c FROM src ; -- done")
    lake.alter_stream_table("t", query="-- all\nSELECT id, ';' AS c FROM src -- done")
    lake.sql("DELETE FROM src WHERE id = 1")
    assert lake.refresh_stream_table("t").action == "INCREMENTAL"
    check(lake, "t")


def test_an_altered_query_is_verified_after_its_refresh(lake: headwater.Hub) -> None:
    lake.create_stream_table("t", "SELECT g, SUM(x) AS s FROM src GROUP BY g")
    with pytest.warns(HeadwaterWarning, match="FULL_REFRESH_BY_ALTER"):
        lake.alter_stream_table("t", query="SELECT g, SUM(x) + 1 AS s FROM src GROUP BY g")
    with pytest.raises(RefreshAwaited, match="the query was changed"):
        lake.verify("t")
    lake.refresh_stream_table("t")
    check(lake, "t")


def test_more_differences_than_can_be_paired_are_never_equal(
    lake: headwater.Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headwater.refresh.compare.PAIRING_LIMIT", 4)
    engine = lake._runtime.engine
    exact = "SELECT id, CAST(1 AS DOUBLE) AS d FROM range({n})"
    rounded = "SELECT id, 1 + 1e-15D AS d FROM range({n})"
    columns = (("id", "bigint"), ("d", "double"))

    def differ(n: int) -> Difference:
        return compare(engine, engine.worker, columns, exact.format(n=n), rounded.format(n=n))

    assert differ(2).equal
    found = differ(3)
    assert (found.equal, found.missing, found.unexpected) == (False, 3, 3)
    assert "more than 4 rows differ" in found.sample[0]


def test_expressions_without_an_alias_can_be_verified(lake: headwater.Hub) -> None:
    lake.create_stream_table("t", "SELECT id, round(x / (g + 1), 2), x + g * 2 FROM src")
    lake.sql("UPDATE src SET x = x + 1 WHERE g = 1")
    assert lake.refresh_stream_table("t").action == "INCREMENTAL"
    check(lake, "t")
