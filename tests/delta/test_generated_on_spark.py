"""Generated queries through a hub, on Spark and Iceberg: many stream tables over the same changes.

Each must be incremental where the compiler says so and equal to what Spark itself answers to its
query after every refresh. A case that fails is kept in `regressions/on_spark/` and played for good.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from generated import Played
from generator.cases import Case, read_case, some_cases
from generator.changes import Change, Round
from generator.queries import COUNTED
from generator.shapes import FUNCTION, FUNCTION_BODY
from generator.shrink import shrunk
from generator.tally import Tally

import headwater

pytestmark = [pytest.mark.spark, pytest.mark.timeout(3600)]

REGRESSIONS = Path(__file__).parent / "regressions" / "on_spark"
QUERIES = 10
QUICK = 6
LONG = 106
FIRST = 5000
LEAST_SHARE = 0.95
MOST_TRIES = 40


def story_cases(number: int) -> list[Case]:
    """Quick stories are flat and short, one in five of the others is long."""
    quick = number < QUICK
    depth = 2 if quick else 3 + number % 2
    rounds = 1 if quick else None if number % 5 == 0 else 2
    return some_cases(FIRST + number, QUERIES, spark=True, depth=depth, rounds=rounds)


def make_tables(hub: headwater.Hub, case: Case) -> None:
    """The empty tables of a story, and the function that its queries may call."""
    hub.register_function(FUNCTION, f"(x INT) RETURNS INT RETURN {FUNCTION_BODY}")
    for table in case.story.tables:
        hub.sql(f"DROP TABLE IF EXISTS {table.name}")
        hub.sql(f"CREATE TABLE {table.name} ({table.schema}) USING iceberg")


def play(hub: headwater.Hub, cases: Sequence[Case]) -> list[Played]:
    """Maintain all queries of one story through its rounds."""
    story = cases[0].story
    make_tables(hub, cases[0])
    for table in story.tables:
        hub.sql(Change(table, "insert", rows=tuple(story.first[table.name])).sql())
    found = {f"st{i}": _created(hub, f"st{i}", case) for i, case in enumerate(cases)}
    for number, step in enumerate(story.rounds, 1):
        for change in _changes(cases[0], step):
            hub.sql(change.sql())
        for name, played in found.items():
            if played.failure is None:
                found[name] = _refreshed(hub, name, played, number)
    return list(found.values())


def _changes(case: Case, step: Round) -> Iterator[Change]:
    """The statements of a round; a kept case has only what they led to."""
    yield from step.changes
    if not step.changes:
        for table in case.story.tables:
            if table.name in step.content:
                yield Change(table, "overwrite", rows=tuple(step.content[table.name]))


def _created(hub: headwater.Hub, name: str, case: Case) -> Played:
    try:
        hub.create_stream_table(name, case.query.sql, unique_key=case.query.unique_key or None)
        return Played(case, reasons_of(hub, case))
    except Exception as failure:
        return Played(case, failure=f"created: {type(failure).__name__}: {failure}")


def reasons_of(hub: headwater.Hub, case: Case) -> tuple[str, ...]:
    return tuple(n.reason_code or "" for n in hub.validate(case.query.sql).reasons)


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


def play_again(hub: headwater.Hub, case: Case) -> str | None:
    """How one case fails on a hub that may have played others, None if it does not."""
    for row in hub.status():
        hub.drop_stream_table(row.name)
    (played,) = play(hub, [case])
    return played.failure


def judge(hub: headwater.Hub, played: Sequence[Played]) -> None:
    failed = [one for one in played if one.failure]
    told = [f"{p.case.name}: {p.failure}\n{p.case.query.sql}" for p in failed]
    told += [f"kept as {keep(hub, p)}" for p in failed[:1]]
    assert not failed, "\n\n".join(told)


def keep(hub: headwater.Hub, played: Played) -> Path:
    """The failing case, made as small as a few tries allow, as a file."""
    tries = iter(range(MOST_TRIES))

    def fails(candidate: Case) -> bool:
        again = play_again(hub, candidate) if next(tries, None) is not None else None
        return again is not None and _kind(again) == _kind(played.failure or "")

    story = played.case.story
    rounds = tuple(Round((), step.content, step.noise) for step in story.rounds)
    small = shrunk(replace(played.case, story=replace(story, rounds=rounds)), fails)
    REGRESSIONS.mkdir(exist_ok=True)
    path = REGRESSIONS / f"case_{played.case.name.replace('.', '_')}.json"
    path.write_text(small.to_json(about=played.failure or ""))
    return path


def _kind(failure: str) -> str:
    """What makes two failures alike: the text without its numbers."""
    return re.sub(r"[\d#_]+", "", failure)[:60]


def tell(hub: headwater.Hub, report: list[str], numbers: range) -> None:
    """The share that is incremental; that it really is so was checked when it was played."""
    total = Tally()
    for number in numbers:
        cases = story_cases(number)
        make_tables(hub, cases[0])
        for case in cases:
            total.add(case.query.used, reasons_of(hub, case))
    report.append(f"on Spark and Iceberg, seeds {FIRST + numbers[0]} to {FIRST + numbers[-1]}")
    report += total.lines(name for name in COUNTED if total.seen[name])
    assert total.cases == QUERIES * len(numbers)
    assert total.share >= LEAST_SHARE, total.reasons


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", headwater.HeadwaterWarning)
        yield


@pytest.mark.parametrize("number", range(QUICK))
def test_generated_on_spark(hub: headwater.Hub, number: int) -> None:
    judge(hub, play(hub, story_cases(number)))


def test_generated_shares_on_spark(hub: headwater.Hub, report: list[str]) -> None:
    tell(hub, report, range(QUICK))


@pytest.mark.long
@pytest.mark.parametrize("number", range(QUICK, LONG))
def test_generated_on_spark_often(hub: headwater.Hub, number: int) -> None:
    judge(hub, play(hub, story_cases(number)))


@pytest.mark.long
def test_generated_often_shares_on_spark(hub: headwater.Hub, report: list[str]) -> None:
    tell(hub, report, range(QUICK, LONG))


@pytest.mark.parametrize("path", sorted(REGRESSIONS.glob("*.json")), ids=lambda p: p.stem)
def test_regression_on_spark(hub: headwater.Hub, path: Path) -> None:
    assert play_again(hub, read_case(path)) is None
