"""Identifiers of runs: unique without coordination, in the order of their time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

ENTROPY_BYTES = 8


def run_id(at: datetime, entropy: bytes) -> str:
    """Name a run: 12 hexadecimal digits of milliseconds, then random ones.

    The text is safe as a branch name, a file name and a SQL literal, and sorts by time.

    >>> from datetime import UTC, datetime
    >>> run_id(datetime(2026, 1, 1, tzinfo=UTC), bytes(8))
    '019b76da28000000000000000000'
    """
    if len(entropy) != ENTROPY_BYTES:
        raise ValueError(f"a run id needs {ENTROPY_BYTES} random bytes, not {len(entropy)}")
    milliseconds = int(at.timestamp() * 1000)
    return f"{milliseconds:012x}{entropy.hex()}"
