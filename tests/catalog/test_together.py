"""Several writes of one thread as one transaction."""

from __future__ import annotations

import threading

import pytest
from catalog_samples import new

from headwater.catalog.store import Store
from headwater.core.errors import StreamTableExists
from headwater.core.names import TableName

A, B, C = (TableName.parse(name) for name in "abc")


def names(store: Store) -> set[TableName]:
    return {row.name for row in store.tables.all()}


def seen_elsewhere(store: Store) -> set[TableName]:
    found: list[set[TableName]] = []
    thread = threading.Thread(target=lambda: found.append(names(store)))
    thread.start()
    thread.join()
    return found[0]


def test_others_see_all_of_it_or_nothing(store: Store) -> None:
    with store.database.together():
        store.tables.add(new(A))
        store.tables.add(new(B))
        assert names(store) == {A, B}, "what is written can be read here"
        assert seen_elsewhere(store) == set()
    assert seen_elsewhere(store) == {A, B}


def test_an_error_takes_back_all(store: Store) -> None:
    store.tables.add(new(A))
    with pytest.raises(RuntimeError), store.database.together():
        store.tables.add(new(B))
        raise RuntimeError
    assert names(store) == {A}
    store.tables.add(new(B))
    assert seen_elsewhere(store) == {A, B}, "the writes after it are their own again"


def test_a_write_that_fails_takes_back_only_itself(store: Store) -> None:
    store.tables.add(new(A))
    before = store.generation()
    with store.database.together():
        store.tables.add(new(B))
        with pytest.raises(StreamTableExists):
            store.tables.add(new(A))
        store.tables.add(new(C))
    assert names(store) == {A, B, C}
    assert store.generation() == before + 2


def test_a_first_write_that_fails_leaves_the_others(store: Store) -> None:
    store.tables.add(new(A))
    before = store.generation()
    with store.database.together():
        with pytest.raises(StreamTableExists):
            store.tables.add(new(A))
        assert names(store) == {A}
        store.tables.add(new(B))
        store.tables.add(new(C))
        assert seen_elsewhere(store) == {A}
    assert seen_elsewhere(store) == {A, B, C}
    assert store.generation() == before + 2


def test_nothing_is_locked_before_the_first_write(store: Store) -> None:
    with store.database.together():
        assert names(store) == set()
        other = threading.Thread(target=lambda: store.tables.add(new(A)))
        other.start()
        other.join(10)
        assert names(store) == {A}
