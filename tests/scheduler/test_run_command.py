"""`headwater run` and its companions: in the foreground until told to stop."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from dataclasses import fields
from pathlib import Path
from typing import Any

from bench.quiet_hub import quiet_hub, write_source

from headwater.core.reports import AllocationRow, JobRow, TickChoice
from shared_spark import environment

SLOW = Path(__file__).with_name("slow_run_process.py")
COMMAND = (sys.executable, "-m", "headwater.cli.main")


def headwater(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, "--hub", str(folder), *arguments],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_run_leads_the_hub_until_it_is_told_to_stop(tmp_path: Path) -> None:
    quiet_hub(tmp_path, 5).close()
    process = subprocess.Popen(
        [*COMMAND, "--hub", str(tmp_path), "run"],
        env={
            **environment(),
            "HEADWATER_LOG_FORMAT": "json",
            "HEADWATER_SCHEDULER_INTERVAL_MS": "200",
        },
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        lines = [json.loads(process.stderr.readline()) for _ in range(2)]
        assert {line["event"] for line in lines} == {"scheduler_started", "leader"}
        time.sleep(1)
        health = headwater(tmp_path, "health", "--format", "json")
        checks = {row["check_name"]: row["severity"] for row in json.loads(health.stdout)}
        assert checks["scheduler_running"] == "OK"
        assert health.returncode == 0, health.stdout
        os.kill(process.pid, signal.SIGTERM)
        said = [json.loads(line)["event"] for line in process.stderr]
        assert process.wait(timeout=30) == 0
        assert said[-2:] == ["scheduler_stopping", "scheduler_stopped"]
    finally:
        process.kill()
    health = headwater(tmp_path, "health", "--format", "json")
    assert health.returncode == 3
    history = json.loads(headwater(tmp_path, "history", "--format", "json").stdout)
    assert [row["reason_code"] for row in history] == ["IDLE_TICK"]


def slow_run(folder: Path, *arguments: str, **streams: Any) -> subprocess.Popen[str]:
    """`headwater run` of one worker, whose refreshes take two seconds each."""
    return subprocess.Popen(
        [sys.executable, SLOW, "2", "--hub", str(folder), "run", *arguments],
        env={
            **environment(),
            "TERM": "xterm",
            "HEADWATER_SCHEDULER_INTERVAL_MS": "200",
            "HEADWATER_MAX_PARALLEL_WORKERS": "1",
        },
        text=True,
        **streams,
    )


def test_what_runs_is_waited_for_when_it_is_told_to_stop(tmp_path: Path) -> None:
    quiet_hub(tmp_path, 4).close()
    write_source(tmp_path, "source3", 2)  # t2 and t3 read it
    process = slow_run(tmp_path, "--format", "json", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert "begins default.t" in process.stdout.readline()
        os.kill(process.pid, signal.SIGTERM)
        _, said = process.communicate(timeout=30)
        assert process.returncode == 0
    finally:
        process.kill()
    lines = [json.loads(line) for line in said.splitlines()]
    assert [line["event"] for line in lines][-2:] == ["scheduler_stopping", "scheduler_stopped"]
    assert lines[-1]["drained"] is True
    tick = next(line for line in lines if line["event"] == "tick")
    assert tick["units"] == ["singleton:default.t2", "singleton:default.t3"]
    jobs = json.loads(headwater(tmp_path, "jobs", "--format", "json").stdout)
    assert list(jobs[0]) == [f.name for f in fields(JobRow)]
    ended = {job["status"]: job["outcome_detail"] for job in jobs}
    assert ended == {"SUCCEEDED": None, "CANCELLED": "the scheduler stopped"}
    health = json.loads(headwater(tmp_path, "health", "--format", "json").stdout)
    assert {row["check_name"]: row["severity"] for row in health}["scheduler_running"] == "WARN"


def test_a_terminal_shows_what_runs_and_waits(tmp_path: Path) -> None:
    quiet_hub(tmp_path, 4).close()
    parent, child = pty.openpty()
    process = slow_run(tmp_path, stdout=subprocess.DEVNULL, stderr=child)
    os.close(child)
    try:
        shown = read_until(parent, "Watching 4 stream tables")
        assert "scheduler_started" in shown
        write_source(tmp_path, "source3", 2)
        read_until(parent, "1 run, 1 wait: default.t")
        os.kill(process.pid, signal.SIGTERM)
        shown = read_until(parent, "scheduler_stopped")
        assert "Waiting for what runs" in shown
        assert process.wait(timeout=30) == 0
    finally:
        process.kill()
        os.close(parent)


def read_until(terminal: int, words: str) -> str:
    """What a terminal shows up to some words."""
    written, until = b"", time.monotonic() + 30
    while words.encode() not in written:
        assert time.monotonic() < until, written
        if select.select([terminal], [], [], 1)[0]:
            written += os.read(terminal, 65536)
    return written.decode()


def test_the_commands_that_look(tmp_path: Path) -> None:
    quiet_hub(tmp_path, 3).close()
    assert "nothing was due" in told(headwater(tmp_path, "tick"))
    assert "there are no jobs" in told(headwater(tmp_path, "jobs"))
    for empty in ("tick", "jobs"):
        done = headwater(tmp_path, empty, "--format", "json")
        assert (done.returncode, json.loads(done.stdout)) == (0, [])
    write_source(tmp_path, "source2", 2)
    headwater(tmp_path, "settings", "enabled", "false")
    rows = json.loads(headwater(tmp_path, "tick", "--all", "--format", "json").stdout)
    assert {row["name"]: row["reason_code"] for row in rows} == {
        "default.t1": "DISABLED",
        "default.t2": "DISABLED",
    }
    assert list(rows[0]) == [f.name for f in fields(TickChoice)]
    workers = json.loads(headwater(tmp_path, "workers", "--format", "json").stdout)
    assert list(workers[0]) == [f.name for f in fields(AllocationRow)]
    assert workers[0]["hub"] == "default"
    units = json.loads(headwater(tmp_path, "graph", "--as", "units", "--format", "json").stdout)
    assert [u["kind"] for u in units] == ["singleton"] * 3
    assert "flowchart LR" in headwater(tmp_path, "graph", "--as", "mermaid").stdout


def told(done: subprocess.CompletedProcess[str]) -> str:
    return done.stdout + done.stderr
