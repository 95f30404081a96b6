"""Row by row operators, set operations, and operators that change the shape of rows."""

from __future__ import annotations

from collections.abc import Callable

from generator.maker import Column, Impossible, Maker, Pool, Relation, keys_of, query
from generator.scalars import constant, expression, predicate
from generator.subqueries import computed
from generator.values import INT, known_value, literal

# Registered by whoever plays the query: NULL becomes a value, and values meet.
FUNCTION = "folded"
FUNCTION_BODY = "CASE WHEN x IS NULL THEN -1 ELSE x % 3 END"


def project(maker: Maker, depth: int) -> Relation:
    source = maker.source(depth - 1)
    items = computed(maker, source.pool)
    kind = maker.rng.choice([INT, *(c.type for c in keys_of(source.pool))])
    items.append((expression(maker, source.pool, kind, 3), kind))
    return query(maker, items, f"FROM {source.text}")


def filtered(maker: Maker, depth: int) -> Relation:
    source = maker.source(depth - 1)
    where = predicate(maker, source.pool)
    return query(maker, computed(maker, source.pool), f"FROM {source.text} WHERE {where}")


def function(maker: Maker, depth: int) -> Relation:
    """A function that the user has registered, in the result and in the condition."""
    source = maker.source(depth - 1)
    column = maker.pick(source.pool, INT)
    items = [*computed(maker, source.pool), (f"{FUNCTION}({column.ref})", INT)]
    where = f" WHERE {FUNCTION}({column.ref}) <> 1" if maker.chance(0.5) else ""
    return query(maker, items, f"FROM {source.text}{where}")


def set_operation(word: str) -> Callable[[Maker, int], Relation]:
    """Two queries of the same types, put together."""

    def build(maker: Maker, depth: int) -> Relation:
        left, right = maker.source(depth - 1), maker.source(depth - 1)
        kinds = [c.type for c in maker.some(keys_of(left.pool), 1, 3)]
        one = query(maker, _of_types(maker, left.pool, kinds), f"FROM {left.text}")
        other = query(maker, _of_types(maker, right.pool, kinds), f"FROM {right.text}")
        rest = f" WHERE {predicate(maker, right.pool)}" if maker.chance(0.3) else ""
        return Relation(f"{one.sql} {word} {other.sql}{rest}", one.columns)

    return build


def _of_types(maker: Maker, pool: Pool, kinds: list[str]) -> list[tuple[str, str]]:
    items = []
    for kind in kinds:
        here = [c for c in pool if c.type == kind]
        text = maker.rng.choice(here).ref if here else constant(maker, kind)
        items.append((text, kind))
    return items


def _alike(maker: Maker, pool: Pool) -> tuple[list[Column], list[Column]]:
    """Two columns of one type, and the others."""
    for column in maker.some(keys_of(pool), 1, 9):
        same = [c for c in pool if c.type == column.type]
        if len(same) >= 2:
            pair = maker.rng.sample(same, 2)
            return pair, [c for c in keys_of(pool) if c not in pair]
    raise Impossible


def explode(maker: Maker, depth: int) -> Relation:
    source = maker.source(depth - 1)
    (a, b), others = _alike(maker, source.pool)
    alias, name = maker.name("x"), maker.name("e")
    items = [(c.ref, c.type) for c in maker.some(others, 0, 2)]
    items.append((f"{alias}.{name}", a.type))
    outer = "OUTER " if maker.spark and maker.chance(0.3) else ""
    view = f"LATERAL VIEW {outer}explode(array({a.ref}, {b.ref})) {alias} AS {name}"
    return query(maker, items, f"FROM {source.text} {view}")


def unpivot(maker: Maker, depth: int) -> Relation:
    source = maker.source(depth - 1)
    (a, b), others = _alike(maker, source.pool)
    kept = maker.some(others, 0, 2)
    inner = query(maker, [(c.ref, c.type) for c in (*kept, a, b)], f"FROM {source.text}")
    *keys, one, other = inner.columns
    alias, name, value = maker.name("u"), maker.name("n"), maker.name("v")
    clause = f"UNPIVOT ({value} FOR {name} IN ({one.ref}, {other.ref}))"
    pool = [*keys, Column(name, "string"), Column(value, a.type)]
    items = [(f"{alias}.{c.ref}", c.type) for c in pool]
    return query(maker, items, f"FROM (SELECT * FROM ({inner.sql}) {clause}) AS {alias}")


def pivot(maker: Maker, depth: int) -> Relation:
    source = maker.source(depth - 1)
    numbers = [c for c in source.pool if c.type == INT]
    keys = keys_of(source.pool)
    if len(numbers) < 2 or len(keys) < 3:
        raise Impossible
    by, value = maker.rng.sample(numbers, 2)
    key = maker.rng.choice([c for c in keys if c not in (by, value)])
    inner = query(maker, [(c.ref, c.type) for c in (key, by, value)], f"FROM {source.text}")
    k, q, x = inner.columns
    wanted = maker.rng.sample((0, 1, 2, 3), 2)
    names = [maker.name("p") for _ in wanted]
    listed = ", ".join(f"{v} AS {n}" for v, n in zip(wanted, names, strict=True))
    word, kind = maker.rng.choice((("SUM", "bigint"), ("MAX", INT), ("MIN", INT)))
    alias = maker.name("u")
    clause = f"PIVOT ({word}({x.ref}) FOR {q.ref} IN ({listed}))"
    items = [(f"{alias}.{k.ref}", k.type), *((f"{alias}.{n}", kind) for n in names)]
    return query(maker, items, f"FROM (SELECT * FROM ({inner.sql}) {clause}) AS {alias}")


def constants(maker: Maker, kind: str = INT) -> str:
    """A literal of the domain."""
    return literal(known_value(maker.rng, kind), kind)
