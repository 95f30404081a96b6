"""The nearest known word, for hints in errors."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headwater.core.names import TableName


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word most like a mistyped one, if any is like it.

    >>> nearest("ordrs", ["orders", "customers"])
    'orders'
    """
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return close[0] if close else None


def nearest_table(name: TableName, known: Iterable[TableName]) -> TableName | None:
    """The known table most like a mistyped one: by its own name, whatever the namespace."""
    tables = sorted(known, key=lambda t: (t.namespace != name.namespace, t))
    guess = nearest(name.name, [t.name for t in tables])
    return next((t for t in tables if t.name == guess), None)
