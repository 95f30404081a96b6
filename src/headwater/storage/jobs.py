"""The Spark jobs of one refresh: counted, labelled, cancelled; in this JVM or behind Connect."""

from __future__ import annotations

import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Protocol

from headwater.storage import remote

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import TracebackType
    from typing import Self

    from pyspark.sql import SparkSession


class Count(Protocol):
    """Counts while it is entered."""

    def __enter__(self) -> Self:
        """Begin."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End."""

    @property
    def total(self) -> int:
        """How many so far."""


def counted_jobs(session: SparkSession, run_id: str) -> Count:
    """Counts the Spark jobs of a run; behind Connect, where nobody tells, its statements."""
    if remote.is_remote(session):
        return remote.StatementCount(session)
    return JobCount(session, run_id)


class JobCount:
    """Counts the Spark jobs of one run: they carry the run id as job group."""

    def __init__(self, session: SparkSession, run_id: str) -> None:
        self._context = session.sparkContext
        self._run_id = run_id

    def __enter__(self) -> Self:
        self._context.setJobGroup(self._run_id, f"headwater refresh {self._run_id}")
        return self

    def __exit__(self, *exc: object) -> None:
        with suppress(Exception):  # a JVM that is gone has no properties
            self._context.setLocalProperty("spark.jobGroup.id", None)
            self._context.setLocalProperty("spark.job.description", None)

    @property
    def total(self) -> int:
        """Jobs started so far."""
        return len(self._context._jsc.statusTracker().getJobIdsForGroup(self._run_id))


@contextmanager
def labelled_jobs(session: SparkSession, label: str) -> Iterator[None]:
    """Jobs of this thread carry a tag and run in a pool of their own, fair to the others."""
    if remote.is_remote(session):
        session.addTag(label)
        try:
            yield
        finally:
            session.removeTag(label)
        return
    context = session.sparkContext
    context.addJobTag(label)
    context.setInterruptOnCancel(True)
    context.setLocalProperty("spark.scheduler.pool", threading.current_thread().name)
    try:
        yield
    finally:
        with suppress(Exception):  # a JVM that is gone has no tags
            context.removeJobTag(label)
            context.setLocalProperty("spark.scheduler.pool", None)


def cancel_jobs(sessions: Iterable[SparkSession], label: str) -> None:
    """Cancel what runs under a label in these sessions of one Spark."""
    for session in sessions:
        with suppress(Exception):  # a JVM or a server that is gone runs nothing
            if not remote.is_remote(session):
                session.sparkContext.cancelJobsWithTag(label)
                return  # in a JVM tags belong to all sessions
            session.interruptTag(label)
