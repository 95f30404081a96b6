"""Which process wrote a row, and whether it still lives.

A process number alone is reused by the system: the start time of the process tells two apart.
"""

from __future__ import annotations

import os
import socket
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

_PROC = Path("/proc")
_STATE, _START = 0, 19  # fields of /proc/<pid>/stat after the name of the program


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """One process of one host; `started` is opaque and differs between reuses of a number."""

    host: str
    pid: int
    started: str

    @classmethod
    def current(cls) -> ProcessIdentity:
        """This process."""
        return _identity(os.getpid())

    def is_alive(self) -> bool | None:
        """Whether the process still runs; None when that cannot be seen from here."""
        here = ProcessIdentity.current()
        if self.host != here.host:
            return None
        boot, _, rest = self.started.partition(":")
        here_boot, _, here_rest = here.started.partition(":")
        if boot != here_boot:
            return False
        if rest.partition(":")[0] != here_rest.partition(":")[0]:
            return None
        found = _started(self.pid)
        return found is not None and found == self.started


@lru_cache(maxsize=2)
def _identity(pid: int) -> ProcessIdentity:
    return ProcessIdentity(socket.gethostname(), pid, _started(pid) or "")


def _started(pid: int) -> str | None:
    """`boot:namespace:start` of a running process; None when there is none."""
    if not (_PROC / "self" / "stat").exists():
        return _started_by_ps(pid)
    try:
        fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    if fields[_STATE] in ("Z", "X"):
        return None
    return f"{_boot()}:{_namespace()}:{fields[_START]}"


@lru_cache(maxsize=1)
def _boot() -> str:
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return "boot"


def _namespace() -> str:
    """Containers of one host name may number their processes apart."""
    try:
        return (_PROC / "self/ns/pid").readlink().name.strip("pid:[]")
    except OSError:
        return "pid"


def _started_by_ps(pid: int) -> str | None:
    listed = subprocess.run(  # noqa: S603 - a number is the only argument
        ["/bin/ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    line = listed.stdout.strip()
    return f"boot:pid:{line}" if line else None
