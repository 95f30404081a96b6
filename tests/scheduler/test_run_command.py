"""`headwater run` and its companions: in the foreground until told to stop."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from bench.quiet_hub import quiet_hub

from shared_spark import environment

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


def test_the_commands_that_look(tmp_path: Path) -> None:
    quiet_hub(tmp_path, 3).close()
    assert (
        "nothing was due" in headwater(tmp_path, "tick").stderr + headwater(tmp_path, "tick").stdout
    )
    assert "there are no jobs" in "".join(
        (headwater(tmp_path, "jobs").stdout, headwater(tmp_path, "jobs").stderr)
    )
    workers = json.loads(headwater(tmp_path, "workers", "--format", "json").stdout)
    assert workers[0]["hub"] == "default"
    units = json.loads(headwater(tmp_path, "graph", "--as", "units", "--format", "json").stdout)
    assert [u["kind"] for u in units] == ["singleton"] * 3
    assert "flowchart LR" in headwater(tmp_path, "graph", "--as", "mermaid").stdout
