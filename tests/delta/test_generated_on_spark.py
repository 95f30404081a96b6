"""Generated queries through a hub, on Spark and Iceberg: many stream tables over the same changes.

Each must be incremental where the compiler says so and equal to what Spark itself answers to its
query after every refresh. A case that fails is kept in `regressions/on_spark/` and played for good.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain
from pathlib import Path

import pytest
from generated import Played
from generator.cases import Case, Deal, read_case, some_cases
from generator.changes import Change, Round
from generator.queries import ON_SPARK
from generator.shapes import FUNCTION, FUNCTION_BODY
from generator.shrink import shrunk
from generator.tally import Tally

import headwater
from churn import churn, stored
from headwater.refresh.definitions import resolve

pytestmark = [pytest.mark.spark, pytest.mark.timeout(3600)]

REGRESSIONS = Path(__file__).parent / "regressions" / "on_spark"
QUERIES = 10
QUICK = 6
LONG = 106
FIRST = 5000
SHORT, REST = range(QUICK), range(QUICK, LONG)
LEAST_SHARE = 0.95
LEAST_FREQUENCY = 0.03
MOST_TRIES = 40


@cache
def stories(numbers: range) -> dict[int, list[Case]]:
    """Stories over which all operators are dealt.

    Quick ones are flat and short, one in five of the others is long.
    """
    deal = Deal(ON_SPARK)
    found = {}
    for number in numbers:
        quick = number < QUICK
        depth = 2 if quick else 3 + number % 2
        rounds = 1 if quick else None if number % 5 == 0 else 2
        found[number] = some_cases(
            FIRST + number, QUERIES, spark=True, depth=depth, rounds=rounds, deal=deal
        )
    return found


def make_tables(hub: headwater.Hub, cases: Sequence[Case]) -> None:
    """The empty tables of a story, and the function and the views that its queries may name."""
    hub.register_function(FUNCTION, f"(x INT) RETURNS INT RETURN {FUNCTION_BODY}")
    for table in cases[0].story.tables:
        hub.sql(f"DROP TABLE IF EXISTS {table.name}")
        hub.sql(f"CREATE TABLE {table.name} ({table.schema}) USING iceberg")
        if any(f"{table.view} " in case.query.sql for case in cases):
            hub.sql(f"CREATE OR REPLACE VIEW {table.view} AS {table.view_body}")


def play(hub: headwater.Hub, cases: Sequence[Case]) -> list[Played]:
    """Maintain all queries of one story through its rounds."""
    story = cases[0].story
    make_tables(hub, cases)
    for table in story.tables:
        hub.sql(Change(table, "insert", rows=tuple(story.first[table.name])).sql())
    made = {f"st{i}": _created(hub, f"st{i}", case) for i, case in enumerate(cases)}
    found = {name: played for name, played in made.items() if played is not None}
    assert len(found) >= len(cases) - 1, "Spark itself fails at one query of a story at most"
    before = {name: stored(hub, name) for name, played in found.items() if not played.failure}
    for number, step in enumerate(story.rounds, 1):
        for change in _changes(cases[0], step):
            hub.sql(change.sql())
        for name, played in found.items():
            if played.failure is None:
                found[name] = _refreshed(hub, name, played, number, before)
    return list(found.values())


def _changes(case: Case, step: Round) -> Iterator[Change]:
    """The statements of a round; a kept case has only what they led to."""
    yield from step.changes
    if not step.changes:
        for table in case.story.tables:
            if table.name in step.content:
                yield Change(table, "overwrite", rows=tuple(step.content[table.name]))


def _created(hub: headwater.Hub, name: str, case: Case) -> Played | None:
    try:
        hub.create_stream_table(name, case.query.sql, unique_key=case.query.unique_key or None)
        return Played(case, reasons_of(hub, case))
    except Exception as failure:
        if _beyond_spark(hub, case):
            return None
        return Played(case, failure=f"created: {type(failure).__name__}: {failure}")


def _beyond_spark(hub: headwater.Hub, case: Case) -> bool:
    """Whether the optimizer of Spark fails at the query itself, as it does for a few."""
    call = re.compile(rf"\b{FUNCTION}\(([^()]+)\)", re.IGNORECASE)
    body = re.sub(r"\bx\b", "{0}", FUNCTION_BODY)  # plain Spark does not know the function
    text = call.sub(lambda m: f"({body.format(m[1])})", case.query.sql)
    try:
        hub.sql(text).collect()
    except Exception as failure:
        return "NoSuchElementException: key not found" in str(failure)
    return False


def reasons_of(hub: headwater.Hub, case: Case) -> tuple[str, ...]:
    """As the compiler tells them; Spark is not asked about the types."""
    return tuple(n.reason_code or "" for n in resolve(hub._runtime, case.query.sql).verdict.reasons)


def _refreshed(
    hub: headwater.Hub, name: str, played: Played, number: int, before: dict[str, Counter]
) -> Played:
    try:
        result = hub.refresh_stream_table(name)
        report = hub.verify(name)
        after = stored(hub, name)
    except Exception as failure:
        return Played(
            played.case, played.reasons, f"round {number}: {type(failure).__name__}: {failure}"
        )
    problem = None
    if not report.equal:
        problem = f"round {number} ({result.action}): {report}"
    elif not played.reasons and result.action not in ("INCREMENTAL", "NO_DATA"):
        problem = f"round {number} was {result.action}: {result.reason}"
    elif churned := churn(result, before[name], after):
        problem = f"round {number}: {churned}"
    before[name] = after
    return Played(played.case, played.reasons, problem)


def play_again(hub: headwater.Hub, case: Case) -> str | None:
    """How one case fails on a hub that may have played others, None if it does not."""
    for row in hub.status():
        hub.drop_stream_table(row.name)
    played = play(hub, [case])
    return played[0].failure if played else None


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
    """How often each operator occurred, and the share that is incremental.

    That what is called incremental really is so was checked when it was played.
    """
    total = Tally()
    for cases in stories(numbers).values():
        make_tables(hub, cases)
        for case in cases:
            total.add(case.query.used, reasons_of(hub, case))
    report.append(f"on Spark and Iceberg, seeds {FIRST + numbers[0]} to {FIRST + numbers[-1]}")
    report += total.lines(ON_SPARK)
    assert total.cases == QUERIES * len(numbers)
    assert total.share >= LEAST_SHARE, total.reasons


def check_frequency(numbers: range) -> None:
    total = Tally()
    for case in chain.from_iterable(stories(numbers).values()):
        total.add(case.query.used, ())
    rare = {name: total.seen[name] for name in ON_SPARK if total.frequency(name) < LEAST_FREQUENCY}
    assert not rare


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", headwater.HeadwaterWarning)
        yield


@pytest.mark.parametrize("number", SHORT)
def test_generated_on_spark(hub: headwater.Hub, number: int) -> None:
    judge(hub, play(hub, stories(SHORT)[number]))


def test_generated_shares_on_spark(hub: headwater.Hub, report: list[str]) -> None:
    tell(hub, report, SHORT)


@pytest.mark.parametrize("numbers", (SHORT, REST), ids=("quick", "long"))
def test_each_operator_is_played_on_spark(numbers: range) -> None:
    check_frequency(numbers)


@pytest.mark.long
@pytest.mark.parametrize("number", REST)
def test_generated_on_spark_often(hub: headwater.Hub, number: int) -> None:
    judge(hub, play(hub, stories(REST)[number]))


@pytest.mark.long
def test_generated_often_shares_on_spark(hub: headwater.Hub, report: list[str]) -> None:
    tell(hub, report, REST)


@pytest.mark.parametrize("path", sorted(REGRESSIONS.glob("*.json")), ids=lambda p: p.stem)
def test_regression_on_spark(hub: headwater.Hub, path: Path) -> None:
    assert play_again(hub, read_case(path)) is None
