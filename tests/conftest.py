"""Fixtures shared by all test folders."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

pytest_plugins = ["division", "figures", "postgres_server", "shared_spark", "tracing"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first: the workers of a run end together, on many short ones."""
    items.sort(key=lambda item: item.get_closest_marker("spark") is None)
