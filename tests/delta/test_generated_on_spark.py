"""Generated queries through a hub, on Spark and Iceberg: many stream tables over the same changes.

Each must be incremental where the compiler says so and equal to its query after every refresh.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import pytest
from generated import Played
from generator.cases import Case, some_cases
from generator.changes import Change, Round
from generator.queries import COUNTED
from generator.tally import Tally

import headwater

pytestmark = [pytest.mark.spark, pytest.mark.timeout(3600)]

QUERIES = 10
QUICK = 6
LONG = 106
FIRST = 5000


def story_cases(number: int, depth: int) -> list[Case]:
    return some_cases(FIRST + number, QUERIES, spark=True, depth=depth)


def play(hub: headwater.Hub, cases: Sequence[Case], rounds: Sequence[Round]) -> list[Played]:
    """Maintain all queries through the rounds."""
    story = cases[0].story
    for table in story.tables:
        hub.sql(f"CREATE TABLE {table.name} ({table.schema}) USING iceberg")
        hub.sql(Change(table, "insert", rows=tuple(story.first[table.name])).sql())
    found = {f"st{i}": _created(hub, f"st{i}", case) for i, case in enumerate(cases)}
    for number, step in enumerate(rounds, 1):
        for change in step.changes:
            hub.sql(change.sql())
        for name, played in found.items():
            if played.failure is None:
                found[name] = _refreshed(hub, name, played, number)
    return list(found.values())


def _created(hub: headwater.Hub, name: str, case: Case) -> Played:
    try:
        hub.create_stream_table(name, case.query.sql, unique_key=case.query.unique_key or None)
        verdict = hub.validate(case.query.sql)
    except Exception as failure:
        return Played(case, failure=f"created: {type(failure).__name__}: {failure}")
    return Played(case, tuple(n.reason_code or "" for n in verdict.reasons))


def _refreshed(hub: headwater.Hub, name: str, played: Played, number: int) -> Played:
    try:
        result = hub.refresh_stream_table(name)
        report = hub.verify(name)
    except Exception as failure:
        return Played(
            played.case, played.reasons, f"round {number}: {type(failure).__name__}: {failure}"
        )
    problem = None
    if not report.equal:
        problem = f"round {number} ({result.action}): {report}"
    elif not played.reasons and result.action not in ("INCREMENTAL", "NO_DATA"):
        problem = f"round {number} was {result.action}: {result.reason}"
    return Played(played.case, played.reasons, problem)


def judge(played: Sequence[Played], total: Tally) -> None:
    for one in played:
        total.add(one.case.query.used, one.reasons)
    failed = [f"{p.case.name}: {p.failure}\n{p.case.query.sql}" for p in played if p.failure]
    assert not failed, "\n\n".join(failed)


@pytest.fixture(scope="module")
def total(report: list[str]):
    tally = Tally()
    yield tally
    if tally.cases:
        report += ["on Spark and Iceberg:", *tally.lines(n for n in COUNTED if tally.seen[n])]


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", headwater.HeadwaterWarning)
        yield


@pytest.mark.parametrize("number", range(QUICK))
def test_generated_on_spark(hub: headwater.Hub, number: int, total: Tally) -> None:
    cases = story_cases(number, depth=2)
    judge(play(hub, cases, cases[0].story.rounds[:1]), total)


@pytest.mark.long
@pytest.mark.parametrize("number", range(QUICK, LONG))
def test_generated_on_spark_often(hub: headwater.Hub, number: int, total: Tally) -> None:
    cases = story_cases(number, depth=3 + number % 2)
    judge(play(hub, cases, cases[0].story.rounds), total)
