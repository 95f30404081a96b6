"""Chunks of generated cases, played in processes of their own."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor

import pytest
from generated import Played, play_chunk


@pytest.fixture(scope="session")
def chunk(request: pytest.FixtureRequest) -> Iterator[Callable[[int], tuple[Played, ...]]]:
    """How the cases of a chunk went; all that selected tests need are played side by side.

    Where tests already run side by side, one process more is enough.
    """
    wanted = {
        item.callspec.params["number"]: None
        for item in request.session.items
        if "chunk" in getattr(item, "fixturenames", ()) and hasattr(item, "callspec")
    }
    processes = 1 if "PYTEST_XDIST_WORKER" in os.environ else os.cpu_count()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        known: dict[int, Future] = {n: pool.submit(play_chunk, n) for n in wanted}

        def get(number: int) -> tuple[Played, ...]:
            if number not in known:
                known[number] = pool.submit(play_chunk, number)
            return known[number].result()

        yield get
        pool.shutdown(cancel_futures=True)
