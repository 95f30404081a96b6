"""Schedules and service levels: text read once, then pure questions about given instants.

The scheduler asks `next_due`; nothing here reads a clock.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from headwater.core.errors import InvalidOption

if TYPE_CHECKING:
    from datetime import tzinfo

CALCULATED = "calculated"
LONGEST = timedelta(days=3650)

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_WORDS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600),
    **dict.fromkeys(("d", "day", "days"), 86_400),
    **dict.fromkeys(("w", "week", "weeks"), 604_800),
}
_ALIASES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_CRON_FIELDS = 5
_COMPACT = re.compile(r"(?:[0-9]+[smhdw])+", re.ASCII)
_COMPACT_PART = re.compile(r"([0-9]+)([smhdw])", re.ASCII)
_SPOKEN = re.compile(r"(?:[0-9]+\s*[a-z]+[\s,]*)+", re.ASCII)
_SPOKEN_PART = re.compile(r"([0-9]+)\s*([a-z]+)", re.ASCII)
_OCCURRENCES = 24
"""So many appointments of a cron schedule are looked at for the shortest distance."""
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)

_SCHEDULE_HINT = (
    "use a duration like 30s, 5m or 1h30m, five cron fields with an optional time zone "
    "('0 6 * * * Europe/Berlin'), @hourly, @daily, or calculated"
)
_DURATION_HINT = "use a duration like '30 seconds', '5 minutes' or 1h30m"


@dataclass(frozen=True, slots=True)
class Every:
    """A fixed distance between refreshes."""

    interval: timedelta

    def __str__(self) -> str:
        return format_duration(self.interval)

    def next_due(self, last: datetime | None, now: datetime) -> datetime:
        """When the next refresh is due: `now` if there was none."""
        return now if last is None else last + self.interval


@dataclass(frozen=True, slots=True)
class Cron:
    """Five cron fields, read on the wall clock of a time zone."""

    expression: str
    zone: str = "UTC"

    def __str__(self) -> str:
        return self.expression if self.zone == "UTC" else f"{self.expression} {self.zone}"

    def next_due(self, last: datetime | None, now: datetime) -> datetime:
        """The first occurrence after the last refresh; occurrences missed since count once."""
        return now if last is None else self.after(last)

    def after(self, instant: datetime) -> datetime:
        """The first occurrence after `instant`, in UTC."""
        zone: tzinfo = UTC if self.zone == "UTC" else ZoneInfo(self.zone)
        occurrence: datetime = next(CronSim(self.expression, instant.astimezone(zone)))
        return occurrence.astimezone(UTC)


@dataclass(frozen=True, slots=True)
class Calculated:
    """Refresh when an upstream changed; the clock alone never makes it due."""

    def __str__(self) -> str:
        return CALCULATED

    def next_due(self, last: datetime | None, now: datetime) -> datetime | None:
        """`now` for the first refresh, then None: only changes decide."""
        return now if last is None else None


Schedule = Every | Cron | Calculated


def is_due(schedule: Schedule, last: datetime | None, now: datetime) -> bool:
    """Whether the clock asks for a refresh at `now`."""
    due = schedule.next_due(last, now)
    return due is not None and due <= now


def shortest_distance(schedule: Schedule) -> timedelta | None:
    """The least time between two refreshes that a schedule asks for; None when only changes ask.

    >>> shortest_distance(parse_schedule("0 6,8 * * *")) == timedelta(hours=2)
    True
    """
    match schedule:
        case Every(interval):
            return interval
        case Cron():
            times = [schedule.after(_EPOCH)]
            for _ in range(_OCCURRENCES):
                times.append(schedule.after(times[-1]))
            return min(later - earlier for earlier, later in pairwise(times))
        case Calculated():
            return None


def parse_schedule(text: str | int | timedelta) -> Schedule:
    """Read a schedule.

    >>> str(parse_schedule("90m"))
    '1h30m'
    >>> str(parse_schedule("@daily Europe/Berlin"))
    '0 0 * * * Europe/Berlin'
    """
    if isinstance(text, timedelta):
        return Every(_bounded(text, repr(text), "schedule", _SCHEDULE_HINT))
    if isinstance(text, bool) or not isinstance(text, str | int):
        raise InvalidOption(f"{text!r} is not a schedule", hint=_SCHEDULE_HINT)
    words = str(text).split()
    if len(words) == 1 and words[0].lower() == CALCULATED:
        return Calculated()
    if words and (words[0].startswith("@") or len(words) >= _CRON_FIELDS):
        return _cron(str(text), words)
    if len(words) != 1:
        raise InvalidOption(f"{text!r} is not a schedule", hint=_SCHEDULE_HINT)
    return Every(_duration(words[0].lower(), str(text), "schedule", _SCHEDULE_HINT))


def parse_duration(text: str | int | timedelta, *, what: str = "duration") -> timedelta:
    """Read a length of time: `30 seconds`, `5 minutes`, `1h30m`, whole seconds.

    >>> parse_duration("1 hour 30 minutes") == parse_duration("1h30m")
    True
    """
    if isinstance(text, timedelta):
        return _bounded(text, repr(text), what, _DURATION_HINT)
    if isinstance(text, bool) or not isinstance(text, str | int):
        raise InvalidOption(f"{text!r} is not a {what}", hint=_DURATION_HINT)
    return _duration(str(text).strip().lower(), str(text), what, _DURATION_HINT)


def parse_sla(text: str | int | timedelta) -> int:
    """Read a service level and return the freshness deadline in milliseconds.

    >>> parse_sla("30 seconds")
    30000
    """
    return int(parse_duration(text, what="SLA") / timedelta(milliseconds=1))


def format_duration(length: timedelta) -> str:
    """The shortest text that `parse_duration` reads back, for whole seconds.

    >>> format_duration(timedelta(seconds=5400))
    '1h30m'
    """
    rest = round(length.total_seconds())
    parts = []
    for unit in ("w", "d", "h", "m", "s"):
        count, rest = divmod(rest, _SECONDS[unit])
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def _duration(word: str, text: str, what: str, hint: str) -> timedelta:
    seconds: int | None = None
    if word.isascii() and word.isdigit():
        seconds = _number(word)
    elif _COMPACT.fullmatch(word):
        seconds = sum(_number(n) * _SECONDS[u] for n, u in _COMPACT_PART.findall(word))
    elif what != "schedule" and _SPOKEN.fullmatch(word):
        parts = _SPOKEN_PART.findall(word)
        if all(unit in _WORDS for _, unit in parts):
            seconds = sum(_number(n) * _WORDS[unit] for n, unit in parts)
    if seconds is None:
        raise InvalidOption(f"{text!r} is not a {what}", hint=hint)
    longest = int(LONGEST.total_seconds())
    return _bounded(timedelta(seconds=min(seconds, longest + 1)), repr(text), what, hint)


def _number(digits: str) -> int:
    """Digits as a number, cut at ten of them: longer ones are out of bounds anyway."""
    return int(digits.lstrip("0")[:10] or "0")


def _bounded(length: timedelta, text: str, what: str, hint: str) -> timedelta:
    if not timedelta(seconds=1) <= length <= LONGEST:
        raise InvalidOption(
            f"{what} {text} is not between 1 second and {LONGEST.days} days", hint=hint
        )
    return length


def _cron(text: str, words: list[str]) -> Cron:
    if words[0].startswith("@"):
        expression, zone = _ALIASES.get(words[0].lower(), ""), words[1:]
    else:
        expression, zone = " ".join(words[:_CRON_FIELDS]), words[_CRON_FIELDS:]
    if not expression or len(zone) > 1:
        raise InvalidOption(f"{text!r} is not a schedule", hint=_SCHEDULE_HINT)
    schedule = Cron(expression, _zone(zone[0], text) if zone else "UTC")
    try:
        schedule.after(_EPOCH)
    except (CronSimError, StopIteration) as error:
        why = str(error).lower() or "never comes due"
        raise InvalidOption(f"{text!r} is not a schedule: {why}", hint=_SCHEDULE_HINT) from None
    return schedule


def _zone(name: str, text: str) -> str:
    if name.upper() in ("UTC", "Z", "GMT"):
        return "UTC"
    try:
        return ZoneInfo(name).key
    except (KeyError, ValueError, OSError):  # unknown, malformed, or a folder of the zone database
        raise InvalidOption(f"{text!r}: {name!r} is not a time zone", hint=_SCHEDULE_HINT) from None
