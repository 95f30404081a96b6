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


def write(table: Table, dice: random.Random, versions: list[SourceVersion], step: int) -> None:
    key = dice.randrange(6)
    match dice.randrange(11):
        case 0 | 1 | 2:
            table.sql(f"INSERT INTO {{t}} (id, k) SELECT id + {key}, {step} FROM range(3)")
        case 3:
            table.sql(f"UPDATE {{t}} SET k = {step} WHERE id = {key}")
        case 4:
            table.sql(f"DELETE FROM {{t}} WHERE id = {key}")
        case 5:
            table.sql(
                f"MERGE INTO {{t}} t USING (SELECT DISTINCT id + {key} AS id FROM range(3)) s"
                " ON t.id = s.id WHEN MATCHED AND t.id % 2 = 0 THEN DELETE"
                f" WHEN MATCHED THEN UPDATE SET k = {step}"
                f" WHEN NOT MATCHED THEN INSERT (id, k) VALUES (s.id, {step})"
            )
        case 6:
            table.call("rewrite_data_files", "options => map('rewrite-all', 'true')")
        case 7:
            table.sql(f"ALTER TABLE {{t}} ADD COLUMN extra{step} int")
        case 8:
            back = dice.choice(versions)
            if table.metadata.snapshot(back.snapshot_id) is not None:
                table.call("set_current_snapshot", f"snapshot_id => {back.snapshot_id}")
        case 9:
            table.sql(f"INSERT OVERWRITE {{t}} (id, k) SELECT id, {step} FROM range({key})")
        case _:
            kept = {ref.snapshot_id for ref in table.metadata.refs.values()}
            known = [s.snapshot_id for s in table.metadata.snapshots if s.snapshot_id not in kept]
            if known:
                table.call("expire_snapshots", f"snapshot_ids => array({dice.choice(known)}L)")


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
        write(table, dice, versions, step)
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
