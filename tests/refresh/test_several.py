"""Several stream tables at once: one that fails takes its readers with it and nothing else."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from headwater.core.errors import HeadwaterError, RefreshFailed
from headwater.observe.events import StageEvent
from shared_spark import check, rows

if TYPE_CHECKING:
    import headwater

pytestmark = pytest.mark.spark


def prepare(hub: headwater.Hub) -> None:
    """`fragile` fails as soon as a text is no number; `above` and `top` stand on it."""
    hub.sql("CREATE TABLE src (id BIGINT, word STRING) USING iceberg")
    hub.sql("CREATE TABLE other (id BIGINT) USING iceberg")
    hub.sql("INSERT INTO src VALUES (1, '10')")
    hub.sql("INSERT INTO other VALUES (1)")
    hub.create_stream_table("fragile", "SELECT id, CAST(word AS INT) AS n FROM src")
    hub.create_stream_table("above", "SELECT sum(n) AS total FROM fragile")
    hub.create_stream_table("top", "SELECT total + 1 AS more FROM above")
    hub.create_stream_table("sturdy", "SELECT id, upper(word) AS word FROM src")
    hub.create_stream_table("aside", "SELECT count(*) AS n FROM other")


def failed(hub: headwater.Hub, selection: str | list[str] = "*") -> RefreshFailed:
    with pytest.raises(RefreshFailed) as caught:
        hub.refresh(selection)
    return caught.value


def test_the_others_are_refreshed_and_the_readers_skipped(hub: headwater.Hub) -> None:
    prepare(hub)
    before = {name: rows(hub, name) for name in ("fragile", "above", "top")}
    hub.sql("INSERT INTO src VALUES (2, 'ten')")
    hub.sql("INSERT INTO other VALUES (2)")
    error = failed(hub)

    assert error.code == "HW3005"
    assert list(error.errors) == ["default.fragile"]
    assert isinstance(error.errors["default.fragile"], HeadwaterError)
    assert f"default.fragile: {error.errors['default.fragile'].code}" in str(error)
    assert "1 of 5" in error.what
    assert error.hint
    done = {r.name: (r.action, r.reason_code) for r in error.results}
    assert {done.pop("default.sturdy")[0], done.pop("default.aside")[0]} <= {"INCREMENTAL", "FULL"}
    assert done == {
        "default.above": ("SKIPPED", "UPSTREAM_FAILED"),
        "default.top": ("SKIPPED", "UPSTREAM_FAILED"),
    }
    assert {name: rows(hub, name) for name in before} == before
    assert rows(hub, "aside") == [(2,)]
    assert rows(hub, "sturdy") == [(1, "10"), (2, "TEN")]
    check(hub, "fragile", "above", "top", "sturdy", "aside")

    (skipped,) = hub.history("above", limit=1)
    assert (skipped.status, skipped.reason_code) == ("SKIPPED", "UPSTREAM_FAILED")
    assert "default.fragile" in str(skipped.reason)
    assert hub.history("fragile", limit=1)[0].status == "FAILED"

    hub.sql("UPDATE src SET word = '20' WHERE id = 2")
    assert [(r.name, r.action) for r in hub.refresh("+top", full=True)] == [
        *(("default.fragile", "FULL"), ("default.above", "FULL"), ("default.top", "FULL")),
    ]
    assert rows(hub, "top") == [(31,)]
    hub.refresh("*")
    check(hub, "fragile", "above", "top", "sturdy", "aside")


def test_every_failure_is_told(hub: headwater.Hub) -> None:
    prepare(hub)
    hub.create_stream_table("divided", "SELECT id, 10 / id AS part FROM other")
    hub.sql("INSERT INTO src VALUES (2, 'ten')")
    hub.sql("INSERT INTO other VALUES (0)")
    error = failed(hub)
    assert sorted(error.errors) == ["default.divided", "default.fragile"]
    for name, one in error.errors.items():
        assert f"{name}: {one.code}: {one.what}" in error.what
    assert [r.name for r in error.results] == [
        *("default.aside", "default.above", "default.sturdy", "default.top"),
    ]


def test_a_reader_alone_does_not_see_the_failure_below_it(hub: headwater.Hub) -> None:
    """Only what is selected is refreshed, so nothing upstream fails."""
    prepare(hub)
    hub.sql("INSERT INTO src VALUES (2, 'ten')")
    assert [(r.name, r.action) for r in hub.refresh("above")] == [("default.above", "NO_DATA")]
    assert list(failed(hub, ["fragile"]).errors) == ["default.fragile"]


def test_a_missing_source_stops_only_its_readers(hub: headwater.Hub) -> None:
    prepare(hub)
    hub.sql("DROP TABLE other")
    hub.sql("INSERT INTO src VALUES (2, '5')")
    error = failed(hub)
    assert {name: e.code for name, e in error.errors.items()} == {"default.aside": "HW4002"}
    assert rows(hub, "top") == [(16,)]


def test_a_suspended_table_is_skipped_and_does_not_stop_its_readers(hub: headwater.Hub) -> None:
    prepare(hub)
    hub.alter_stream_table("sturdy", status="SUSPENDED")
    hub.create_stream_table("both", "SELECT s.id FROM sturdy s JOIN other o ON s.id = o.id")
    hub.sql("INSERT INTO other VALUES (2)")
    done = {r.name: (r.action, r.reason_code) for r in hub.refresh("*")}
    assert done["default.sturdy"] == ("SKIPPED", "SUSPENDED")
    assert done["default.both"][0] in ("INCREMENTAL", "FULL")
    assert hub.status("sturdy")[0].status == "SUSPENDED"


def side_by_side(hub: headwater.Hub) -> tuple[int, list[str]]:
    """Refresh all after a change: how many were applied at once at most, and the order of ends."""
    applied, most, ends = 0, 0, []
    lock = threading.Lock()

    def listen(event: object) -> None:
        nonlocal applied, most
        if isinstance(event, StageEvent) and event.stage == "apply":
            with lock:
                applied += 1 if event.moment == "start" else -1
                most = max(most, applied)
                if event.moment == "end":
                    ends.append(event.table)

    stop = hub.subscribe(listen)
    hub.sql("INSERT INTO src VALUES (2, '20'), (3, '30')")
    hub.sql("INSERT INTO other VALUES (2)")
    done = hub.refresh(["top", "+above", "sturdy", "aside"])
    stop()
    order = [r.name.removeprefix("default.") for r in done]
    assert order.index("fragile") < order.index("above") < order.index("top")
    assert sorted(order) == ["above", "aside", "fragile", "sturdy", "top"]
    assert all(r.action == "INCREMENTAL" for r in done)
    check(hub, "fragile", "above", "top", "sturdy", "aside")
    return most, ends


def test_what_does_not_depend_on_each_other_runs_side_by_side(hub: headwater.Hub) -> None:
    prepare(hub)
    most, ends = side_by_side(hub)
    assert most >= 2
    places = [ends.index(f"default.{name}") for name in ("fragile", "above", "top")]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("name", "value"), [("max_parallel_workers", 0), ("parallel_refresh_mode", "off")]
)
def test_serial_when_the_settings_say_so(hub: headwater.Hub, name: str, value: object) -> None:
    prepare(hub)
    hub.set(name, value)
    most, _ = side_by_side(hub)
    assert most == 1


def test_an_interrupt_ends_the_round(hub: headwater.Hub) -> None:
    prepare(hub)
    hub.sql("INSERT INTO src VALUES (2, '20')")

    def interrupt(event: object) -> None:
        if isinstance(event, StageEvent) and event.stage == "compile":
            raise KeyboardInterrupt

    stop = hub.subscribe(interrupt)
    with pytest.raises(KeyboardInterrupt):
        hub.refresh("*")
    stop()
    hub.refresh("*")
    check(hub, "fragile", "above", "top", "sturdy", "aside")
