"""Starts the JVM of Spark so that standard error stays clean and no secret is on a command line.

`storage.spark` uses it before it makes the first session. What the JVM writes before it is up is
kept back: it is noise when the start succeeds and the reason when it fails.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.core.errors import SparkUnavailable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

LOGGING = f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties').as_uri()}"

_SECRET = re.compile(r"secret|password|token|access\.?key|credential", re.IGNORECASE)
_MISSING_JAR = re.compile(r"unresolved dependency: ([\w.\-]+)#([\w.\-]+);([\w.\-]+)")
_THROWN = re.compile(r'^(?:Exception in thread "[^"]*" )?(?:[a-z]\w*\.)+[A-Z]\w*: .+')
_NOISE = ("WARNING: ", "Picked up ", ":: ", "\t", " ")


def start_jvm(conf: Mapping[str, str]) -> None:
    """Start the JVM, unless this process has one already.

    Args:
        conf: the settings of Spark; secrets among them are left to the session.

    Raises:
        SparkUnavailable: the JVM ended before it was up; the message has its reason.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    if SparkContext._gateway is not None:
        return
    # PySpark writes every failed query as JSON to standard error; the caller gets it as an error.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    shown = SparkConf(loadDefaults=False)
    shown.setAll([(key, value) for key, value in conf.items() if not _SECRET.search(key)])
    voice = _Voice()
    try:
        gateway = launch_gateway(shown, popen_kwargs={"stderr": voice.entry})
    except Exception as error:
        raise _not_started(voice.said(), error) from error
    finally:
        voice.pass_on()
    SparkContext._ensure_initialized(gateway=gateway)


def current_jvm() -> Any:
    """The JVM of this process, as `is_lost` wants it; None when there is none."""
    from pyspark import SparkContext

    return SparkContext._gateway


def is_lost(jvm: Any) -> bool:
    """Whether a JVM that this process started has ended."""
    process = getattr(jvm, "proc", None)
    return process is not None and process.poll() is not None


def close_catalog(session: SparkSession, catalog: str) -> None:
    """Close the connections that the Iceberg catalog of a session holds to its database.

    Spark never does: as long as its JVM lives, every session would keep its own.
    """
    with suppress(Exception):  # a Spark that is stopped or gone has none
        state = session._jsparkSession.sessionState()
        state.catalogManager().catalog(catalog).icebergCatalog().close()


def forget(jvm: Any) -> None:
    """Let the next start of Spark begin anew, after a JVM was lost."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    with SparkContext._lock:
        if SparkContext._gateway is not jvm:
            return  # another hub of this process has done it
        with suppress(Exception):
            jvm.shutdown()
        SparkContext._gateway = SparkContext._jvm = None
        SparkContext._active_spark_context = None
        SparkSession._instantiatedSession = SparkSession._activeSession = None


class _Voice:
    """What the JVM writes to standard error: kept while it starts, passed on when it is up."""

    def __init__(self) -> None:
        out, self.entry = os.pipe()
        self._kept: deque[bytes] = deque(maxlen=300)
        self._is_up = threading.Event()
        self._is_closed = False
        self._reader = threading.Thread(target=self._read, args=(out,), daemon=True)
        self._reader.start()

    def said(self) -> str:
        """All that was kept, once the process has ended."""
        self._close()
        self._reader.join(timeout=5)
        return b"".join(self._kept).decode(errors="replace")

    def pass_on(self) -> None:
        """Keep nothing back from now on."""
        self._is_up.set()
        self._close()

    def _close(self) -> None:
        if not self._is_closed:
            os.close(self.entry)  # the JVM has a copy; the pipe ends with it
            self._is_closed = True

    def _read(self, out: int) -> None:
        with os.fdopen(out, "rb") as lines:
            for line in lines:
                if self._is_up.is_set():
                    os.write(2, line)
                else:
                    self._kept.append(line)


def _not_started(said: str, error: Exception) -> SparkUnavailable:
    missing = sorted({":".join(found) for found in _MISSING_JAR.findall(said)})
    if missing:
        return SparkUnavailable(
            f"the jars of Spark could not be fetched: {', '.join(missing)}",
            hint="the first start needs the network, later ones do not; behind a mirror of Maven "
            "set DEFAULT_ARTIFACT_REPOSITORY to its address, without a network copy the jar "
            "folder of another machine and set HEADWATER_JARS to it",
        )
    lines = [line for line in said.splitlines() if line and not line.startswith(_NOISE)]
    reasons = [line for line in lines if _THROWN.match(line)] or lines or [str(error)]
    return SparkUnavailable(
        f"Java ended while Spark started: {reasons[0]}",
        hint="correct the Spark settings of the hub, or run `headwater doctor`",
    )
