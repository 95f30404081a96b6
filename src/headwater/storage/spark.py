"""The Spark sessions of a hub: started at the first need, one for users, a pool for refreshes.

User SQL runs in a session that never carries refresh settings; refreshes run in sessions whose
result-changing settings are pinned. A refresh has its session for itself: settings of a session
must not be seen by another run. Sessions are kept and used again, each has a connection to the
catalog of its own. A JVM that was started here and lost is started again at the next need.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from headwater.core.errors import SparkLost, SparkUnavailable
from headwater.storage import jvm, remote
from headwater.storage.failures import translate
from headwater.storage.jobs import cancel_jobs, labelled_jobs
from headwater.storage.launch import first_line, start_spark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from headwater.storage.lake import Lake

PINNED_SETTINGS: Mapping[str, str] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "false",
    "spark.sql.sources.partitionOverwriteMode": "static",
}
"""Session settings that change results; part of every definition hash."""

_EXCLUDED = "spark.sql.optimizer.excludedRules"
_FAILING_RULE = "org.apache.spark.sql.catalyst.optimizer.PushProjectionThroughUnion"
"""Fails on the value of a correlated subquery for each row of a UNION ALL; columns that are not
read are left out of a union by another rule."""


@dataclass
class Engine:
    """Runs SQL for one lake; starts Spark when first asked to.

    Attributes:
        given: a session whose Spark is used, in this process or behind Spark Connect.
        has_jars: whether the Spark of that session was started with all jars of Headwater.
    """

    lake: Lake
    given: SparkSession | None = None
    has_jars: bool = False
    _root: SparkSession | None = field(default=None, init=False)
    _owned: bool = field(default=False, init=False)
    _jvm: Any = field(default=None, init=False)
    _processors: int | None = field(default=None, init=False)
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
    def processors(self) -> int:
        """How many tasks Spark runs at once; behind Spark Connect, those of this machine."""
        if self._processors is None:
            with self._lock:
                self._drop_lost()
                root = self._root_session()
            here = os.cpu_count() or 1
            told = here if remote.is_remote(root) else root.sparkContext.defaultParallelism
            self._processors = max(1, told)
        return self._processors

    @property
    def user(self) -> SparkSession:
        """The session for user SQL."""
        with self._lock:
            self._drop_lost()
            if self._user is None:
                self._user = self._session(self.lake.catalog_conf())
            return self._user

    @property
    def worker(self) -> SparkSession:
        """A session with pinned settings, for statements that need none of their own."""
        with self._lock:
            self._drop_lost()
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
            self._drop_lost()
            session = self._idle.pop() if self._idle else self._session()
        self._held.session = session
        label: str | None = getattr(self._held, "label", None)
        try:
            with labelled_jobs(session, label) if label is not None else nullcontext():
                yield session
        finally:
            self._held.session = None
            with self._lock:
                if any(session is known for known in self._all):
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
            sessions = list(self._all) if self._root is not None else []
        cancel_jobs(sessions, label)

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
        """Stop Spark if this engine started it, and give the connections of its sessions back."""
        with self._lock:
            for session in self._all:
                if remote.is_remote(session):
                    session.stop()
                elif not (self._owned and jvm.is_lost(self._jvm)):
                    jvm.close_catalog(session, self.lake.catalog)
            if self._owned and self._root is not None:
                self._root.stop()
            self._forget()

    def _drop_lost(self) -> None:
        """Forget the sessions of a JVM that was started here and has ended."""
        if self._owned and jvm.is_lost(self._jvm):
            jvm.forget(self._jvm)
            self._forget()

    def _forget(self) -> None:
        self._root = self._user = self._worker = self._jvm = None
        self._idle.clear()
        self._all.clear()
        self._owned = False

    def _session(self, conf: Mapping[str, str] | None = None) -> SparkSession:
        """A session of its own; without `conf` one that refreshes."""
        root = self._root_session()
        session = remote.another(root) if remote.is_remote(root) else root.newSession()
        conf = conf or self.lake.refresh_conf(bare_files=self._owned or self.has_jars)
        excluded = [session.conf.get(_EXCLUDED, None), _FAILING_RULE]
        without = {_EXCLUDED: ",".join(rule for rule in excluded if rule)}
        set_all(session, {**conf, **PINNED_SETTINGS, **without})
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
            lost = translate(error)
            if isinstance(lost, SparkLost):
                raise lost from error
            raise SparkUnavailable(
                f"the Iceberg catalog cannot be opened: {first_line(error)}",
                hint="give the session the Iceberg runtime jar for its Spark version, and check "
                "that the catalog database and the warehouse can be reached",
            ) from error

    def _root_session(self) -> SparkSession:
        if self._root is None:
            if self.given is not None:
                self._root = self.given
            else:
                self._root = start_spark(self.lake)
                self._owned, self._jvm = True, jvm.current_jvm()
        return self._root


_KNOWN: WeakKeyDictionary[SparkSession, dict[str, str | None]] = WeakKeyDictionary()
"""What sessions were found to have: each question to the JVM takes a call, and so does each answer.
Settings that refreshes change are changed by `settings` alone."""


@contextmanager
def settings(session: SparkSession, conf: Mapping[str, str]) -> Iterator[None]:
    """Inside, the session has these settings; afterwards it has its own again."""
    if remote.is_remote(session):
        with remote.settings(session, conf):
            yield
        return
    known = _KNOWN.setdefault(session, {})
    for key in conf:
        if key not in known:
            known[key] = session.conf.get(key, None)
    before = {key: known[key] for key, value in conf.items() if known[key] != value}
    try:
        set_all(session, {key: conf[key] for key in before})
        known.update({key: conf[key] for key in before})
        yield
    finally:
        for key, value in before.items():
            if value is None:
                session.conf.unset(key)
            else:
                session.conf.set(key, value)
        known.update(before)


def set_all(session: SparkSession, conf: Mapping[str, str]) -> None:
    """Set several settings of a session."""
    if remote.is_remote(session):
        remote.set_all(session, conf)
        return
    for key, value in conf.items():
        session.conf.set(key, value)


__all__ = ["PINNED_SETTINGS", "Engine", "set_all", "settings"]
