"""Compiled refreshes: asked for in this process, then in the shared file, then in the catalog.

Only what none of them has is compiled, one specialisation at a time. A key holds the stream table,
the generation of its definition and the identity of the compiler, so that an entry is either right
or never asked for.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from headwater.catalog.shared_cache import SharedCache
from headwater.core.errors import HeadwaterError
from headwater.core.figures import CacheStats

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headwater.catalog.rows import StreamTableRow
    from headwater.catalog.templates import Templates as StoredTemplates
    from headwater.core.names import TableName
    from headwater.delta.change import Change
    from headwater.delta.compile import Program
    from headwater.refresh.definitions import Resolved

T = TypeVar("T")

LONGEST = 230
"""Longest name of a specialisation; the catalog keeps it after the identity of the compiler."""

DEFINITION = "definition"
"""The specialisation under which the definition itself is kept."""


@dataclass
class Counts:
    """How often which cache answered."""

    l1_hits: int = 0
    l0_hits: int = 0
    l2_hits: int = 0
    misses: int = 0
    evictions: int = 0


@dataclass
class Templates:
    """The caches of one hub as this process sees them.

    Attributes:
        capacity: how many programs are kept in this process; asked when one is added.
        stored: the cache in the catalog; None where there is none.
        shared: the cache in a file of this host.
        hub: the hub, as part of the keys.
        is_private: whether templates depend on functions of this process, and stay in it.
    """

    capacity: Callable[[], int] = lambda: 256
    stored: StoredTemplates | None = None
    shared: SharedCache = field(default_factory=lambda: SharedCache(None))
    hub: str = ""
    is_private: Callable[[], bool] = lambda: False
    counts: Counts = field(default_factory=Counts)
    _programs: OrderedDict[tuple[str, str], Program] = field(default_factory=OrderedDict)
    _resolved: OrderedDict[str, Resolved] = field(default_factory=OrderedDict)
    _epoch: bytes = b""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def program(self, resolved: Resolved, changed: Mapping[TableName, Change]) -> Program:
        """The program for this definition when just these sources changed in these ways."""
        key = (resolved.hash, specialisation(changed))
        self._follow_epoch()
        with self._lock:
            known = self._programs.get(key)
            if known is not None:
                self._programs.move_to_end(key)
                self.counts.l1_hits += 1
                return known
        # The compiler is loaded where it is needed: most openings of a hub compile nothing.
        from headwater.refresh.stored_template import program_bytes, read_program

        program = self._outside(resolved, key[1], read_program)
        if program is None:
            from headwater.delta.compile import compile_refresh

            program = compile_refresh(resolved.definition, resolved.layout, changed)
            self._count("misses")
            self._keep(resolved, key[1], program_bytes(program))
        capacity = self.capacity()
        with self._lock:
            self._programs[key] = program
            while len(self._programs) > capacity:
                self._programs.popitem(last=False)
                self.counts.evictions += 1
        return program

    def definition(self, row: StreamTableRow, resolve: Callable[[], Resolved]) -> Resolved:
        """The definition of a stream table; `resolve` compiles it when no cache has it."""
        self._follow_epoch()
        with self._lock:
            known = self._resolved.get(row.definition_hash)
        if known is not None:
            return known if known.owner == _owner(row) else replace(known, owner=_owner(row))
        from headwater.refresh.definitions import restored
        from headwater.refresh.stored_template import read_compiled

        asked = _Asked(row.definition_hash, _owner(row))
        compiled = self._outside(asked, DEFINITION, read_compiled)
        if compiled is None:
            self._count("misses")
            return self.remember(resolve(), row)
        return self._hold(row, restored(compiled, resolve))

    def remember(self, resolved: Resolved, row: StreamTableRow) -> Resolved:
        """Keep a definition that was just compiled for a stream table."""
        from headwater.refresh.stored_template import Compiled, compiled_bytes

        asked = _Asked(row.definition_hash, _owner(row))
        self._keep(asked, DEFINITION, compiled_bytes(Compiled.of(resolved)))
        return self._hold(row, resolved)

    def clear(self) -> int:
        """Empty all caches; returns how many entries the catalog had."""
        self.forget()
        self.shared.clear()
        self._epoch = self.shared.epoch()
        return self.stored.clear() if self.stored is not None else 0

    def forget(self) -> None:
        """Empty the caches of this process."""
        with self._lock:
            self._programs.clear()
            self._resolved.clear()

    def stats(self) -> CacheStats:
        """How often which cache answered in this process, and what each holds."""
        with self._lock:
            held = len(self._programs)
        counts = self.counts
        return CacheStats(
            l1_hits=counts.l1_hits,
            l0_hits=counts.l0_hits,
            l2_hits=counts.l2_hits,
            misses=counts.misses,
            evictions=counts.evictions,
            l1_size=held,
            l0_size=self.shared.entries,
            l2_size=self.stored.count() if self.stored is not None else 0,
            l0_skipped_writes=self.shared.skipped,
            l0_path=str(self.shared.path) if self.shared.path is not None else None,
        )

    def close(self) -> None:
        """Let go of the shared file."""
        self.shared.close()

    def _hold(self, row: StreamTableRow, resolved: Resolved) -> Resolved:
        mine = replace(resolved, owner=_owner(row))
        capacity = self.capacity()
        with self._lock:
            self._resolved[row.definition_hash] = mine
            while len(self._resolved) > capacity:
                self._resolved.popitem(last=False)
        return mine

    def _outside(
        self, resolved: Resolved | _Asked, name: str, read: Callable[[bytes], T | None]
    ) -> T | None:
        """An entry from the shared file or from the catalog, which then goes to the file too."""
        if resolved.owner is None or self.is_private():
            return None
        key = self._key(resolved.hash, resolved.owner, name)
        payload = self.shared.get(key)
        found = read(payload) if payload is not None else None
        if found is not None:
            self._count("l0_hits")
            return found
        payload = self._from_catalog(resolved.owner, name)
        found = read(payload) if payload is not None else None
        if found is not None and payload is not None:
            self._count("l2_hits")
            self.shared.put(key, payload)
        return found

    def _keep(self, resolved: Resolved | _Asked, name: str, payload: bytes | None) -> None:
        """Offer an entry to the caches outside; whatever they say, the refresh goes on."""
        if resolved.owner is None or payload is None or self.is_private():
            return
        self.shared.put(self._key(resolved.hash, resolved.owner, name), payload)
        if self.stored is not None:
            with suppress(HeadwaterError):
                self.stored.put(*resolved.owner, _stored_name(name), payload)

    def _from_catalog(self, owner: tuple[int, int], name: str) -> bytes | None:
        if self.stored is None:
            return None
        with suppress(HeadwaterError):
            return self.stored.get(*owner, _stored_name(name))
        return None

    def _key(self, definition_hash: str, owner: tuple[int, int], name: str) -> bytes:
        parts = (_compiler(), self.hub, *map(str, owner), definition_hash, name)
        return hashlib.blake2b("\0".join(parts).encode(), digest_size=32).digest()

    def _follow_epoch(self) -> None:
        """Forget what was cached before some process cleared the caches."""
        epoch = self.shared.epoch()
        if epoch != self._epoch:
            self.forget()
            self._epoch = epoch

    def _count(self, what: str) -> None:
        with self._lock:
            setattr(self.counts, what, getattr(self.counts, what) + 1)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A definition that is asked for by its row."""

    hash: str
    owner: tuple[int, int]


def _owner(row: StreamTableRow) -> tuple[int, int]:
    return row.id, row.generation


def _compiler() -> str:
    from headwater.refresh.fingerprint import fingerprint

    return fingerprint()


def _stored_name(name: str) -> str:
    return f"{_compiler()}/{name}"


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
