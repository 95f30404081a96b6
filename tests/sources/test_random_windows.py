"""Random histories of a table: every window between two of its versions is exact."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from sources_lake import Lake, Table

from headwater.core.errors import VersionExpired
from headwater.core.frontier import SourceVersion
from headwater.sources.source import How, Kind

pytestmark = pytest.mark.spark

PROPERTIES = {
    "copy-on-write": "'format-version'='2'",
    "merge-on-read": "'format-version'='2', 'write.delete.mode'='merge-on-read',"
    " 'write.update.mode'='merge-on-read', 'write.merge.mode'='merge-on-read'",
    "deletion-vectors": "'format-version'='3', 'write.delete.mode'='merge-on-read',"
    " 'write.update.mode'='merge-on-read', 'write.merge.mode'='merge-on-read'",
}
SEEDS = [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 9))]
STEPS = 14


STATEMENTS = [
    "INSERT INTO {{t}} (id, k) SELECT id + {key}, {step} FROM range(3)",
    "INSERT INTO {{t}} (id, k) SELECT id + {key}, {step} FROM range(3)",
    "INSERT INTO {{t}} (id, k) SELECT id + {key}, {step} FROM range(3)",
    "UPDATE {{t}} SET k = {step} WHERE id = {key}",
    "DELETE FROM {{t}} WHERE id = {key}",
    "MERGE INTO {{t}} t USING (SELECT DISTINCT id + {key} AS id FROM range(3)) s ON t.id = s.id"
    " WHEN MATCHED AND t.id % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET k = {step}"
    " WHEN NOT MATCHED THEN INSERT (id, k) VALUES (s.id, {step})",
    "INSERT OVERWRITE {{t}} (id, k) SELECT id, {step} FROM range({key})",
    "ALTER TABLE {{t}} ADD COLUMN extra{step} int",
]


def compact(table: Table, _: random.Random) -> None:
    table.call("rewrite_data_files", "options => map('rewrite-all', 'true')")


def set_back(table: Table, dice: random.Random) -> None:
    known = [s.snapshot_id for s in table.metadata.snapshots]
    if known:
        table.call("set_current_snapshot", f"snapshot_id => {dice.choice(known)}")


def expire(table: Table, dice: random.Random) -> None:
    kept = {ref.snapshot_id for ref in table.metadata.refs.values()}
    known = [s.snapshot_id for s in table.metadata.snapshots if s.snapshot_id not in kept]
    if known:
        table.call("expire_snapshots", f"snapshot_ids => array({dice.choice(known)}L)")


def write(table: Table, dice: random.Random, step: int) -> None:
    act = dice.choice([*STATEMENTS, compact, set_back, expire])
    if isinstance(act, str):
        table.sql(act.format(key=dice.randrange(6), step=step))
    else:
        act(table, dice)


@pytest.mark.parametrize("layout", PROPERTIES)
@pytest.mark.parametrize("seed", SEEDS)
def test_random_history(lake: Lake, layout: str, seed: int) -> None:
    dice = random.Random(f"{seed} {layout}")
    table = lake.table("(id bigint, k int)", properties=PROPERTIES[layout])
    columns = table.used()
    versions = [table.at]
    contents = {versions[0]: table.rows(versions[0], columns)}
    kinds: Counter[Kind] = Counter()
    for step in range(STEPS):
        write(table, dice, step)
        now = table.at
        if now not in contents:
            versions.append(now)
            contents[now] = table.rows(now, columns)
        for since in dice.sample(versions, min(3, len(versions))):
            kinds[check(table, since, now, contents)] += 1
    assert kinds.total() > STEPS
    assert set(kinds) - {Kind.NONE, Kind.GAP}, kinds


def check(
    table: Table, since: SourceVersion, now: SourceVersion, contents: dict[SourceVersion, Any]
) -> Kind:
    columns = table.used("id", "k")
    expected = contents[now].copy()
    expected.subtract(contents[since])
    for without in (frozenset({How.CHANGES}), frozenset[How]()):
        window = table.source.window(since, now, columns, without=without)
        if window.kind is not Kind.GAP:
            assert table.netted(window, columns) == {k: v for k, v in expected.items() if v}, window
            continue
        assert window.sql is None
        with pytest.raises(VersionExpired):
            table.source.snapshot(since)
    return window.kind
