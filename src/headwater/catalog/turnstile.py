"""The queue of those who want SQLite's write lock.

SQLite has no queue: who finds the lock taken sleeps, up to 100 ms, and asks again. A process that
writes all the time takes it between two such questions, and the others may wait for seconds. Here
writers pass a turnstile first, an exclusive lock on a file beside the database, and leave it as
soon as they hold the write lock. So one at a time asks SQLite, and nobody overtakes it.

The turnstile is courtesy, not safety. Who waits in vain for `PATIENCE` seconds goes on without it,
as when another process was stopped inside it, and does not wait for it again for `WITHOUT` seconds.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE = 1.0
WITHOUT = 10.0
_STEP = 0.001
_impatient_until: dict[str, float] = {}


@contextmanager
def passing(database: str) -> Iterator[None]:
    """Inside, this writer is the only polite one that asks for the write lock."""
    handle = _entered(f"{database}-queue")
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)


def _entered(path: str) -> int | None:
    """The file whose lock is held; None without one."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError:
        return None  # SQLite tells better what is wrong with the folder
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            now = time.monotonic()
            if now > deadline:
                _impatient_until[path] = now + WITHOUT
            if now < _impatient_until.get(path, 0.0):
                os.close(handle)
                return None
            time.sleep(_STEP)
        except OSError:  # a file system without locks
            os.close(handle)
            return None
        else:
            return handle
