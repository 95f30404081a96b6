"""The GROUP BY clause: aliases, ordinals, ALL, ROLLUP, CUBE and GROUPING SETS made plain."""

from __future__ import annotations

from itertools import combinations, product
from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.core.errors import InvalidQuery
from headwater.sql.build.aggregates import Groups, has_aggregate
from headwater.sql.build.expressions import Resolver
from headwater.sql.rebuild import bare

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headwater.sql.build.context import Context
    from headwater.sql.build.items import Item
    from headwater.sql.build.scope import Scope

    Sets = list[tuple[int, ...]]


def groups_of(group: exp.Group, items: Sequence[Item], scope: Scope, ctx: Context) -> Groups:
    """What a GROUP BY clause groups by."""
    keys = _Keys(items, scope, ctx)
    if group.args.get("all") or _is_all(group, scope):
        for item in items:
            if not has_aggregate(item.value, ctx):
                keys.add(item.value, item.name)
        return keys.groups(None, group)
    factors = [_factor(part, keys) for part in group.expressions]
    for kind in ("rollup", "cube", "grouping_sets"):
        factors.extend(_clause(group, kind, factors, keys))
    if all(plain for plain, _ in factors):
        return keys.groups(None, group)
    sets = [
        tuple(dict.fromkeys(i for part in choice for i in part))
        for choice in product(*(sets for _, sets in factors))
    ]
    if len({i for chosen in sets for i in chosen}) < keys.number:
        what = "a column of GROUP BY is in none of its grouping sets"
        raise ctx.error(InvalidQuery, what, group, "leave the column out")
    return keys.groups(sets, group)


def _is_all(group: exp.Group, scope: Scope) -> bool:
    parts = group.expressions
    if len(parts) != 1 or not isinstance(parts[0], exp.Column):
        return False
    return parts[0].name.lower() == "all" and scope.find(["all"]) is None


class _Keys:
    """The distinct key expressions, in the order in which they are met."""

    def __init__(self, items: Sequence[Item], scope: Scope, ctx: Context) -> None:
        self._items = items
        self._ctx = ctx
        self._aliases = {item.name.lower(): item.value for item in items if item.aliased}
        self._names = {bare(item.value): item.name for item in items}
        self._resolve = Resolver(scope, ctx, aliases=self._aliases)
        self._keys: dict[exp.Expr, str] = {}

    def written(self, e: exp.Expr) -> int:
        """The position of a key as it stands in the clause."""
        inner = bare(e)
        if isinstance(inner, exp.Literal) and not inner.is_string:
            item = self._ordinal(inner)
            return self.add(item.value, item.name)
        value = bare(self._resolve(inner))
        return self.add(value, self._names.get(value) or _readable(inner))

    def add(self, value: exp.Expr, name: str) -> int:
        key = bare(value)
        if has_aggregate(key, self._ctx):
            raise self._ctx.error(InvalidQuery, "GROUP BY cannot contain an aggregate", key)
        self._keys.setdefault(key, name)
        return list(self._keys).index(key)

    @property
    def number(self) -> int:
        return len(self._keys)

    def groups(self, sets: Sets | None, ast: exp.Expr) -> Groups:
        chosen = tuple(sets) if sets is not None else None
        return Groups(tuple(self._keys), chosen, tuple(self._keys.values()), ast)

    def _ordinal(self, number: exp.Literal) -> Item:
        text = str(number.this)
        if not text.isdigit() or not 1 <= int(text) <= len(self._items):
            what = f"GROUP BY {text}: the SELECT list has {len(self._items)} columns"
            raise self._ctx.error(InvalidQuery, what, number)
        return self._items[int(text) - 1]


def _readable(e: exp.Expr) -> str:
    return e.name if isinstance(e, exp.Column | exp.Dot) and e.name else "key"


def _factor(part: exp.Expr, keys: _Keys) -> tuple[bool, Sets]:
    """Whether a part is a plain key, and the sets it stands for."""
    if isinstance(part, exp.Rollup):
        return False, _rollup(_units(part.expressions, keys))
    if isinstance(part, exp.Cube):
        return False, _cube(_units(part.expressions, keys))
    if isinstance(part, exp.GroupingSets):
        return False, _listed(part.expressions, keys)
    if isinstance(part, exp.Tuple):
        return True, [tuple(keys.written(e) for e in part.expressions)]
    return True, [(keys.written(part),)]


def _clause(
    group: exp.Group, kind: str, factors: list[tuple[bool, Sets]], keys: _Keys
) -> list[tuple[bool, Sets]]:
    """The clauses that stand apart: `ROLLUP (…)` and `WITH ROLLUP` over the plain keys.

    `GROUP BY a, b GROUPING SETS (…)` has no comma before its sets: they are all there is, and the
    keys before them are only the columns that the sets are made of.
    """
    found = []
    if kind == "grouping_sets" and group.args.get(kind):
        factors.clear()
    for part in group.args.get(kind) or ():
        if isinstance(part, exp.Expr) and (part.expressions or kind == "grouping_sets"):
            found.append(_factor(part, keys))
        else:
            units = [unit for plain, sets in factors if plain for unit in sets]
            factors.clear()
            found.append((False, _rollup(units) if kind == "rollup" else _cube(units)))
    return found


def _units(parts: Sequence[exp.Expr], keys: _Keys) -> Sets:
    return [_unit(part, keys) for part in parts]


def _unit(part: exp.Expr, keys: _Keys) -> tuple[int, ...]:
    if isinstance(part, exp.Tuple):
        return tuple(keys.written(e) for e in part.expressions)
    return (keys.written(part),)


def _rollup(units: Sets) -> Sets:
    return [tuple(i for unit in units[:n] for i in unit) for n in range(len(units), -1, -1)]


def _cube(units: Sets) -> Sets:
    return [
        tuple(i for unit in chosen for i in unit)
        for n in range(len(units), -1, -1)
        for chosen in combinations(units, n)
    ]


def _listed(parts: Sequence[exp.Expr], keys: _Keys) -> Sets:
    sets: Sets = []
    for part in parts:
        if isinstance(part, exp.Rollup | exp.Cube | exp.GroupingSets):
            sets.extend(_factor(part, keys)[1])
        else:
            sets.append(_unit(part, keys))
    return sets
