"""The suite notices every broken rule: each mutant must fail some of the tests that know it."""

from __future__ import annotations

import random
from decimal import Decimal

import duckdb
import pytest
import test_failing_rows as failing_rows
from delta_harness import World, check, followed, forget, judged
from duck import scratch
from generated import play
from generator.cases import some_cases
from mutants import ELSEWHERE, MUTANTS, WANTED, Exam, Mutant
from test_random_tables import QUERIES, sandbox
from test_scenarios import SCENARIOS, check_scenario
from test_special_shapes import EDGES, LISTS, PATHS, graph

from headwater.core.errors import PlanBug

pytestmark = pytest.mark.untraced

RANDOM = range(900, 903)
TRIALS = {"mixed": 24, "append": 6, "one side": 8, "nothing": 1}
NOTICED = (AssertionError, duckdb.Error, PlanBug)


def decimals() -> None:
    schema = {"p": "k int, v decimal(20,8)"}
    fine = Decimal("0.12345678")
    for new in ([(1, fine)], [(1, fine), (1, fine), (1, fine)]):
        world = World(schema, {"p": [(1, fine), (1, fine)]}, {"p": new})
        check("SELECT k, SUM(v) AS s FROM p GROUP BY k", world)


def recursion() -> None:
    for seed in range(4):
        rng = random.Random(seed)
        check(PATHS, World(EDGES, graph(rng), graph(rng), random=rng))


def explode() -> None:
    world = World(LISTS, {"t": [(1, (1, 2)), (2, (1,))]}, {"t": [(1, (1,)), (2, ())]})
    check("SELECT id, e FROM t LATERAL VIEW explode(a) x AS e", world)


def failing() -> None:
    check(failing_rows.QUERIES["project"], failing_rows.of_no_version())


def failing_pairs() -> None:
    check(failing_rows.PAIRS["inner"], failing_rows.never_side_by_side("inner", back=True))


EXAMS: dict[str, Exam] = {
    exam.__name__: exam for exam in (decimals, recursion, explode, failing, failing_pairs)
}


def examine(subject: Mutant) -> None:
    """All that should notice; raises when something does."""
    for name in subject.exams:
        EXAMS[name]()
    for name in subject.scenarios:
        check_scenario(next(s for s in SCENARIOS if s["id"] == name))
    for name in subject.shapes:
        for kind, times in TRIALS.items():
            for seed in range(times):
                box = sandbox(kind, seed)
                with scratch():
                    judged(followed(QUERIES[name], box))
    for seed in RANDOM:
        failures = [p.failure for p in play(some_cases(seed, 4)) if p.failure]
        assert not failures, failures


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    subject = MUTANTS[name]
    try:
        with monkeypatch.context() as patch:
            subject.broken(patch)
            forget()
            with pytest.raises(NOTICED):
                examine(subject)
    finally:
        forget()


def test_sound_rules_pass_the_random_part() -> None:
    """A mutant that only this part notices is noticed for the right reason."""
    failures = [p.failure for seed in RANDOM for p in play(some_cases(seed, 4)) if p.failure]
    assert not failures, failures


@pytest.mark.parametrize("exam", EXAMS.values(), ids=lambda e: e.__name__)
def test_sound_rules_pass(exam: Exam) -> None:
    exam()


def test_each_mutant_is_made_or_explained() -> None:
    assert not set(MUTANTS) & set(ELSEWHERE)
    made = {*MUTANTS, *ELSEWHERE}
    assert not [name for names in WANTED.values() for name in names if name not in made]
    assert len(WANTED) == 33
    assert all(m.shapes or m.scenarios or m.exams for m in MUTANTS.values())
