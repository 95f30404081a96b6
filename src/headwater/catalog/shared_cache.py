"""The cache file that all processes of one hub on one host share: LMDB, read without waiting.

It may be lost, damaged or held by a stopped process at any time: that costs a compilation and
nothing else. So reads never fail, and writes are tried, not waited for: a writer must hold a file
lock that it asks for without waiting, and only then takes the lock of LMDB, which is free then.
The operating system gives up the file lock of a process that dies. Every value carries its own
checksum. A process that was forked off does not touch what its parent opened.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

MAP_BYTES = 64 * 1024 * 1024
"""Largest size of the file; a full one is emptied."""

READERS = 512
CLEAR_SECONDS = 1.0
"""How long `clear` waits for a writer that is at work."""

_logger = logging.getLogger(__name__)
_DIGEST = 16
_EPOCH = b"epoch"


@dataclass
class _Shared:
    """What this process has open: LMDB allows a file to be open once."""

    environments: dict[Path, Any] = field(default_factory=dict)
    users: dict[Path, int] = field(default_factory=dict)
    pid: int = field(default_factory=os.getpid)
    lock: threading.RLock = field(default_factory=threading.RLock)
    writing: threading.Lock = field(default_factory=threading.Lock)


_shared = _Shared()


class SharedCache:
    """Bytes by key, for all processes that open the same path.

    Args:
        path: the file; None for a cache that keeps nothing.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.skipped = 0
        self._counted = False
        self._broken = path is None

    def get(self, key: bytes) -> bytes | None:
        """The value, if it is there and whole."""
        found: bytes | None = None
        with suppress(Exception):
            environment = self._environment()
            if environment is None:
                return None
            with environment.begin(buffers=False) as transaction:
                found = transaction.get(key)
        return None if found is None else _checked(found)

    def put(self, key: bytes, value: bytes) -> bool:
        """Keep a value, unless another writer is at work; tells whether it is kept."""
        return self._write(lambda transaction: transaction.put(key, _sealed(value)))

    def clear(self) -> bool:
        """Forget everything and start a new epoch, in which no process trusts its memory."""
        deadline = time.monotonic() + CLEAR_SECONDS
        while not self._write(_emptied):
            if self._environment() is None or time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        return True

    def epoch(self) -> bytes:
        """Changes when any process clears the cache."""
        return self.get(_EPOCH) or b""

    @property
    def entries(self) -> int:
        """How many values are kept."""
        with suppress(Exception):
            environment = self._environment()
            if environment is not None:
                marked = 1 if self.epoch() else 0
                return int(environment.stat()["entries"]) - marked
        return 0

    def close(self) -> None:
        """Let go of the file; the last user in this process closes it."""
        path = self.path
        if path is None or not self._counted or os.getpid() != _shared.pid:
            return
        with _shared.lock:
            self._counted = False
            _shared.users[path] -= 1
            if _shared.users[path] == 0:
                environment = _shared.environments.pop(path, None)
                if environment is not None:
                    environment.close()

    def _environment(self) -> Any:
        """The open file; None where there is none or it must not be used."""
        path = self.path
        if path is None or self._broken or os.getpid() != _shared.pid:
            return None
        with _shared.lock:
            if not self._counted:
                try:
                    if path not in _shared.environments:
                        _shared.environments[path] = _open(path)
                except Exception:
                    _logger.debug("the shared cache cannot be opened", exc_info=True)
                    self._broken = True
                    return None
                self._counted = True
                _shared.users[path] = _shared.users.get(path, 0) + 1
            return _shared.environments.get(path)

    def _write(self, change: Any) -> bool:
        try:
            environment = self._environment()
            if environment is None or self.path is None:
                return False
            with _gate(self.path) as is_free:
                if is_free:
                    _changed(environment, change)
                    return True
        except Exception:
            _logger.debug("the shared cache cannot be written", exc_info=True)
        self.skipped += 1
        return False


def _changed(environment: Any, change: Any) -> None:
    """One write transaction; a full file is emptied first, slots of dead readers are cleared."""
    import lmdb

    environment.reader_check()
    try:
        with environment.begin(write=True) as transaction:
            change(transaction)
    except lmdb.MapFullError:
        for step in (_emptied, _marked, change):  # freed pages can be used two commits later
            with environment.begin(write=True) as transaction:
                step(transaction)


def _emptied(transaction: Any) -> None:
    with transaction.cursor() as cursor:
        while cursor.first():
            cursor.delete()
    _marked(transaction)


def _marked(transaction: Any) -> None:
    transaction.put(_EPOCH, _sealed(os.urandom(_DIGEST)))


@contextmanager
def _gate(path: Path) -> Iterator[bool]:
    """Whether this thread may write now; never waits."""
    if not _shared.writing.acquire(blocking=False):
        yield False
        return
    try:
        handle = os.open(f"{path}-writer", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                yield False
                return
            yield True
        finally:
            os.close(handle)
    finally:
        _shared.writing.release()


def _open(path: Path) -> Any:
    import lmdb

    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        environment = _environment_at(path)
        if path.stat().st_size >= _needed(environment):
            return environment
        environment.close()
    except (lmdb.InvalidError, lmdb.CorruptedError, lmdb.VersionMismatchError):
        pass
    for name in (path, Path(f"{path}-lock")):
        name.unlink(missing_ok=True)
    return _environment_at(path)


def _environment_at(path: Path) -> Any:
    import lmdb

    environment = lmdb.open(
        str(path), subdir=False, map_size=MAP_BYTES, max_readers=READERS, mode=0o600
    )
    environment.reader_check()
    return environment


def _needed(environment: Any) -> int:
    """Bytes that the file must have: reading beyond its end would end the process."""
    pages = int(environment.info()["last_pgno"]) + 1
    return pages * int(environment.stat()["psize"])


def _sealed(value: bytes) -> bytes:
    return hashlib.blake2b(value, digest_size=_DIGEST).digest() + value


def _checked(stored: bytes) -> bytes | None:
    value = stored[_DIGEST:]
    good = hashlib.blake2b(value, digest_size=_DIGEST).digest() == stored[:_DIGEST]
    return value if good else None
