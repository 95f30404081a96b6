"""Schedules and service levels."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headwater.core.errors import InvalidOption
from headwater.core.schedule import (
    LONGEST,
    Calculated,
    Cron,
    Every,
    format_duration,
    is_due,
    parse_duration,
    parse_schedule,
    parse_sla,
)

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")

instants = st.datetimes(
    min_value=datetime(2000, 1, 1), max_value=datetime(2090, 1, 1), timezones=st.just(UTC)
)
lengths = st.integers(1, int(LONGEST.total_seconds())).map(lambda s: timedelta(seconds=s))
minutes = st.sampled_from(["*", "*/5", "0", "30", "5,35", "10-20"])
hours = st.sampled_from(["*", "*/2", "0", "2", "6,18"])
zones = st.sampled_from(
    ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe"]
)
crons = st.builds(
    lambda m, h, dow, zone: parse_schedule(f"{m} {h} * * {dow} {zone}"),
    minutes,
    hours,
    st.sampled_from(["*", "1-5", "0"]),
    zones,
)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30s", 30), ("5m", 300), ("1h30m", 5400), ("2d", 172_800), ("1w", 604_800), ("45", 45),
     (45, 45), (" 5M ", 300), ("1h5s", 3605), (timedelta(minutes=2), 120)],
)  # fmt: skip
def test_durations_as_schedules(text: str, seconds: int) -> None:
    assert parse_schedule(text) == Every(timedelta(seconds=seconds))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 6 * * *", Cron("0 6 * * *")),
        ("0 6 * * * Europe/Berlin", Cron("0 6 * * *", "Europe/Berlin")),
        ("  0  6 * * 1-5   utc ", Cron("0 6 * * 1-5")),
        ("@hourly", Cron("0 * * * *")),
        ("@DAILY America/New_York", Cron("0 0 * * *", "America/New_York")),
        ("calculated", Calculated()),
        ("Calculated", Calculated()),
    ],
)
def test_other_schedules(text: str, expected: object) -> None:
    assert parse_schedule(text) == expected


@pytest.mark.parametrize(
    "text",
    ["", " ", "0", "0s", "-5m", "5x", "1h30", "1.5h", "5 m", "soon", "s", "1w1", "٣s", "99999999w",
     "0 6 * *", "0 6 * * * *", "0 6 * * * Mars/Base", "60 6 * * *", "0 0 30 2 *", "@sometimes",
     "@daily Nowhere", "0 6 * * * Europe/Berlin x", "0 6 * * * ../../etc/passwd", True, None, 1.5,
     timedelta(0), timedelta(days=-1)],
)  # fmt: skip
def test_what_is_no_schedule_says_so(text: object) -> None:
    with pytest.raises(InvalidOption) as refused:
        parse_schedule(text)  # type: ignore[arg-type]
    assert "30s, 5m or 1h30m" in refused.value.hint


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("30 seconds", 30_000), ("5 minutes", 300_000), ("30s", 30_000), ("1 hour 30 minutes", 5.4e6),
     ("1 day, 2 hours", 93_600_000), ("1 min", 60_000), (10, 10_000), ("1h30m", 5_400_000),
     (timedelta(milliseconds=1500), 1500)],
)  # fmt: skip
def test_service_levels(text: str, milliseconds: int) -> None:
    assert parse_sla(text) == milliseconds


@pytest.mark.parametrize("text", ["", "0 seconds", "soon", "5 parsecs", "-1s", "1e3", None, True])
def test_what_is_no_service_level_says_so(text: object) -> None:
    with pytest.raises(InvalidOption, match="SLA"):
        parse_sla(text)  # type: ignore[arg-type]


@given(st.text() | st.from_regex(r"[@0-9smhdw*/, -]{0,20}"))
def test_any_text_is_a_schedule_or_an_error(text: str) -> None:
    for parse in (parse_schedule, parse_duration):
        with suppress(InvalidOption):
            parse(text)


@given(lengths)
def test_durations_are_written_as_they_are_read(length: timedelta) -> None:
    assert parse_duration(format_duration(length)) == length
    assert str(parse_schedule(str(Every(length)))) == str(Every(length))


@given(crons)
def test_cron_is_written_as_it_is_read(schedule: Cron) -> None:
    assert parse_schedule(str(schedule)) == schedule


@given(lengths, instants, instants)
def test_an_interval_counts_from_the_last_refresh(
    length: timedelta, last: datetime, now: datetime
) -> None:
    assert Every(length).next_due(last, now) == last + length
    assert is_due(Every(length), last, now) == (now - last >= length)
    assert is_due(Every(length), None, now), "never refreshed is due"


@given(crons, instants)
def test_cron_comes_after_the_last_refresh_and_is_not_skipped(
    schedule: Cron, last: datetime
) -> None:
    due = schedule.next_due(last, last)
    assert due > last
    assert due.tzinfo is UTC
    assert due.second == due.microsecond == 0
    assert not is_due(schedule, last, due - timedelta(seconds=1))
    assert is_due(schedule, last, due)
    if due - timedelta(minutes=1) > last:
        assert schedule.next_due(due - timedelta(minutes=1), last) <= due
    assert schedule.next_due(due, due) > due, "it goes on"


@given(instants)
def test_cron_means_the_wall_clock_of_its_zone(last: datetime) -> None:
    due = Cron("0 6 * * *", "Europe/Berlin").next_due(last, last)
    assert due.astimezone(BERLIN).strftime("%H:%M") == "06:00"
    assert due - last <= timedelta(hours=25)


@given(instants, st.integers(1, 400))
def test_missed_occurrences_count_once(last: datetime, days: int) -> None:
    now = last + timedelta(days=days, minutes=1)
    schedule = Cron("0 6 * * *")
    assert is_due(schedule, last, now)
    assert schedule.next_due(now, now) > now, "after the late refresh the past is settled"


def test_days_that_change_their_length() -> None:
    nightly = Cron("30 2 * * *", "Europe/Berlin")
    spring = datetime(2026, 3, 29, 0, tzinfo=UTC)  # 02:30 does not exist this night
    autumn = datetime(2026, 10, 24, 12, tzinfo=UTC)  # 02:30 comes twice in the next night
    assert nightly.after(spring) == datetime(2026, 3, 29, 1, 0, tzinfo=UTC)
    first = nightly.after(autumn)
    assert first == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    assert nightly.after(first) == datetime(2026, 10, 26, 1, 30, tzinfo=UTC), "only once a night"


@given(instants, instants)
def test_calculated_is_never_due_by_the_clock(last: datetime, now: datetime) -> None:
    assert Calculated().next_due(last, now) is None
    assert not is_due(Calculated(), last, now)
    assert is_due(Calculated(), None, now)


@given(lengths, lengths)
def test_longer_intervals_are_later(short: timedelta, long: timedelta) -> None:
    assume(short < long)
    assert Every(short).next_due(NOON, NOON) < Every(long).next_due(NOON, NOON)
