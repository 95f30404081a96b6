"""One refresh of a stream table at a time: a lock in this process, a lease across processes.

The lease only saves work that would be refused; what keeps the content exact is the
compare-and-swap of `storage`. A holder that is stopped loses the lease when it expires.
"""

from __future__ import annotations

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

LEASE_SECONDS = 10.0
WAIT_SECONDS = 600.0
_POLL_SECONDS = 0.02
_OWNER = f"{os.uname().nodename}:{os.getpid()}"

_in_process: dict[tuple[str, str, str], threading.Lock] = {}
_guard = threading.Lock()


@contextmanager
def table_lock(runtime: Runtime, name: TableName) -> Iterator[Lease]:
    """Hold the right to refresh this stream table; several are taken in the order of names."""
    key = (runtime.lake.catalog_url, runtime.store.hub, str(name))
    with _guard:
        lock = _in_process.setdefault(key, threading.Lock())
    with lock:
        lease = _acquire(runtime, name)
        stop = threading.Event()
        keeper = threading.Thread(target=_keep, args=(runtime, lease, stop), daemon=True)
        keeper.start()
        try:
            yield lease
        finally:
            stop.set()
            keeper.join()
            runtime.store.leases.release(lease)


def _acquire(runtime: Runtime, name: TableName) -> Lease:
    owner = f"{_OWNER}:{uuid.uuid4().hex[:8]}"
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        lease = runtime.store.leases.acquire(
            f"refresh:{name}", owner, timedelta(seconds=LEASE_SECONDS)
        )
        if lease is not None:
            return lease
        if time.monotonic() > deadline:
            raise RefreshConflict(
                f"{name} is being refreshed by another process for over {WAIT_SECONDS:.0f} s",
                hint="see history for the running refresh, or wait and try again",
            )
        time.sleep(_POLL_SECONDS)


def _keep(runtime: Runtime, lease: Lease, stop: threading.Event) -> None:
    """Renew until told to stop; a lost lease is not taken back."""
    current: Lease | None = lease
    while current is not None and not stop.wait(LEASE_SECONDS / 3):
        current = runtime.store.leases.renew(current, timedelta(seconds=LEASE_SECONDS))
