"""What the tests of the scheduler share."""

from __future__ import annotations

import pytest
from failing_units import Units, without_spark


@pytest.fixture
def units(monkeypatch: pytest.MonkeyPatch) -> Units:
    """Units that refresh nothing, in place of Spark."""
    return without_spark(monkeypatch)
