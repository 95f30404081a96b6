"""Units that workers have: the tick they belong to, the job, and how it ended."""

from __future__ import annotations

import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headwater.catalog.jobs import JobStatus
from headwater.core.errors import HeadwaterError, RunInterrupted
from headwater.scheduler.execute import UnitResult
from headwater.scheduler.tick_budget import MAX_ATTEMPTS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from headwater.catalog.jobs import Job
    from headwater.core.frontier import SourceVersion
    from headwater.core.names import TableName
    from headwater.refresh.runtime import Runtime
    from headwater.scheduler.tick_dispatch import Entry
    from headwater.scheduler.worker_process import WorkerProcess


@dataclass(frozen=True, slots=True)
class Pinned:
    """A tick that runs units.

    Attributes:
        tick: its number in the catalog.
        at: its instant.
        versions: the versions it pinned; None pins none.
        runtime: the hub's parts, with the change windows that its refreshes share.
        shared: gives back what they share, when all have ended.
    """

    tick: int
    at: datetime
    versions: Mapping[TableName, SourceVersion] | None
    runtime: Runtime
    shared: ExitStack

    def let_go(self) -> None:
        """Give back what its refreshes shared."""
        with suppress(Exception):  # a Spark that is gone keeps no windows
            self.shared.close()


@dataclass(slots=True)
class Running:
    """A unit that a worker has; `worker` is its process, None for a thread."""

    entry: Entry
    job: Job
    label: str
    worker: WorkerProcess | None = None
    started: float = field(default_factory=time.monotonic)


def interrupted(entry: Entry) -> UnitResult:
    """The result of a unit whose worker ended before it did."""
    lost = RunInterrupted(f"the worker of {entry.key} ended during the refresh")
    return UnitResult(failed=entry.run.members[0], error=lost)


def outcome(entry: Entry, error: HeadwaterError | None) -> tuple[JobStatus, str | None]:
    """How a job ended, and why."""
    if error is None:
        return JobStatus.SUCCEEDED, None
    again = error.is_transient and entry.run.attempt < MAX_ATTEMPTS
    status = JobStatus.RETRYABLE_FAILED if again else JobStatus.PERMANENT_FAILED
    return status, f"{error.code}: {error.what}"
