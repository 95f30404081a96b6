"""Stream tables in the catalog."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from catalog_samples import ORDERS, TOTALS, frontier, new, spec

from headwater.catalog.rows import Dependency, SourceType
from headwater.catalog.store import Store
from headwater.core.errors import (
    HasDependents,
    RefreshConflict,
    StreamTableExists,
    StreamTableNotFound,
)
from headwater.core.names import TableName
from headwater.core.spec import Action, Status, Tier

TOP = TableName.parse("top_customers")


def test_what_is_added_comes_back_equal(store: Store) -> None:
    added = store.tables.add(new())

    row = store.tables.get(TOTALS)

    assert row == added
    assert row.spec == spec()
    assert row.columns == (("customer", "string"), ("total", "decimal(20,2)"))
    assert row.layout == {"visible": ["customer", "total"], "hidden": ["__hw_count"], "bag": False}
    assert row.definition == {"sources": {"default.orders": {"uuid": "u1", "fields": [1, 2]}}}
    assert (row.generation, row.status, row.is_populated) == (1, Status.INITIALIZING, False)
    assert (row.freshness_deadline_ms, row.frontier, row.version) == (30_000, None, None)
    assert row.created_at.tzinfo is UTC
    assert abs(row.created_at - datetime.now(UTC)) < timedelta(minutes=1)


def test_a_name_is_taken_once_per_hub(store: Store, store_url: str) -> None:
    store.tables.add(new())

    with pytest.raises(StreamTableExists, match=r"default\.totals"):
        store.tables.add(new())

    with Store(store_url, hub=store.hub + "_other") as other:
        assert other.tables.add(new()).name == TOTALS
        assert [str(row.name) for row in other.tables.all()] == ["default.totals"]
        assert {store.hub, other.hub} <= set(store.hubs())


def test_a_refused_name_leaves_nothing_behind(store: Store) -> None:
    store.tables.add(new())
    before = store.generation()
    with pytest.raises(StreamTableExists):
        store.tables.add(new(TOTALS, TableName.parse("other")))
    assert store.generation() == before
    assert [d.source for _, d in store.tables.dependencies(TOTALS)] == [ORDERS]


def test_a_missing_table_hints_at_the_nearest_name(store: Store) -> None:
    store.tables.add(new())
    with pytest.raises(StreamTableNotFound, match=r"did you mean default\.totals"):
        store.tables.get(TableName.parse("totls"))
    with pytest.raises(StreamTableNotFound, match="list the stream tables"):
        store.tables.get(TableName.parse("zzzzzz"))
    assert store.tables.find(TableName.parse("totls")) is None


def test_update_changes_only_what_is_passed(store: Store) -> None:
    before = store.tables.add(new())

    row = store.tables.update(TOTALS, schedule="1m", tier=None, tags=("a",))

    assert (row.spec.schedule, row.spec.tier, row.tier, row.spec.tags) == (
        "1m", None, Tier.HOT, ("a",),
    )  # fmt: skip
    assert (row.spec.query, row.columns, row.spec.comment) == (
        before.spec.query, before.columns, before.spec.comment,
    )  # fmt: skip
    assert row.generation == before.generation, "a schedule is no definition"


def test_run_state_round_trips(store: Store) -> None:
    store.tables.add(new())
    at = datetime(2026, 2, 3, 4, 5, 6, 789_012, tzinfo=UTC)

    row = store.tables.update(
        TOTALS,
        frontier=frontier(),
        frontier_head=2**62,
        version=2**62,
        data_timestamp=at,
        last_action=Action.INCREMENTAL,
        needs_reinit=True,
        reinit_reason="column dropped",
    )

    assert row.frontier == frontier()
    assert (row.frontier_head, row.version, row.data_timestamp) == (2**62, 2**62, at)
    assert (row.last_action, row.needs_reinit) == (Action.INCREMENTAL, True)


def test_the_hub_counter_moves_with_ddl_and_not_with_run_state(store: Store) -> None:
    seen = [store.generation()]
    for act in (
        lambda: store.tables.add(new()),
        lambda: store.tables.update(TOTALS, schedule="1m"),
        lambda: store.tables.update(TOTALS, query="SELECT 1", definition_hash="x"),
        lambda: store.tables.update(TOTALS, status=Status.SUSPENDED),
        lambda: store.tables.update(TOTALS, dependencies=()),
        lambda: store.tables.remove(TOTALS),
    ):
        act()
        seen.append(store.generation())
    assert seen == sorted(set(seen)), "every DDL moves the counter"

    store.tables.add(new())
    before = store.generation()
    store.tables.update(TOTALS, consecutive_errors=2, frontier=frontier())
    assert store.generation() == before


def test_a_new_definition_gets_a_generation_and_loses_its_templates(store: Store) -> None:
    row = store.tables.add(new())
    assert store.templates.put(row.id, row.generation, "append", b"plan")

    changed = store.tables.update(
        TOTALS, expect_generation=row.generation, query="SELECT 2", definition_hash="def"
    )

    assert changed.generation == row.generation + 1
    assert store.templates.count() == 0
    with pytest.raises(RefreshConflict, match="changed by somebody else"):
        store.tables.update(TOTALS, expect_generation=row.generation, query="SELECT 3")
    assert store.tables.get(TOTALS).spec.query == "SELECT 2"


def test_remove_refuses_while_somebody_reads_it(store: Store) -> None:
    store.tables.add(new())
    store.tables.add(new(TOP, TOTALS, of=SourceType.STREAM_TABLE))

    with pytest.raises(HasDependents, match=r"read by default\.top_customers"):
        store.tables.remove(TOTALS)
    store.tables.remove(TOP)
    store.tables.remove(TOTALS)

    assert store.tables.all() == ()
    assert store.tables.dependencies() == ()


def test_what_reads_each_other_is_removed_together(store: Store) -> None:
    store.tables.add(new())
    store.tables.add(new(TOP, TOTALS, of=SourceType.STREAM_TABLE))
    store.tables.update(TOTALS, dependencies=[Dependency(TOP, SourceType.STREAM_TABLE, ("a",))])
    with pytest.raises(HasDependents, match=r"read by default\.top_customers"):
        store.tables.remove(TOTALS, among=[TOTALS])

    store.tables.remove(TOTALS, among=[TOTALS, TOP])
    store.tables.remove(TOP, among=[TOTALS, TOP])
    assert store.tables.all() == ()
    assert store.tables.dependencies() == ()


def test_dependencies_of_one_and_of_all(store: Store) -> None:
    store.tables.add(new())
    store.tables.add(new(TOP, TOTALS, ORDERS))
    store.tables.update(TOP, dependencies=[Dependency(TOTALS, SourceType.STREAM_TABLE, ("total",))])

    assert [(str(n), str(d.source)) for n, d in store.tables.dependencies()] == [
        ("default.top_customers", "default.totals"),
        ("default.totals", "default.orders"),
    ]
    shown = store.dependency_rows(TOP)
    assert [(r.source, r.source_type, r.columns_used) for r in shown] == [
        ("default.totals", "STREAM_TABLE", ("total",))
    ]
    with pytest.raises(StreamTableNotFound):
        store.tables.dependencies(TableName.parse("nowhere"))


def test_status_rows_speak_the_public_words(store: Store) -> None:
    store.tables.add(new())
    store.tables.update(TOTALS, frontier=frontier(7), status=Status.ACTIVE)
    (row,) = store.status_rows()
    assert (row.name, row.status, row.tier, row.refresh_mode) == (
        "default.totals", "ACTIVE", "warm", "INCREMENTAL",
    )  # fmt: skip
    assert row.frontier == {"default.orders": 7}


def test_an_id_is_never_used_again(store: Store) -> None:
    first = store.tables.add(new()).id
    store.tables.remove(TOTALS)
    assert store.tables.add(new()).id > first


@pytest.mark.parametrize("text", ["'; DROP TABLE hw_stream_tables; --", "\\", '"', "%s :x", "\n\t"])
def test_texts_are_values_never_sql(store: Store, text: str) -> None:
    store.tables.add(new(comment=text, query=text, tags=(text,)))
    row = store.tables.get(TOTALS)
    assert (row.spec.comment, row.spec.query, row.spec.tags) == (text, text, (text,))
