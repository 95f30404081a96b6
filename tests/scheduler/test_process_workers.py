"""Worker processes over Spark Connect: they refresh like threads, and a lost one loses nothing."""

from __future__ import annotations

import os
import queue
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from recovery import has_all, orphans, wait_until
from test_parallel_equals_serial import QUERIES, run, statements

import headwater
from headwater.core.names import TableName
from headwater.observe.events import Event, LeaderEvent, StageEvent, WarningEvent
from headwater.storage import remote
from headwater.storage.expire import is_scattered
from headwater.storage.sizing import file_bytes
from shared_spark import Place, check, place_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SETTINGS = {"worker_kind": "process", "max_parallel_workers": 2, "scheduler_interval_ms": 200}
TABLES = ("sums", "lone")
Act = Callable[[str], bool]
"""Does something to the refresh of a table; whether there was one."""

AGAIN = [0, *(pytest.param(number, marks=pytest.mark.long) for number in range(1, 5))]
"""Each kill once in every run of the tests, four times more in the long one."""


@pytest.fixture(scope="module")
def hub(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[headwater.Hub]:
    """One hub whose scheduler has started its Spark Connect server."""
    place = place_in(tmp_path_factory.mktemp("processes"))
    with place.open(spark, settings=SETTINGS) as opened:
        opened.sql("CREATE TABLE src (id BIGINT, g INT, x INT) USING iceberg")
        opened.sql("INSERT INTO src SELECT id, CAST(id % 3 AS INT), CAST(id AS INT) FROM range(9)")
        opened.create_stream_table("sums", "SELECT g, SUM(x) AS s FROM src GROUP BY g")
        opened.create_stream_table("lone", "SELECT id, x * 2 AS y FROM src WHERE x > 1")
        opened.subscribe(Told())
        opened.start()
        opened.sql("INSERT INTO src VALUES (100, 7, 5)")
        try:
            wait_until(lambda: has_all(opened), 400)  # a server starts slowly on a busy machine
        except AssertionError:
            raise AssertionError(f"the first refresh never ended\n{story(opened)}") from None
        yield opened


def worker_of(hub: headwater.Hub, table: str) -> int | None:
    """The worker process that refreshes a table."""
    for job in hub.parallel_job_status():
        if job.status == "RUNNING" and job.unit_key == f"singleton:{table}":
            assert job.worker_pid != os.getpid(), "it runs in a process of its own"
            return job.worker_pid
    return None


def at_apply(hub: headwater.Hub, act: Act, key: int) -> bool:
    """Change the source, and act when a refresh is in the middle of its work: while it is told."""
    met: queue.SimpleQueue[bool | BaseException] = queue.SimpleQueue()
    first = threading.Lock()

    def listen(event: Event) -> None:
        is_writing = isinstance(event, StageEvent) and event.stage == "apply.write"
        if is_writing and first.acquire(blocking=False):
            try:
                met.put(act(event.table))
            except ProcessLookupError:  # it had ended already
                met.put(False)
            except BaseException as error:
                met.put(error)

    end = hub.subscribe(listen)
    try:
        hub.sql(f"INSERT INTO src VALUES ({key}, 7, 5)")
        acted = met.get(timeout=240)
    except queue.Empty:
        raise AssertionError(f"no refresh began\n{story(hub)}") from None
    finally:
        end()
    if isinstance(acted, BaseException):
        raise acted
    return acted


def settled(hub: headwater.Hub) -> None:
    """Wait until everything is refreshed, and nothing is left over."""
    try:
        wait_until(lambda: has_all(hub) and not orphans(hub), 240)
    except AssertionError:
        raise AssertionError(f"it did not come to rest\n{story(hub)}") from None


def story(hub: headwater.Hub) -> str:
    """What a coordinator that does not get on is doing."""
    assert hub._scheduler is not None
    dispatcher = hub._scheduler.coordinator.dispatcher
    running = [h for h in hub.history(limit=200) if h.status == "RUNNING"]
    parts = {
        "events": [*map(str, told_by(hub))],
        "jobs": [*map(str, hub.parallel_job_status(3600)[:20])],
        "history": [*map(str, hub.history(limit=20))],
        "running": [*map(str, running)],
        "queue": [f"runs {[*dispatcher.queue.running]}, waits {[*dispatcher.queue.queued]}"],
        "pool": [f"server {server_of(hub)}, failure {dispatcher.processes._failure}"],
        "leads": [str(hub._scheduler.daemon.leads)],
    }
    return "\n".join(f"{name}: {line}" for name, lines in parts.items() for line in lines)


def told_by(hub: headwater.Hub) -> list[Event]:
    """The warnings and changes of leader that a hub told."""
    (told,) = [x for x in hub._runtime.events.listeners if isinstance(x, Told)]
    return told.events


class Told:
    """A listener that keeps what may tell why something failed."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        if isinstance(event, WarningEvent | LeaderEvent):
            self.events.append(event)


def hit(hub: headwater.Hub, act: Act, key: int, code: str) -> None:
    """Act until it met a refresh in the middle of its work: one may end before it is acted on."""
    before = failures(hub, code)
    for again in range(10):
        met = at_apply(hub, act, key + 100 * again)
        settled(hub)
        if met and failures(hub, code) > before:
            return
    raise AssertionError(f"no refresh was met in the middle of its work\n{story(hub)}")


def failures(hub: headwater.Hub, code: str) -> int:
    return sum(h.error_code == code for h in hub.history(limit=1000))


def goes_on(hub: headwater.Hub, code: str) -> None:
    """Everything is exact again, nothing is left over, and the history tells what happened."""
    settled(hub)
    check(hub, *TABLES)
    history = hub.history(limit=200)
    failed = [i for i, h in enumerate(history) if h.error_code == code]
    assert failed, "the history tells the error"
    name = history[failed[0]].name
    assert any(h.name == name and h.status == "COMPLETED" for h in history[: failed[0]])
    attempts = [j for j in hub.parallel_job_status(3600) if j.status == "RETRYABLE_FAILED"]
    assert attempts, "the job of the lost worker is a failed attempt"
    assert hub._runtime.store.intents.pending() == ()


@pytest.mark.long
def test_processes_refresh_like_threads(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, hub: headwater.Hub
) -> None:
    compared(spark, tmp_path_factory, hub, 1, 1, "fa")


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 6))
def test_processes_refresh_like_threads_for_longer(
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
    hub: headwater.Hub,
    seed: int,
) -> None:
    compared(spark, tmp_path_factory, hub, seed, 8, "".join(QUERIES))


def compared(
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
    hub: headwater.Hub,
    seed: int,
    rounds: int,
    names: str,
) -> None:
    """The same workload serially, and in two processes that use the server of `hub`."""
    batches = statements(random.Random(seed), rounds)
    results = []
    for kind in ("thread", "process"):
        place: Place = place_in(tmp_path_factory.mktemp(kind))
        given = {"worker_kind": kind, "spark_connect_url": hub_url(hub)}
        with place.open(spark, settings=given) as other:
            results.append(run(other, 0 if kind == "thread" else 2, batches, list(names)))
            pids = {job.worker_pid for job in other.parallel_job_status()}
            assert (os.getpid() in pids) is (kind == "thread")
    assert results[0] == results[1]


def server_of(hub: headwater.Hub) -> int | None:
    assert hub._scheduler is not None
    server = hub._scheduler.coordinator.dispatcher.processes.server
    return server.pid if server is not None and server.is_alive else None


def hub_url(hub: headwater.Hub) -> str:
    assert hub._scheduler is not None
    address = hub._scheduler.coordinator.dispatcher.processes.address()
    assert address is not None, "the server runs"
    return address[0]


@pytest.mark.parametrize("number", AGAIN)
def test_a_worker_that_is_killed(hub: headwater.Hub, number: int) -> None:
    killed: dict[int, datetime] = {}

    def kill(table: str) -> bool:
        pid = worker_of(hub, table)
        if pid is None:
            return False
        os.kill(pid, signal.SIGKILL)
        killed[pid] = datetime.now(UTC)
        return True

    hit(hub, kill, 1000 * number + 1_000_000, "HW5007")
    goes_on(hub, "HW5007")
    since = min(killed.values())
    later = [
        job.worker_pid
        for job in hub.parallel_job_status(3600)
        if job.status == "SUCCEEDED" and job.started_at is not None and job.started_at > since
    ]
    assert set(later) - {*killed, None, os.getpid()}, f"another took its place\n{story(hub)}"


@pytest.mark.parametrize("number", AGAIN)
def test_a_server_that_is_killed(hub: headwater.Hub, number: int) -> None:
    killed = []

    def kill(_: str) -> bool:
        pid = server_of(hub)
        if pid is None:
            return False
        os.kill(pid, signal.SIGKILL)
        killed.append(pid)
        return True

    hit(hub, kill, 1000 * number + 2_000_000, "HW5009")
    goes_on(hub, "HW5009")
    assert server_of(hub) not in (None, *killed), "another server took its place"


@pytest.mark.parametrize("number", AGAIN)
def test_a_worker_that_is_stopped_past_its_lease(hub: headwater.Hub, number: int) -> None:
    stopped = []

    def stop(table: str) -> bool:
        pid = stop_between_writes(hub, table)
        stopped.extend([] if pid is None else [pid])
        return pid is not None

    hit(hub, stop, 1000 * number + 3_000_000, "HW5007")
    versions = {t: hub.status(t)[0].version for t in TABLES}
    for pid in stopped:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
    time.sleep(2)
    assert {t: hub.status(t)[0].version for t in TABLES} == versions, "nothing twice"
    goes_on(hub, "HW5007")


def stop_between_writes(hub: headwater.Hub, table: str) -> int | None:
    """Stop a worker that runs a unit, but not while it writes: SQLite would let nobody write."""
    while True:
        pid = worker_of(hub, table)
        if pid is None:
            return None
        os.kill(pid, signal.SIGSTOP)
        free = threading.Thread(target=write_nothing, args=(hub,), daemon=True)
        free.start()
        free.join(timeout=2)
        if not free.is_alive():
            return pid
        os.kill(pid, signal.SIGCONT)
        free.join()


def write_nothing(hub: headwater.Hub) -> None:
    with hub._runtime.store.database.write():
        pass
    hub._runtime.tables._database.change([])


@pytest.mark.long
def test_a_refresh_that_takes_too_long_is_stopped(
    spark: SparkSession, place: Place, hub: headwater.Hub
) -> None:
    """The statement ends in the server, and its worker goes on with other units."""
    given = {**SETTINGS, "refresh_timeout": 5, "spark_connect_url": hub_url(hub)}
    with place.open(spark, settings=given) as other:
        other.sql("CREATE TABLE big (id BIGINT) USING iceberg")
        other.sql("INSERT INTO big SELECT id FROM range(10000)")
        slow = "SELECT COUNT(*) AS n FROM big a CROSS JOIN big b CROSS JOIN big c"
        other.create_stream_table("slow", slow, initialize=False)
        report = other.tick()
        assert "HW5008" in report.errors["default.slow"]
        other.alter_stream_table("slow", status="SUSPENDED")
        other.create_stream_table("quick", "SELECT MAX(id) AS m FROM big", initialize=False)
        assert not other.tick().errors
        check(other, "quick")
        jobs = {j.unit_key: j for j in other.parallel_job_status()}
        assert (
            jobs["singleton:default.quick"].worker_pid == jobs["singleton:default.slow"].worker_pid
        )


@pytest.mark.long
def test_maintenance_uses_the_server_of_the_workers(hub: headwater.Hub) -> None:
    for number in range(6):
        hub.sql(f"INSERT INTO src VALUES ({5000 + number}, 1, 9)")
        wait_until(lambda: has_all(hub))
    metadata = hub._runtime.tables.metadata(TableName.parse("lone"))
    assert metadata is not None
    assert is_scattered(metadata, file_bytes(0))
    assert hub._scheduler is not None
    hub._scheduler.daemon._maintain()
    metadata = hub._runtime.tables.metadata(TableName.parse("lone"))
    assert metadata is not None
    assert not is_scattered(metadata, file_bytes(0))
    check(hub, *TABLES)


@pytest.mark.long
def test_every_type_keeps_its_values_through_connect(
    spark: SparkSession, place: Place, hub: headwater.Hub
) -> None:
    """Rows of small windows travel to the client and back; a classic session checks the result."""
    first = (
        "1, true, float('nan'), -0.0d, 12345678901234567890.0123456789bd, DATE'0001-01-01', "
        "TIMESTAMP'0001-01-01 00:00:00.000001', TIMESTAMP_NTZ'9999-12-31 23:59:59.999999', "
        "X'00FF', 'a''b', array(1, NULL), named_struct('q', 1, 'r', array('x')), map('k', NULL)"
    )
    second = (
        "2, false, float('-inf'), 1e308d, -1bd, DATE'9999-12-31', TIMESTAMP'2024-02-29 12:00:00', "
        "TIMESTAMP_NTZ'1900-01-01 00:00:00', X'', '', array(), NULL, map()"
    )
    third = "3" + ", NULL" * 12
    with place.open(remote.connect(hub_url(hub))) as over, place.open(spark) as classic:
        classic.sql(
            "CREATE TABLE types (id BIGINT, b BOOLEAN, f FLOAT, d DOUBLE, e DECIMAL(38,10), "
            "dt DATE, ts TIMESTAMP, tn TIMESTAMP_NTZ, x BINARY, s STRING, a ARRAY<INT>, "
            "st STRUCT<q: INT, r: ARRAY<STRING>>, m MAP<STRING, INT>) USING iceberg"
        )
        classic.sql(f"INSERT INTO types SELECT {first}")
        over.create_stream_table("kept", "SELECT * FROM types WHERE id < 100")
        over.create_stream_table(
            "both",
            "SELECT t.*, n.c FROM types t JOIN (SELECT s, COUNT(*) AS c FROM types GROUP BY s) n "
            "ON t.s <=> n.s",
        )
        for change in (
            f"INSERT INTO types SELECT {second}",
            f"INSERT INTO types SELECT {third}",
            f"INSERT INTO types SELECT {first}",
            "UPDATE types SET s = 'c' WHERE id = 1",
            "DELETE FROM types WHERE id = 2",
        ):
            classic.sql(change)
            for name in ("kept", "both"):
                over.refresh_stream_table(name)
            check(classic, "kept", "both")
