"""Interrupts and forks beside the queue of writers: nobody holds it without being in it."""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from headwater.catalog import turnstile


@contextmanager
def inside(path: str) -> Iterator[None]:
    """Somebody else holds the turnstile."""
    handle = os.open(f"{path}-queue", os.O_RDWR | os.O_CREAT)
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(handle)


def is_free(path: str) -> bool:
    """Whether the next writer would not have to wait."""
    handle = os.open(f"{path}-queue", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(handle)
    return True


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A run that was started in the background would ignore interrupts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def waiters() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "hw-turnstile"]


def test_an_interrupt_while_waiting_leaves_the_queue_free(
    tmp_path: Path, interruptible: None
) -> None:
    path = str(tmp_path / "headwater.db")
    with inside(path):
        interrupt = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        interrupt.start()
        with pytest.raises(KeyboardInterrupt), turnstile.passing(path):
            pytest.fail("somebody else is inside")
    for thread in waiters():
        thread.join(5)
    assert is_free(path)
    with turnstile.passing(path):
        assert not is_free(path)


def test_a_child_that_was_forked_during_a_write_does_not_hold_the_queue(tmp_path: Path) -> None:
    path = str(tmp_path / "headwater.db")
    context = multiprocessing.get_context("fork")
    ends = context.Event()
    with turnstile.passing(path):
        child = context.Process(target=ends.wait, args=(20,))
        child.start()
    try:
        assert is_free(path)
    finally:
        ends.set()
        child.join(20)
