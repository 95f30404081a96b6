"""Typed expressions and predicates over the columns in scope."""

from __future__ import annotations

from generator.maker import Column, Impossible, Maker, Pool, keys_of
from generator.values import (
    BIGINT,
    BOOLEAN,
    DATE,
    DECIMAL,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    known_value,
    literal,
)

_ORDERED = ("=", "<>", "<", "<=", ">", ">=")
_PATTERNS = ("a%", "%b", "_", "%", "ab")


def expression(maker: Maker, pool: Pool, kind: str, depth: int = 2) -> str:
    """A value of a type."""
    here = [c for c in pool if c.type == kind]
    if depth <= 0 or maker.chance(0.5):
        if here and maker.chance(0.85):
            return maker.rng.choice(here).ref
        return constant(maker, kind)
    forms = [_case, _coalesce, _nullif, *_BY_TYPE.get(kind, ())]
    return maker.rng.choice(forms)(maker, pool, kind, depth - 1)


def constant(maker: Maker, kind: str) -> str:
    """A literal, seldom NULL."""
    value = None if maker.chance(0.08) else known_value(maker.rng, kind)
    return literal(value, kind)


def _case(maker: Maker, pool: Pool, kind: str, depth: int) -> str:
    maker.use("case")
    one, other = (expression(maker, pool, kind, depth) for _ in range(2))
    default = f" ELSE {other}" if maker.chance(0.7) else ""
    return f"CASE WHEN {predicate(maker, pool, depth)} THEN {one}{default} END"


def _coalesce(maker: Maker, pool: Pool, kind: str, depth: int) -> str:
    maker.use("coalesce")
    one, other = (expression(maker, pool, kind, depth) for _ in range(2))
    return f"COALESCE({one}, {other})"


def _nullif(maker: Maker, pool: Pool, kind: str, depth: int) -> str:
    maker.use("nullif")
    return f"NULLIF({expression(maker, pool, kind, depth)}, {constant(maker, kind)})"


def _sum(maker: Maker, pool: Pool, kind: str, depth: int) -> str:
    maker.use("arithmetic")
    sign = maker.rng.choice("+-")
    one, other = (expression(maker, pool, kind, depth) for _ in range(2))
    return f"({one} {sign} {other})"


def _multiple(maker: Maker, pool: Pool, kind: str, depth: int) -> str:
    maker.use("arithmetic")
    factor = maker.rng.choice(("2", "-1"))
    factor = factor if kind == INT else f"CAST({factor} AS {kind.upper()})"
    return f"({expression(maker, pool, kind, depth)} * {factor})"


def _remainder(maker: Maker, pool: Pool, kind: str, depth: int) -> str:
    maker.use("arithmetic")
    return f"({expression(maker, pool, kind, depth)} % 2)"


def _length(maker: Maker, pool: Pool, kind: str, depth: int) -> str:
    return f"LENGTH({expression(maker, pool, STRING, depth)})"


def _month(maker: Maker, pool: Pool, kind: str, depth: int) -> str:
    return f"MONTH({expression(maker, pool, DATE, depth)})"


def _hour(maker: Maker, pool: Pool, kind: str, depth: int) -> str:
    return f"HOUR({expression(maker, pool, TIMESTAMP, depth)})"


def _later(maker: Maker, pool: Pool, kind: str, depth: int) -> str:
    return f"({expression(maker, pool, kind, depth)} + INTERVAL '1' HOUR)"


def _upper(maker: Maker, pool: Pool, kind: str, depth: int) -> str:
    return f"UPPER({expression(maker, pool, STRING, depth)})"


def _joined(maker: Maker, pool: Pool, kind: str, depth: int) -> str:
    one, other = (expression(maker, pool, kind, depth) for _ in range(2))
    return f"CONCAT({one}, {other})"


def _truth(maker: Maker, pool: Pool, kind: str, depth: int) -> str:
    return f"({predicate(maker, pool, depth)})"


_BY_TYPE = {
    INT: (_sum, _multiple, _remainder, _length, _month, _hour),
    BIGINT: (_sum, _multiple),
    DOUBLE: (_sum, _multiple),
    DECIMAL: (_sum,),
    STRING: (_upper, _joined),
    BOOLEAN: (_truth, _truth),
    TIMESTAMP: (_later,),
}


def predicate(maker: Maker, pool: Pool, depth: int = 2) -> str:
    """A condition over columns in scope."""
    if depth > 0 and maker.chance(0.35):
        one, other = (predicate(maker, pool, depth - 1) for _ in range(2))
        form = maker.rng.choice(("({} AND {})", "({} OR {})", "NOT ({1})"))
        return form.format(one, other)
    keys = keys_of(pool)
    if not keys:
        return maker.rng.choice(("TRUE", "1 = 1"))
    texts = [c for c in keys if c.type == STRING]
    if texts and "like" in maker.wishes:
        keys = texts
    return _test(maker, pool, maker.rng.choice(keys), depth)


def _test(maker: Maker, pool: Pool, column: Column, depth: int) -> str:
    dice = maker.rng.random()
    if dice < 0.15:
        return f"{column.ref} IS {maker.rng.choice(('', 'NOT '))}NULL"
    if column.type == STRING and (dice < 0.45 or "like" in maker.wishes):
        maker.use("like")
        return f"{column.ref} LIKE '{maker.rng.choice(_PATTERNS)}'"
    if column.type == BOOLEAN and dice < 0.5:
        return column.ref
    if dice < 0.5:
        values = ", ".join(constant(maker, column.type) for _ in range(2))
        return f"{column.ref} IN ({values})"
    other = expression(maker, pool, column.type, depth - 1)
    signs = ("=", "<>") if column.type == BOOLEAN else _ORDERED
    return f"{column.ref} {maker.rng.choice((*signs, '<=>'))} {other}"


def compared(maker: Maker, left: Pool, right: Pool) -> str:
    """A comparison of both sides that is no equality."""
    a, b = maker.pair(left, right)
    if a.type == BOOLEAN:
        raise Impossible
    return f"{a.ref} {maker.rng.choice(_ORDERED[1:])} {b.ref}"
