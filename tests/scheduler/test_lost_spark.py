"""A hub whose own Spark dies starts another one, and goes on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from shared_spark import environment

pytestmark = [pytest.mark.spark, pytest.mark.long]

PROCESS = Path(__file__).with_name("lost_spark_process.py")


@pytest.mark.parametrize("number", range(2))
def test_spark_is_started_again(tmp_path: Path, number: int) -> None:
    done = subprocess.run(
        [sys.executable, PROCESS, tmp_path / "lake"],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "exact" in done.stdout
