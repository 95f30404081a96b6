"""The jars of Spark: whole or not there, and resolved by one start at a time."""

from __future__ import annotations

import threading
import time
import zipfile
from pathlib import Path

import pytest

from headwater.storage.jars import COORDINATES, jar_conf, local_jars, resolution


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADWATER_JARS", str(tmp_path))
    return tmp_path


def fill(folder: Path) -> list[Path]:
    """What a resolution leaves."""
    (folder / "jars").mkdir(exist_ok=True)
    made = []
    for coordinate in COORDINATES:
        group, artifact, version = coordinate.split(":")
        made.append(folder / "jars" / f"{group}_{artifact}-{version}.jar")
        with zipfile.ZipFile(made[-1], "w") as jar:
            jar.writestr("content", "x" * 1000)
    return made


def test_resolved_jars_are_used(folder: Path) -> None:
    assert "spark.jars.packages" in jar_conf()
    made = fill(folder)
    assert local_jars() == made
    assert jar_conf() == {"spark.jars": ",".join(map(str, made))}


def test_a_jar_that_is_still_being_written_does_not_count(folder: Path) -> None:
    last = fill(folder)[-1]
    last.write_bytes(last.read_bytes()[:100])
    assert local_jars() is None


def test_of_two_first_starts_one_resolves(folder: Path) -> None:
    resolved, met = [], threading.Barrier(2)

    def start() -> None:
        met.wait()
        with resolution():
            if local_jars() is None:
                resolved.append(threading.current_thread().name)
                time.sleep(0.2)
                fill(folder)

    threads = [threading.Thread(target=start) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(resolved) == 1
    assert local_jars() is not None


def test_with_all_jars_nobody_waits(folder: Path) -> None:
    with resolution():
        fill(folder)
        done = threading.Event()

        def start() -> None:
            with resolution():
                done.set()

        threading.Thread(target=start, daemon=True).start()
        assert done.wait(5)
