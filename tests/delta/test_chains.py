"""Stream tables over stream tables: a chain of five and a diamond equal the inlined query.

Each level is maintained from the changes of the level below, and is compared after every round
with the one query that names only source tables.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

import pytest
from delta_harness import Maintained, check_churn
from duck import scratch
from generated import staged
from generator.cases import Story, some_story
from generator.changes import Round
from generator.maker import Column, Impossible, Maker, Relation
from generator.queries import some_relation
from generator.tables import Table
from test_metamorphic import a_relation, plain_rows

pytestmark = pytest.mark.untraced

LEVELS = 5
QUICK, LONG = 5, 80
FIRST = 2000
# Joins of joins grow fast; a level with more rows than this ends the attempt.
MOST_ROWS = 40


@dataclass
class Levels:
    """Stream tables over the tables of a story, each with its rows at every version."""

    story: Story
    queries: dict[str, Relation] = field(default_factory=dict)
    versions: dict[str, list[Counter]] = field(default_factory=dict)

    def put(self, name: str, made: Relation, over: list[str]) -> None:
        """A stream table over others or, if over none, over the source tables."""
        self.versions[name] = maintained(self._below(over) if over else self.story, made.sql)
        self.queries[name] = made
        if any(seen.total() > MOST_ROWS for seen in self.versions[name]):
            raise Impossible

    def table(self, name: str) -> Table:
        """A stream table as a source of others."""
        return Table(name, tuple((c.ref, c.type) for c in self.queries[name].columns))

    def _below(self, names: list[str]) -> Story:
        """The history that a stream table over these sees."""
        rows = {name: [plain_rows(seen) for seen in self.versions[name]] for name in names}
        rounds = tuple(
            Round((), {name: rows[name][i] for name in names}, step.noise)
            for i, step in enumerate(self.story.rounds, 1)
        )
        first = {name: rows[name][0] for name in names}
        return Story(self.story.seed, tuple(map(self.table, names)), first, rounds)

    def check(self, name: str) -> None:
        """The rows at every version are those of the query over the source tables."""
        listed = [f"{n} AS ({made.sql})" for n, made in self.queries.items()]
        inlined = f"WITH {', '.join(listed)} SELECT * FROM {name}"
        with staged(self.story) as box, scratch():
            for frame, seen in zip(box.frames, self.versions[name], strict=True):
                assert seen == box.answer(inlined, frame), inlined


def maintained(story: Story, sql: str) -> list[Counter]:
    """What a reader sees at first and after each round; no refresh writes more than differs."""
    with staged(story) as box, scratch():
        table = Maintained(box, sql, frame=box.frames[0])
        seen = [table.rows]
        for frame in box.frames[1:]:
            before = table.stored
            _, reported = table.refresh(frame)
            check_churn(table.layout, before, table.stored, reported)
            seen.append(table.rows)
        return seen


def over(tables: list[Table], seed: str, depth: int = 1) -> Relation:
    return a_relation(Maker(random.Random(seed), tables, build=some_relation), depth)


def chain(seed: int) -> None:
    levels = Levels(some_story(FIRST + seed))
    levels.put("v1", over(list(levels.story.tables), f"chain {seed}", 2), [])
    for number in range(2, LEVELS + 1):
        below = f"v{number - 1}"
        levels.put(f"v{number}", over([levels.table(below)], f"chain {seed} {number}"), [below])
    levels.check(f"v{LEVELS}")


def diamond(seed: int) -> None:
    levels = Levels(some_story(FIRST + seed))
    levels.put("v1", over(list(levels.story.tables), f"diamond {seed}", 2), [])
    for arm in ("v2", "v3"):
        levels.put(arm, over([levels.table("v1")], f"diamond {seed} {arm}"), ["v1"])
    left, right = levels.table("v2"), levels.table("v3")
    levels.put("v4", joined(left, right, random.Random(seed)), ["v2", "v3"])
    levels.check("v4")


def joined(left: Table, right: Table, rng: random.Random) -> Relation:
    """Rows of both arms side by side; the arms change together."""
    pairs = [(a, b) for a, ta in left.columns for b, tb in right.columns if ta == tb]
    kind = rng.choice(("JOIN", "LEFT JOIN", "FULL JOIN"))
    test = " AND ".join(f"l.{a} <=> r.{b}" for a, b in pairs[:1]) or "TRUE"
    (a, ta), (b, tb) = left.columns[0], right.columns[-1]
    sql = f"SELECT l.{a} AS x, r.{b} AS y FROM v2 AS l {kind} v3 AS r ON {test}"
    return Relation(sql, (Column("x", ta), Column("y", tb)))


SHAPES = {"chain": chain, "diamond": diamond}


@pytest.mark.parametrize("seed", range(QUICK))
@pytest.mark.parametrize("shape", SHAPES)
def test_levels(shape: str, seed: int) -> None:
    hold(shape, seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(QUICK, LONG))
@pytest.mark.parametrize("shape", SHAPES)
def test_levels_often(shape: str, seed: int) -> None:
    hold(shape, seed)


def hold(shape: str, seed: int) -> None:
    for attempt in range(10):
        try:
            SHAPES[shape](seed + 1000 * attempt)
        except Impossible:
            continue
        return
    raise Impossible
