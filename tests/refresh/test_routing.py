"""How the next MERGE finds its files, chosen from plans that were recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headwater.core.spec import ApplyKind, Way
from headwater.observe.events import RouteEvent
from headwater.refresh import conf, routing
from headwater.refresh.routing import MergePlan, route
from shared_spark import refresh

if TYPE_CHECKING:
    from collections.abc import Collection

    import headwater

FEW = MergePlan(Way.SEEK, files=64, rewritten=2, duration_ms=400)
ALL = MergePlan(Way.SEEK, files=64, rewritten=60, duration_ms=1500)
SWEPT = MergePlan(Way.SWEEP, files=64, rewritten=64, duration_ms=1100)
SLOWER = MergePlan(Way.SWEEP, files=64, rewritten=64, duration_ms=1490)
TOLD = MergePlan(Way.TOLD, files=64, rewritten=1, duration_ms=300)


@pytest.mark.parametrize(
    ("merges", "way", "is_flip", "reason"),
    [
        ([], Way.SEEK, False, "0 of 3 merges that seek"),
        ([ALL] * 2, Way.SEEK, False, "2 of 3 merges that seek"),
        ([FEW] * 20, Way.SEEK, False, "seeking finds 3% of the files"),
        ([ALL] * 3, Way.SWEEP, True, "seeking finds 94% of the files: sweeping is tried"),
        ([SWEPT] * 2 + [ALL] * 3, Way.SWEEP, False, "sweeping is tried"),
        ([SWEPT] * 3 + [ALL] * 3, Way.SWEEP, False, "sweeping takes 1100 ms, seeking 1500 ms"),
        ([SLOWER] * 3 + [ALL] * 3, Way.SEEK, True, "sweeping takes 1490 ms, seeking 1500 ms"),
        ([ALL] + [SLOWER] * 3 + [ALL] * 3, Way.SEEK, False, "sweeping takes 1490 ms"),
        ([FEW] * 6 + [SWEPT] * 3 + [ALL] * 3, Way.SEEK, False, "seeking finds 3% of the files"),
        ([TOLD] * 9, Way.SEEK, False, "0 of 3 merges that seek"),
        ([TOLD] * 9 + [ALL] * 3, Way.SWEEP, True, "sweeping is tried"),
    ],
)
def test_route(merges: list[MergePlan], way: Way, is_flip: bool, reason: str) -> None:
    chosen = route(merges)
    assert (chosen.way, chosen.is_flip) == (way, is_flip)
    assert reason in chosen.reason


@pytest.mark.parametrize(
    ("kind", "files", "keys", "way"),
    [
        (ApplyKind.MERGE, 64, [[1, 2, 3]], Way.TOLD),
        (ApplyKind.MERGE, 64, [range(0, 10**6, 1000)], Way.SWEEP),
        (ApplyKind.BAG, 64, [], Way.SWEEP),
        (ApplyKind.MERGE, 1, [], None),
        (ApplyKind.APPEND, 64, [], None),
        (ApplyKind.OVERWRITE, 64, [], None),
    ],
)
def test_there_is_a_choice_for_large_tables_only(
    kind: ApplyKind, files: int, keys: list[Collection[int]], way: Way | None
) -> None:
    assert conf.way_of(kind, conf.Target(files, 10**6), keys, Way.SWEEP) is way


@pytest.mark.spark
def test_flips_are_exact_and_told(hub: headwater.Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conf, "SMALL_TARGET_FILES", 0)
    monkeypatch.setattr(conf, "SMALL_TARGET_ROWS", 0)
    monkeypatch.setattr(routing, "TRIES", 1)
    told: list[RouteEvent] = []
    hub.subscribe(lambda e: told.append(e) if isinstance(e, RouteEvent) else None)
    hub.set("adaptive_merge_strategy", True)
    hub.sql("CREATE TABLE src USING iceberg AS SELECT id, id AS x FROM range(0, 3000000, 1000, 2)")
    hub.create_stream_table(
        "t", "SELECT id, x FROM src", unique_key=["id"], refresh_mode="INCREMENTAL STRICT"
    )
    ways = []
    for number in (1, 2, 3):
        hub.sql("UPDATE src SET x = x + 1 WHERE id % 97000 = 5000")
        hub.sql(f"DELETE FROM src WHERE id IN ({number}000, {3000 - number}000)")
        (done,) = refresh(hub, "t")
        ways.append(next(s["strategy"] for s in done.strategy if s["node"] == "Merge"))
    assert ways[:2] == ["seek", "sweep"]
    assert (told[0].table, told[0].before, told[0].after) == ("default.t", "seek", "sweep")
    assert "100% of the files" in told[0].reason
    assert [(e.before, e.after) for e in told[1:]] == [("sweep", "seek")] * (ways[2] == "seek")
