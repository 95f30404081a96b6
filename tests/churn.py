"""How many rows a refresh may write: as many as differ between what is stored before and after."""

from __future__ import annotations

import re
from collections import Counter

import headwater

_ROW_ID = "__hw_id"
_NEGATIVE_ZERO = re.compile(r"-0\.0(?!\d)")


def stored(hub: headwater.Hub, name: str) -> Counter:
    """The rows on disk as texts, with what only maintenance reads, but for row ids."""
    table = hub.spark.table(f"hw.default.{name}")
    kept = [column for column in table.columns if column != _ROW_ID]
    rows = table.select(*kept).collect()
    return Counter(_NEGATIVE_ZERO.sub("0.0", repr(tuple(row))) for row in rows)


def churn(result: headwater.RefreshResult, before: Counter, after: Counter) -> str | None:
    """How what a refresh says it wrote is not what differs; None if it is, or if it was full."""
    written = result.rows_inserted, result.rows_deleted
    differ = (after - before).total(), (before - after).total()
    if result.action not in ("INCREMENTAL", "NO_DATA") or written == differ:
        return None
    return f"wrote {written} rows, but {differ} differ: +{after - before} -{before - after}"
