"""Operators over time, and over columns that hold other values."""

from __future__ import annotations

from generator.groups import aggregate
from generator.maker import Column, Impossible, Maker, Relation, keys_of, query
from generator.scalars import predicate
from generator.subqueries import computed
from generator.values import BOOLEAN, INT, LIST, STRUCT, TIMESTAMP

_WIDTHS = ("1 hour", "2 hours", "30 minutes")
_AGES = (1, 2, 4)


def time_window(maker: Maker, depth: int) -> Relation:
    """Rows counted by the window of time they fall into, seldom into two that overlap."""
    source = maker.source(depth - 1)
    time = maker.pick(source.pool, TIMESTAMP)
    width = maker.rng.choice(_WIDTHS)
    slide = ", '30 minutes'" if maker.spark and maker.chance(0.3) else ""
    inner_items = [(c.ref, c.type) for c in maker.some(source.pool, 1, 3)]
    inner_items.append((f"window({time.ref}, '{width}'{slide})", STRUCT))
    inner = query(maker, inner_items, f"FROM {source.text} WHERE {time.ref} IS NOT NULL")
    *others, window = inner.columns
    alias = maker.name("d")
    pool = [Column(f"{alias}.{c.ref}", c.type) for c in others]
    start = f"{alias}.{window.ref}.start"
    items = [(start, TIMESTAMP), aggregate(maker, pool)]
    return query(maker, items, f"FROM ({inner.sql}) AS {alias} GROUP BY {start}")


def temporal_filter(maker: Maker, depth: int) -> Relation:
    """Rows that are young enough, or old enough, by the clock of the refresh."""
    source = maker.source(depth - 1)
    time = maker.pick(source.pool, TIMESTAMP)
    age = f"INTERVAL '{maker.rng.choice(_AGES)}' HOUR"
    sign = maker.rng.choice(("<", "<=", ">", ">="))
    test = f"{time.ref} {sign} current_timestamp() - {age}"
    if maker.chance(0.2):
        test = f"NOT ({test})"
    if maker.chance(0.4):
        test = f"{test} {maker.rng.choice(('AND', 'OR'))} {predicate(maker, source.pool, 1)}"
    return query(maker, computed(maker, source.pool), f"FROM {source.text} WHERE {test}")


def struct(maker: Maker, depth: int) -> Relation:
    """Columns packed into a struct, read by field, passed on whole."""
    source = maker.source(depth - 1)
    keys = keys_of(source.pool)
    if len(keys) < 2:
        raise Impossible
    a, b = maker.rng.sample(keys, 2)
    packed = (f"named_struct('p', {a.ref}, 'q', {b.ref})", STRUCT)
    inner = query(maker, [packed, (a.ref, a.type)], f"FROM {source.text}")
    whole, beside = inner.columns
    alias = maker.name("d")
    items = [(f"{alias}.{whole.ref}.q", b.type), (f"{alias}.{beside.ref}", a.type)]
    if maker.chance(0.5):
        items.append((f"{alias}.{whole.ref}", STRUCT))
    tested = f"{alias}.{whole.ref}.p IS {maker.rng.choice(('', 'NOT '))}NULL"
    rest = f" WHERE {tested}" if maker.chance(0.5) else ""
    return query(maker, items, f"FROM ({inner.sql}) AS {alias}{rest}")


def array(maker: Maker, depth: int) -> Relation:
    """Columns packed into an array, looked into, passed on whole."""
    source = maker.source(depth - 1)
    numbers = [c for c in source.pool if c.type == INT]
    if len(numbers) < 2:
        raise Impossible
    a, b = maker.rng.sample(numbers, 2)
    packed = f"array({a.ref}, {b.ref})"
    items = [
        (packed, LIST),
        (f"{packed}[1]", INT),
        (f"array_contains(array(COALESCE({a.ref}, 0), COALESCE({b.ref}, 1)), 1)", BOOLEAN),
    ]
    chosen = maker.rng.sample(items, maker.rng.choice((1, 2, 3)))
    others = [(c.ref, c.type) for c in maker.some(keys_of(source.pool), 1, 2)]
    return query(maker, others + chosen, f"FROM {source.text}")


def lookup(maker: Maker, depth: int) -> Relation:
    """A value taken out of a map."""
    source = maker.source(depth - 1)
    keys = keys_of(source.pool)
    if len(keys) < 2:
        raise Impossible
    a = maker.rng.choice(keys)
    text = f"element_at(map('x', {a.ref}, 'y', {a.ref}), '{maker.rng.choice('xyz')}')"
    items = [(c.ref, c.type) for c in maker.some(keys, 1, 2)]
    return query(maker, [*items, (text, a.type)], f"FROM {source.text}")
