"""Each query shape against random tables: NULLs, duplicates, several sides changing at once."""

from __future__ import annotations

import random
from functools import cache

import pytest
from delta_harness import Sandbox, World, followed, judged, read_shapes
from duck import connection, scratch

SCHEMAS = {
    "l": "id int, k int, x int",
    "r": "k int, y int",
    "c": "k int, z int",
    "d": "k int, v double",
}
QUERIES = read_shapes()
QUICK = {"mixed": 6, "append": 3, "one side": 4, "two sides": 3, "nothing": 1}
LONG = {"mixed": 60, "append": 30, "one side": 30, "two sides": 30, "nothing": 5}
TWO = ("lr", "rc", "lc")


def rows(rng: random.Random, schema: str, count: int) -> list[tuple]:
    width = schema.count(",") + 1
    as_float = "double" in schema

    def value(i: int) -> object:
        number = rng.choice([None, 1, 2, 3]) if rng.random() < 0.9 else 0
        return float(number) if as_float and i == width - 1 and number is not None else number

    return [tuple(value(i) for i in range(width)) for _ in range(count)]


def world(kind: str, seed: int) -> World:
    rng = random.Random(seed)
    old, new = {}, {}
    only = {"one side": "lr"[seed % 2 == 0], "two sides": TWO[seed % 3], "nothing": ""}.get(kind)
    for table, schema in SCHEMAS.items():
        before = rows(rng, schema, rng.choice(([2, 4], [0, 4, 9], [6, 9], [9, 12])[seed % 4]))
        after = list(before)
        if only is None or table in only:
            if kind != "append":
                rng.shuffle(after)
                after = after[: rng.randint(len(after) // 3, len(after))]
                if rng.random() < 0.1:
                    after = []
            after += rows(rng, schema, rng.choice([0, 1, 4]))
        old[table], new[table] = before, after
    noise = kind != "append" and (kind == "nothing" or seed % 4 < 3)
    return World(SCHEMAS, old, new, noise=noise, random=rng)


@cache
def sandbox(kind: str, seed: int) -> Sandbox:
    """A world that all shapes share."""
    made = world(kind, seed)
    box = Sandbox(connection(), made.schemas, made.old)
    box.step(made.new, made.random, noise=made.noise)
    return box


def follow(name: str, kind: str, seeds: range) -> None:
    for seed in seeds:
        box = sandbox(kind, seed)
        with scratch():
            outcome = judged(followed(QUERIES[name], box))
        assert outcome.reported in (None, 0) or kind != "nothing"


@pytest.mark.parametrize("name", QUERIES)
def test_shape(name: str) -> None:
    for kind, times in QUICK.items():
        follow(name, kind, range(times))


@pytest.mark.long
@pytest.mark.parametrize("name", QUERIES)
def test_shape_often(name: str) -> None:
    for kind, times in LONG.items():
        follow(name, kind, range(QUICK[kind], times))
