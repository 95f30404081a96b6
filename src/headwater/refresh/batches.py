"""Writes that belong together: every commit of a batch carries its id.

While the batch is open, pins stop before its first commit in every table. The id is registered
before the first write and closed after the last one, so a pin that does not know the batch as open
sees all of it. A batch that is left by an exception stays open: its writer completes it, or takes
it back, in another batch, which closes both at once.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from headwater.core.errors import InvalidOption, StorageDamaged
from headwater.refresh.lifecycle import warn
from headwater.storage.stage import BATCH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headwater.core.names import TableName
    from headwater.refresh.runtime import Runtime

_PROPERTY = f"spark.sql.iceberg.snapshot-property.{BATCH}"


@contextmanager
def batch(runtime: Runtime) -> Iterator[str]:
    """Inside, everything the hub's user session commits is one batch."""
    session = runtime.engine.user
    if session.conf.get(_PROPERTY, None) is not None:
        raise InvalidOption(
            "a batch is open already", hint="batches do not nest; close the outer one first"
        )
    batch_id = runtime.store.batches.begin()
    try:
        session.conf.set(_PROPERTY, batch_id)
        yield batch_id
    except BaseException:
        session.conf.unset(_PROPERTY)
        _leave(runtime, batch_id)
        raise
    session.conf.unset(_PROPERTY)
    runtime.store.batches.complete(batch_id)


def _leave(runtime: Runtime, batch_id: str) -> None:
    """Hold a batch back that may be half done, and tell its writer."""
    tables = [name for name in runtime.tables.locations() if _wrote(runtime, name, batch_id)]
    if not tables:
        runtime.store.batches.close(batch_id)
        return
    runtime.store.batches.leave(batch_id)
    names = ", ".join(sorted(map(str, tables)))
    warn(
        runtime,
        min(tables),
        "BATCH_LEFT",
        f"a batch was left by an error after it had written {names}: refreshes stop before it; "
        "finish it or take it back inside another hub.batch(), which then shows both",
    )


def _wrote(runtime: Runtime, name: TableName, batch_id: str) -> bool:
    """Whether a table has a commit of a batch; one that cannot be read does not tell."""
    try:
        metadata = runtime.tables.metadata(name)
    except StorageDamaged:
        return False
    found = metadata.snapshots if metadata is not None else ()
    return any(snapshot.summary.get(BATCH) == batch_id for snapshot in found)
