"""Subqueries: IN and EXISTS as conjuncts, under OR and inside CASE, scalar ones, lateral joins."""

from __future__ import annotations

from collections.abc import Callable

from generator.groups import aggregate
from generator.joins import condition, some_items
from generator.maker import Column, Impossible, Maker, Pool, Relation, keys_of, query
from generator.scalars import constant, expression, predicate
from generator.values import BIGINT, BOOLEAN, INT, STRING

Test = Callable[[Maker, Pool, int], str]
_NUMBERS = (INT, BIGINT)


def _member(word: str) -> Test:
    def test(maker: Maker, pool: Pool, depth: int) -> str:
        inner = maker.source(depth - 1)
        a, b = maker.pair(pool, inner.pool)
        parts = []
        correlated = maker.chance(0.3)
        if correlated:
            c, d = maker.pair(pool, inner.pool)
            parts.append(f"{d.ref} = {c.ref}")
        if maker.chance(0.4):
            parts.append(predicate(maker, inner.pool, 1))
        where = f" WHERE {' AND '.join(parts)}" if parts else ""
        if not correlated and maker.chance(0.3):
            c, d = maker.pair(pool, inner.pool)
            left, right = f"({a.ref}, {c.ref})", f"{b.ref}, {d.ref}"
            return f"{left} {word} (SELECT {right} FROM {inner.text}{where})"
        return f"{a.ref} {word} (SELECT {b.ref} FROM {inner.text}{where})"

    return test


def _existing(word: str) -> Test:
    def test(maker: Maker, pool: Pool, depth: int) -> str:
        inner = maker.source(depth - 1)
        if maker.chance(0.2):
            outer, key = maker.pair(pool, inner.pool)
            rest = f"WHERE {key.ref} = {outer.ref} GROUP BY {key.ref} HAVING COUNT(*) > 1"
            return f"{word} (SELECT {key.ref} FROM {inner.text} {rest})"
        return f"{word} (SELECT 1 FROM {inner.text} WHERE {condition(maker, pool, inner.pool)})"

    return test


TESTS: dict[str, Test] = {
    "in": _member("IN"),
    "not_in": _member("NOT IN"),
    "exists": _existing("EXISTS"),
    "not_exists": _existing("NOT EXISTS"),
}


def as_conjunct(name: str) -> Callable[[Maker, int], Relation]:
    """A query whose WHERE has the test as a conjunct."""

    def build(maker: Maker, depth: int) -> Relation:
        outer = maker.source(depth - 1)
        where = TESTS[name](maker, outer.pool, depth)
        if maker.chance(0.4):
            where = f"{predicate(maker, outer.pool, 1)} AND {where}"
        return query(maker, some_items(maker, outer.pool), f"FROM {outer.text} WHERE {where}")

    return build


def under_or(maker: Maker, depth: int) -> Relation:
    outer = maker.source(depth - 1)
    name = _some_test(maker)
    test = TESTS[name](maker, outer.pool, depth)
    where = f"{predicate(maker, outer.pool, 1)} OR {test}"
    if maker.chance(0.3):
        where = f"NOT ({where})"
    return query(maker, some_items(maker, outer.pool), f"FROM {outer.text} WHERE {where}")


def in_case(maker: Maker, depth: int) -> Relation:
    outer = maker.source(depth - 1)
    test = TESTS[_some_test(maker)](maker, outer.pool, depth)
    maker.use("case")
    value = f"CASE WHEN {test} THEN {constant(maker, STRING)} ELSE {constant(maker, STRING)} END"
    items = [*some_items(maker, outer.pool), (value, STRING)]
    return query(maker, items, f"FROM {outer.text}")


def _some_test(maker: Maker) -> str:
    name = maker.rng.choice(tuple(TESTS))
    maker.use(name)
    return name


def scalar(maker: Maker, depth: int) -> Relation:
    """A subquery over nothing but its own tables, as a value or as a threshold."""
    outer, inner = maker.source(depth - 1), maker.source(depth - 1)
    if maker.chance(0.5):
        value, kind = aggregate(maker, inner.pool)
        items = [*some_items(maker, outer.pool), (f"(SELECT {value} FROM {inner.text})", kind)]
        return query(maker, items, f"FROM {outer.text}")
    a, b = maker.pair(keys_of(outer.pool), [c for c in inner.pool if c.type != BOOLEAN])
    sign = maker.rng.choice((">", "<=", "=", "<>"))
    extremum = maker.rng.choice(("MIN", "MAX"))
    where = f"{a.ref} {sign} (SELECT {extremum}({b.ref}) FROM {inner.text})"
    return query(maker, some_items(maker, outer.pool), f"FROM {outer.text} WHERE {where}")


def scalar_correlated(maker: Maker, depth: int) -> Relation:
    outer, inner = maker.source(depth - 1), maker.source(depth - 1)
    a, b = maker.pair(outer.pool, inner.pool)
    rest = f" AND {predicate(maker, inner.pool, 1)}" if maker.chance(0.3) else ""
    where = f"WHERE {b.ref} {maker.rng.choice(('=', '=', '<=>'))} {a.ref}{rest}"
    if maker.chance(0.6):
        value, kind = aggregate(maker, inner.pool)
        items = [
            *some_items(maker, outer.pool),
            (f"(SELECT {value} FROM {inner.text} {where})", kind),
        ]
        return query(maker, items, f"FROM {outer.text}")
    sign = maker.rng.choice((">", "<=", "="))
    test = f"{maker.rng.randint(0, 2)} {sign} (SELECT COUNT(*) FROM {inner.text} {where})"
    return query(maker, some_items(maker, outer.pool), f"FROM {outer.text} WHERE {test}")


def lateral(maker: Maker, depth: int) -> Relation:
    outer, inner = maker.source(depth - 1), maker.table()
    a, b = maker.pair(outer.pool, inner.pool)
    alias, name = maker.name("q"), maker.name("m")
    if maker.chance(0.5):
        value, kind = aggregate(maker, inner.pool)
        body = f"SELECT {value} AS {name} FROM {inner.text} WHERE {b.ref} = {a.ref}"
        text = f"FROM {outer.text}, LATERAL ({body}) AS {alias}"
    else:
        column = maker.pick(inner.pool)
        kind = column.type
        body = (
            f"SELECT {column.ref} AS {name} FROM {inner.text} WHERE {b.ref} = {a.ref} "
            f"ORDER BY {column.ref} LIMIT {maker.rng.randint(1, 2)}"
        )
        text = f"FROM {outer.text} LEFT JOIN LATERAL ({body}) AS {alias} ON TRUE"
    items = [*some_items(maker, outer.pool), (f"{alias}.{name}", kind)]
    return query(maker, items, text)


def with_twice(maker: Maker, depth: int) -> Relation:
    """A common table expression that is read twice."""
    inner = maker.relation(depth - 1)
    name, one, other = maker.name("q"), maker.name("r"), maker.name("r")
    left, right = (
        [Column(f"{alias}.{c.ref}", c.type) for c in inner.columns] for alias in (one, other)
    )
    head = f"WITH {name} AS ({inner.sql})"
    if maker.chance(0.4):
        on = condition(maker, left, right)
        words = maker.rng.choice(("JOIN", "LEFT JOIN"))
        text = f"FROM {name} AS {one} {words} {name} AS {other} ON {on}"
        made = query(maker, some_items(maker, [*left, *right], 2), text)
    elif maker.chance(0.5):
        a, b = maker.pair(left, [c for c in right if c.type != BOOLEAN])
        where = f"{a.ref} = (SELECT MAX({b.ref}) FROM {name} AS {other})"
        made = query(maker, some_items(maker, left), f"FROM {name} AS {one} WHERE {where}")
    else:
        column = maker.pick(left)
        twin = maker.rng.choice([c for c in right if c.type == column.type])
        made = query(maker, [(column.ref, column.type)], f"FROM {name} AS {one}")
        rest = f"SELECT {twin.ref} FROM {name} AS {other} WHERE {predicate(maker, right)}"
        made = Relation(f"{made.sql} UNION ALL {rest}", made.columns)
    return Relation(f"{head} {made.sql}", made.columns)


def recursive(maker: Maker, depth: int) -> Relation:
    """Paths of bounded length through a table's first two columns."""
    edges = maker.table()
    if [c.type in _NUMBERS for c in edges.pool[:2]] != [True, True]:
        raise Impossible
    start, end = edges.pool[:2]
    anchor = maker.table()
    first = maker.pick(anchor.pool, start.type)
    name, n, d = maker.name("p"), maker.name("n"), maker.name("d")
    where = f" WHERE {predicate(maker, anchor.pool, 1)}" if maker.chance(0.3) else ""
    reached = end.ref if end.type == start.type else f"CAST({end.ref} % 7 AS {start.type.upper()})"
    step = (
        f"SELECT {reached}, {name}.{d} + 1 FROM {name} JOIN {edges.text} "
        f"ON {start.ref} = {name}.{n} WHERE {name}.{d} < 2"
    )
    head = (
        f"WITH RECURSIVE {name}({n}, {d}) AS "
        f"(SELECT {first.ref}, 0 FROM {anchor.text}{where} UNION ALL {step})"
    )
    pool = [Column(f"{name}.{n}", start.type), Column(f"{name}.{d}", INT)]
    made = query(maker, [(c.ref, c.type) for c in pool], f"FROM {name}")
    return Relation(f"{head} {made.sql}", made.columns)


def computed(maker: Maker, pool: Pool) -> list[tuple[str, str]]:
    """Result items, some of them computed."""
    items = some_items(maker, pool)
    for _ in range(maker.rng.randint(0, 2)):
        kind = maker.rng.choice(keys_of(pool)).type if keys_of(pool) else INT
        items.append((expression(maker, pool, kind), kind))
    return items
