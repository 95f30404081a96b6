"""Fixtures shared by all test folders."""

from __future__ import annotations

from typing import TYPE_CHECKING

import hypothesis

if TYPE_CHECKING:
    import pytest

# The time of one example says how busy the machine is; figures of time have tests of their own.
hypothesis.settings.register_profile("headwater", deadline=None)
hypothesis.settings.load_profile("headwater")

pytest_plugins = ["division", "figures", "postgres_server", "shared_spark", "tracing"]


LONGEST = ("test_kill", "test_generated_on_spark", "test_workloads_on_spark", "test_lost_executors")
"""Files of minutes: none of them may come last."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first: the workers of a run end together, on many short ones."""
    items.sort(
        key=lambda item: (
            item.get_closest_marker("spark") is None,
            item.path.stem not in LONGEST,
        )
    )
