"""The queue of jobs."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from catalog_samples import child, done

from headwater.catalog.jobs import Job, JobStatus, NewJob, UnitKind
from headwater.catalog.store import Store

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
TTL = timedelta(seconds=30)
UNIT = NewJob("s:default.totals", UnitKind.SINGLETON, ("default.totals",), dag_version=3)


def unit(number: int) -> NewJob:
    return replace(UNIT, unit_key=f"s:{number}")


def some(job: Job | None) -> Job:
    assert job is not None
    return job


def test_a_job_from_queue_to_end(store: Store) -> None:
    queued = some(store.jobs.enqueue(UNIT, now=NOON))
    assert (queued.status, queued.attempt_no, queued.members) == (
        JobStatus.QUEUED, 1, ("default.totals",),
    )  # fmt: skip

    running = some(store.jobs.claim("worker-1", TTL, now=NOON))
    assert (running.job_id, running.status, running.lease_owner) == (
        queued.job_id, JobStatus.RUNNING, "worker-1",
    )  # fmt: skip
    assert store.jobs.claim("worker-2", TTL) is None

    assert store.jobs.finish(running, JobStatus.SUCCEEDED, detail="3 rows", now=NOON + TTL)
    (ended,) = store.jobs.all()
    assert (ended.status, ended.outcome_detail, ended.retryable, ended.finished_at) == (
        JobStatus.SUCCEEDED, "3 rows", None, NOON + TTL,
    )  # fmt: skip


def test_a_unit_is_in_flight_once(store: Store) -> None:
    first = some(store.jobs.enqueue(UNIT))
    assert store.jobs.enqueue(UNIT) is None
    running = some(store.jobs.claim("w", TTL, job_id=first.job_id))
    assert store.jobs.enqueue(UNIT) is None
    store.jobs.finish(running, JobStatus.RETRYABLE_FAILED)
    again = some(store.jobs.enqueue(replace(UNIT, attempt_no=2)))
    assert again.attempt_no == 2
    assert [j.retryable for j in store.jobs.all()] == [True, None]


def test_jobs_are_claimed_in_order_or_by_number(store: Store) -> None:
    ids = [some(store.jobs.enqueue(unit(n))).job_id for n in range(3)]
    assert some(store.jobs.claim("w", TTL, job_id=ids[1])).job_id == ids[1]
    assert [some(store.jobs.claim("w", TTL)).job_id for _ in range(2)] == [ids[0], ids[2]]


def test_a_job_whose_worker_died_is_reaped_and_fenced(store: Store) -> None:
    store.jobs.enqueue(UNIT)
    job = some(store.jobs.claim("w", TTL, now=NOON))
    assert store.jobs.renew(job, TTL, now=NOON + TTL / 2)
    assert store.jobs.reap(now=NOON + TTL) == ()

    (reaped,) = store.jobs.reap(now=NOON + 2 * TTL)

    assert (reaped.status, reaped.retryable) == (JobStatus.RETRYABLE_FAILED, True)
    assert store.jobs.renew(job, TTL) is False
    assert store.jobs.finish(job, JobStatus.SUCCEEDED) is False, "it reports too late"
    assert store.jobs.all()[0].status is JobStatus.RETRYABLE_FAILED


def test_cancel_list_and_prune(store: Store) -> None:
    jobs = [some(store.jobs.enqueue(unit(n), now=NOON)) for n in range(3)]
    assert store.jobs.cancel([jobs[0].job_id], detail="graph changed", now=NOON) == 1
    assert store.jobs.cancel([jobs[0].job_id], detail="again") == 0
    assert [j.job_id for j in store.jobs.all(JobStatus.QUEUED)] == [j.job_id for j in jobs[1:]]
    assert len(store.jobs.all(finished_since=NOON + TTL)) == 2
    assert store.jobs.prune(NOON + TTL) == 1


def test_two_processes_never_run_the_same_job(store: Store, store_url: str) -> None:
    for number in range(40):
        store.jobs.enqueue(unit(number))
    code = """
import sys, os
from datetime import timedelta
from headwater.catalog.jobs import JobStatus
from headwater.catalog.store import Store
store = Store(sys.argv[1], hub=sys.argv[2])
while (job := store.jobs.claim(str(os.getpid()), timedelta(minutes=1))) is not None:
    assert store.jobs.finish(job, JobStatus.SUCCEEDED)
    print(job.job_id)
"""
    workers = [child(code, store_url, store.hub) for _ in range(2)]
    claimed = [line for worker in workers for line in done(worker).split()]
    assert len(claimed) == len(set(claimed)) == 40
