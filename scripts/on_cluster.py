"""Runs tests on a Spark cluster: a standalone master and two workers on this host.

    python scripts/on_cluster.py [pytest arguments]

Everything comes from the installed pyspark. The processes are ended with the run.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

WORKERS = 2
SHARES = {
    # Two applications fit: the Spark of the tests, and a Spark Connect server that one of them has.
    "spark.cores.max": "2",
    "spark.executor.cores": "1",
    "spark.executor.memory": "768m",
}
DEFAULT = ["tests/scheduler", "-m", "spark and not long", "-q"]


def main() -> int:
    with cluster() as run:
        command = [sys.executable, "-m", "pytest", *(sys.argv[1:] or DEFAULT)]
        return subprocess.run(command, env=run, check=False).returncode


@contextmanager
def cluster() -> Iterator[dict[str, str]]:
    """A cluster, and the environment in which Headwater uses it."""
    home = Path(pyspark.__file__).parent
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_CONF_DIR": folder,
            "PYSPARK_PYTHON": sys.executable,
        }
        defaults = "".join(f"{key} {value}\n" for key, value in SHARES.items())
        (Path(folder) / "spark-defaults.conf").write_text(defaults)
        started = []
        try:
            master, address = start_master(home, Path(folder), environment)
            started.append(master)
            for number in range(WORKERS):
                worker = start_worker(home, Path(folder), environment, address, number)
                started.append(worker)  # one by one: each must be ended when the next fails
            yield {**environment, "HEADWATER_SPARK_MASTER": address}
        finally:
            for process in reversed(started):
                process.terminate()
            for process in started:
                process.wait(timeout=30)


def start_master(
    home: Path, folder: Path, environment: dict[str, str]
) -> tuple[subprocess.Popen[bytes], str]:
    log = folder / "master.log"
    process = launch(home, log, environment, "master.Master", "--port", "0", "--webui-port", "0")
    line = said(log, "Starting Spark master at ")
    return process, line.partition("Starting Spark master at ")[2].split()[0]


def start_worker(
    home: Path, folder: Path, environment: dict[str, str], address: str, number: int
) -> subprocess.Popen[bytes]:
    log = folder / f"worker{number}.log"
    process = launch(
        home,
        log,
        environment,
        "worker.Worker",
        *("--cores", "2", "--memory", "2g", "--webui-port", "0"),
        *("--work-dir", str(folder / f"work{number}"), address),
    )
    said(log, "Successfully registered with master")
    return process


def launch(
    home: Path, log: Path, environment: dict[str, str], role: str, *arguments: str
) -> subprocess.Popen[bytes]:
    command = [
        home / "bin" / "spark-class",
        f"org.apache.spark.deploy.{role}",
        "--host",
        "127.0.0.1",
    ]
    with log.open("wb") as output:
        return subprocess.Popen(
            [*map(str, command), *arguments], env=environment, stdout=output, stderr=output
        )


def said(log: Path, text: str, seconds: float = 60) -> str:
    """The line of a log that has a text, as soon as it is there."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for line in log.read_text(errors="replace").splitlines():
            if text in line:
                return line
        time.sleep(0.2)
    raise SystemExit(f"{log.name} never said {text!r}:\n{log.read_text(errors='replace')[-2000:]}")


if __name__ == "__main__":
    sys.exit(main())
