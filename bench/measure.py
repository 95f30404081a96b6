"""How the benchmarks measure: several actions in turn, warm, medians, one JSON result."""

from __future__ import annotations

import json
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def in_turn(
    actions: dict[str, Callable[[], object]], *, rounds: int, warm: int
) -> dict[str, list[float]]:
    """Milliseconds of each action, taken in turn so that noise hits all of them alike."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    for number in range(warm + rounds):
        for name, action in actions.items():
            started = time.perf_counter()
            action()
            if number >= warm:
                times[name].append((time.perf_counter() - started) * 1000)
    return times


def median(values: list[float]) -> float:
    return statistics.median(values)


def save(name: str, result: dict[str, Any]) -> None:
    RESULTS.mkdir(exist_ok=True)
    document = {"benchmark": name, "python": platform.python_version(), **result}
    (RESULTS / f"{name}.json").write_text(json.dumps(document, indent=2) + "\n")
