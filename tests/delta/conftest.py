"""Chunks of generated cases, played on all cores, and figures to show at the end of the run."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor

import pytest
from generated import Played, play_chunk

_LINES: list[str] = []


@pytest.fixture(scope="session")
def report() -> list[str]:
    """Lines for the end of the run."""
    return _LINES


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _LINES:
        terminalreporter.section("generated queries")
    for line in _LINES:
        terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def chunk(request: pytest.FixtureRequest) -> Iterator[Callable[[int], tuple[Played, ...]]]:
    """How the cases of a chunk went; all that selected tests need are played side by side."""
    wanted = {
        item.callspec.params["number"]: None
        for item in request.session.items
        if "chunk" in getattr(item, "fixturenames", ()) and hasattr(item, "callspec")
    }
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), mp_context=context) as pool:
        known: dict[int, Future] = {n: pool.submit(play_chunk, n) for n in wanted}

        def get(number: int) -> tuple[Played, ...]:
            if number not in known:
                known[number] = pool.submit(play_chunk, number)
            return known[number].result()

        yield get
        pool.shutdown(cancel_futures=True)
