"""Spark's start as users meet it: quiet, without a network, and clear when it does not succeed.

Each start is a process of its own, cut off from the network.
"""

from __future__ import annotations

import functools
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headwater.storage.jars import COORDINATES
from shared_spark import environment

pytestmark = pytest.mark.spark

DEMO_BUDGET_SECONDS = 180

STORY = """
CREATE TABLE t (id BIGINT, k STRING) USING iceberg;
INSERT INTO t VALUES (1, 'a'), (2, 'b');
CREATE STREAM TABLE s AS SELECT k, count(*) AS n FROM t GROUP BY k;
INSERT INTO t VALUES (3, 'a');
REFRESH STREAM TABLE s;
SELECT n FROM s ORDER BY n;
SELECT id, 1 / (id - 2) AS failing FROM t;
"""

VOICE = """
import sys
from pathlib import Path
from headwater.storage.lake import Lake
from headwater.storage.spark import Engine
spark = Engine(Lake.in_folder(Path(sys.argv[1]))).user
jvm = spark.sparkContext._jvm
log = jvm.org.slf4j.LoggerFactory.getLogger("org.apache.spark.storage.BlockManager")
log.warn("a warning")
log.error("an error of the disk")
jvm.java.lang.System.err.println("a line of the JVM")
spark.stop()
"""

LOOPBACK_ONLY = """
import fcntl, os, socket, struct, sys
control = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
SIOCSIFFLAGS, IFF_UP, IFF_RUNNING = 0x8914, 0x1, 0x40
fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sh", b"lo", IFF_UP | IFF_RUNNING))
os.execv(sys.argv[1], sys.argv[1:])
"""
NAMESPACE = ("unshare", "--map-root-user", "--net", sys.executable, "-c", LOOPBACK_ONLY)
CLOSED_PORT = " ".join(
    f"-D{scheme}.proxyHost=127.0.0.1 -D{scheme}.proxyPort=9" for scheme in ("http", "https")
)


@functools.cache
def can_leave_the_network() -> bool:
    try:
        tried = subprocess.run([*NAMESPACE, sys.executable, "-c", ""], capture_output=True)
    except OSError:
        return False
    return tried.returncode == 0


def cut_off(*args: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run Python without a network: in a namespace of its own, else behind a dead proxy."""
    variables = {**environment(), **more}
    inside = can_leave_the_network()
    if not inside:
        variables["JAVA_TOOL_OPTIONS"] = CLOSED_PORT
    command = [*(NAMESPACE if inside else ()), sys.executable, *args]
    return subprocess.run(command, capture_output=True, text=True, env=variables, timeout=300)


def headwater(*args: str, **more: str) -> subprocess.CompletedProcess[str]:
    return cut_off("-c", "from headwater.cli.main import main; main()", *args, **more)


def test_later_starts_need_no_network_and_only_the_failure_is_on_stderr(tmp_path: Path) -> None:
    done = headwater("--hub", str(tmp_path / "lake"), "sql", STORY, "--format", "csv")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-3:] == ["n", "1", "2"]
    first, *rest = done.stderr.splitlines()
    assert first.startswith("HW5005: [DIVIDE_BY_ZERO]")
    assert rest[-1].startswith("Do: use try_divide")
    assert len(rest) <= 4, done.stderr


def test_first_start_without_network_says_what_is_missing_and_what_to_do(tmp_path: Path) -> None:
    done = headwater("--hub", str(tmp_path), "sql", "SELECT 1", HEADWATER_JARS=str(tmp_path / "j"))
    assert done.returncode == 1
    first, *rest = done.stderr.splitlines()
    assert first.startswith("HW5004: the jars of Spark could not be fetched: ")
    assert all(coordinate in first for coordinate in COORDINATES)
    assert [line[:4] for line in rest] == ["Do: "]
    assert "HEADWATER_JARS" in rest[0]


def test_start_with_a_wrong_setting_tells_the_reason(tmp_path: Path) -> None:
    (tmp_path / "headwater.toml").write_text(
        'catalog = "sqlite:///lake/headwater.db"\n[spark]\n"spark.driver.memory" = "much"\n'
    )
    done = headwater("--hub", str(tmp_path), "sql", "SELECT 1")
    assert done.returncode == 1
    assert done.stderr.startswith("HW5004: Java ended while Spark started: ")
    assert "much" in done.stderr
    assert len(done.stderr.splitlines()) == 2


def test_what_a_running_jvm_says_is_passed_on(tmp_path: Path) -> None:
    done = cut_off("-c", VOICE, str(tmp_path))
    assert done.returncode == 0
    *errors, last = done.stderr.splitlines()
    assert last == "a line of the JVM"
    assert [line.split(": ", 1)[1] for line in errors] == ["an error of the disk"]


@pytest.mark.long
def test_demo_without_network_ends_by_itself_with_equal_tables(
    tmp_path: Path, report: list[str]
) -> None:
    began = time.monotonic()
    done = headwater("demo", TMPDIR=str(tmp_path), JAVA_TOOL_OPTIONS="")
    seconds = time.monotonic() - began
    report.append(f"headwater demo: {seconds:.0f} s")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.count("INCREMENTAL") >= 16
    assert "4 stream tables in" in done.stdout
    assert ", 0 Spark jobs" in done.stdout
    verified = done.stdout.partition("Verify")[2]
    assert verified.count("OK   ") == 4
    assert "All four are exact." in verified
    assert seconds < DEMO_BUDGET_SECONDS
