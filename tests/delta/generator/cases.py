"""Cases: tables, rounds of changes and queries over them, each from its seed."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from generator.changes import Content, Round, some_rounds
from generator.queries import DECK, DEPTH, Query, some_query
from generator.tables import Rows, Table, some_rows, some_tables
from generator.values import from_json, to_json


@dataclass(frozen=True)
class Story:
    """Tables and how they change."""

    seed: int
    tables: tuple[Table, ...]
    first: Mapping[str, Rows]
    rounds: tuple[Round, ...]

    @property
    def schemas(self) -> dict[str, str]:
        """Tables as the harness wants them."""
        return {t.name: t.schema for t in self.tables}


@dataclass(frozen=True)
class Case:
    """A query that is maintained through a story."""

    name: str
    story: Story
    query: Query

    def to_json(self, about: str = "") -> str:
        """The case as a file holds it."""
        story = self.story
        document = {
            "about": about,
            "query": self.query.sql,
            "unique_key": list(self.query.unique_key),
            "seed": story.seed,
            "tables": {t.name: dict(t.columns) for t in story.tables},
            "first": {name: _plain(rows) for name, rows in story.first.items()},
            "rounds": [
                {"noise": r.noise, "content": {n: _plain(v) for n, v in r.content.items()}}
                for r in story.rounds
            ],
        }
        return json.dumps(document, indent=1) + "\n"


def _plain(rows: Rows) -> list[list[object]]:
    return [[to_json(v) for v in row] for row in rows]


def read_case(path: Path) -> Case:
    """A case from its file."""
    told = json.loads(path.read_text())
    tables = tuple(Table(n, tuple(columns.items())) for n, columns in told["tables"].items())
    kinds = {t.name: [kind for _, kind in t.columns] for t in tables}

    def content(listed: dict[str, list]) -> Content:
        return {
            name: [tuple(map(from_json, row, kinds[name])) for row in rows]
            for name, rows in listed.items()
        }

    rounds = tuple(Round((), content(r["content"]), r["noise"]) for r in told["rounds"])
    story = Story(told["seed"], tables, content(told["first"]), rounds)
    query = Query(told["query"], frozenset(), tuple(told["unique_key"]))
    return Case(path.stem, story, query)


def some_story(seed: int) -> Story:
    """Tables with their changes."""
    rng = random.Random(f"story {seed}")
    tables = some_tables(rng)
    first = {t.name: some_rows(rng, t, rng.choice((0, 3, 6, 8))) for t in tables}
    return Story(seed, tables, first, tuple(some_rounds(rng, tables, first)))


@dataclass
class Deal:
    """Deals wishes over many queries: what was seen least is wished for next."""

    names: Sequence[str]
    seen: Counter = field(default_factory=Counter)
    wished: Counter = field(default_factory=Counter)

    def wishes(self) -> list[str]:
        """Two operators; one that the tables at hand may not allow is not wished for for ever."""
        rare = sorted(self.names, key=lambda name: 3 * self.seen[name] + self.wished[name])[:2]
        self.wished.update(rare)
        return rare


def some_cases(
    seed: int,
    count: int,
    *,
    spark: bool = False,
    depth: int = DEPTH,
    rounds: int | None = None,
    deal: Deal | None = None,
) -> list[Case]:
    """Queries over one story; operators are wished for in turn, so that none is rare."""
    story = some_story(seed)
    story = replace(story, rounds=story.rounds[:rounds])
    rng = random.Random(f"queries {seed} {spark}")
    cases = []
    for i in range(count):
        place = seed * count + i
        wishes = [DECK[place % len(DECK)], DECK[place * 7 // 3 % len(DECK)]]
        if depth < DEPTH:
            wishes = wishes[:1]
        if deal is not None:
            wishes = deal.wishes()
        query = some_query(rng, story.tables, wishes, spark=spark, depth=depth)
        if deal is not None:
            deal.seen.update(query.used)
        cases.append(Case(f"{seed}.{i}", story, query))
    return cases
