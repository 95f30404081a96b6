"""Coverage is measured where tests are cheap: tracing makes Python two to three times slower.

Tests on Spark and those marked `untraced` (hundreds of queries through the same rules) or `timed`
(figures of time) run without it.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager

import pytest

QUIET = ("spark", "untraced", "timed")


@contextmanager
def untraced() -> Iterator[None]:
    """No tracing in this thread inside the block."""
    tracing = sys.gettrace()
    sys.settrace(None)
    try:
        yield
    finally:
        sys.settrace(tracing)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    if not any(item.get_closest_marker(name) for name in QUIET):
        return (yield)
    with untraced():
        return (yield)
