"""Broken windows and frontiers: what no compiled statement shows, a verified refresh does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import headwater
from headwater.refresh import perform as performing
from headwater.refresh import run as running
from headwater.sources.iceberg import IcebergSource

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

Patch = pytest.MonkeyPatch


def window_starts_one_version_early(patch: Patch) -> None:
    rule = IcebergSource._sql

    def early(self: Any, plan: Any, metadata: Any, ends: Any, *rest: Any) -> str | None:
        start = metadata.snapshot(ends[0])
        return rule(self, plan, metadata, (start.parent_id, ends[1]), *rest)

    patch.setattr(IcebergSource, "_sql", early)


def frontier_advanced_on_failure(patch: Patch) -> None:
    _failing(patch)
    known: dict[str, Any] = {}
    rule, plan = running.failed, running.plan_refresh

    def planned(*given: Any, **more: Any) -> Any:
        found = plan(*given, **more)
        known["planned"] = found[0]
        return found

    def failed(runtime: Any, row: Any, run: Any, error: Any, **_: Any) -> Any:
        runtime.store.history.finish(run, performing.outcome_of(known["planned"]))
        return error

    patch.setattr(running, "plan_refresh", planned)
    patch.setattr(running, rule.__name__, failed)


def nothing(patch: Patch) -> None:
    """The sound code, with the failure that the broken one does not survive."""
    _failing(patch)


def _failing(patch: Patch) -> None:
    def fails(*given: Any) -> None:
        raise RuntimeError("the engine went away")

    patch.setattr(performing, "apply", fails)


@pytest.mark.parametrize(
    ("broken", "sound"),
    [
        (window_starts_one_version_early, False),
        (frontier_advanced_on_failure, False),
        (nothing, True),
    ],
    ids=lambda v: v.__name__ if callable(v) else "",
)
def test_mutant_is_noticed_on_spark(
    hub: headwater.Hub,
    broken: Callable[[Patch], None],
    sound: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hub.sql("CREATE TABLE t (x INT) USING iceberg")
    for x in (1, 2):
        hub.sql(f"INSERT INTO t VALUES ({x})")
    hub.create_stream_table("s", "SELECT x FROM t")
    hub.sql("INSERT INTO t VALUES (3)")
    with monkeypatch.context() as patch:
        broken(patch)
        try:
            hub.refresh_stream_table("s")
        except headwater.HeadwaterError as error:
            assert "the engine went away" in str(error)
    hub.refresh_stream_table("s")
    assert hub.verify("s").equal is sound
