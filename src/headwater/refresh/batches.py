"""Writes that belong together: every commit of a batch carries its id.

While the batch is open, pins stop before its first commit in every table. The id is registered
before the first write and closed after the last one, so a pin that does not know the batch as open
sees all of it.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from headwater.core.errors import InvalidOption
from headwater.storage.stage import BATCH

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    finally:
        session.conf.unset(_PROPERTY)
        runtime.store.batches.close(batch_id)
