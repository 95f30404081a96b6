"""The queue of jobs: one row per attempt to run a unit, leased by the worker that runs it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Connection, and_, delete, func, or_, select, update

from headwater.catalog import tables
from headwater.catalog.codec import Raw, dump
from headwater.catalog.job_loads import load_of, loads_by_hub
from headwater.catalog.upsert import insert_into
from headwater.graph.units import UnitKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime, timedelta

    from headwater.catalog.database import Database
    from headwater.catalog.job_loads import HubLoad, Load

_J = tables.jobs
_COLUMNS = tuple(_J.columns.keys())


class JobStatus(StrEnum):
    """Where a job is in its life."""

    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    RETRYABLE_FAILED = "RETRYABLE_FAILED"
    PERMANENT_FAILED = "PERMANENT_FAILED"
    CANCELLED = "CANCELLED"


_ALIVE = (JobStatus.QUEUED, JobStatus.RUNNING)


@dataclass(frozen=True, slots=True)
class NewJob:
    """A unit to be run; `members` are names of stream tables, `root_id` the number of the first."""

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

    def enqueue(
        self,
        new: NewJob,
        *,
        owner: str | None = None,
        ttl: timedelta | None = None,
        now: datetime | None = None,
    ) -> Job | None:
        """Queue a unit; None while a job of the same unit is queued or running.

        Args:
            new: the unit.
            owner: the scheduler that queues it; its job is cancelled when it is gone.
            ttl: how long the job may wait before its owner renews it.
            now: the time to count from; None asks the database.
        """
        return self._enqueue([new], owner, ttl, now)[0]

    def enqueue_all(self, new: Sequence[NewJob], owner: str, ttl: timedelta) -> list[Job | None]:
        """Queue several units in one statement; None where one is in flight already."""
        return self._enqueue(new, owner, ttl, None)

    def _enqueue(
        self,
        new: Sequence[NewJob],
        owner: str | None,
        ttl: timedelta | None,
        now: datetime | None,
    ) -> list[Job | None]:
        with self._database.write() as connection:
            at = now or self._database.now(connection)
            rows = [
                {
                    "hub": self._hub,
                    "dag_version": one.dag_version,
                    "unit_key": one.unit_key,
                    "unit_kind": one.unit_kind,
                    "members": dump(one.members),
                    "root_id": one.root_id,
                    "status": JobStatus.QUEUED,
                    "scheduler_pid": os.getpid(),
                    "attempt_no": one.attempt_no,
                    "enqueued_at": at,
                    "lease_token": 0,
                    "lease_owner": owner,
                    "lease_expires_at": None if ttl is None else at + ttl,
                }
                for one in new
            ]
            insert = insert_into(self._database.dialect, _J).on_conflict_do_nothing()
            made = [_read(row) for row in connection.execute(insert.returning(_J), rows)]
        by_unit = {job.unit_key: job for job in made}
        return [by_unit.get(one.unit_key) for one in new]

    def claim(
        self,
        owner: str,
        ttl: timedelta,
        *,
        job_id: int | None = None,
        pid: int | None = None,
        within: Callable[[Load], bool] | None = None,
        now: datetime | None = None,
    ) -> Job | None:
        """Take the oldest queued job, or the one asked for; two workers never get the same.

        Args:
            owner: who runs it.
            ttl: how long it may run before it is renewed.
            job_id: the job asked for.
            pid: the process that runs it; None when no process could take it.
            within: whether another one may run; hubs that share the database ask one by one.
            now: the time to count from; None asks the database.
        """
        queued = and_(_J.c.hub == self._hub, _J.c.status == JobStatus.QUEUED)
        if job_id is not None:
            queued = and_(queued, _J.c.job_id == job_id)
        first = select(_J.c.job_id).where(queued).order_by(_J.c.job_id).limit(1)
        with self._database.write() as connection:
            at = now or self._database.now(connection)
            if within is not None and not within(self._load(connection, at)):
                return None
            found = connection.execute(first.with_for_update(skip_locked=True)).scalar()
            if found is None:
                return None
            row = connection.execute(
                update(_J)
                .where(_J.c.job_id == found)
                .values(
                    status=JobStatus.RUNNING,
                    worker_pid=pid,
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
        return self.keep(job.job_id, job.lease_token, ttl, now=now)

    def keep(
        self, job_id: int, lease_token: int, ttl: timedelta, *, now: datetime | None = None
    ) -> bool:
        """The same for a worker that knows its job by number and token."""
        with self._database.write() as connection:
            at = now or self._database.now(connection)
            held = self._held(job_id, lease_token)
            kept = update(_J).where(held).values(lease_expires_at=at + ttl)
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
            held = update(_J).where(self._held(job.job_id, job.lease_token)).values(ended)
            return connection.execute(held).rowcount == 1

    def renew_all(self, owner: str, ttl: timedelta, *, now: datetime | None = None) -> int:
        """Keep every job of an owner, queued or running; returns how many there are."""
        with self._database.write() as connection:
            at = now or self._database.now(connection)
            kept = (
                update(_J)
                .where(_J.c.hub == self._hub, _J.c.status.in_(_ALIVE), _J.c.lease_owner == owner)
                .values(lease_expires_at=at + ttl)
            )
            return connection.execute(kept).rowcount

    def reap(
        self,
        *,
        is_gone: Callable[[str], bool] | None = None,
        now: datetime | None = None,
    ) -> tuple[Job, ...]:
        """End jobs whose lease ran out, or whose owner is gone, and return them.

        A running job becomes a failed attempt; a queued one is cancelled, its scheduler is gone.
        """
        detail = "the worker did not renew its lease"
        is_gone = cache(is_gone) if is_gone is not None else None
        query = select(_J).where(_J.c.hub == self._hub, _J.c.status.in_(_ALIVE))
        with self._database.read() as connection:
            # Before the wait for the catalog, in which nobody else could renew a lease either.
            asked = now or self._database.now(connection)
            alive = [_read(row) for row in connection.execute(query)]
        if not any(_is_lost(job, asked, is_gone) for job in alive):
            return ()
        with self._database.write() as connection:
            at = now or self._database.now(connection)
            lost = []
            for job in [_read(row) for row in connection.execute(query.with_for_update())]:
                if not _is_lost(job, asked, is_gone):
                    continue
                running = job.status is JobStatus.RUNNING
                status = JobStatus.RETRYABLE_FAILED if running else JobStatus.CANCELLED
                ended = update(_J).where(_J.c.job_id == job.job_id)
                values = _ended(status, detail, at)
                lost.append(_read(connection.execute(ended.values(values).returning(_J)).one()))
            return tuple(lost)

    def load(self) -> Load:
        """How many jobs run and wait, here and in all hubs of the database."""
        return load_of(self._hub, self.by_hub())

    def loads(self) -> dict[str, tuple[int, int]]:
        """Hub → running and queued jobs."""
        return {hub: (load.running, load.queued) for hub, load in self.by_hub().items()}

    def by_hub(self) -> dict[str, HubLoad]:
        """The jobs of every hub of the database that has any."""
        with self._database.read() as connection:
            return loads_by_hub(connection, self._database.now(connection))

    def _load(self, connection: Connection, at: datetime) -> Load:
        if self._database.dialect == "postgresql":
            # One hub at a time counts and claims; other rows may go on referring to the hubs.
            hubs = select(tables.hubs.c.name).order_by(tables.hubs.c.name)
            connection.execute(hubs.with_for_update(key_share=True)).all()
        return load_of(self._hub, loads_by_hub(connection, at))

    def failures(self) -> tuple[Job, ...]:
        """The last job of each unit whose last attempt failed and may be tried again."""
        last = select(func.max(_J.c.job_id)).where(_J.c.hub == self._hub).group_by(_J.c.unit_key)
        query = select(_J).where(_J.c.job_id.in_(last), _J.c.status == JobStatus.RETRYABLE_FAILED)
        with self._database.read() as connection:
            return tuple(_read(row) for row in connection.execute(query))

    def cancel(self, job_ids: Iterable[int], *, detail: str, now: datetime | None = None) -> int:
        """Cancel queued or running jobs; returns how many."""
        with self._database.write() as connection:
            ended = _ended(JobStatus.CANCELLED, detail, now or self._database.now(connection))
            chosen = and_(_J.c.hub == self._hub, _J.c.job_id.in_(list(job_ids)))
            alive = _J.c.status.in_(_ALIVE)
            return connection.execute(update(_J).where(chosen, alive).values(ended)).rowcount

    def withdraw(self, unit_keys: Iterable[str], owner: str, *, detail: str) -> int:
        """Cancel what a scheduler has queued of these units; returns how many."""
        with self._database.write() as connection:
            ended = _ended(JobStatus.CANCELLED, detail, self._database.now(connection))
            mine = and_(_J.c.hub == self._hub, _J.c.lease_owner == owner)
            chosen = and_(_J.c.unit_key.in_(list(unit_keys)), _J.c.status == JobStatus.QUEUED)
            return connection.execute(update(_J).where(mine, chosen).values(ended)).rowcount

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

    def is_queued(self, job: Job) -> bool:
        """Whether a job still waits."""
        query = select(_J.c.status).where(_J.c.hub == self._hub, _J.c.job_id == job.job_id)
        with self._database.read() as connection:
            return connection.execute(query).scalar() == JobStatus.QUEUED.value

    def prune(self, before: datetime) -> int:
        """Delete jobs that ended before an instant; returns how many."""
        old = delete(_J).where(_J.c.hub == self._hub, _J.c.finished_at < before)
        with self._database.write() as connection:
            return connection.execute(old).rowcount

    def _held(self, job_id: int, lease_token: int) -> ColumnElement[bool]:
        return and_(
            _J.c.hub == self._hub,
            _J.c.job_id == job_id,
            _J.c.status == JobStatus.RUNNING,
            _J.c.lease_token == lease_token,
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


def _is_lost(job: Job, at: datetime, is_gone: Callable[[str], bool] | None) -> bool:
    if job.lease_expires_at is not None and job.lease_expires_at <= at:
        return True
    if job.lease_expires_at is None:
        return job.status is JobStatus.RUNNING
    return is_gone is not None and job.lease_owner is not None and is_gone(job.lease_owner)


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
