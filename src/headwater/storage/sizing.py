"""How large the files of a stream table should be, and what a refresh may expect of them. Pure.

A copy-on-write merge rewrites every file that it touches, so files are small; planning a scan takes
time for every file, so they are not many. Rows are in the order of the key: a change of
neighbouring keys touches one or two files.
"""

from __future__ import annotations

MIB = 1024 * 1024
SMALLEST, LARGEST = MIB, 128 * MIB
FILES = 64
"""A table is to lie in about so many files, while those are neither too small nor too large."""

FAR = 2.0
"""Another size is worth rewriting files for when it differs by this factor."""

SORTED_FROM = 100_000
"""A table of fewer rows is not sorted: its merges rewrite it whole, and that is quick."""

TARGET_FILE_BYTES = "write.target-file-size-bytes"


def file_bytes(table_bytes: int) -> int:
    """The size of a file in a table of this size.

    >>> file_bytes(10 * MIB) // MIB, file_bytes(640 * MIB) // MIB, file_bytes(10**12) // MIB
    (1, 10, 128)
    """
    return min(max(table_bytes // FILES, SMALLEST), LARGEST)


def is_far(have: int, want: int) -> bool:
    """Whether files of one size are worth rewriting to another."""
    return have > want * FAR or want > have * FAR
