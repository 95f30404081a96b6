"""Resolves the names in an expression: columns become tree columns, subqueries become pending."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.core.errors import InvalidQuery, UnknownColumn
from headwater.sql.build.aggregates import is_aggregate
from headwater.sql.build.clock import clock_hole
from headwater.sql.build.pending import subquery_value
from headwater.sql.build.scope import AmbiguousName, Match, Scope
from headwater.sql.columns import ref
from headwater.sql.functions import CLOCKS, NON_DETERMINISTIC, SESSION, function_name
from headwater.sql.rebuild import bare, rebuild, rebuild_parts, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headwater.sql.build.context import Context

_SYNONYMS = {
    "every": exp.LogicalAnd,
    "some": exp.LogicalOr,
    "std": exp.Stddev,
    "mean": exp.Avg,
}


class Resolver:
    """Turns expressions of the query text into expressions over tree columns.

    Attributes:
        aliases: columns of the SELECT list that an unqualified name may mean, resolved.
        aliases_first: whether they win over columns of the input (HAVING, ORDER BY).
        windows: named windows of the query block.
        clock_allowed: the expression is a temporal filter, so the clock is no obstacle.
    """

    def __init__(
        self,
        scope: Scope,
        ctx: Context,
        *,
        aliases: Mapping[str, exp.Expr] | None = None,
        aliases_first: bool = False,
        windows: Mapping[str, exp.Expr] | None = None,
        clock_allowed: bool = False,
    ) -> None:
        self.scope = scope
        self.ctx = ctx
        self.aliases = aliases if aliases is not None else {}
        self.aliases_first = aliases_first
        self.windows = windows if windows is not None else {}
        self.clock_allowed = clock_allowed

    def __call__(self, expression: exp.Expr) -> exp.Expr:
        """The resolved copy of an expression."""
        return rebuild(expression, self._change)

    def _change(self, e: exp.Expr) -> exp.Expr | None:
        if isinstance(e, exp.Column):
            return self._column(e)
        if self.aliases_first and is_aggregate(e, self.ctx):
            return self._over_input(e)
        if isinstance(e, exp.Window):
            return self._window(e)
        if isinstance(e, exp.Not | exp.In | exp.Exists | exp.Subquery | exp.Query):
            return subquery_value(e, self.scope, self.ctx, self)
        if isinstance(e, exp.Any | exp.All):
            return self._quantified(e)
        if isinstance(e, exp.Collate):
            self._collated(e)
        if isinstance(e, exp.Func):
            return self._function(e)
        return None

    def _collated(self, e: exp.Collate) -> None:
        if e.expression.name.upper() != "UTF8_BINARY":
            self.ctx.note(
                "COLLATION",
                f"collation {e.expression.name} takes different texts for equal",
                "compare lower(…), or another function of the text",
                e,
            )

    def _over_input(self, e: exp.Expr) -> exp.Expr:
        """Inside an aggregate, aliases of the SELECT list do not count first."""
        return Resolver(self.scope, self.ctx, aliases=self.aliases, windows=self.windows)(e)

    def _quantified(self, e: exp.Expr) -> exp.Expr:
        """`any(x)` is an aggregate; `x > ANY (SELECT …)` is not Spark SQL."""
        if isinstance(e, exp.All) or isinstance(bare(e.this), exp.Query):
            raise self.ctx.error(InvalidQuery, "ANY and ALL of a subquery are not Spark SQL", e)
        return exp.LogicalOr(this=self(bare(e.this)))

    def _column(self, e: exp.Column) -> exp.Expr:
        parts = [part.name for part in e.parts]
        alias = self.aliases.get(parts[0].lower()) if len(parts) == 1 else None
        if alias is not None and self.aliases_first:
            return wrapped(alias.copy())
        for scope in self.scope.outward():
            match = self._find(scope, parts, e)
            if match is not None:
                return self._found(match, e)
            if scope is self.scope and parts[0].lower() in self.aliases:
                return self._path(wrapped(self.aliases[parts[0].lower()].copy()), e, 1)
        raise self._unknown(parts, e)

    def _find(self, scope: Scope, parts: list[str], e: exp.Column) -> Match | None:
        try:
            return scope.find(parts)
        except AmbiguousName as ambiguous:
            owners = sorted(
                ".".join((*entry.qualifier[-1:], entry.name)) for entry in ambiguous.entries
            )
            raise self.ctx.error(
                UnknownColumn,
                f"column {'.'.join(parts)!r} is ambiguous: {', '.join(owners)}",
                e,
                "qualify the column with its table",
            ) from None

    def _found(self, match: Match, e: exp.Column) -> exp.Expr:
        column = ref(match.entry.column.name)
        for part in e.parts:
            if part._meta:
                column.this.meta.update(part._meta)
                break
        return self._path(column, e, match.width)

    def _path(self, value: exp.Expr, e: exp.Column, width: int) -> exp.Expr:
        for part in e.parts[width:]:
            value = exp.Dot(this=value, expression=exp.to_identifier(part.name, quoted=True))
        return value

    def _unknown(self, parts: list[str], e: exp.Column) -> Exception:
        names = [entry.name for scope in self.scope.outward() for entry in scope.entries]
        names += list(self.aliases)
        near = difflib.get_close_matches(parts[-1].lower(), {n.lower() for n in names}, n=3)
        known = ", ".join(dict.fromkeys(names))
        hint = f"did you mean {', '.join(near)}?" if near else f"columns here: {known}"
        what = f"there is no column {'.'.join(parts)!r}"
        return self.ctx.error(UnknownColumn, what, e, hint if names else "")

    def _window(self, e: exp.Window) -> exp.Expr | None:
        name = e.args.get("alias")
        if name is None:
            return None
        named = self.windows.get(name.name.lower())
        if named is None:
            raise self.ctx.error(InvalidQuery, f"there is no window {name.name!r}", name)
        merged = {**named.args, **{k: v for k, v in e.args.items() if v}, "alias": None}
        merged["this"] = e.this
        return rebuild_parts(exp.Window(**merged), self._change)

    def _function(self, e: exp.Func) -> exp.Expr | None:
        if isinstance(e, exp.Count) and isinstance(e.this, exp.Star):
            return None
        if any(isinstance(bare(part), exp.Star) for part in e.iter_expressions()):
            return rebuild_parts(_with_star(e, self.scope), self._change)
        name = function_name(e)
        synonym = _SYNONYMS.get(name) if isinstance(e, exp.Anonymous) else None
        if synonym is not None and len(e.expressions) == 1:
            return rebuild_parts(synonym(this=e.expressions[0]), self._change)
        if name == "unix_timestamp" and not e.expressions:
            hole = clock_hole("now", e, self.ctx, allowed=self.clock_allowed)
            return exp.Anonymous(this="unix_timestamp", expressions=[hole])
        if name in CLOCKS:
            return clock_hole(name, e, self.ctx, allowed=self.clock_allowed)
        if name in SESSION:
            self.ctx.note(
                "CLOCK",
                f"{name}() depends on the session that refreshes",
                "use a constant instead",
                e,
            )
        if name in NON_DETERMINISTIC or self._is_chance(e, name):
            self.ctx.note(
                "NONDET_FUNC",
                f"{name}() gives another value each time",
                "compute it in the source table",
                e,
            )
        return None

    def _is_chance(self, e: exp.Func, name: str) -> bool:
        if not isinstance(e, exp.Anonymous):
            return False
        fact = self.ctx.session.lookup.function(name)
        return fact is not None and not fact.deterministic


def _with_star(e: exp.Func, scope: Scope) -> exp.Func:
    columns = [
        exp.column(exp.to_identifier(entry.name, quoted=True), *_owner(entry.qualifier))
        for entry in scope.entries
        if not entry.hidden
    ]
    spread: Callable[[list[exp.Expr]], list[exp.Expr]] = lambda parts: [  # noqa: E731
        c.copy() for part in parts for c in (columns if isinstance(part, exp.Star) else [part])
    ]
    args = {k: spread(v) if isinstance(v, list) else v for k, v in e.args.items()}
    return e.__class__(**args)


def _owner(qualifier: tuple[str, ...]) -> list[exp.Identifier]:
    return [exp.to_identifier(part, quoted=True) for part in reversed(qualifier)]
