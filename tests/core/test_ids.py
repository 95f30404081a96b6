"""Identifiers of runs."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.ids import ENTROPY_BYTES, run_id

entropies = st.binary(min_size=ENTROPY_BYTES, max_size=ENTROPY_BYTES)
instants = st.datetimes(
    min_value=datetime(2000, 1, 1), max_value=datetime(2200, 1, 1), timezones=st.just(UTC)
)


@given(instants, instants, entropies, entropies)
def test_ids_sort_by_time(one: datetime, two: datetime, a: bytes, b: bytes) -> None:
    first, second = run_id(one, a), run_id(two, b)
    if int(one.timestamp() * 1000) < int(two.timestamp() * 1000):
        assert first < second
    assert len(first) == len(second) == 28
    assert first.isalnum()


def test_too_little_randomness_is_refused() -> None:
    with pytest.raises(ValueError, match="random bytes"):
        run_id(datetime(2026, 1, 1, tzinfo=UTC), b"1")
