"""Stored settings, templates, publish intents and what versions say."""

from __future__ import annotations

from datetime import timedelta

from catalog_samples import TOTALS, child, execute, new

from headwater.catalog.store import Store
from headwater.version import __version__


def test_settings_are_stored_per_hub_and_typed(store: Store, store_url: str) -> None:
    before = store.generation()
    values = {"max_parallel_workers": 2, "prediction_ratio": 1.25, "enabled": False, "x": "täxt"}
    for name, value in values.items():
        store.settings.put(name, value)
    store.settings.put("max_parallel_workers", 3)

    assert store.settings.all() == {**values, "max_parallel_workers": 3}
    assert store.generation() > before, "other processes must notice"
    with Store(store_url, hub=store.hub + "_other") as other:
        assert other.settings.all() == {}
    assert store.settings.remove("x") is True
    assert store.settings.remove("x") is False


def test_templates_belong_to_a_generation(store: Store) -> None:
    row = store.tables.add(new())
    payload = bytes(range(256)) * 100
    assert store.templates.put(row.id, 1, "orders=append", payload)
    assert store.templates.put(row.id, 1, "orders=append", payload), "written again by another"
    assert store.templates.get(row.id, 1, "orders=append") == payload
    assert store.templates.get(row.id, 1, "orders=mixed") is None

    changed = store.tables.update(TOTALS, query="SELECT 2", definition_hash="other")

    assert store.templates.put(row.id, 1, "orders=append", payload) is False, "late compiler"
    assert store.templates.put(row.id, changed.generation, "orders=append", b"new")
    assert store.templates.count() == 1
    assert store.templates.clear() == 1
    store.templates.put(row.id, changed.generation, "orders=append", b"new")
    store.tables.remove(TOTALS)
    assert store.templates.count() == 0


def test_intents_stay_until_they_are_carried_out(store: Store) -> None:
    members = [{"name": "default.a", "snapshot": str(2**62)}, {"name": "default.b"}]
    first = store.intents.add("diamond", members)
    second = store.intents.add("other", [])
    assert [(i.id, i.members) for i in store.intents.pending()] == [
        (first, tuple(members)), (second, ()),
    ]  # fmt: skip
    assert store.intents.complete(first) is True
    assert store.intents.complete(first) is False
    assert [i.id for i in store.intents.pending()] == [second]


def test_package_and_catalog_agree(store: Store) -> None:
    versions = store.versions()
    assert versions.agree
    assert versions.package == versions.catalog == __version__


def test_a_newer_package_leaves_its_stamp(store: Store, store_url: str) -> None:
    store.generation()
    execute(store.database, "UPDATE hw_meta SET package_version = '99.0.1'")
    with Store(store_url, hub=store.hub) as again:
        assert again.versions().catalog == "99.0.1"
        assert not again.versions().agree

    execute(store.database, "UPDATE hw_meta SET package_version = '0.0.9rc1'")
    with Store(store_url, hub=store.hub) as again:
        assert again.versions().agree, "an older stamp is replaced at opening"


def test_batches_are_open_until_closed(store: Store, store_url: str) -> None:
    assert store.batches.open_ids() == frozenset()
    first, second = store.batches.begin(), store.batches.begin()
    assert store.batches.open_ids() == {first, second}
    with Store(store_url, hub=store.hub + "_other") as other:
        assert other.batches.open_ids() == frozenset()
    assert store.batches.close(first) is True
    assert store.batches.close(first) is False
    assert store.batches.open_ids() == {second}


def test_a_batch_of_a_killed_process_is_not_waited_for(store: Store, store_url: str) -> None:
    code = """
import sys
from headwater.catalog.store import Store
print(Store(sys.argv[1], hub=sys.argv[2]).batches.begin(), flush=True)
sys.stdin.readline()
"""
    store.generation()
    writer = child(code, store_url, store.hub)
    assert writer.stdout is not None
    batch = writer.stdout.readline().strip()
    assert store.batches.open_ids() == {batch}
    writer.kill()
    writer.communicate()
    assert store.batches.open_ids() == frozenset()


def test_a_batch_of_another_host_gets_time(store: Store) -> None:
    batch = store.batches.begin()
    execute(store.database, "UPDATE hw_batches SET host = 'elsewhere'")
    assert store.batches.open_ids() == {batch}
    assert store.batches.open_ids(unseen_after=timedelta(0)) == frozenset()
