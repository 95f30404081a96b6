"""One refresh of a stream table at a time: a lock in this process, a lease across processes.

The lease only saves work that would be refused; what keeps the content exact is the
compare-and-swap of `storage`. A holder that is stopped loses the lease when it expires.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import uuid
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from headwater.core.errors import RefreshConflict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headwater.catalog.leases import Lease
    from headwater.core.names import TableName
    from headwater.refresh.runtime import Runtime

LEASE_SECONDS = 20.0
RENEW_SECONDS = 2.5
WAIT_SECONDS = 600.0
_POLL_SECONDS = 0.02
_log = logging.getLogger("headwater")
_OWNER = f"{os.uname().nodename}:{os.getpid()}"

_in_process: dict[tuple[str, str, str], threading.Lock] = {}
_guard = threading.Lock()


class _OfThisThread(threading.local):
    """The locks that this thread holds: it may take them again."""

    def __init__(self) -> None:
        self.leases: dict[tuple[str, str, str], Lease] = {}


_own = _OfThisThread()


@contextmanager
def table_lock(
    runtime: Runtime, name: TableName, *, seconds: float | None = None
) -> Iterator[Lease]:
    """Hold the right to refresh this stream table; several are taken in the order of names.

    A thread that holds it may take it again.

    Args:
        runtime: the hub's parts.
        name: the stream table.
        seconds: how long to wait for other processes, and for other threads of this one; None
            waits for threads as long as they take, and for processes `WAIT_SECONDS`.

    Raises:
        RefreshConflict: it was not free in time.
    """
    key = (runtime.lake.catalog_url, runtime.store.hub, str(name))
    if key in _own.leases:
        yield _own.leases[key]
        return
    with _guard:
        lock = _in_process.setdefault(key, threading.Lock())
    if not lock.acquire(timeout=-1 if seconds is None else seconds):
        raise RefreshConflict(f"{name} is being refreshed", hint="wait and try again")
    try:
        lease = _acquire(runtime, name, WAIT_SECONDS if seconds is None else seconds)
        stop = threading.Event()
        keeper = threading.Thread(target=_keep, args=(runtime, lease, stop), daemon=True)
        keeper.start()
        _own.leases[key] = lease
        try:
            yield lease
        finally:
            del _own.leases[key]
            stop.set()
            keeper.join()
            runtime.store.leases.release(lease)
    finally:
        lock.release()


def _acquire(runtime: Runtime, name: TableName, seconds: float) -> Lease:
    owner = f"{_OWNER}:{uuid.uuid4().hex[:8]}"
    deadline = time.monotonic() + seconds
    while True:
        lease = runtime.store.leases.acquire(
            f"refresh:{name}", owner, timedelta(seconds=LEASE_SECONDS)
        )
        if lease is not None:
            return lease
        if time.monotonic() > deadline:
            raise RefreshConflict(
                f"{name} is being refreshed by another process for over {seconds:.0f} s",
                hint="see history for the running refresh, or wait and try again",
            )
        time.sleep(_POLL_SECONDS)


def _keep(runtime: Runtime, lease: Lease, stop: threading.Event) -> None:
    """Renew until told to stop; a lost lease is not taken back."""
    current: Lease | None = lease
    while current is not None and not stop.wait(RENEW_SECONDS):
        try:
            current = runtime.store.leases.renew(current, timedelta(seconds=LEASE_SECONDS))
        except Exception:  # a busy catalog: there is time for more attempts
            _log.warning("the lease %s was not renewed, it is tried again", lease.name)
