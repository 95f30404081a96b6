"""Events of a hub: typed values that listeners receive; text is made at the edge."""

from __future__ import annotations

import logging
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


_log = logging.getLogger("headwater")


@dataclass(frozen=True, slots=True)
class Event:
    """Base of all events."""

    table: str


@dataclass(frozen=True, slots=True)
class StageEvent(Event):
    """A refresh enters or leaves one of its stages; no run id before it has begun to work."""

    run_id: str
    stage: str
    moment: Literal["start", "end"]


@dataclass(frozen=True, slots=True)
class RefreshEvent(Event):
    """A refresh ended; the same words as in history."""

    run_id: str
    action: str
    reason_code: str
    reason: str
    error_code: str | None = None


@dataclass(frozen=True, slots=True)
class WarningEvent(Event):
    """Something the user should know."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class ScanEvent(Event):
    """A change window of a source was read once for several stream tables.

    Attributes:
        readers: stream tables that may read it.
        rows: its rows, when they are kept on the driver.
    """

    readers: int
    rows: int | None


@dataclass(frozen=True, slots=True)
class RouteEvent(Event):
    """Merges into a stream table find their files in another way than before."""

    before: str
    after: str
    reason: str


@dataclass(frozen=True, slots=True)
class TickEvent(Event):
    """A tick queued units; `table` is `*`.

    Attributes:
        units: keys of the units it queued, in the order in which they start one by one.
        mode: the setting `parallel_refresh_mode`.
    """

    tick: int
    units: tuple[str, ...]
    mode: str


@dataclass(frozen=True, slots=True)
class TierEvent(Event):
    """The service level of a stream table moved it to another tier."""

    before: str
    after: str
    reason: str


@dataclass(frozen=True, slots=True)
class SlaBreachEvent(Event):
    """A stream table takes so long that its service level is expected to be missed."""

    expected_ms: float
    deadline_ms: int
    name: str = "predicted_sla_breach"


@dataclass(frozen=True, slots=True)
class FuseEvent(Event):
    """Too many changes wait for a stream table: it stopped until its fuse is reset."""

    reason: str
    name: str = "fuse_blown"


@dataclass(frozen=True, slots=True)
class BackpressureEvent(Event):
    """Changes of a source pile up; `table` is the source."""

    source: str
    pending_rows: int
    consecutive_cycles: int
    threshold: int
    name: str = "change_buffer_backpressure"


@dataclass(frozen=True, slots=True)
class LeaderEvent(Event):
    """A coordinator took the lead of a hub, or lost it; `table` is `*`."""

    owner: str
    leads: bool


@dataclass
class Events:
    """Hands each event to every listener; one that fails disturbs nobody else."""

    listeners: list[Callable[[Event], None]] = field(default_factory=list)
    _failing: set[int] = field(default_factory=set)
    _held: threading.local = field(default_factory=threading.local)

    @contextmanager
    def held(self) -> Iterator[None]:
        """What this thread emits inside is told at the end: a listener may take its time.

        After an error nothing is told: what it was about did not happen.
        """
        waiting: list[Event] = []
        self._held.waiting = waiting
        try:
            yield
        finally:
            self._held.waiting = None
        for event in waiting:
            self.emit(event)

    def emit(self, event: Event) -> None:
        """Tell all listeners, in the order they came."""
        waiting = getattr(self._held, "waiting", None)
        if waiting is not None:
            waiting.append(event)
            return
        for listener in tuple(self.listeners):
            try:
                listener(event)
            except Exception:
                self._log_failure(listener, event)

    def _log_failure(self, listener: Callable[[Event], None], event: Event) -> None:
        """Say once of each listener that it fails, with the error."""
        if id(listener) not in self._failing:
            self._failing.add(id(listener))
            what = type(event).__name__
            _log.warning("the listener %r failed at a %s", listener, what, exc_info=True)
