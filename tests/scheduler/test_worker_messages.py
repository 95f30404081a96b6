"""What coordinators and worker processes say to each other arrives as it was said."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from headwater.catalog.jobs import Job, JobStatus
from headwater.catalog.owners import is_gone, owner_name, process_of
from headwater.catalog.processes import ProcessIdentity
from headwater.core import errors
from headwater.core.frontier import SourceVersion
from headwater.core.names import TableName
from headwater.core.results import RefreshResult
from headwater.core.spec import Tier
from headwater.graph.units import Unit, UnitKind
from headwater.observe.events import LeaderEvent, RefreshEvent, StageEvent, WarningEvent
from headwater.scheduler.execute import UnitResult
from headwater.scheduler.messages import (
    Ended,
    Greeting,
    Task,
    Told,
    decode_answer,
    decode_order,
    encode,
)
from headwater.scheduler.tick_state import UnitRun
from headwater.storage import guard
from headwater.storage.connect_server import _as_properties
from headwater.storage.lake import Lake

A, B = TableName("default", "a"), TableName("ns", "b")
RESULT = RefreshResult(
    name="default.a",
    action="INCREMENTAL",
    reason_code="SOURCES_CHANGED",
    reason='it\'s "so" — really\n',
    rows_inserted=1,
    rows_deleted=2,
    delta_rows=3,
    duration_ms=4.5,
    frontier={"default.s": 2**62, "default.t": None},
    version=-(2**62),
    run_id="r",
    spark_jobs=1,
    strategy=({"node": "Scan"},),
    apply="merge",
)
JOB = Job(
    job_id=7,
    dag_version=1,
    unit_key="k",
    unit_kind=UnitKind.ATOMIC_GROUP,
    members=("default.a", "ns.b"),
    root_id=None,
    status=JobStatus.RUNNING,
    scheduler_pid=1,
    worker_pid=2,
    attempt_no=3,
    enqueued_at=datetime(2026, 1, 1, tzinfo=UTC),
    started_at=None,
    finished_at=None,
    outcome_detail=None,
    retryable=None,
    lease_owner="o",
    lease_token=9,
    lease_expires_at=None,
)


@pytest.mark.parametrize(
    "versions", [None, {}, {A: SourceVersion("t", 2**62, 3), B: SourceVersion("u", None)}]
)
def test_a_task_arrives_as_it_was_made(versions: dict[TableName, SourceVersion] | None) -> None:
    run = UnitRun(Unit.of(UnitKind.ATOMIC_GROUP, (A, B)), (B,), Tier.WARM, 3)
    task = Task.of(
        JOB, run, versions, tick=5, is_retried=True, label="l", url="sc://x", has_jars=True
    )
    arrived = decode_order(encode(task))
    assert isinstance(arrived, Task)
    assert arrived == task
    assert arrived.run() == run
    assert arrived.pinned() == versions
    assert (arrived.job_id, arrived.lease_token) == (7, 9)


def test_a_greeting_arrives_as_it_was_made(tmp_path: Path) -> None:
    lake = Lake.in_folder(tmp_path, {"spark.master": "local[1]"})
    greeting = Greeting.of(lake, "shop", {"enabled": True}, {"log_format": "json"})
    assert decode_order(encode(greeting)) == greeting


def every_error() -> list[type[errors.HeadwaterError]]:
    return list(errors._kinds(errors.HeadwaterError))


@pytest.mark.parametrize("kind", every_error(), ids=lambda k: k.__name__)
def test_every_error_arrives_with_its_class_and_words(kind: type[errors.HeadwaterError]) -> None:
    error = errors.restored(kind.code, "what 'happened'", "do this")
    said = UnitResult((RESULT,), A, error)
    arrived = decode_answer(encode(Ended.of(7, said)))
    assert isinstance(arrived, Ended)
    told = arrived.result()
    assert told.results == (RESULT,)
    assert told.failed == A
    assert told.error is not None
    assert (told.error.code, told.error.what, told.error.hint) == (
        kind.code,
        "what 'happened'",
        "do this",
    )
    assert told.error.is_transient is error.is_transient
    assert type(told.error).code == kind.code


@pytest.mark.parametrize(
    "event",
    [
        StageEvent("default.a", "r", "apply", "start"),
        RefreshEvent("default.a", "r", "FAILED", "X", "why", "HW5007"),
        WarningEvent("default.a", "X", "so"),
    ],
)
def test_events_arrive(event: object) -> None:
    told = Told.of(event)  # type: ignore[arg-type]
    assert told is not None
    arrived = decode_answer(encode(told))
    assert isinstance(arrived, Told)
    assert arrived.event() == event


def test_events_of_coordinators_stay_where_they_are() -> None:
    assert Told.of(LeaderEvent("*", "o", leads=True)) is None


def test_an_owner_tells_its_process() -> None:
    owner = owner_name()
    assert process_of(owner) == ProcessIdentity.current()
    assert not is_gone(owner)
    assert owner != owner_name(), "two holders in one process are two"
    dead = dataclasses.replace(ProcessIdentity.current(), pid=2**22 + 1)
    assert is_gone(f"{dead.host}|{dead.pid}|{dead.started}|x")
    assert process_of("somebody") is None
    assert not is_gone("somebody")


def test_settings_reach_java_as_they_are() -> None:
    written = _as_properties({"spark.a": "x=1 y:2 #\\", "b": "plain"})
    assert written == "spark.a=x\\=1\\ y\\:2\\ \\#\\\\\nb=plain\n"


class TestGuard:
    """The command of a guard ends when the holder of its input is gone, however that ends."""

    def start(self, *command: str) -> tuple[subprocess.Popen[bytes], int]:
        assert guard.__file__ is not None
        process = subprocess.Popen(
            [sys.executable, "-I", guard.__file__, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert process.stdout is not None
        return process, int(process.stdout.readline())

    def test_it_ends_the_command_with_its_caller(self) -> None:
        process, pid = self.start("sleep", "100")
        os.kill(pid, 0)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(timeout=10) == signal.SIGTERM
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)

    def test_it_ends_with_the_command(self) -> None:
        process, pid = self.start("sleep", "100")
        os.kill(pid, signal.SIGKILL)
        assert process.wait(timeout=10) == signal.SIGKILL

    def test_it_notices_that_its_caller_was_killed(self) -> None:
        assert guard.__file__ is not None
        program = (
            "import subprocess, sys, time\n"
            f"p = subprocess.Popen([sys.executable, '-I', {guard.__file__!r}, 'sleep', '100'],"
            " stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
            "print(int(p.stdout.readline()), flush=True)\n"
            "time.sleep(100)\n"
        )
        caller = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
        assert caller.stdout is not None
        pid = int(caller.stdout.readline())
        os.kill(pid, 0)
        caller.kill()
        caller.wait(timeout=10)
        until = time.monotonic() + 10
        while Path(f"/proc/{pid}").exists() and time.monotonic() < until:
            time.sleep(0.05)
        assert not Path(f"/proc/{pid}").exists()
