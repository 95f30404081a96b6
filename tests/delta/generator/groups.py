"""Operators that look at many rows: grouping, grouping sets, windows, limits, DISTINCT."""

from __future__ import annotations

from collections.abc import Callable

from generator.joins import some_items
from generator.maker import Column, Impossible, Maker, Pool, Relation, keys_of, query
from generator.scalars import predicate
from generator.values import (
    APPROXIMATE,
    BIGINT,
    BOOLEAN,
    DECIMAL,
    DOUBLE,
    INT,
    LIST,
)

Call = tuple[str, str]
_NUMBERS = (INT, BIGINT, DECIMAL, DOUBLE)
_SUMS = {INT: BIGINT, BIGINT: BIGINT, DECIMAL: "decimal(20,2)", DOUBLE: DOUBLE}


def _numeric(maker: Maker, pool: Pool, kinds: tuple[str, ...] = _NUMBERS) -> Column:
    found = [c for c in pool if c.type in kinds]
    if not found:
        raise Impossible
    return maker.rng.choice(found)


def _count(maker: Maker, pool: Pool) -> Call:
    column = maker.pick(pool)
    forms = ("COUNT(*)", f"COUNT({column.ref})", f"COUNT_IF({predicate(maker, pool, 1)})")
    return maker.rng.choice(forms), BIGINT


def _sum(maker: Maker, pool: Pool) -> Call:
    column = _numeric(maker, pool, (INT, BIGINT, DECIMAL))
    text = f"{column.ref} * 2" if column.type == INT and maker.chance(0.2) else column.ref
    return f"SUM({text})", _SUMS[column.type]


def _sum_double(maker: Maker, pool: Pool) -> Call:
    return f"SUM({_numeric(maker, pool, (DOUBLE,)).ref})", DOUBLE


def _average(maker: Maker, pool: Pool) -> Call:
    kinds = _NUMBERS if maker.spark else (INT, BIGINT, DOUBLE)
    return f"AVG({_numeric(maker, pool, kinds).ref})", APPROXIMATE


def _extremum(maker: Maker, pool: Pool) -> Call:
    column = maker.pick([c for c in pool if c.type != BOOLEAN])
    return f"{maker.rng.choice(('MIN', 'MAX'))}({column.ref})", column.type


def _truth(maker: Maker, pool: Pool) -> Call:
    word = maker.rng.choice(("BOOL_AND", "BOOL_OR"))
    return f"{word}({predicate(maker, pool, 1)})", BOOLEAN


def _distinct(maker: Maker, pool: Pool) -> Call:
    numbers = [c for c in pool if c.type in (INT, BIGINT, DECIMAL)]
    if numbers and maker.chance(0.3):
        column = maker.rng.choice(numbers)
        return f"SUM(DISTINCT {column.ref})", _SUMS[column.type]
    return f"COUNT(DISTINCT {maker.pick(pool).ref})", BIGINT


def _variance(maker: Maker, pool: Pool) -> Call:
    word = maker.rng.choice(("STDDEV_POP", "STDDEV_SAMP", "VAR_POP", "VAR_SAMP"))
    return f"{word}({_numeric(maker, pool, (INT,)).ref})", APPROXIMATE


def _filtered(maker: Maker, pool: Pool) -> Call:
    call, kind = maker.rng.choice((_sum, _extremum, _count))(maker, pool)
    if call.startswith("COUNT_IF"):
        call = "COUNT(*)"
    return f"{call} FILTER (WHERE {predicate(maker, pool, 1)})", kind


def _other(maker: Maker, pool: Pool) -> Call:
    column = maker.pick(pool, INT)
    return maker.rng.choice(
        (
            (f"BIT_XOR({column.ref})", INT),
            (f"BIT_OR({column.ref})", INT),
            (f"ARRAY_SORT(COLLECT_LIST({column.ref}))", LIST),
            (f"MEDIAN({column.ref})", APPROXIMATE),
        )
    )


AGGREGATES: dict[str, Callable[[Maker, Pool], Call]] = {
    "agg_count": _count,
    "agg_sum": _sum,
    "agg_sum_double": _sum_double,
    "agg_avg": _average,
    "agg_min_max": _extremum,
    "agg_bool": _truth,
    "agg_distinct": _distinct,
    "agg_variance": _variance,
    "agg_filter": _filtered,
    "agg_other": _other,
}


def aggregate(maker: Maker, pool: Pool) -> Call:
    """A call of one aggregate function and its type."""
    wished = [w for w in maker.wishes if w in AGGREGATES]
    names = [*wished, *maker.rng.sample(tuple(AGGREGATES), len(AGGREGATES))]
    for name in names:
        try:
            call = AGGREGATES[name](maker, pool)
        except Impossible:
            continue
        maker.use(name)
        return call
    raise Impossible


def _calls(maker: Maker, pool: Pool) -> list[Call]:
    calls = [aggregate(maker, pool) for _ in range(maker.rng.randint(1, 3))]
    if maker.chance(0.15):
        calls.append((f"COUNT(*) + COALESCE(SUM({_numeric(maker, pool, (INT,)).ref}), 0)", BIGINT))
    return calls


def _keys(maker: Maker, pool: Pool, most: int = 2) -> list[Call]:
    keys = [(c.ref, c.type) for c in maker.some(keys_of(pool), 1, most)]
    if keys[0][1] == INT and maker.chance(0.15):
        keys[0] = (f"{keys[0][0]} % 2", INT)
    return keys


def _where(maker: Maker, pool: Pool) -> str:
    return f" WHERE {predicate(maker, pool)}" if maker.chance(0.2) else ""


def _having(maker: Maker, pool: Pool) -> str:
    maker.use("having")
    column = maker.pick(pool)
    forms = [
        f"COUNT(*) > {maker.rng.randint(1, 2)}",
        f"COUNT({column.ref}) <> 1",
        f"MIN({column.ref}) IS NOT NULL",
    ]
    forms += [f"SUM({c.ref}) > 2" for c in pool if c.type in (INT, BIGINT)][:1]
    return f" HAVING {maker.rng.choice(forms)}"


def group_by(maker: Maker, depth: int, having: float = 0.15) -> Relation:
    source = maker.source(depth - 1)
    keys, calls = _keys(maker, source.pool), _calls(maker, source.pool)
    shown = [*keys[1:], *calls] if maker.chance(0.12) else [*keys, *calls]
    rest = f"FROM {source.text}{_where(maker, source.pool)} GROUP BY "
    rest += ", ".join(text for text, _ in keys)
    if maker.chance(having):
        rest += _having(maker, source.pool)
    return query(maker, shown, rest)


def having(maker: Maker, depth: int) -> Relation:
    return group_by(maker, depth, having=1)


def global_aggregate(maker: Maker, depth: int) -> Relation:
    source = maker.source(depth - 1)
    rest = f"FROM {source.text}{_where(maker, source.pool)}"
    if maker.chance(0.2):
        rest += _having(maker, source.pool)
    return query(maker, _calls(maker, source.pool), rest)


def grouping(word: str) -> Callable[[Maker, int], Relation]:
    """ROLLUP, CUBE or GROUPING SETS over one or two columns."""

    def build(maker: Maker, depth: int) -> Relation:
        source = maker.source(depth - 1)
        keys = [(c.ref, c.type) for c in maker.some(keys_of(source.pool), 1, 2)]
        refs = [text for text, _ in keys]
        items = [*keys, *_calls(maker, source.pool)]
        if maker.chance(0.4):
            items.append((f"GROUPING({refs[0]})", APPROXIMATE))
        listed = ", ".join(refs)
        if word == "GROUPING SETS":
            sets = ["()", *(f"({r})" for r in refs if len(refs) > 1)]
            some = maker.rng.sample(sets, maker.rng.randint(0, len(sets)))
            listed = ", ".join([f"({listed})", *some])
        rest = f"FROM {source.text}{_where(maker, source.pool)} GROUP BY {word} ({listed})"
        if maker.chance(0.1):
            rest += _having(maker, source.pool)
        return query(maker, items, rest)

    return build


def distinct(maker: Maker, depth: int) -> Relation:
    source = maker.source(depth - 1)
    made = query(maker, some_items(maker, keys_of(source.pool)), f"FROM {source.text}")
    return Relation(made.sql.replace("SELECT", "SELECT DISTINCT", 1), made.columns)


def _over(maker: Maker, pool: Pool, frame: str = "", parts: Pool = ()) -> str:
    """A window with a total order: rows that tie are equal in all that is compared."""
    keys = keys_of(pool)
    if not keys:
        raise Impossible
    order = [f"{c.ref}{maker.rng.choice(('', ' DESC'))}" for c in maker.some(keys, len(keys), 9)]
    if parts:
        more = [c for c in keys if c not in parts and maker.chance(0.3)]
        parts = [*parts, *more[:1]]
    elif not maker.chance(0.04):
        parts = maker.some(keys, 1, 2)
    listed = ", ".join(c.ref for c in parts)
    partition = f"PARTITION BY {listed} " if parts else ""
    return f"OVER ({partition}ORDER BY {', '.join(order)}{frame})"


def window_rank(maker: Maker, depth: int) -> Relation:
    word = maker.rng.choice(("ROW_NUMBER()", "RANK()", "DENSE_RANK()", "NTILE(2)"))
    return _windowed(maker, depth, lambda pool: (f"{word} {_over(maker, pool)}", INT))


def window_offset(maker: Maker, depth: int) -> Relation:
    def call(pool: Pool) -> Call:
        column = maker.pick(pool)
        word = maker.rng.choice(("LAG", "LEAD", "FIRST_VALUE"))
        return f"{word}({column.ref}) {_over(maker, pool)}", column.type

    return _windowed(maker, depth, call)


def window_aggregate(maker: Maker, depth: int) -> Relation:
    def call(pool: Pool) -> Call:
        name = maker.rng.choice(("agg_count", "agg_sum", "agg_min_max"))
        text, kind = AGGREGATES[name](maker, pool)
        if text.startswith("COUNT_IF"):
            text = "COUNT(*)"
        frames = ("", " ROWS BETWEEN 1 PRECEDING AND CURRENT ROW")
        if maker.chance(0.2):
            return f"{text} OVER ()", kind
        if maker.chance(0.4):
            return f"{text} OVER (PARTITION BY {maker.pick(pool).ref})", kind
        return f"{text} {_over(maker, pool, maker.rng.choice(frames))}", kind

    return _windowed(maker, depth, call)


def _windowed(maker: Maker, depth: int, call: Callable[[Pool], Call]) -> Relation:
    source = maker.source(depth - 1)
    pool = keys_of(source.pool)
    items = [*some_items(maker, pool), call(pool)]
    return query(maker, items, f"FROM {source.text}{_where(maker, pool)}")


def several_windows(maker: Maker, depth: int) -> Relation:
    """Windows that share a column of their partitions, seldom none."""
    source = maker.source(depth - 1)
    pool = keys_of(source.pool)
    shared = maker.pick(pool)
    items = some_items(maker, pool)
    for word in maker.rng.sample(("RANK()", "ROW_NUMBER()", "COUNT(*)", "DENSE_RANK()"), 2):
        parts = [shared] if maker.chance(0.97) else maker.some(pool, 1, 1)
        items.append((f"{word} {_over(maker, pool, parts=parts)}", BIGINT))
    return query(maker, items, f"FROM {source.text}{_where(maker, pool)}")


def qualify(maker: Maker, depth: int) -> Relation:
    source = maker.source(depth - 1)
    pool = keys_of(source.pool)
    test = f"ROW_NUMBER() {_over(maker, pool)} <= {maker.rng.randint(1, 2)}"
    return query(maker, some_items(maker, pool), f"FROM {source.text} QUALIFY {test}")


def top_k(maker: Maker, depth: int) -> Relation:
    source = maker.source(depth - 1)
    made = query(maker, some_items(maker, keys_of(source.pool)), f"FROM {source.text}")
    order = ", ".join(f"{c.ref}{maker.rng.choice(('', ' DESC'))}" for c in made.columns)
    rest = f" ORDER BY {order} LIMIT {maker.rng.randint(1, 4)}"
    if maker.chance(0.2):
        rest += " OFFSET 1"
    return Relation(made.sql + rest, made.columns)
