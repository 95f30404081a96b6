"""A Spark Connect server for worker processes: started for a lake, and again when it is lost.

The server is a JVM of its own. It listens on this host only, asks for a token, and ends with the
process that started it. Settings go to it in a file that only its user can read: the catalog may
have a password.
"""

from __future__ import annotations

import os
import re
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.core.errors import SparkUnavailable
from headwater.storage.jars import resolution
from headwater.storage.launch import check_java, start_conf

if TYPE_CHECKING:
    from headwater.storage.lake import Lake

START_SECONDS = 120.0
_HOST = "127.0.0.1"
_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"
_POLL_SECONDS = 0.1
_GUARD = Path(__file__).with_name("guard.py")
_TOKEN = "SPARK_CONNECT_AUTHENTICATE_TOKEN"  # noqa: S105 - the name of a variable
_THROWN = re.compile(r"(?:[a-z]\w*\.)+[A-Z]\w*(?:Exception|Error)\b.*")


class ConnectServer:
    """One server, or none; used by several threads."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._lock = threading.Lock()
        self._guard: subprocess.Popen[bytes] | None = None
        self._port = 0
        self._token = ""
        self._said: deque[str] = deque(maxlen=200)
        self.pid: int | None = None

    @property
    def url(self) -> str:
        """The address of the server, with the token that it asks for.

        The name matters: to an address in numbers a token is only sent through TLS.
        """
        return f"sc://localhost:{self._port}/;token={self._token}"

    @property
    def is_alive(self) -> bool:
        """Whether the process of the server runs."""
        return self._guard is not None and self._guard.poll() is None

    def ensure(self) -> str:
        """The address of a server that answers; starts it when there is none.

        Raises:
            SparkUnavailable: it ended, or did not answer in time; the message has its reason.
        """
        with self._lock:
            if not self.is_alive:
                self._start()
            return self.url

    def close(self) -> None:
        """End the server."""
        with self._lock:
            if self._guard is not None:
                self._end()

    def _start(self) -> None:
        check_java()
        self._end()
        self._port, self._token = _free_port(), secrets.token_urlsafe(24)
        self._said.clear()
        with tempfile.TemporaryDirectory() as folder, resolution():
            settings = Path(folder) / "spark.conf"
            settings.touch(mode=0o600)
            settings.write_text(_as_properties(self._conf()))
            self._guard = self._launch(settings)
            self._await_answer()

    def _conf(self) -> dict[str, str]:
        return {
            **start_conf(self._lake),
            "spark.connect.grpc.binding.address": _HOST,
            "spark.connect.grpc.binding.port": str(self._port),
            "spark.connect.grpc.port.maxRetries": "0",
        }

    def _launch(self, settings: Path) -> subprocess.Popen[bytes]:
        import pyspark

        home = Path(pyspark.__file__).parent
        submit = [str(home / "bin" / "spark-submit"), "--load-spark-defaults"]
        submit += ["--properties-file", str(settings)]
        keep = ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "PYSPARK_GATEWAY_PORT")
        environment = {key: value for key, value in os.environ.items() if key not in keep}
        environment |= {"SPARK_HOME": str(home), _TOKEN: self._token}
        guard = subprocess.Popen(  # noqa: S603 - our own programs, no text of a user
            [sys.executable, "-I", str(_GUARD), *submit, "--class", _CLASS],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert guard.stdout is not None
        self.pid = int(guard.stdout.readline() or 0) or None
        threading.Thread(target=self._listen, args=(guard,), daemon=True).start()
        return guard

    def _listen(self, guard: subprocess.Popen[bytes]) -> None:
        """Keep what the server says last: the reason, should it end."""
        assert guard.stderr is not None
        for line in guard.stderr:
            self._said.append(line.decode(errors="replace").rstrip())

    def _await_answer(self) -> None:
        until = time.monotonic() + START_SECONDS
        while self.is_alive and time.monotonic() < until:
            try:
                with socket.create_connection((_HOST, self._port), timeout=1):
                    return
            except OSError:
                time.sleep(_POLL_SECONDS)
        ended = not self.is_alive
        self._end()
        thrown = [found[0] for line in self._said if (found := _THROWN.search(line))]
        why = (thrown or list(self._said) or ["it said nothing"])[0]
        what = "ended while it started" if ended else f"did not answer in {START_SECONDS:.0f} s"
        raise SparkUnavailable(
            f"the Spark Connect server {what}: {why}",
            hint="correct the Spark settings of the hub, or run `headwater doctor`",
        )

    def _end(self) -> None:
        guard, self._guard, self.pid = self._guard, None, None
        if guard is None:
            return
        assert guard.stdin is not None
        assert guard.stdout is not None
        guard.stdin.close()
        try:
            guard.wait(timeout=15)
        except subprocess.TimeoutExpired:
            guard.kill()
            guard.wait()
        guard.stdout.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        return int(probe.getsockname()[1])


def _as_properties(conf: dict[str, str]) -> str:
    """Settings in the form that Java reads."""

    def escaped(text: str) -> str:
        return re.sub(r"([\\=:#!\s])", r"\\\1", text)

    return "".join(f"{escaped(key)}={escaped(value)}\n" for key, value in conf.items())
