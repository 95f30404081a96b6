"""The Spark sessions of a hub: started at the first need, one for users, a pool for refreshes.

User SQL runs in a session that never carries refresh settings; refreshes run in sessions whose
result-changing settings are pinned. A refresh has its session for itself: settings of a session
must not be seen by another run. Sessions are kept and used again, each has a connection to the
catalog of its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headwater.core.errors import SparkUnavailable
from headwater.storage.failures import translate
from headwater.storage.jars import jar_conf
from headwater.storage.jvm import LOGGING, start_jvm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from headwater.storage.lake import Lake

EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"

PINNED_SETTINGS: Mapping[str, str] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "false",
    "spark.sql.sources.partitionOverwriteMode": "static",
}
"""Session settings that change results; part of every definition hash."""

_START_SETTINGS: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": f"-Duser.timezone=UTC -XX:+UseParallelGC {LOGGING}",
    "spark.sql.shuffle.partitions": str(min(4, os.cpu_count() or 2)),
    "spark.sql.extensions": EXTENSIONS,
    "spark.scheduler.mode": "FAIR",  # small refreshes are not stuck behind the tasks of a large one
}


@dataclass
class Engine:
    """Runs SQL for one lake; starts Spark when first asked to."""

    lake: Lake
    given: SparkSession | None = None
    _root: SparkSession | None = field(default=None, init=False)
    _owned: bool = field(default=False, init=False)
    _user: SparkSession | None = field(default=None, init=False)
    _worker: SparkSession | None = field(default=None, init=False)
    _idle: list[SparkSession] = field(default_factory=list, init=False)
    _all: list[SparkSession] = field(default_factory=list, init=False)
    _prepared: list[Callable[[SparkSession], object]] = field(default_factory=list, init=False)
    _held: threading.local = field(default_factory=threading.local, init=False)
    _lock: threading.RLock = field(default_factory=threading.RLock, init=False)

    @property
    def running(self) -> bool:
        """Whether a session is at hand without starting one."""
        return self._root is not None or self.given is not None

    @property
    def user(self) -> SparkSession:
        """The session for user SQL."""
        with self._lock:
            if self._user is None:
                self._user = self._session(self.lake.catalog_conf())
            return self._user

    @property
    def worker(self) -> SparkSession:
        """A session with pinned settings, for statements that need none of their own."""
        with self._lock:
            if self._worker is None:
                self._worker = self._session()
            return self._worker

    @contextmanager
    def exclusive(self) -> Iterator[SparkSession]:
        """A refresh session that no other thread has meanwhile; the same one when nested."""
        held: SparkSession | None = getattr(self._held, "session", None)
        if held is not None:
            yield held
            return
        with self._lock:
            session = self._idle.pop() if self._idle else self._session()
        self._held.session = session
        label: str | None = getattr(self._held, "label", None)
        try:
            with _labelled(session, label) if label is not None else nullcontext():
                yield session
        finally:
            self._held.session = None
            with self._lock:
                if self._root is not None:
                    self._idle.append(session)

    @contextmanager
    def labelled(self, label: str) -> Iterator[None]:
        """Inside, Spark jobs of this thread carry a label, by which `cancel` finds them."""
        self._held.label = label
        try:
            yield
        finally:
            self._held.label = None

    def cancel(self, label: str) -> None:
        """Cancel the Spark jobs that run under a label; starts no Spark."""
        with self._lock:
            root = self._root
        if root is not None:
            root.sparkContext.cancelJobsWithTag(label)

    def in_every_session(self, prepare: Callable[[SparkSession], object]) -> None:
        """Do something in all sessions there are, and in those to come."""
        with self._lock:
            _ = self.user, self.worker
            for session in self._all:
                prepare(session)
            self._prepared.append(prepare)

    def run(self, session: SparkSession, text: str) -> DataFrame:
        """Run one statement; failures of Spark become Headwater errors."""
        try:
            return session.sql(text)
        except Exception as error:
            raise translate(error, text) from error

    def collect(self, session: SparkSession, text: str) -> list[Any]:
        """Run a query and fetch its rows."""
        frame = self.run(session, text)
        try:
            return list(frame.collect())
        except Exception as error:
            raise translate(error, text) from error

    def close(self) -> None:
        """Stop Spark if this engine started it."""
        with self._lock:
            if self._owned and self._root is not None:
                self._root.stop()
            self._root = self._user = self._worker = None
            self._idle.clear()
            self._all.clear()
            self._owned = False

    def _session(self, conf: Mapping[str, str] | None = None) -> SparkSession:
        """A session of its own; without `conf` one that refreshes."""
        root = self._root_session()
        session = root.newSession()
        conf = conf or self.lake.refresh_conf(bare_files=self._owned)
        for key, value in {**conf, **PINNED_SETTINGS}.items():
            session.conf.set(key, value)
        self._use_lake(session)
        for prepare in self._prepared:
            prepare(session)
        self._all.append(session)
        return session

    def _use_lake(self, session: SparkSession) -> None:
        try:
            session.sql(f"CREATE NAMESPACE IF NOT EXISTS `{self.lake.catalog}`.`default`")
            session.sql(f"USE `{self.lake.catalog}`.`default`")
        except Exception as error:
            raise SparkUnavailable(
                f"the Iceberg catalog cannot be opened: {_first_line(error)}",
                hint="give the session the Iceberg runtime jar for its Spark version, and check "
                "that the catalog database and the warehouse can be reached",
            ) from error

    def _root_session(self) -> SparkSession:
        if self._root is None:
            if self.given is not None:
                self._root = self.given
            else:
                self._root = _start(self.lake)
                self._owned = True
        return self._root


@contextmanager
def settings(session: SparkSession, conf: Mapping[str, str]) -> Iterator[None]:
    """Inside, the session has these settings; afterwards it has its own again."""
    before = {key: session.conf.get(key, None) for key in conf}
    try:
        for key, value in conf.items():
            session.conf.set(key, value)
        yield
    finally:
        for key, value in before.items():
            if value is None:
                session.conf.unset(key)
            else:
                session.conf.set(key, value)


def _start(lake: Lake) -> SparkSession:
    check_java()
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise SparkUnavailable(
            "pyspark is not installed", hint="pip install 'headwater[spark]'"
        ) from error
    conf = {
        "spark.master": os.environ.get("HEADWATER_SPARK_MASTER", "local[*]"),
        "spark.app.name": "headwater",
        **_START_SETTINGS,
        **jar_conf(),
        **lake.catalog_conf(),
        **lake.spark_conf,
    }
    builder = SparkSession.builder
    for key, value in conf.items():
        builder = builder.config(key, value)
    try:
        start_jvm(conf)
        return builder.getOrCreate()
    except SparkUnavailable:
        raise
    except Exception as error:
        raise SparkUnavailable(
            f"Spark did not start: {_first_line(error)}",
            hint="run `headwater doctor`; the first start needs the network to fetch the jars",
        ) from error


def check_java() -> str:
    """The version line of Java 17 or newer; an error that says how to get it otherwise."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(f"{home}/bin/java") if home else shutil.which("java")
    hint = (
        "install Java 17 or newer, e.g. `apt-get install openjdk-17-jre-headless`, or set JAVA_HOME"
    )
    if java is None:
        raise SparkUnavailable("Java is not installed", hint=hint)
    done = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)  # noqa: S603
    told = (done.stderr or done.stdout).splitlines()
    line = next((text for text in told if ' version "' in text), "unknown version")
    digits = line.partition('"')[2].partition('"')[0].split(".")
    major = int(digits[0]) if digits and digits[0].isdigit() else 0
    if major < 17:
        raise SparkUnavailable(f"Java is too old: {line}", hint=hint)
    return line


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


class JobCount:
    """Counts the Spark jobs of one run: they carry the run id as job group."""

    def __init__(self, session: SparkSession, run_id: str) -> None:
        self._context = session.sparkContext
        self._run_id = run_id

    def __enter__(self) -> JobCount:
        self._context.setJobGroup(self._run_id, f"headwater refresh {self._run_id}")
        return self

    def __exit__(self, *exc: object) -> None:
        self._context.setLocalProperty("spark.jobGroup.id", None)
        self._context.setLocalProperty("spark.job.description", None)

    @property
    def total(self) -> int:
        """Jobs started so far."""
        return len(self._context.statusTracker().getJobIdsForGroup(self._run_id))


@contextmanager
def _labelled(session: SparkSession, label: str) -> Iterator[None]:
    """Jobs of this thread carry a tag and run in a pool of their own, fair to the others."""
    context = session.sparkContext
    context.addJobTag(label)
    context.setInterruptOnCancel(True)
    context.setLocalProperty("spark.scheduler.pool", threading.current_thread().name)
    try:
        yield
    finally:
        context.removeJobTag(label)
        context.setLocalProperty("spark.scheduler.pool", None)


__all__ = ["PINNED_SETTINGS", "Engine", "JobCount", "check_java"]
