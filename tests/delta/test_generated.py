"""Generated queries over generated tables and changes, on DuckDB: none may ever be wrong.

A case that fails is made small and kept in `regressions/`, where it is played again for good.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from generated import QUICK, Played, play, play_again, seeds_of
from generator.cases import Case, read_case, some_cases
from generator.queries import COUNTED
from generator.shrink import shrunk
from generator.tally import Tally

pytestmark = pytest.mark.untraced

REGRESSIONS = Path(__file__).parent / "regressions"
LONG = 420
LEAST_SHARE = 0.95
LEAST_FREQUENCY = 0.03
# A declared key is no operator of SQL; it only has to occur.
OPERATORS = [name for name in COUNTED if name != "declared_key"]


Chunk = Callable[[int], tuple[Played, ...]]


def judge(cases: Iterable[Played]) -> None:
    failed = [played for played in cases if played.failure]
    told = [f"{p.case.name}: {p.failure}\n{p.case.query.sql}" for p in failed]
    told += [f"kept as {keep(p)}" for p in failed[:1]]
    assert not failed, "\n\n".join(told)


def keep(played: Played) -> Path:
    """The failing case, made small, as a file."""
    kind = (played.failure or "").partition(":")[0]

    def fails(candidate: Case) -> bool:
        again = play_again(candidate)
        return again is not None and again.partition(":")[0] == kind

    small = shrunk(played.case, fails)
    REGRESSIONS.mkdir(exist_ok=True)
    path = REGRESSIONS / f"case_{played.case.name.replace('.', '_')}.json"
    path.write_text(small.to_json(about=play_again(small) or ""))
    return path


def check_shares(chunks: range, chunk: Chunk, report: list[str]) -> None:
    total = Tally()
    for played in (p for number in chunks for p in chunk(number)):
        total.add(played.case.query.used, played.reasons)
    report.append(f"seeds {seeds_of(chunks[0])[0]} to {seeds_of(chunks[-1])[-1]}")
    report += total.lines(COUNTED)
    rare = [name for name in OPERATORS if total.frequency(name) < LEAST_FREQUENCY]
    assert not rare, {name: total.frequency(name) for name in rare}
    assert total.share >= LEAST_SHARE, total.reasons


@pytest.mark.parametrize("number", range(QUICK))
def test_generated(number: int, chunk: Chunk) -> None:
    judge(chunk(number))


def test_generated_shares(chunk: Chunk, report: list[str]) -> None:
    check_shares(range(QUICK), chunk, report)


@pytest.mark.long
@pytest.mark.parametrize("number", range(QUICK, LONG))
def test_generated_often(number: int, chunk: Chunk) -> None:
    judge(chunk(number))


@pytest.mark.long
def test_generated_often_shares(chunk: Chunk, report: list[str]) -> None:
    check_shares(range(QUICK, LONG), chunk, report)


@pytest.mark.parametrize("path", sorted(REGRESSIONS.glob("*.json")), ids=lambda p: p.stem)
def test_regression(path: Path) -> None:
    assert play_again(read_case(path)) is None


def test_failing_case_is_found_and_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The generator would notice a broken rule, and tell it in few words."""
    from delta_harness import forget

    from headwater.delta import context

    monkeypatch.setattr(context.DeltaContext, "old", lambda self, node: node)
    forget()
    try:
        played = next(p for seed in range(20) for p in play(some_cases(seed, 3)) if p.failure)
        small = shrunk(played.case, lambda c: (play_again(c) or "").startswith("Assertion"))
        assert len(small.story.rounds) == 1
        assert len(small.query.sql) <= len(played.case.query.sql)
        rows = sum(map(len, [*small.story.first.values(), *small.story.rounds[0].content.values()]))
        assert rows <= 12, small.to_json()
    finally:
        forget()
