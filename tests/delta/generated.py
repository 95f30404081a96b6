"""Plays generated cases on DuckDB: the stream table must equal its query after every round."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from delta_harness import Maintained, Sandbox, check_churn
from duck import connection, scratch
from generator.cases import Case, Story, some_cases

QUERIES = 5
STORIES = 5
# The first chunks are played in every run of the tests: their stories are cut short.
QUICK = 20
QUICK_ROUNDS = 3


@dataclass(frozen=True)
class Played:
    """How a case went.

    Attributes:
        reasons: why it is recomputed as a whole; empty when it is maintained incrementally.
        failure: what went wrong, None if nothing did.
    """

    case: Case
    reasons: tuple[str, ...] = ()
    failure: str | None = None


@contextmanager
def staged(story: Story) -> Iterator[Sandbox]:
    """The tables of a story at all versions."""
    box = Sandbox(connection(), story.schemas, story.first)
    for number, step in enumerate(story.rounds):
        box.step(step.content, random.Random(f"{story.seed} {number}"), noise=step.noise)
    try:
        yield box
    finally:
        box.close()


def play_chunk(number: int) -> tuple[Played, ...]:
    """Some stories with their queries."""
    rounds = QUICK_ROUNDS if number < QUICK else None
    return tuple(
        played
        for seed in seeds_of(number)
        for played in play(some_cases(seed, QUERIES, rounds=rounds))
    )


def seeds_of(number: int) -> range:
    """The seeds of the stories of a chunk."""
    return range(number * STORIES, (number + 1) * STORIES)


def play(cases: Sequence[Case]) -> list[Played]:
    """Play cases of one story."""
    with staged(cases[0].story) as box:
        return [_played(case, box) for case in cases]


def _played(case: Case, box: Sandbox) -> Played:
    try:
        with scratch():
            return Played(case, follow(case, box))
    except Exception as failure:
        return Played(case, failure=f"{type(failure).__name__}: {failure}")


def follow(case: Case, box: Sandbox) -> tuple[str, ...]:
    """Maintain one query through all frames, checking it at each; tells why it is recomputed."""
    table = Maintained(box, case.query.sql, case.query.unique_key, box.frames[0])
    reasons: tuple[str, ...] = ()
    assert table.rows == box.answer(case.query.sql, box.frames[0]), "wrong from the start"
    for number, frame in enumerate(box.frames[1:], 1):
        before = table.stored
        program, reported = table.refresh(frame)
        reasons = tuple(n.reason_code or "" for n in program.strategy if n.strategy == "X")
        expected = box.answer(case.query.sql, frame)
        assert table.rows == expected, (
            f"round {number}: missing {dict(expected - table.rows)}, "
            f"unexpected {dict(table.rows - expected)}"
        )
        check_churn(table.layout, before, table.stored, reported)
    return reasons


def play_again(case: Case) -> str | None:
    """How one case fails, None if it does not."""
    (played,) = play([case])
    return played.failure
