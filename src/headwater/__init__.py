"""Stream tables for Apache Spark and Apache Iceberg.

A stream table is a table defined by a SQL query that stays fresh: when its sources change, only
what changed in the result is computed and applied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headwater.core.errors import HeadwaterError, HeadwaterWarning
from headwater.core.reports import TickReport
from headwater.core.results import (
    DependencyRow,
    Explanation,
    HistoryRow,
    RefreshResult,
    StatusRow,
    Verdict,
    VerifyReport,
)
from headwater.version import __version__

if TYPE_CHECKING:
    from headwater.hub import Hub, StreamTable, connect

__all__ = [
    "DependencyRow",
    "Explanation",
    "HeadwaterError",
    "HeadwaterWarning",
    "HistoryRow",
    "Hub",
    "RefreshResult",
    "StatusRow",
    "StreamTable",
    "TickReport",
    "Verdict",
    "VerifyReport",
    "__version__",
    "connect",
]


def __getattr__(name: str) -> Any:
    """Load the hub at its first use, so that importing the package stays cheap."""
    if name in ("Hub", "StreamTable", "connect"):
        from headwater import hub

        return getattr(hub, name)
    raise AttributeError(f"module 'headwater' has no attribute {name!r}")
