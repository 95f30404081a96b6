"""The queue of those who want SQLite's write lock.

SQLite has no queue: who finds the lock taken sleeps, up to 100 ms, and asks again. A process that
writes all the time takes it between two such questions, and the others may wait for seconds. Here
writers pass a turnstile first, an exclusive lock on a file beside the database, which they hold
until their transaction has ended. The system hands it on in the order in which it was asked for.

The turnstile is courtesy, not safety. Who waits in vain for `PATIENCE` seconds goes on without it,
as when another process was stopped inside it, and does not wait for it again for `WITHOUT` seconds.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE = 3.0
WITHOUT = 10.0
_impatient_until: dict[str, float] = {}


@contextmanager
def passing(database: str) -> Iterator[None]:
    """Inside, this writer is the only polite one that asks for the write lock."""
    handle = _entered(f"{database}-queue")
    try:
        yield
    finally:
        if handle is not None:
            _leave(handle)


def _leave(handle: int) -> None:
    fcntl.flock(handle, fcntl.LOCK_UN)  # a child that was forked meanwhile has the file open too
    os.close(handle)


def _entered(path: str) -> int | None:
    """The file whose lock is held; None without one."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError:
        return None  # SQLite tells better what is wrong with the folder
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return _waited_for(handle, path)
    except OSError:  # a file system without locks
        os.close(handle)
        return None
    return handle


def _waited_for(handle: int, path: str) -> int | None:
    """The file once its lock is ours; None when that takes too long."""
    if time.monotonic() < _impatient_until.get(path, 0.0):
        os.close(handle)
        return None
    waiter = _Waiter(handle)
    if waiter.wait(PATIENCE):
        return handle
    _impatient_until[path] = time.monotonic() + WITHOUT
    return None


class _Waiter:
    """A thread that waits in the queue of the system, which knows no time limit."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._lock = threading.Lock()
        self._entered = threading.Event()
        self._given_up = False
        threading.Thread(target=self._enter, name="hw-turnstile", daemon=True).start()

    def wait(self, seconds: float) -> bool:
        """Whether the lock was had within so many seconds; if not, it is let go when it comes."""
        try:
            if self._entered.wait(seconds):
                return True
        except BaseException:  # somebody interrupts this thread
            if not self._gives_up():
                _leave(self._handle)
            raise
        return not self._gives_up()

    def _gives_up(self) -> bool:
        """Whether nobody waits for the lock any more; False when it was had at the last moment."""
        with self._lock:
            self._given_up = not self._entered.is_set()
            return self._given_up

    def _enter(self) -> None:
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX)
        finally:
            with self._lock:
                if self._given_up:
                    _leave(self._handle)
                self._entered.set()
