"""How warm Spark is for a statement: first runs load classes and generate code.

Counted in this process; a Spark that another process shares may be warmer than it looks here.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

WARM_AFTER = 5
"""Refreshes after which Spark has loaded what every refresh needs."""

COLD, NEW_STATEMENT, WARM = 0, 1, 2


@dataclass
class Warmth:
    """Which statements this process has run."""

    _runs: int = 0
    _known: set[tuple[str, str]] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, definition_hash: str, specialisation: str) -> int:
        """Note a run; returns how warm Spark was for it."""
        key = (definition_hash, specialisation)
        with self._lock:
            known = key in self._known
            self._known.add(key)
            self._runs += 1
            if self._runs <= WARM_AFTER:
                return COLD
            return WARM if known else NEW_STATEMENT
