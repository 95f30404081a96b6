"""Decides how merges change a stream table: by writing files again, or by marking rows. Pure.

    copy-on-write    files that hold changed rows are written again; reading costs nothing more
    merge-on-read    changed rows are marked in deletion vectors (format 3); readers skip them

Marking pays when merges write much again for little: changed keys all over a large table. Iceberg
does not tell the changes of a table with marked rows: stream tables that read it find them in its
change log. Subscribers do not, so a table with a publication is never marked. Not every engine
reads format 3, so the change is told, and a table property refuses it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from statistics import median
from typing import TYPE_CHECKING

from headwater.storage.sizing import MIB

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FIXED = "headwater.write-mode"
"""The table property by which a user fixes the mode."""

MERGE_MODE = "write.merge.mode"
FORMAT = "format-version"

MUCH, MANY = 16 * MIB, 100_000
"""Marking is worth it when merges write so many bytes again, or so many rows, however small."""

MERGES = 3
"""Merges that are looked at before the mode is changed."""


class WriteMode(StrEnum):
    """How a MERGE changes rows; as Iceberg calls it."""

    COPY = "copy-on-write"
    MARK = "merge-on-read"


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What a merge wrote again, about: its files hold as much as the others."""

    bytes: float
    rows: float


@dataclass(frozen=True, slots=True)
class Choice:
    """A mode, and why; the reason is empty when it stays as it is."""

    mode: WriteMode
    reason: str = ""

    def properties(self) -> dict[str, str]:
        """The table properties that make it so."""
        wanted = {MERGE_MODE: self.mode.value}
        return wanted | {FORMAT: "3"} if self.mode is WriteMode.MARK else wanted


def choose(
    properties: Mapping[str, str], *, has_subscribers: bool, rewritten: Sequence[Rewritten]
) -> Choice:
    """The mode for coming merges.

    Args:
        properties: those of the table.
        has_subscribers: whether it has a publication, whose readers know no change log.
        rewritten: what its last merges wrote again, newest first.
    """
    known = {mode.value: mode for mode in WriteMode}
    have = known.get(properties.get(MERGE_MODE, ""), WriteMode.COPY)
    fixed = properties.get(FIXED)
    if fixed in known:
        return _changed(have, known[fixed], f"the table property {FIXED} says so")
    if has_subscribers:
        return _changed(have, WriteMode.COPY, "it has subscribers")
    newest = rewritten[:MERGES]
    if len(newest) < MERGES:
        return Choice(have)
    size, rows = median(r.bytes for r in newest), median(r.rows for r in newest)
    if size >= MUCH:
        return _changed(have, WriteMode.MARK, f"merges write {size / MIB:.0f} MiB again")
    if rows >= MANY:
        return _changed(have, WriteMode.MARK, f"merges write {rows:,.0f} rows again")
    return Choice(have)


def _changed(have: WriteMode, wanted: WriteMode, reason: str) -> Choice:
    return Choice(wanted, reason if wanted is not have else "")
