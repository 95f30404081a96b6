"""A small refresh says little to the catalog and to the JVM; sessions get their settings back."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from py4j.clientserver import ClientServerConnection
from sqlalchemy import event

import headwater
from headwater.refresh import run
from headwater.storage.spark import settings
from shared_spark import check

pytestmark = pytest.mark.spark

MOST_STATEMENTS = 15
MOST_CALLS = 45
PARTITIONS = "spark.sql.shuffle.partitions"
RUN = "spark.sql.iceberg.snapshot-property.hw.run"


@contextmanager
def counted_statements(hub: headwater.Hub) -> Iterator[list[str]]:
    """The statements that the catalog gets; settings are read and leases are kept now and then."""
    said: list[str] = []
    here = threading.get_ident()

    def note(_c: object, _k: object, statement: str, *_: object) -> None:
        is_now_and_then = "hw_settings" in statement or threading.get_ident() != here
        if not (statement.startswith("BEGIN") or is_now_and_then):
            said.append(statement)

    engine = hub._runtime.store.database.engine
    event.listen(engine, "before_cursor_execute", note)
    try:
        yield said
    finally:
        event.remove(engine, "before_cursor_execute", note)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calls that the JVM gets, without those that give objects back."""
    made: list[str] = []
    real = ClientServerConnection.send_command

    def note(self: object, command: str, *args: object) -> object:
        if not command.startswith("m\n"):
            made.append(command)
        return real(self, command, *args)

    monkeypatch.setattr(ClientServerConnection, "send_command", note)
    return made


def test_a_small_refresh_says_little(
    hub: headwater.Hub, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "SOON_SECONDS", 600)
    hub.sql("CREATE TABLE src (g INT, x INT) USING iceberg")
    hub.create_stream_table("sums", "SELECT g, SUM(x) AS x FROM src GROUP BY g")
    for number in range(3):
        hub.sql(f"INSERT INTO src VALUES ({number}, 1)")
        calls.clear()
        with counted_statements(hub) as said:
            assert hub.refresh_stream_table("sums").action == "INCREMENTAL"
        if number:
            assert len(said) <= MOST_STATEMENTS, said
            assert len(calls) <= MOST_CALLS, calls
    check(hub, "sums")


def test_a_plan_that_is_no_longer_young_sees_newer_versions(
    hub: headwater.Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.sql("CREATE TABLE src (g INT, x INT) USING iceberg")
    hub.create_stream_table("sums", "SELECT g, SUM(x) AS x FROM src GROUP BY g")
    real = run.recover_unrecorded

    def meanwhile(*args: object) -> object:
        hub.sql("INSERT INTO src VALUES (2, 2)")
        return real(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(run, "recover_unrecorded", meanwhile)
    for seconds, total in ((0, 3), (600, 4)):
        monkeypatch.setattr(run, "SOON_SECONDS", seconds)
        hub.sql("INSERT INTO src VALUES (1, 1)")
        hub.refresh_stream_table("sums")
        assert hub.verify("sums").equal
        assert sum(r.x for r in hub.table("sums").collect()) == total
    monkeypatch.setattr(run, "recover_unrecorded", real)
    hub.refresh_stream_table("sums")
    assert sum(r.x for r in hub.table("sums").collect()) == 6
    check(hub, "sums")


def test_sessions_get_their_settings_back(hub: headwater.Hub, calls: list[str]) -> None:
    with hub._runtime.engine.exclusive() as session:
        had = session.conf.get(PARTITIONS)
        for _ in range(2):
            with settings(session, {PARTITIONS: "7", RUN: "one"}):
                calls.clear()
                with settings(session, {PARTITIONS: "7"}):
                    assert calls == [], "it has this setting already"
                with pytest.raises(ZeroDivisionError), settings(session, {PARTITIONS: "9"}):
                    assert session.conf.get(PARTITIONS) == "9"
                    _ = 1 / 0
                assert session.conf.get(PARTITIONS) == "7"
                assert session.conf.get(RUN) == "one"
            assert session.conf.get(PARTITIONS) == had
            assert session.conf.get(RUN, None) is None
