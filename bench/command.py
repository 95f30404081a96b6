"""What the benchmarks share: options, a fresh hub in a temporary folder, one JSON result."""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import headwater
from bench.measure import save
from headwater.refresh.conf import LARGE_REFRESH, SMALL_REFRESH
from headwater.storage.spark import settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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


@contextmanager
def same_settings(hub: headwater.Hub, *, small: bool = True) -> Iterator[SparkSession]:
    """A session with the settings and the file system that refreshes have, for their peers.

    Args:
        hub: whose refreshes the peer is compared with.
        small: the settings of a refresh of few changes; else those of a large one.
    """
    conf = SMALL_REFRESH if small else LARGE_REFRESH
    with hub._runtime.engine.exclusive() as session, settings(session, conf):
        yield session


def differing_rows(hub: headwater.Hub, ours: str, peer: str) -> int:
    """Rows that two tables do not share, as bags, by the columns that both have."""
    one, other = hub.table(ours), hub.table(peer)
    known = {name.lower() for name in other.columns}
    shared = [name for name in one.columns if name.lower() in known]
    assert shared, f"{ours} and {peer} have no column in common"
    one, other = one.select(*shared), other.select(*shared)
    return int(one.exceptAll(other).count() + other.exceptAll(one).count())
