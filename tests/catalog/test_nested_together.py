"""Joint transactions inside each other, and beside a change by somebody else."""

from __future__ import annotations

import pytest
from catalog_samples import new
from test_together import A, B, C, names, seen_elsewhere

from headwater.catalog.store import Store


def test_joint_writes_inside_joint_writes_are_one_transaction(store: Store) -> None:
    with store.database.together():
        store.tables.add(new(A))
        with store.database.together():
            store.tables.add(new(B))
        store.tables.add(new(C))
        assert seen_elsewhere(store) == set()
    assert seen_elsewhere(store) == {A, B, C}


def test_an_error_outside_takes_back_what_was_written_inside(store: Store) -> None:
    with pytest.raises(RuntimeError), store.database.together():
        with store.database.together():
            store.tables.add(new(A))
        raise RuntimeError
    assert names(store) == set()
