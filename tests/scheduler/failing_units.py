"""What the tests of failures in a coordinator share: units that refresh nothing, or fail."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.quiet_hub import _row, quiet_hub, write_source
from sqlalchemy import insert

import headwater
from headwater.catalog import tables
from headwater.core.errors import CatalogBusy, HeadwaterError
from headwater.operations import scheduler_of
from headwater.scheduler.execute import UnitResult

if TYPE_CHECKING:
    import pytest

    from headwater.scheduler.coordinator import Coordinator
    from headwater.scheduler.tick_state import UnitRun

NOW = datetime.now(UTC)


def after(**time: float) -> datetime:
    """An instant so much later than the first tick."""
    return NOW + timedelta(**time)


@dataclass
class Units:
    """In place of Spark: notes the tables that were to be refreshed, and fails as it is told."""

    errors: dict[str, HeadwaterError] = field(default_factory=dict)
    ran: list[str] = field(default_factory=list)

    def run(self, _: object, run: UnitRun, **__: Any) -> UnitResult:
        self.ran += [str(name) for name in run.members]
        failed = next((name for name in run.members if str(name) in self.errors), None)
        return UnitResult(failed=failed, error=self.errors[str(failed)] if failed else None)

    def taken(self) -> list[str]:
        """What ran since the last call."""
        ran, self.ran = sorted(self.ran), []
        return ran


def without_spark(monkeypatch: pytest.MonkeyPatch) -> Units:
    units = Units()
    monkeypatch.setattr("headwater.scheduler.dispatcher.run_unit", units.run)
    return units


def refuse_once(monkeypatch: pytest.MonkeyPatch, owner: object, name: str) -> None:
    """Let a method of the catalog fail at its next call."""
    real, calls = getattr(owner, name), [0]

    def refuse(*args: Any, **options: Any) -> Any:
        calls[0] += 1
        if calls[0] == 1:
            raise CatalogBusy("the catalog is locked", hint="try again")
        return real(*args, **options)

    monkeypatch.setattr(owner, name, refuse)


def hub_with_readers(folder: Path) -> headwater.Hub:
    """Tables t0 to t3 over sources, and t4 over t0; source1 is read by t0 and t1."""
    hub = quiet_hub(folder, 4)
    write_source(folder, "t0", 1)
    with hub._runtime.store.database.write() as connection:
        connection.execute(insert(tables.stream_tables), [_row(4, "t0")])
    return hub


def coordinator_of(hub: headwater.Hub) -> Coordinator:
    return scheduler_of(hub).coordinator


def jobs_of(hub: headwater.Hub) -> dict[str, str]:
    """The status of the last job of each table."""
    return {job.members[0]: job.status.value for job in hub._runtime.store.jobs.all()}
