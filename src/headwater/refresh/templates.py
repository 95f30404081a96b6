"""Compiled refreshes, kept per definition and specialisation: least recently used ones go first."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headwater.core.names import TableName
    from headwater.delta.change import Change
    from headwater.delta.compile import Program
    from headwater.refresh.definitions import Resolved

LONGEST = 255
"""Longest name of a specialisation that the catalog keeps."""


@dataclass
class Templates:
    """A bounded cache of programs and resolved definitions in this process.

    Attributes:
        capacity: how many of each are kept; asked when one is added.
        hits: programs found.
        misses: programs compiled.
    """

    capacity: Callable[[], int] = lambda: 256
    hits: int = 0
    misses: int = 0
    _programs: OrderedDict[tuple[str, str], Program] = field(default_factory=OrderedDict)
    _resolved: OrderedDict[str, Resolved] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def program(self, resolved: Resolved, changed: Mapping[TableName, Change]) -> Program:
        """The program for this definition when just these sources changed in these ways."""
        key = (resolved.hash, specialisation(changed))
        with self._lock:
            known = self._programs.get(key)
            if known is not None:
                self._programs.move_to_end(key)
                self.hits += 1
                return known
            self.misses += 1
        # The compiler is loaded where it is needed: most openings of a hub compile nothing.
        from headwater.delta.compile import compile_refresh

        program = compile_refresh(resolved.definition, resolved.layout, changed)
        capacity = self.capacity()
        with self._lock:
            self._programs[key] = program
            while len(self._programs) > capacity:
                self._programs.popitem(last=False)
        return program

    def resolved(self, definition_hash: str) -> Resolved | None:
        """A definition resolved earlier in this process."""
        with self._lock:
            return self._resolved.get(definition_hash)

    def remember(self, resolved: Resolved) -> None:
        """Keep a resolved definition."""
        capacity = self.capacity()
        with self._lock:
            self._resolved[resolved.hash] = resolved
            while len(self._resolved) > capacity:
                self._resolved.popitem(last=False)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._programs.clear()
            self._resolved.clear()


def specialisation(changed: Mapping[TableName, Change]) -> str:
    """The name of a specialisation: which sources changed, and how.

    >>> specialisation({})
    'none'
    """
    text = ",".join(f"{t}:{c.name}" for t, c in sorted(changed.items())) or "none"
    if len(text) <= LONGEST:
        return text
    digest = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    return f"{text[: LONGEST - 1 - len(digest)]}#{digest}"
