"""The shared cache file: seen by all processes, blocked by none, harmless when damaged."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from catalog_samples import child, done

from headwater.catalog import shared_cache
from headwater.catalog.shared_cache import SharedCache

STOPPED = """
import os, signal, sys
from pathlib import Path
from headwater.catalog import shared_cache
cache = shared_cache.SharedCache(Path(sys.argv[1]))
cache.put(b"first", b"1")
def stop(transaction):
    transaction.put(b"half", b"x" * 10)
    print("stopping", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
cache._write(stop)
"""
WRITER = """
import os, sys
from pathlib import Path
from headwater.catalog.shared_cache import SharedCache
cache = SharedCache(Path(sys.argv[1]))
print("writing", flush=True)
for i in range(10**9):
    cache.put(b"%d" % (i % 50), os.urandom(1) * (20_000 + i % 7))
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "a.lmdb"


@pytest.fixture
def cache(path: Path) -> Iterator[SharedCache]:
    opened = SharedCache(path)
    yield opened
    opened.close()


@pytest.mark.timed
def test_a_value_comes_back_in_another_process(cache: SharedCache, path: Path) -> None:
    assert cache.get(b"k") is None
    assert cache.put(b"k", b"v" * 10_000)
    code = """
import sys, time
from pathlib import Path
from headwater.catalog.shared_cache import SharedCache
cache = SharedCache(Path(sys.argv[1]))
cache.get(b"other")
times = []
for _ in range(21):
    started = time.perf_counter()
    found = cache.get(b"k")
    times.append((time.perf_counter() - started) * 1000)
print(len(found), sorted(times)[10] < 1.0)
"""
    assert done(child(code, path)) == "10000 True"


@pytest.mark.timed
def test_a_writer_that_is_stopped_blocks_nobody(cache: SharedCache, path: Path) -> None:
    stopped = child(STOPPED, path)
    assert stopped.stdout is not None
    assert stopped.stdout.readline() == "stopping\n"
    try:
        started = time.perf_counter()
        assert cache.get(b"first") == b"1"
        assert cache.get(b"half") is None
        assert not cache.put(b"k", b"v")
        assert time.perf_counter() - started < 0.5
        assert cache.skipped == 1
        other = "import sys; from pathlib import Path\n"
        other += "from headwater.catalog.shared_cache import SharedCache\n"
        other += "cache = SharedCache(Path(sys.argv[1]))\n"
        other += "print(cache.get(b'first'), cache.put(b'x', b'y'))"
        assert done(child(other, path)) == "b'1' False"
    finally:
        stopped.kill()
        stopped.wait()
    assert cache.put(b"k", b"v")
    assert cache.get(b"half") is None
    assert cache.get(b"k") == b"v"


def test_kill_9_while_writing_corrupts_nothing(cache: SharedCache, path: Path) -> None:
    for _ in range(6):
        writer = child(WRITER, path)
        assert writer.stdout is not None
        assert writer.stdout.readline() == "writing\n"
        time.sleep(random.uniform(0.0, 0.15))
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
        found = [cache.get(b"%d" % i) for i in range(50)]
        assert all(v is None or len(set(v)) == 1 for v in found)
        assert cache.put(b"mine", b"alive")
        assert cache.get(b"mine") == b"alive"
    assert cache.entries > 1


@pytest.mark.parametrize("damage", ["garbage", "truncated", "empty", "gone", "flipped"])
def test_a_damaged_file_costs_only_time(path: Path, damage: str) -> None:
    before = SharedCache(path)
    for i in range(30):
        assert before.put(b"%d" % i, b"v" * 20_000)
    before.close()
    content = bytearray(path.read_bytes())
    if damage == "garbage":
        path.write_bytes(b"not a cache " * 1000)
    elif damage == "truncated":
        path.write_bytes(content[: len(content) // 3])
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "gone":
        path.unlink()
    else:
        at = content.rindex(b"v" * 5000)
        content[at + 17] ^= 0xFF
        path.write_bytes(content)
    after = SharedCache(path)
    found = [after.get(b"%d" % i) for i in range(30)]
    assert all(v in (None, b"v" * 20_000) for v in found)
    assert found.count(None) >= (1 if damage == "flipped" else 30)
    assert after.put(b"new", b"value")
    assert after.get(b"new") == b"value"
    after.close()


def test_a_full_file_is_emptied(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_cache, "MAP_BYTES", 1024 * 1024)
    cache = SharedCache(path)
    for i in range(100):
        assert cache.put(b"%d" % i, os.urandom(30_000))
    assert cache.get(b"99") is not None
    assert cache.get(b"0") is None
    assert path.stat().st_size <= 1024 * 1024
    cache.close()


def test_clearing_starts_a_new_epoch_for_everybody(cache: SharedCache, path: Path) -> None:
    other = SharedCache(path)
    other.put(b"k", b"v")
    before = other.epoch()
    assert cache.clear()
    assert other.get(b"k") is None
    assert other.epoch() != before
    assert other.entries == 0
    other.close()
    assert cache.put(b"k", b"again")


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    cache = SharedCache(tmp_path / "file" / "a.lmdb")
    assert cache.get(b"k") is None
    assert not cache.put(b"k", b"v")
    assert not cache.clear()
    assert (cache.entries, cache.epoch()) == (0, b"")
    assert SharedCache(None).get(b"k") is None


def test_a_forked_process_does_not_touch_the_handle(path: Path) -> None:
    code = """
import os, sys
from pathlib import Path
from headwater.catalog.shared_cache import SharedCache
cache = SharedCache(Path(sys.argv[1]))
cache.put(b"k", b"v")
pid = os.fork()
if pid == 0:
    same, own = cache, SharedCache(Path(sys.argv[1]))
    ok = same.get(b"k") is None and own.get(b"k") is None and not same.put(b"k", b"w")
    same.close()
    os._exit(0 if ok else 1)
print(os.waitpid(pid, 0)[1], cache.get(b"k"), cache.put(b"k", b"x"), cache.get(b"k"))
"""
    assert done(child(code, path)) == "0 b'v' True b'x'"


def test_readers_that_died_leave_no_slot(cache: SharedCache, path: Path) -> None:
    code = """
import os, sys
from pathlib import Path
from headwater.catalog import shared_cache
cache = shared_cache.SharedCache(Path(sys.argv[1]))
transaction = cache._environment().begin()
transaction.get(b"k")
os.kill(os.getpid(), 9)
"""
    cache.put(b"k", b"v")
    for _ in range(3):
        died: subprocess.Popen[str] = child(code, path)
        died.communicate(timeout=60)
        assert died.returncode == -signal.SIGKILL
    assert cache.put(b"k", b"w")
    assert cache._environment().reader_check() == 0
