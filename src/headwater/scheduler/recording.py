"""Keeps what ticks decide: choices where they changed, service levels, fuses, events.

An idle tick writes one row, whatever the number of stream tables: a choice that is as it was is not
written again.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from headwater.catalog.schedule_states import FuseState
from headwater.core.errors import HeadwaterError
from headwater.observe.events import (
    BackpressureEvent,
    FuseEvent,
    SlaBreachEvent,
    TierEvent,
    WarningEvent,
)
from headwater.scheduler.tick_sla import expected_breach
from headwater.scheduler.tick_state import QUIET, Choice

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from headwater.core.names import TableName
    from headwater.refresh.runtime import Runtime
    from headwater.scheduler.ledger import Ledger
    from headwater.scheduler.tick_state import Decisions, Limits

_IN_HISTORY = ("GATED", "FUSE_BLOWN", "FROZEN", "UPSTREAM_FAILED", "GROUP_HELD")
"""Choices not to refresh that leave a row in the history when they are made, once."""

_TOLD_AGAIN = timedelta(minutes=5)
"""An expected breach of a service level is told again after this time."""


class Recorder:
    """Writes down what the ticks of one coordinator decide."""

    def __init__(self, runtime: Runtime, ledger: Ledger) -> None:
        self._runtime = runtime
        self._ledger = ledger
        self._told: set[TableName] | None = None
        self._new: dict[TableName, tuple[str, str]] = {}
        self._breaches: dict[TableName, datetime] = {}

    def over(self, ledger: Ledger) -> Recorder:
        """A recorder for what is read anew."""
        again = Recorder(self._runtime, ledger)
        again._breaches = self._breaches
        return again

    def decided(self, made: Decisions, now: datetime, limits: Limits) -> None:
        """Keep everything that a tick decided, and tell listeners."""
        self._tiers(made, limits)
        told = self._told_before()
        asleep = {n: QUIET for n in told - made.choices.keys() if n in self._ledger.tables}
        choices = {**made.choices, **asleep}
        self._fuses(made, choices)
        changes = self._changed(choices, now)
        for name, (misses, spare) in made.signals.items():
            identifier = self._ledger.outlines[name].id
            counters = {"sla_misses": misses, "sla_spare": spare}
            changes[identifier] = {**changes.get(identifier, {}), **counters}
            self._ledger.change(name, limits, sla_misses=misses, sla_spare=spare)
        self._runtime.store.schedule.save(changes)
        for alert in made.alerts:
            self._runtime.events.emit(
                BackpressureEvent(
                    str(alert.source),
                    str(alert.source),
                    alert.pending_rows,
                    alert.consecutive_cycles,
                    alert.threshold,
                )
            )

    def _told_before(self) -> set[TableName]:
        """The tables that did not stand quiet, also as another process left them."""
        if self._told is None:
            saved = self._ledger.saved.items()
            self._told = {name for name, (code, _) in saved if code != QUIET.code}
        return self._told

    def kept(self) -> None:
        """What was decided is in the catalog: it need not be written again."""
        self._ledger.saved |= self._new
        self._new = {}

    def took(self, name: TableName, took: timedelta, now: datetime) -> None:
        """Tell when the next refresh of a table is expected to miss its service level."""
        deadline = self._ledger.tables[name].deadline
        expected = expected_breach(took, deadline)
        told = self._breaches.get(name)
        if expected is None or (told is not None and now - told < _TOLD_AGAIN):
            return
        self._breaches[name] = now
        expected_ms, most = expected.total_seconds() * 1000, deadline or expected
        deadline_ms = round(most.total_seconds() * 1000)
        self._runtime.events.emit(SlaBreachEvent(str(name), expected_ms, deadline_ms))

    def held_back(self, choices: Mapping[TableName, Choice], now: datetime) -> None:
        """Keep choices that were made after the tick, because something failed."""
        self._runtime.store.schedule.save(self._changed(choices, now))
        self.kept()

    def _changed(
        self, choices: Mapping[TableName, Choice], now: datetime
    ) -> dict[int, dict[str, Any]]:
        """The choices that are not as they were, as columns; the history gets those it should."""
        self._new, told = {}, self._told_before()
        changes: dict[int, dict[str, Any]] = {}
        skips: dict[int, Choice] = {}
        for name, choice in choices.items():
            outline = self._ledger.outlines.get(name)
            before = self._ledger.saved.get(name)
            if choice.code == QUIET.code:
                told.discard(name)
            else:
                told.add(name)
            if outline is None or before == (choice.code, choice.reason):
                continue
            self._new[name] = (choice.code, choice.reason)
            changes[outline.id] = {
                "decision_code": choice.code,
                "decision_reason": choice.reason,
                "decided_at": now,
            }
            if choice.code in _IN_HISTORY and (before is None or before[0] != choice.code):
                skips[outline.id] = choice
        if skips:
            self._skipped(skips)
        return changes

    def _skipped(self, skips: Mapping[int, Choice]) -> None:
        """Those that were dropped meanwhile are left out."""
        rows = self._runtime.store.tables.readable(skips.keys())
        told = [(row, skips[row.id].code, skips[row.id].reason) for row in rows]
        if told:
            self._runtime.store.history.skipped(told)

    def _tiers(self, made: Decisions, limits: Limits) -> None:
        for change in made.tiers:
            try:
                self._runtime.store.tables.update(change.name, tier=change.after)
            except HeadwaterError:
                continue
            self._ledger.change(change.name, limits, tier=change.after)
            self._runtime.events.emit(
                TierEvent(str(change.name), change.before, change.after, change.reason)
            )

    def _fuses(self, made: Decisions, choices: Mapping[TableName, Choice]) -> None:
        for name, choice in choices.items():
            if choice.code == QUIET.code and self._ledger.tables[name].fuse_passes:
                # Somebody else refreshed it: the flood that was let pass is over.
                identifier = self._ledger.outlines[name].id
                self._runtime.store.schedule.set_fuse(identifier, FuseState.ARMED)
        for name in made.blown:
            reason = made.choices[name].reason.partition(";")[0]
            identifier = self._ledger.outlines[name].id
            self._runtime.store.schedule.set_fuse(identifier, FuseState.BLOWN, reason=reason)
            self._runtime.events.emit(FuseEvent(str(name), reason))
            self._runtime.events.emit(WarningEvent(str(name), "FUSE_BLOWN", reason))
