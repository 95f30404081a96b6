"""How a refresh reads its change windows: in place, out of a shared scan, or computed first.

A window is computed first when the program reads it more than once, or asks for its values: joined
tables then read only the files that can hold them. It is netted on the way, so that rows which a
commit only copied are gone before anything is joined.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headwater.core.names import WEIGHT, quote
from headwater.refresh.outlook import WORTH_SKIPPING
from headwater.sources.source import Kind
from headwater.sql.operators import At
from headwater.sql.render import hole

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from headwater.core.names import TableName
    from headwater.refresh.runtime import Runtime
    from headwater.refresh.stages import Planned
    from headwater.sources.iceberg import IcebergSource
    from headwater.sources.source import Window

TINY_BYTES = 4 * 1024 * 1024
"""Windows up to this size are likely to hold few rows."""

ONE_TASK_BYTES = 16 * 1024 * 1024
"""Windows up to this size are read by one task: Iceberg makes no more of them by itself."""

LIGHT_BYTES = 64 * 1024 * 1024
"""Windows up to this size are refreshed without adaptive planning: it costs more than it saves."""

_WINDOW = re.compile(r"`(__hw_src_\d+_delta)`")


@dataclass(frozen=True, slots=True)
class First:
    """A window that is computed before the statements that read it by name.

    Attributes:
        name: what they call it.
        sql: the query.
        tiny: whether few rows are expected.
        made: it has been computed for several refreshes and is only given the name.
        rows: rows of one that was made and is on the driver.
    """

    name: str
    sql: str
    tiny: bool
    made: bool = False
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class Reads:
    """The text that stands for each window in FROM, and the windows to compute first.

    Attributes:
        netted: the tables whose windows hold nothing that cancels out when they are read.
    """

    texts: Mapping[TableName, str]
    first: tuple[First, ...] = ()
    netted: tuple[TableName, ...] = ()


def window_reads(
    runtime: Runtime,
    planned: Planned,
    sources: Mapping[TableName, IcebergSource],
    order: Sequence[TableName],
    asked: Collection[str],
    often: Collection[str],
) -> Reads:
    """Decide how each window is read.

    Args:
        runtime: knows the windows that are shared.
        planned: the refresh.
        sources: where windows come from.
        order: the sources as the templates number them.
        asked: the names of windows and stages whose values the program asks for.
        often: the names of windows that it reads more than once.
    """
    texts: dict[TableName, str] = {}
    first: list[First] = []
    compact: list[TableName] = []
    pays = (
        planned.outlook.source_bytes >= WORTH_SKIPPING
        and sum(w.planned_bytes for w in planned.windows.values()) <= LIGHT_BYTES
    )
    for table, window in planned.windows.items():
        if window.sql is None:
            continue
        name = hole(order, table, At.DELTA)
        shared = _shared(runtime, planned, sources[table], window)
        if shared is not None:
            sql, rows = shared
            compact.append(table)
            texts[table] = in_one_task(window, sql)
            if name in asked:
                first.append(First(name, f"SELECT * FROM {sql}", tiny=True, made=True, rows=rows))
        elif name in often or (name in asked and pays):
            texts[table] = quote(name)
            tiny = window.planned_bytes <= TINY_BYTES
            compact.append(table)
            first.append(First(name, netted(in_one_task(window, window.sql), window), tiny))
        else:
            texts[table] = in_one_task(window, window.sql)
    mixed = [t for t in compact if (w := planned.windows[t]).kind is Kind.MIXED and w.columns]
    return Reads(texts, tuple(first), tuple(mixed))


def names_read_often(templates: Iterable[str]) -> set[str]:
    """The windows that templates read more than once.

    >>> names_read_often(["FROM `__hw_src_1_delta`", "`__hw_src_1_delta`, `__hw_src_0_delta`"])
    {'__hw_src_1_delta'}
    """
    counts = Counter(name for text in templates for name in _WINDOW.findall(text))
    return {name for name, times in counts.items() if times > 1}


def netted(sql: str, window: Window) -> str:
    """The query of a window with one row per distinct row; rows that only appear are kept."""
    columns = [quote(name) for name in window.columns]
    if window.kind is Kind.APPEND or not columns:
        return f"SELECT * FROM {sql}"
    listed, weight = ", ".join(columns), f"SUM({quote(WEIGHT)})"
    return (
        f"SELECT {listed}, {weight} AS {quote(WEIGHT)} FROM {sql} "
        f"GROUP BY {listed} HAVING {weight} <> 0"
    )


def _shared(
    runtime: Runtime, planned: Planned, source: IcebergSource, window: Window
) -> tuple[str, int | None] | None:
    """The read of a window that other refreshes of this round read too; None if there are none."""
    if runtime.scans is None or planned.old is None or planned.decision.is_full:
        return None
    since, until = planned.old.sources[source.name], planned.new.sources[source.name]
    return runtime.scans.read(source, window, since, until)


def in_one_task(window: Window, sql: str) -> str:
    """The read of a window; a small one stays in one task, so that netting needs no exchange."""
    if window.planned_bytes > ONE_TASK_BYTES:
        return sql
    return re.sub(r"\A\(SELECT ", "(SELECT /*+ COALESCE(1) */ ", sql)
