"""How a run divides its files: the last worker takes those without Spark, the others the rest.

A worker with Spark leaves its core idle while it waits for jobs and for other processes. Plain
Python fills these gaps at no cost of memory; a third Spark would have to be warmed up again.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from xdist.scheduler import LoadFileScheduling

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController


class ByNeed(LoadFileScheduling):
    """Files in the order of collection; the last worker passes over those that need Spark."""

    def _assign_work_unit(self, node: WorkerController) -> None:
        if len(self.registered_collections) > 2 and node is self.nodes[-1]:
            light = next((file for file in self.workqueue if not needs_spark(file)), None)
            if light is None:
                return
            self.workqueue.move_to_end(light, last=False)
        super()._assign_work_unit(node)


@cache
def needs_spark(file: str) -> bool:
    """Whether any test of a file is marked so."""
    return "mark.spark" in Path(file).read_text("utf-8")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByNeed:
    return ByNeed(config, log)
