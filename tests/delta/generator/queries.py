"""The table of operators, and the making of one query out of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from generator import groups, joins, shapes, subqueries, times
from generator.groups import AGGREGATES
from generator.maker import VIEW, Impossible, Maker, Relation
from generator.tables import Table

Build = Callable[[Maker, int], Relation]

OPERATORS: dict[str, Build] = {
    "filter": shapes.filtered,
    "project": shapes.project,
    "join_inner": joins.inner,
    "join_left": joins.left_outer,
    "join_right": joins.right_outer,
    "join_full": joins.full_outer,
    "join_using": joins.using,
    "join_cross": joins.cross,
    "join_semi": joins.semi,
    "join_anti": joins.anti,
    "self_join": joins.self_join,
    "values": joins.values_join,
    "in": subqueries.as_conjunct("in"),
    "not_in": subqueries.as_conjunct("not_in"),
    "exists": subqueries.as_conjunct("exists"),
    "not_exists": subqueries.as_conjunct("not_exists"),
    "subquery_or": subqueries.under_or,
    "subquery_case": subqueries.in_case,
    "scalar": subqueries.scalar,
    "scalar_correlated": subqueries.scalar_correlated,
    "lateral": subqueries.lateral,
    "cte_twice": subqueries.with_twice,
    "recursive": subqueries.recursive,
    "union_all": shapes.set_operation("UNION ALL"),
    "union": shapes.set_operation("UNION"),
    "intersect": shapes.set_operation("INTERSECT"),
    "intersect_all": shapes.set_operation("INTERSECT ALL"),
    "except": shapes.set_operation("EXCEPT"),
    "except_all": shapes.set_operation("EXCEPT ALL"),
    "distinct": groups.distinct,
    "group_by": groups.group_by,
    "global_aggregate": groups.global_aggregate,
    "having": groups.having,
    "rollup": groups.grouping("ROLLUP"),
    "cube": groups.grouping("CUBE"),
    "grouping_sets": groups.grouping("GROUPING SETS"),
    "window_rank": groups.window_rank,
    "window_aggregate": groups.window_aggregate,
    "window_offset": groups.window_offset,
    "several_windows": groups.several_windows,
    "qualify": groups.qualify,
    "top_k": groups.top_k,
    "function": shapes.function,
    "explode": shapes.explode,
    "pivot": shapes.pivot,
    "unpivot": shapes.unpivot,
    "time_window": times.time_window,
    "temporal_filter": times.temporal_filter,
    "struct": times.struct,
    "array": times.array,
    "map": times.lookup,
    "declared_key": joins.declared_key,
}
PARTS = (
    "equi", "null_safe", "residual", "theta", "case", "coalesce", "nullif", "like", "arithmetic",
)  # fmt: skip
COUNTED = (*OPERATORS, *PARTS, *AGGREGATES)
# Operators that few tables allow are wished for more often.
_RARE = ("pivot", "time_window", "recursive", "array", "lateral", "join_using", "union", "function")
DECK = (*COUNTED, *_RARE, "pivot", "time_window", "temporal_filter")
# Views are expanded by whoever knows the tables: they are read on Spark only.
ON_SPARK = (*COUNTED, VIEW)
# A key is declared for the whole result: it makes no sense inside.
_INSIDE = [name for name in OPERATORS if name != "declared_key"]
DEPTH = 4
_GROUPING = ("group_by", "global_aggregate", "having", "rollup")
_TRIES = 40


@dataclass(frozen=True)
class Query:
    """One generated query."""

    sql: str
    used: frozenset[str]
    unique_key: tuple[str, ...] = ()


def some_query(
    rng: random.Random,
    tables: Sequence[Table],
    wishes: Sequence[str],
    *,
    spark: bool = False,
    depth: int = DEPTH,
) -> Query:
    """A query with the wished operators, as far as the tables allow them."""
    for attempt in range(_TRIES):
        # All wishes, then one of them, then none: what is wished for need not go together.
        wished = list(wishes)[: (len(wishes), len(wishes), 1, 0)[4 * attempt // _TRIES]]
        eager = bool(wished)
        maker = Maker(rng, tables, wished, spark=spark, most_leaves=depth)
        maker.build = some_relation
        try:
            made = _whole(maker, depth)
        except Impossible:
            continue
        if not (eager and maker.wishes):
            return Query(made.sql, frozenset(maker.used), made.key)
    raise Impossible


def _whole(maker: Maker, depth: int) -> Relation:
    if "declared_key" in maker.wishes:
        maker.use("declared_key")
        maker.wishes.clear()
        return joins.declared_key(maker, 1)
    return maker.relation(max(depth - maker.rng.choice((0, 0, 1, 2)), 1))


def some_relation(maker: Maker, depth: int) -> Relation:
    """A query of any operator, a wished one if there is one."""
    wished = [w for w in maker.wishes if w in _INSIDE]
    if not wished and any(w in AGGREGATES for w in maker.wishes):
        wished = list(_GROUPING)
    eager = wished and (depth <= 1 or maker.chance(0.6))
    name = maker.rng.choice(wished if eager else _INSIDE)
    maker.use(name)
    return OPERATORS[name](maker, depth)
