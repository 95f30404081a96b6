"""What a coordinator has still to write of its jobs and ticks: tried at once, and again later."""

from __future__ import annotations

import logging
from collections import deque
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from headwater.core.errors import CatalogBusy, CatalogUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headwater.catalog.database import Database


_log = logging.getLogger("headwater")


class Writes:
    """Writes in their order; each may be made twice. Used from one thread."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._open: deque[Callable[[], object]] = deque()
        self._uncommitted: deque[Callable[[], object]] | None = None

    def add(self, write: Callable[[], object]) -> None:
        """Write with the next `catch_up`."""
        self._open.append(write)

    def make(self, write: Callable[[], object]) -> None:
        """Write now if the catalog takes it, and else as soon as it does."""
        self.add(write)
        with suppress(Exception):  # told by the next tick, which catches up first of all
            self.catch_up()

    def catch_up(self) -> None:
        """Make what is open; what the catalog does not take now stays open.

        What it will never take is left out: it must not hold up all that comes after it.
        """
        while self._open:
            try:
                self._open[0]()
            except (CatalogBusy, CatalogUnavailable):
                raise
            except Exception:
                _log.warning("the catalog refuses what a tick has to write", exc_info=True)
            made = self._open.popleft()
            if self._uncommitted is not None:
                self._uncommitted.append(made)

    @contextmanager
    def together(self) -> Iterator[None]:
        """One transaction for what is written inside; if it fails, its writes are open again."""
        made = self._uncommitted = deque()
        try:
            with self._database.together():
                yield
        except BaseException:
            self._open.extendleft(reversed(made))
            raise
        finally:
            self._uncommitted = None
