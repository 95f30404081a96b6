"""Sessions of a Spark Connect server: Spark SQL without a JVM in this process.

A session is a client with an identity of its own; the server keeps its settings and views apart
from those of others. What a refresh needs beyond SQL text is here: another session of the same
server, rows that travel with a plan, a count of statements.
"""

from __future__ import annotations

import atexit
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from headwater.core.errors import SparkUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Self

    from pyspark.sql import DataFrame, SparkSession

RETRIES = {"max_retries": 4, "initial_backoff": 100, "backoff_multiplier": 3.0, "jitter": 50}
"""A server that does not answer for some four seconds is lost: the refresh is tried again."""


def is_remote(session: object) -> bool:
    """Whether a session talks to a Spark Connect server."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def check_installed() -> None:
    """Refuse when the packages that Spark Connect needs are not there."""
    for package in ("pyspark", "grpc", "grpc_status", "google.rpc", "pandas", "pyarrow"):
        try:
            found = find_spec(package)
        except ModuleNotFoundError:
            found = None
        if found is None:
            raise SparkUnavailable(
                f"Spark Connect needs the package {package}, which is not installed",
                hint="pip install 'headwater[spark,connect]'",
            )


def connect(url: str) -> SparkSession:
    """A new session of the server at an address `sc://host:port`."""
    check_installed()
    from pyspark.sql.connect.session import SparkSession as RemoteSession

    try:
        return _patient_for_a_while(RemoteSession(url))
    except Exception as error:
        raise SparkUnavailable(
            f"the address of the Spark Connect server cannot be used: {error}",
            hint="use sc://host:port, with parameters after /; as in sc://host:15002/;use_ssl=true",
        ) from error


def another(session: SparkSession) -> SparkSession:
    """A session of its own on the same server."""
    from pyspark.sql.connect.session import SparkSession as RemoteSession

    return _patient_for_a_while(RemoteSession(session.client._builder))


def _patient_for_a_while(session: Any) -> SparkSession:
    from pyspark.sql.connect.client.retries import DefaultPolicy

    session.client.set_retry_policies([DefaultPolicy(**RETRIES)])
    # There are no models to forget, and a server that is gone would delay the end of the process.
    atexit.unregister(session.client._cleanup_ml_cache)
    counted: SparkSession = session
    session.client._session_hooks.append(_Counter())
    return counted


def set_all(session: SparkSession, conf: Mapping[str, str]) -> None:
    """Set several settings in one request."""
    session.conf._set_all(dict(conf), silent=False)


@contextmanager
def settings(session: SparkSession, conf: Mapping[str, str]) -> Iterator[None]:
    """Inside, the session has these settings; afterwards it has its own again."""
    from pyspark.sql.connect.proto import ConfigRequest

    found = session.client.get_config_with_defaults(*((key, None) for key in conf))
    before = dict(zip(conf, found, strict=True))
    try:
        set_all(session, conf)
        yield
    finally:
        had = {key: value for key, value in before.items() if value is not None}
        if had:
            set_all(session, had)
        unset = ConfigRequest.Unset(keys=[key for key in before if key not in had])
        session.client.config(ConfigRequest.Operation(unset=unset))


class _Counter:
    """Counts the statements that a session has sent."""

    def __init__(self) -> None:
        self.sent = 0

    def on_execute_plan(self, request: Any) -> Any:
        """Called by the client before each statement."""
        self.sent += 1
        return request


class StatementCount:
    """Counts the statements of one run, in a session that nobody else uses meanwhile."""

    def __init__(self, session: SparkSession) -> None:
        hooks = session.client._session_hooks
        self._counter = next((h for h in hooks if isinstance(h, _Counter)), _Counter())
        self._before = self._counter.sent

    def __enter__(self) -> Self:
        self._before = self._counter.sent
        return self

    def __exit__(self, *exc: object) -> None:
        return None

    @property
    def total(self) -> int:
        """Statements sent so far."""
        return self._counter.sent - self._before


def rows_in_plan(session: SparkSession, frame: DataFrame, most: int) -> tuple[Any, int] | None:
    """The rows of a query as part of a plan, and how many; None when there are too many.

    The rows travel as Arrow, which keeps every value as it is. A type that cannot travel so, or
    too many rows, leave the result where it is.
    """
    try:
        table = frame.limit(most + 1).toArrow()
        if table.num_rows > most:
            return None
        return session.createDataFrame(table, frame.schema), int(table.num_rows)
    except (NotImplementedError, TypeError, ValueError):
        return None
