"""Writers of one SQLite catalog wait in a queue, and do not wait for one that was stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from statistics import median

import pytest
from sqlalchemy import text

from headwater.catalog import turnstile
from headwater.catalog.database import Database, sqlite_url

HOG = """
import sys, time
from sqlalchemy import text
from headwater.catalog.database import Database
database = Database(sys.argv[1], hub="hub")
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    with database.write() as connection:
        connection.execute(text("UPDATE queue_test SET n = n + 1"))
        time.sleep(0.03)
"""
INSIDE = """
import sys, time
from headwater.catalog import turnstile
with turnstile.passing(sys.argv[1]):
    print("inside", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def database(tmp_path: Path) -> Database:
    made = Database(sqlite_url(tmp_path / "headwater.db"), hub="hub")
    with made.write() as connection:
        connection.execute(text("CREATE TABLE queue_test AS SELECT 0 AS n"))
    return made


def waited(database: Database) -> float:
    started = time.monotonic()
    with database.write() as connection:
        connection.execute(text("UPDATE queue_test SET n = n + 1"))
    return time.monotonic() - started


@pytest.mark.timed
def test_nobody_starves_beside_processes_that_write_all_the_time(
    database: Database, tmp_path: Path
) -> None:
    url = sqlite_url(tmp_path / "headwater.db")
    hogs = [subprocess.Popen([sys.executable, "-c", HOG, url, "4"]) for _ in range(3)]
    times = []
    while any(hog.poll() is None for hog in hogs):
        times.append(waited(database))
        time.sleep(0.02)
    assert [hog.returncode for hog in hogs] == [0, 0, 0]
    assert median(times) < 0.3, times
    assert max(times) < 2, "a turn comes within a few writes of 30 ms"


def test_writers_of_one_process_lose_nothing(database: Database) -> None:
    def many() -> None:
        for _ in range(20):
            waited(database)

    threads = [threading.Thread(target=many) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with database.read() as connection:
        assert connection.execute(text("SELECT n FROM queue_test")).scalar_one() == 160


@pytest.mark.timed
def test_a_process_stopped_in_the_queue_holds_nobody_for_long(
    database: Database, tmp_path: Path
) -> None:
    path = str(tmp_path / "headwater.db")
    with subprocess.Popen([sys.executable, "-c", INSIDE, path], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"inside\n"
        os.kill(process.pid, signal.SIGSTOP)
        first, second = waited(database), waited(database)
        process.kill()
    assert turnstile.PATIENCE <= first < turnstile.PATIENCE + 5
    assert second < turnstile.PATIENCE, "it has learned"


def test_a_folder_that_cannot_be_written_is_told_by_sqlite(tmp_path: Path) -> None:
    with turnstile.passing(str(tmp_path / "nowhere" / "headwater.db")):
        pass
