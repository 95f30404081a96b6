"""Executors of a cluster are killed in the middle of refreshes: everything is exact afterwards."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from shared_spark import environment

pytestmark = pytest.mark.spark

PROCESS = Path(__file__).with_name("lost_executor_process.py")
TIMES = [1, pytest.param(5, marks=pytest.mark.long)]


def on_cluster() -> ModuleType:
    """The script that starts a cluster."""
    path = Path(__file__).resolve().parents[2] / "scripts" / "on_cluster.py"
    spec = importlib.util.spec_from_file_location("on_cluster", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("times", TIMES)
def test_executors_that_are_killed(tmp_path: Path, times: int) -> None:
    with on_cluster().cluster() as given:
        done = subprocess.run(
            [sys.executable, PROCESS, tmp_path / "lake", str(times)],
            env={**given, "PYTHONPATH": environment()["PYTHONPATH"]},
            capture_output=True,
            text=True,
            timeout=1500,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split().count("exact") == times
