"""What the benchmarks share: options, a fresh hub in a temporary folder, one JSON result."""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import headwater
from bench.measure import save

Run = Callable[[headwater.Hub, argparse.Namespace], dict[str, Any]]

OWN_METADATA = "TBLPROPERTIES ('write.metadata.delete-after-commit.enabled' = 'true')"
"""For sources: their metadata folder stays small, as a stream table's does."""


def options(doc: str | None, known: Mapping[str, Any]) -> argparse.Namespace:
    """The options of a benchmark: each has a default, which tells its type."""
    parser = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    for name, default in known.items():
        if isinstance(default, bool):
            parser.add_argument(f"--{name}", action=argparse.BooleanOptionalAction, default=default)
        else:
            parser.add_argument(f"--{name}", type=type(default), default=default)
    return parser.parse_args()


def main(name: str, doc: str | None, run: Run, **known: Any) -> int:
    """Run a benchmark on a new hub and save what it returns; the exit code tells if it passed."""
    arguments = options(doc, known)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder, headwater.connect(Path(folder) / "lake") as hub:
        result = run(hub, arguments)
    save(name, result)
    return 0 if result["passed"] else 1
