"""Joins of all kinds, with all kinds of conditions."""

from __future__ import annotations

from generator.maker import Column, Impossible, Maker, Pool, Relation, Source, query
from generator.scalars import compared, predicate
from generator.values import INT, known_value, literal


def some_items(maker: Maker, pool: Pool, least: int = 1) -> list[tuple[str, str]]:
    """A few columns as result items."""
    return [(c.ref, c.type) for c in maker.some(pool, least, 4)]


def condition(maker: Maker, left: Pool, right: Pool) -> str:
    """A join condition: equality, null-safe equality, with a residual, or no equality at all."""
    kind = maker.rng.choice(("equi", "equi", "null_safe", "residual", "theta"))
    if kind == "theta":
        maker.use("theta")
        return compared(maker, left, right)
    a, b = maker.pair(left, right)
    if kind == "null_safe":
        maker.use("null_safe")
        return f"{a.ref} <=> {b.ref}"
    maker.use("equi")
    if kind == "residual":
        maker.use("residual")
        rest = (
            compared(maker, left, right)
            if maker.chance(0.5)
            else predicate(maker, [*left, *right], 1)
        )
        return f"{a.ref} = {b.ref} AND {rest}"
    if maker.chance(0.3):
        c, d = maker.pair(left, right)
        return f"{a.ref} = {b.ref} AND {d.ref} = {c.ref}"
    return f"{a.ref} = {b.ref}"


def _where(maker: Maker, pool: Pool) -> str:
    return f" WHERE {predicate(maker, pool)}" if maker.chance(0.25) else ""


def _two(maker: Maker, depth: int) -> tuple[Source, Source]:
    return maker.source(depth - 1), maker.source(depth - 1)


def _joined(maker: Maker, depth: int, words: str) -> Relation:
    left, right = _two(maker, depth)
    pool = [*left.pool, *right.pool]
    on = condition(maker, left.pool, right.pool)
    text = f"FROM {left.text} {words} {right.text} ON {on}{_where(maker, pool)}"
    return query(maker, some_items(maker, pool, 2), text)


def inner(maker: Maker, depth: int) -> Relation:
    if maker.chance(0.7):
        return _joined(maker, depth, "JOIN")
    left, right = _two(maker, depth)
    third = maker.table()
    first = condition(maker, left.pool, right.pool)
    second = condition(maker, [*left.pool, *right.pool], third.pool)
    pool = [*left.pool, *right.pool, *third.pool]
    text = f"FROM {left.text} JOIN {right.text} ON {first} JOIN {third.text} ON {second}"
    return query(maker, some_items(maker, pool, 2), text)


def left_outer(maker: Maker, depth: int) -> Relation:
    return _joined(maker, depth, "LEFT JOIN")


def right_outer(maker: Maker, depth: int) -> Relation:
    return _joined(maker, depth, "RIGHT JOIN")


def full_outer(maker: Maker, depth: int) -> Relation:
    return _joined(maker, depth, "FULL JOIN")


def using(maker: Maker, depth: int) -> Relation:
    """A join on a column that has one name on both sides, shown once."""
    left, right = maker.source(depth - 1), maker.table()
    a, b = maker.pair(left.pool, right.pool)
    if a.type != b.type:
        raise Impossible
    key, x, y = maker.name("k"), maker.name("x"), maker.name("y")
    one, other = maker.pick(left.pool), maker.pick(right.pool)
    first = f"(SELECT {a.ref} AS {key}, {one.ref} AS {x} FROM {left.text}) AS {maker.name('u')}"
    second = f"(SELECT {b.ref} AS {key}, {other.ref} AS {y} FROM {right.text}) AS {maker.name('u')}"
    kind = maker.rng.choice(("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"))
    words = f"{first} {kind} {second} USING ({key})"
    if maker.chance(0.3):
        words = f"{first} NATURAL {kind} {second}"
    items = [(key, a.type), (x, one.type), (y, other.type)]
    return query(maker, items, f"FROM {words}")


def cross(maker: Maker, depth: int) -> Relation:
    left, right = maker.source(depth - 1), maker.table()
    pool = [*left.pool, *right.pool]
    text = f"FROM {left.text} CROSS JOIN {right.text}{_where(maker, pool)}"
    return query(maker, some_items(maker, pool, 2), text)


def semi(maker: Maker, depth: int) -> Relation:
    return _one_sided(maker, depth, "LEFT SEMI JOIN")


def anti(maker: Maker, depth: int) -> Relation:
    return _one_sided(maker, depth, "LEFT ANTI JOIN")


def _one_sided(maker: Maker, depth: int, words: str) -> Relation:
    left, right = _two(maker, depth)
    on = condition(maker, left.pool, right.pool)
    text = f"FROM {left.text} {words} {right.text} ON {on}"
    return query(maker, some_items(maker, left.pool), text)


def self_join(maker: Maker, depth: int) -> Relation:
    table = maker.rng.choice(maker.tables)
    left, right = maker.table(table), maker.table(table)
    pool = [*left.pool, *right.pool]
    words = maker.rng.choice(("JOIN", "JOIN", "LEFT JOIN"))
    on = condition(maker, left.pool, right.pool)
    text = f"FROM {left.text} {words} {right.text} ON {on}{_where(maker, pool)}"
    return query(maker, some_items(maker, pool, 2), text)


def values_join(maker: Maker, depth: int) -> Relation:
    left = maker.source(depth - 1)
    key = maker.pick(left.pool, INT)
    alias, a, b = maker.name("v"), maker.name("x"), maker.name("y")
    rows = ", ".join(
        f"({literal(known_value(maker.rng, INT), INT)}, '{maker.rng.choice('pq')}')"
        for _ in range(3)
    )
    pool = [*left.pool, Column(f"{alias}.{b}", "string")]
    words = maker.rng.choice(("JOIN", "LEFT JOIN"))
    text = (
        f"FROM {left.text} {words} (VALUES {rows}) AS {alias}({a}, {b}) ON {key.ref} = {alias}.{a}"
    )
    return query(maker, some_items(maker, pool), text)


def declared_key(maker: Maker, depth: int) -> Relation:
    """Two groupings joined on their key: a key the compiler cannot see."""
    left, right = maker.table(), maker.table()
    a, b = maker.pair(left.pool, right.pool)
    one = query(maker, [(a.ref, a.type), ("COUNT(*)", "bigint")], f"FROM {left.text} GROUP BY 1")
    two = query(maker, [(b.ref, b.type), ("COUNT(*)", "bigint")], f"FROM {right.text} GROUP BY 1")
    left, right = maker.derived(one), maker.derived(two)
    items = [(c.ref, c.type) for c in (*left.pool, right.pool[1])]
    on = f"{left.pool[0].ref} <=> {right.pool[0].ref}"
    made = query(maker, items, f"FROM {left.text} LEFT JOIN {right.text} ON {on}")
    return Relation(made.sql, made.columns, key=(made.columns[0].ref,))
