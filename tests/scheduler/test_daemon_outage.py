"""The scheduler in the background outlives a catalog that is away, and can be stopped meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.quiet_hub import write_source
from failing_units import Units, hub_with_readers

import headwater
from headwater.core.errors import CatalogUnavailable
from headwater.operations import scheduler_of
from headwater.scheduler.daemon import LEADER, Daemon
from headwater.scheduler.execute import UnitResult


@pytest.fixture
def hub(tmp_path: Path, units: Units, monkeypatch: pytest.MonkeyPatch) -> Iterator[headwater.Hub]:
    """A hub that asks the catalog for each setting, as after every second of a real one."""
    with hub_with_readers(tmp_path) as made:
        made.set("scheduler_interval_ms", 100)
        made.set("drain_timeout", 1)
        monkeypatch.setattr("headwater.opening.SETTINGS_SECONDS", 0.0)
        yield made
        monkeypatch.undo()


def soon(holds: Callable[[], object]) -> None:
    until = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < until, "it never came"
        time.sleep(0.01)


def leading(hub: headwater.Hub) -> Daemon:
    """The scheduler of a hub, once it leads."""
    hub.start()
    daemon = scheduler_of(hub).daemon
    soon(lambda: daemon.leads)
    return daemon


def away(patch: pytest.MonkeyPatch, owner: object, *names: str) -> list[str]:
    """Let calls fail until the patch is undone; notes which did."""
    refused: list[str] = []

    def refuse(name: str) -> Callable[..., Any]:
        def fail(*_: object, **__: object) -> Any:
            refused.append(name)
            raise CatalogUnavailable("the server restarts", hint="try again")

        return fail

    for name in names:
        patch.setattr(owner, name, refuse(name))
    return refused


def test_the_loop_goes_on_after_its_settings_could_not_be_read(
    hub: headwater.Hub, tmp_path: Path, units: Units
) -> None:
    daemon = leading(hub)
    with pytest.MonkeyPatch.context() as patch:
        refused = away(patch, hub._runtime.store.settings, "all")
        soon(lambda: len(refused) >= 2 or not daemon.is_running)
    assert daemon.is_running
    write_source(tmp_path, "source2", 2)
    soon(lambda: len(units.ran) >= 2)
    assert hub.stop()


def test_it_stops_while_its_settings_cannot_be_read(hub: headwater.Hub) -> None:
    daemon = leading(hub)
    with pytest.MonkeyPatch.context() as patch:
        away(patch, hub._runtime.store.settings, "all")
        assert hub.stop()
    assert not daemon.is_running
    assert daemon._stopped.is_set(), "nobody renews the lead any more"
    assert hub._runtime.store.leases.holder(LEADER) is None


def test_it_stops_while_nothing_of_the_catalog_answers(hub: headwater.Hub) -> None:
    """The lead runs out by itself."""
    daemon = leading(hub)
    with pytest.MonkeyPatch.context() as patch:
        away(patch, hub._runtime.store.database, "read", "write")
        assert hub.stop()
    assert not daemon.is_running
    assert daemon._stopped.is_set()


@pytest.mark.timed
@pytest.mark.parametrize("mode", ["off", "on"], ids=["in the loop itself", "in workers"])
def test_what_runs_is_cancelled_when_the_time_to_drain_is_over(
    hub: headwater.Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    begun, cancelled = threading.Event(), threading.Event()

    def endless(*_: object, **__: object) -> UnitResult:
        begun.set()
        cancelled.wait(4)
        return UnitResult()

    monkeypatch.setattr("headwater.scheduler.dispatcher.run_unit", endless)
    monkeypatch.setattr(hub._runtime.engine, "cancel", lambda _: cancelled.set())
    hub.set("parallel_refresh_mode", mode)
    leading(hub)
    write_source(tmp_path, "source9", 2)
    write_source(tmp_path, "source3", 2)
    assert begun.wait(10)
    started = time.monotonic()
    assert hub.stop(drain=True)
    assert cancelled.is_set()
    assert 0.9 < time.monotonic() - started < 3
