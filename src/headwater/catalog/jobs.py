"""The queue of jobs: one row per attempt to run a unit, leased by the worker that runs it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, and_, delete, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from headwater.catalog import tables
from headwater.catalog.codec import Raw, dump

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime, timedelta

    from headwater.catalog.database import Database

_J = tables.jobs
_COLUMNS = tuple(_J.columns.keys())


class UnitKind(StrEnum):
    """What a worker runs as a whole."""

    SINGLETON = "singleton"
    ATOMIC_GROUP = "atomic_group"
    REFRESH_GROUP = "refresh_group"
    IMMEDIATE_CLOSURE = "immediate_closure"
    CYCLIC_SCC = "cyclic_scc"
    FUSED_CHAIN = "fused_chain"


class JobStatus(StrEnum):
    """Where a job is in its life."""

    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    RETRYABLE_FAILED = "RETRYABLE_FAILED"
    PERMANENT_FAILED = "PERMANENT_FAILED"
    CANCELLED = "CANCELLED"


@dataclass(frozen=True, slots=True)
class NewJob:
    """A unit to be run; `members` are names of stream tables."""

    unit_key: str
    unit_kind: UnitKind
    members: tuple[str, ...]
    dag_version: int
    root_id: int | None = None
    attempt_no: int = 1


@dataclass(frozen=True, slots=True)
class Job:
    """One attempt to run a unit; `lease_token` fences what its worker reports."""

    job_id: int
    dag_version: int
    unit_key: str
    unit_kind: UnitKind
    members: tuple[str, ...]
    root_id: int | None
    status: JobStatus
    scheduler_pid: int
    worker_pid: int | None
    attempt_no: int
    enqueued_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    outcome_detail: str | None
    retryable: bool | None
    lease_owner: str | None
    lease_token: int
    lease_expires_at: datetime | None


class Jobs:
    """The jobs of one hub."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._hub = database.hub

    def enqueue(self, new: NewJob, *, now: datetime | None = None) -> Job | None:
        """Queue a unit; None while a job of the same unit is queued or running."""
        with self._database.write() as connection:
            values = {
                "hub": self._hub,
                "dag_version": new.dag_version,
                "unit_key": new.unit_key,
                "unit_kind": new.unit_kind,
                "members": dump(new.members),
                "root_id": new.root_id,
                "status": JobStatus.QUEUED,
                "scheduler_pid": os.getpid(),
                "attempt_no": new.attempt_no,
                "enqueued_at": now or self._database.now(connection),
                "lease_token": 0,
            }
            try:
                # A savepoint: PostgreSQL gives up the whole transaction at a refused row.
                with connection.begin_nested():
                    row = connection.execute(insert(_J).values(values).returning(_J)).one()
            except IntegrityError:
                return None
            return _read(row)

    def claim(
        self,
        owner: str,
        ttl: timedelta,
        *,
        job_id: int | None = None,
        now: datetime | None = None,
    ) -> Job | None:
        """Take the oldest queued job, or the one asked for; two workers never get the same."""
        queued = and_(_J.c.hub == self._hub, _J.c.status == JobStatus.QUEUED)
        if job_id is not None:
            queued = and_(queued, _J.c.job_id == job_id)
        first = select(_J.c.job_id).where(queued).order_by(_J.c.job_id).limit(1)
        with self._database.write() as connection:
            at = now or self._database.now(connection)
            found = connection.execute(first.with_for_update(skip_locked=True)).scalar()
            if found is None:
                return None
            row = connection.execute(
                update(_J)
                .where(_J.c.job_id == found)
                .values(
                    status=JobStatus.RUNNING,
                    worker_pid=os.getpid(),
                    started_at=at,
                    lease_owner=owner,
                    lease_token=_J.c.lease_token + 1,
                    lease_expires_at=at + ttl,
                )
                .returning(_J)
            ).one()
            return _read(row)

    def renew(self, job: Job, ttl: timedelta, *, now: datetime | None = None) -> bool:
        """Keep a job for longer; False when it was reaped or cancelled."""
        with self._database.write() as connection:
            at = now or self._database.now(connection)
            kept = update(_J).where(self._held(job)).values(lease_expires_at=at + ttl)
            return connection.execute(kept).rowcount == 1

    def finish(
        self,
        job: Job,
        status: JobStatus,
        *,
        detail: str | None = None,
        now: datetime | None = None,
    ) -> bool:
        """Report the end of a job; False, and nothing written, when it is not held any more."""
        with self._database.write() as connection:
            ended = _ended(status, detail, now or self._database.now(connection))
            held = update(_J).where(self._held(job)).values(ended)
            return connection.execute(held).rowcount == 1

    def reap(self, *, now: datetime | None = None) -> tuple[Job, ...]:
        """End running jobs whose lease ran out, and return them: their worker is gone."""
        detail = "the worker did not renew its lease"
        with self._database.write() as connection:
            at = now or self._database.now(connection)
            expired = (
                update(_J)
                .where(
                    _J.c.hub == self._hub,
                    _J.c.status == JobStatus.RUNNING,
                    or_(_J.c.lease_expires_at.is_(None), _J.c.lease_expires_at <= at),
                )
                .values(_ended(JobStatus.RETRYABLE_FAILED, detail, at))
                .returning(_J)
            )
            return tuple(_read(row) for row in connection.execute(expired).all())

    def cancel(self, job_ids: Iterable[int], *, detail: str, now: datetime | None = None) -> int:
        """Cancel queued or running jobs; returns how many."""
        with self._database.write() as connection:
            ended = _ended(JobStatus.CANCELLED, detail, now or self._database.now(connection))
            chosen = and_(_J.c.hub == self._hub, _J.c.job_id.in_(list(job_ids)))
            alive = _J.c.status.in_([JobStatus.QUEUED, JobStatus.RUNNING])
            return connection.execute(update(_J).where(chosen, alive).values(ended)).rowcount

    def all(self, *statuses: JobStatus, finished_since: datetime | None = None) -> tuple[Job, ...]:
        """Jobs in the order they were queued: of these statuses, or of any."""
        query = select(_J).where(_J.c.hub == self._hub).order_by(_J.c.job_id)
        if statuses:
            query = query.where(_J.c.status.in_(statuses))
        if finished_since is not None:
            recent = _J.c.finished_at >= finished_since
            query = query.where(or_(_J.c.finished_at.is_(None), recent))
        with self._database.read() as connection:
            return tuple(_read(row) for row in connection.execute(query))

    def prune(self, before: datetime) -> int:
        """Delete jobs that ended before an instant; returns how many."""
        old = delete(_J).where(_J.c.hub == self._hub, _J.c.finished_at < before)
        with self._database.write() as connection:
            return connection.execute(old).rowcount

    def _held(self, job: Job) -> ColumnElement[bool]:
        return and_(
            _J.c.hub == self._hub,
            _J.c.job_id == job.job_id,
            _J.c.status == JobStatus.RUNNING,
            _J.c.lease_token == job.lease_token,
        )


def _ended(status: JobStatus, detail: str | None, at: datetime) -> dict[str, Any]:
    failed = status in (JobStatus.RETRYABLE_FAILED, JobStatus.PERMANENT_FAILED)
    return {
        "status": status,
        "finished_at": at,
        "outcome_detail": detail,
        "retryable": status is JobStatus.RETRYABLE_FAILED if failed else None,
        "lease_expires_at": None,
    }


def _read(row: Iterable[Any]) -> Job:
    raw = Raw("hw_jobs", _COLUMNS, row, "hub job_id")
    return Job(
        job_id=raw.integer("job_id"),
        dag_version=raw.integer("dag_version"),
        unit_key=raw.string("unit_key"),
        unit_kind=raw.choice("unit_kind", UnitKind),
        members=raw.strings("members"),
        root_id=raw.optional_integer("root_id"),
        status=raw.choice("status", JobStatus),
        scheduler_pid=raw.integer("scheduler_pid"),
        worker_pid=raw.optional_integer("worker_pid"),
        attempt_no=raw.integer("attempt_no"),
        enqueued_at=raw.instant("enqueued_at"),
        started_at=raw.optional_instant("started_at"),
        finished_at=raw.optional_instant("finished_at"),
        outcome_detail=raw.optional_string("outcome_detail"),
        retryable=raw.optional_boolean("retryable"),
        lease_owner=raw.optional_string("lease_owner"),
        lease_token=raw.integer("lease_token"),
        lease_expires_at=raw.optional_instant("lease_expires_at"),
    )
