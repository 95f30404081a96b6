"""The nearest known word, for hints in errors."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word most like a mistyped one, if any is like it.

    >>> nearest("ordrs", ["orders", "customers"])
    'orders'
    """
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return close[0] if close else None
