"""Relations between queries that hold whatever the data is; both sides are maintained, no oracle.

Each relation gives pairs of queries (or of histories) over a generated story whose stream tables
must agree after every round.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from delta_harness import Frame, Maintained, check_churn
from duck import scratch
from generated import staged
from generator.cases import Story, some_story
from generator.changes import Round
from generator.joins import condition
from generator.maker import Impossible, Maker, Relation, Source, keys_of, query
from generator.queries import OPERATORS, some_relation
from generator.scalars import predicate
from generator.tables import Table
from generator.values import BIGINT, DECIMAL, INT, is_key

pytestmark = pytest.mark.untraced

Pair = tuple[str, str]
QUICK, LONG = 3, 60
_TRIES = 50


def a_maker(story: Story, seed: int) -> Maker:
    return Maker(random.Random(f"relation {seed}"), story.tables, build=some_relation)


def a_relation(maker: Maker, depth: int = 2) -> Relation:
    """A query whose columns can all be compared."""
    for _ in range(_TRIES):
        maker.leaves = 0
        try:
            made = maker.relation(depth)
        except Impossible:
            continue
        if all(is_key(c.type) for c in made.columns):
            return made
    raise Impossible


def contents(story: Story, sql: str) -> list[Counter]:
    """What a reader of the stream table sees at first and after each round."""
    with staged(story) as box, scratch():
        table = Maintained(box, sql, frame=box.frames[0])
        seen = [table.rows]
        for frame in box.frames[1:]:
            follow(table, frame)
            seen.append(table.rows)
        return seen


def follow(table: Maintained, frame: Frame) -> None:
    """Refresh, and see that no more was written than differs."""
    before = table.stored
    _, reported = table.refresh(frame)
    check_churn(table.layout, before, table.stored, reported)


def commuted_joins(maker: Maker) -> Iterator[Pair]:
    left, right = maker.source(2), maker.table()
    on = condition(maker, left.pool, right.pool)
    items = [(c.ref, c.type) for c in maker.some([*left.pool, *right.pool], 2, 4)]
    for one, other in (("JOIN", "JOIN"), ("LEFT JOIN", "RIGHT JOIN"), ("FULL JOIN", "FULL JOIN")):
        yield (
            query(maker, items, f"FROM {left.text} {one} {right.text} ON {on}").sql,
            query(maker, items, f"FROM {right.text} {other} {left.text} ON {on}").sql,
        )


def renamed_aliases(maker: Maker) -> Iterator[Pair]:
    sql = a_relation(maker).sql
    shown = sql
    for number in range(200, 9, -1):
        for letter in "rdqxuvp":
            shown = shown.replace(f"{letter}{number}", f"{letter}{letter}{number}")
    yield sql, shown


def split_by_truth(maker: Maker) -> Iterator[Pair]:
    """A query is the union of its rows where a predicate is true, false and unknown."""
    made = a_relation(maker)
    whole = maker.derived(made)
    p = predicate(maker, whole.pool)
    listed = ", ".join(c.ref for c in whole.pool)
    tests = (p, f"NOT ({p})", f"({p}) IS NULL")
    parts = [f"SELECT {listed} FROM {whole.text} WHERE {test}" for test in tests]
    yield made.sql, " UNION ALL ".join(parts)


def outer_joins_as_unions(maker: Maker) -> Iterator[Pair]:
    left, right = maker.source(2), maker.table()
    on = condition(maker, left.pool, right.pool)
    a, b = maker.pick(left.pool), maker.pick(right.pool)

    def joined(words: str) -> str:
        return f"SELECT {a.ref} AS x, {b.ref} AS y FROM {left.text} {words} {right.text} ON {on}"

    null_a, null_b = (f"CAST(NULL AS {c.type.upper()})" for c in (a, b))
    alone = f"SELECT {a.ref}, {null_b} FROM {left.text} LEFT ANTI JOIN {right.text} ON {on}"
    others = f"SELECT {null_a}, {b.ref} FROM {right.text} LEFT ANTI JOIN {left.text} ON {on}"
    yield joined("LEFT JOIN"), f"{joined('JOIN')} UNION ALL {alone}"
    yield joined("FULL JOIN"), f"{joined('LEFT JOIN')} UNION ALL {others}"


def not_in_as_not_exists(maker: Maker) -> Iterator[Pair]:
    outer, inner = maker.table(), maker.source(1)
    a, b = maker.pair(outer.pool, inner.pool)
    head = f"SELECT {', '.join(c.ref for c in outer.pool)} FROM {outer.text} WHERE"
    exists = f"SELECT 1 FROM {inner.text} WHERE COALESCE({a.ref} = {b.ref}, TRUE)"
    yield (
        f"{head} {a.ref} NOT IN (SELECT {b.ref} FROM {inner.text})",
        f"{head} NOT EXISTS ({exists})",
    )


def sets_by_other_sets(maker: Maker) -> Iterator[Pair]:
    source = maker.source(2)
    columns = maker.some(keys_of(source.pool), 1, 3)
    listed = ", ".join(c.ref for c in columns)
    some = f"SELECT {listed} FROM {source.text}"
    yield (f"SELECT DISTINCT {listed} FROM {source.text}", f"{some} GROUP BY {listed}")
    other = maker.table()
    a, b = maker.pair(source.pool, other.pool)
    left, right = f"SELECT {a.ref} FROM {source.text}", f"SELECT {b.ref} FROM {other.text}"
    yield f"{left} INTERSECT {right}", f"{left} EXCEPT ({left} EXCEPT {right})"


RELATIONS: tuple[Callable[[Maker], Iterator[Pair]], ...] = (
    commuted_joins,
    renamed_aliases,
    split_by_truth,
    outer_joins_as_unions,
    not_in_as_not_exists,
    sets_by_other_sets,
)


def hold(relation: Callable[[Maker], Iterator[Pair]], seed: int) -> None:
    story = some_story(seed)
    maker = a_maker(story, seed)
    for _ in range(_TRIES):
        try:
            pairs = list(relation(maker))
            break
        except Impossible:
            maker.leaves = 0
    for one, other in pairs:
        assert contents(story, one) == contents(story, other), f"seed {seed}\n{one}\n{other}"


@pytest.mark.parametrize("seed", range(QUICK))
@pytest.mark.parametrize("relation", RELATIONS, ids=lambda r: r.__name__)
def test_relation(relation: Callable[[Maker], Iterator[Pair]], seed: int) -> None:
    hold(relation, seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(QUICK, LONG))
@pytest.mark.parametrize("relation", RELATIONS, ids=lambda r: r.__name__)
def test_relation_often(relation: Callable[[Maker], Iterator[Pair]], seed: int) -> None:
    hold(relation, seed)


# Histories


def one_refresh_for_all_rounds(story: Story, made: Relation) -> None:
    at_once = replace(story, rounds=story.rounds[-1:])
    assert contents(story, made.sql)[-1] == contents(at_once, made.sql)[-1]


def there_and_back(story: Story, made: Relation) -> None:
    step = story.rounds[-1]
    back = replace(story, rounds=(step, Round((), story.first, noise=not step.noise)))
    with staged(back) as box, scratch():
        table = Maintained(box, made.sql, frame=box.frames[0])
        before = table.stored
        for frame in box.frames[1:]:
            follow(table, frame)
        assert table.stored == before


def rows_in_another_order(story: Story, made: Relation) -> None:
    rng = random.Random(story.seed)

    def turned(content: dict[str, list]) -> dict[str, list]:
        return {name: rng.sample(rows, len(rows)) for name, rows in content.items()}

    rounds = tuple(Round((), turned(r.content), noise=not r.noise) for r in story.rounds)
    other = replace(story, seed=story.seed + 1, first=turned(story.first), rounds=rounds)
    assert contents(story, made.sql) == contents(other, made.sql)


def view_over_view(story: Story, made: Relation) -> None:
    """A stream table over a stream table equals one over the query itself."""
    table = Table("v", tuple((c.ref, c.type) for c in made.columns))
    maker = Maker(random.Random(story.seed), [table], build=some_relation)
    upper = a_relation(maker, 1)
    versions = [plain_rows(seen) for seen in contents(story, made.sql)]
    rounds = tuple(
        Round((), {"v": rows}, r.noise) for rows, r in zip(versions[1:], story.rounds, strict=True)
    )
    chained = Story(story.seed, (table,), {"v": versions[0]}, rounds)
    inlined = f"WITH v AS ({made.sql}) {upper.sql}"
    if upper.sql.startswith("WITH"):
        inlined = upper.sql.replace("v AS r", f"({made.sql}) AS r")
    assert contents(chained, upper.sql) == contents(story, inlined), upper.sql


def plain_rows(seen: Counter) -> list[tuple]:
    nan = {"NaN": math.nan}
    return [tuple(nan.get(v, v) if v == "NaN" else v for v in row) for row in seen.elements()]


def a_leg_of_one_row(story: Story, made: Relation) -> None:
    one = Table("one", (("o", "int"),))
    only = {"one": [(1,)]}
    rounds = tuple(replace(r, content={**r.content, **only}) for r in story.rounds)
    wide = replace(story, tables=(*story.tables, one), first={**story.first, **only}, rounds=rounds)
    listed = ", ".join(f"q.{c.ref}" for c in made.columns)
    joined = f"SELECT {listed} FROM ({made.sql}) AS q CROSS JOIN one"
    assert contents(wide, joined) == contents(story, made.sql)


HISTORIES = (
    one_refresh_for_all_rounds,
    there_and_back,
    rows_in_another_order,
    view_over_view,
    a_leg_of_one_row,
)


def hold_history(relation: Callable[[Story, Relation], None], seed: int) -> None:
    story = some_story(1000 + seed)
    relation(story, a_relation(a_maker(story, seed)))


@pytest.mark.parametrize("seed", range(QUICK))
@pytest.mark.parametrize("relation", HISTORIES, ids=lambda r: r.__name__)
def test_history(relation: Callable[[Story, Relation], None], seed: int) -> None:
    hold_history(relation, seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(QUICK, LONG))
@pytest.mark.parametrize("relation", HISTORIES, ids=lambda r: r.__name__)
def test_history_often(relation: Callable[[Story, Relation], None], seed: int) -> None:
    hold_history(relation, seed)


# Every source row twice

# Each row of these comes as often as the rows it is made of.
_AS_OFTEN = (
    "filter", "project", "join_semi", "join_anti", "in", "not_in", "union_all", "explode",
    "unpivot",
)  # fmt: skip
# Which rows these have does not depend on how often the rows below come.
_AS_A_SET = (
    *_AS_OFTEN, "join_inner", "join_left", "join_right", "join_full", "join_cross", "self_join",
    "distinct", "union", "intersect", "except", "values",
)  # fmt: skip


def source_of(story: Story, seed: int, names: tuple[str, ...]) -> tuple[Maker, Source]:
    """A query of the named operators only, as an item of FROM."""

    def build(maker: Maker, depth: int) -> Relation:
        return OPERATORS[maker.rng.choice(names)](maker, depth)

    maker = Maker(random.Random(f"twice {seed}"), story.tables, build=build)
    return maker, maker.derived(a_relation(maker, 3))


def both_ways(story: Story, sql: str) -> Iterator[tuple[Counter, Counter]]:
    """What is seen of a query over the rows of a story, and over each of them twice."""

    def doubled(content: dict[str, list]) -> dict[str, list]:
        return {name: rows * 2 for name, rows in content.items()}

    rounds = tuple(replace(r, content=doubled(r.content)) for r in story.rounds)
    twice = replace(story, first=doubled(story.first), rounds=rounds)
    return zip(contents(story, sql), contents(twice, sql), strict=True)


def counts_and_sums_double(story: Story, seed: int) -> None:
    maker, source = source_of(story, seed, _AS_OFTEN)
    key = maker.pick(source.pool).ref
    sums = [c.ref for c in source.pool if c.type in (INT, BIGINT, DECIMAL)]
    added = f"SUM({maker.rng.choice(sums)})" if sums else "COUNT(*)"
    sql = f"SELECT {key}, COUNT(*) AS n, {added} AS s FROM {source.text} GROUP BY {key}"
    for once, again in both_ways(story, sql):
        wanted = Counter({(k, 2 * c, s and 2 * s): n for (k, c, s), n in once.items()})
        assert again == wanted, f"seed {seed}\n{sql}"


def extrema_and_distinct_stay(story: Story, seed: int) -> None:
    maker, source = source_of(story, seed, _AS_A_SET)
    key, value = maker.pick(source.pool).ref, maker.pick(source.pool).ref
    listed = ", ".join(c.ref for c in source.pool)
    for sql in (
        f"SELECT DISTINCT {listed} FROM {source.text}",
        f"SELECT {key}, MIN({value}), MAX({value}), COUNT(DISTINCT {value}) "
        f"FROM {source.text} GROUP BY {key}",
    ):
        for once, again in both_ways(story, sql):
            assert once == again, f"seed {seed}\n{sql}"


DOUBLINGS = (counts_and_sums_double, extrema_and_distinct_stay)


@pytest.mark.parametrize("seed", range(QUICK))
@pytest.mark.parametrize("relation", DOUBLINGS, ids=lambda r: r.__name__)
def test_twice_the_rows(relation: Callable[[Story, int], None], seed: int) -> None:
    relation(some_story(2000 + seed), seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(QUICK, LONG))
@pytest.mark.parametrize("relation", DOUBLINGS, ids=lambda r: r.__name__)
def test_twice_the_rows_often(relation: Callable[[Story, int], None], seed: int) -> None:
    relation(some_story(2000 + seed), seed)
