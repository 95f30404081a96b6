"""Processor time of a command, corrected for how slow the machine is at this moment."""

from __future__ import annotations

import resource
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 15
IDLE_TYPER_SECONDS = 0.135
"""`python -c 'import typer'` on an idle machine with two small cores."""


def is_within(run: Callable[[], object], budget: float) -> bool:
    """Whether one of several runs stays within the budget; a busy machine gets more of it."""
    return any(_spent(run) < budget * max(1.0, _slowness()) for _ in range(ROUNDS))


def _slowness() -> float:
    command = [sys.executable, "-c", "import typer"]
    return _spent(lambda: subprocess.run(command, check=True)) / IDLE_TYPER_SECONDS


def _spent(run: Callable[[], object]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
