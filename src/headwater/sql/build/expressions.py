"""Resolves the names in an expression: columns become tree columns, subqueries become pending."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from headwater.core.errors import InvalidQuery, UnknownColumn
from headwater.core.names import HIDDEN_PREFIX
from headwater.sql.build.aggregates import is_aggregate
from headwater.sql.build.clock import outside_value
from headwater.sql.build.pending import subquery_value
from headwater.sql.build.scope import AmbiguousName, Match, Scope
from headwater.sql.build.stars import is_star, starred
from headwater.sql.columns import ref
from headwater.sql.dialect import VARIABLE
from headwater.sql.functions import function_name
from headwater.sql.rebuild import bare, rebuild, rebuild_parts, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headwater.sql.build.context import Context

_VARIABLE = f"{HIDDEN_PREFIX}x"
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
        self._variables: dict[str, str] = {}

    def __call__(self, expression: exp.Expr) -> exp.Expr:
        """The resolved copy of an expression."""
        return rebuild(expression, self._change)

    def _change(self, e: exp.Expr) -> exp.Expr | None:
        if self.aliases_first and is_aggregate(e, self.ctx):
            return self._over_input(e)
        for kinds, rule in _RULES:
            if isinstance(e, kinds):
                return rule(self, e)
        return None

    def _subquery(self, e: exp.Expr) -> exp.Expr | None:
        if isinstance(e, exp.In) and any(map(is_star, e.expressions)):
            return self._with_stars(e)
        return subquery_value(e, self.scope, self.ctx, self)

    def _distinct(self, e: exp.Distinct) -> exp.Expr | None:
        return self._with_stars(e) if any(map(is_star, e.expressions)) else None

    def _lambda(self, e: exp.Lambda) -> exp.Expr:
        """The variables get names that no column can have; equal lambdas stay equal."""
        outer = self._variables
        depth = len(outer)
        mine = {p.name.lower(): f"{_VARIABLE}{depth + i}" for i, p in enumerate(e.expressions)}
        self._variables = {**outer, **mine}
        try:
            return rebuild_parts(e, self._change)
        finally:
            self._variables = outer

    def _variable(self, e: exp.Identifier) -> exp.Expr | None:
        if not (e._meta and e._meta.get(VARIABLE)):
            return None
        name = self._variables.get(e.name.lower())
        return None if name is None else exp.to_identifier(name)

    def _collated(self, e: exp.Collate) -> exp.Expr | None:
        if e.expression.name.upper() != "UTF8_BINARY":
            self.ctx.note(
                "COLLATION",
                f"collation {e.expression.name} takes different texts for equal",
                "compare lower(…), or another function of the text",
                e,
            )
        return None

    def _over_input(self, e: exp.Expr) -> exp.Expr:
        """Inside an aggregate, aliases of the SELECT list do not count first."""
        return Resolver(self.scope, self.ctx, aliases=self.aliases, windows=self.windows)(e)

    def _quantified(self, e: exp.Expr) -> exp.Expr:
        """`any(x)` is an aggregate; `x > ANY (SELECT …)` is not Spark SQL."""
        if isinstance(e, exp.All) or isinstance(bare(e.this), exp.Query):
            raise self.ctx.error(InvalidQuery, "ANY and ALL of a subquery are not Spark SQL", e)
        return exp.LogicalOr(this=self(bare(e.this)))

    def _like(self, e: exp.Expr) -> exp.Expr | None:
        """In `x LIKE ANY ('a%', 'b%')` the patterns are a list, not an aggregate."""
        if not isinstance(e.expression, exp.Any | exp.All):
            return None
        patterns = bare(e.expression.this)
        if isinstance(patterns, exp.Query):
            raise self.ctx.error(InvalidQuery, "LIKE ANY and ALL take a list of patterns", e)
        listed = e.expression.__class__(this=self(e.expression.this))
        return e.__class__(**{**e.args, "this": self(e.this), "expression": listed})

    def _column(self, e: exp.Column) -> exp.Expr:
        if is_star(e):
            raise self.ctx.error(InvalidQuery, f"{e.sql('spark')} cannot stand here", e)
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
        _check_whole(e, self.ctx)
        named = self._named_window(name)
        merged = {**named.args, **{k: v for k, v in e.args.items() if v}, "alias": None}
        merged["this"] = e.this
        return rebuild_parts(exp.Window(**merged), self._change)

    def _named_window(self, name: exp.Expr) -> exp.Expr:
        """A window of the WINDOW clause; one that only repeats another is that one."""
        seen: set[str] = set()
        while True:
            named = self.windows.get(name.name.lower())
            if named is None or name.name.lower() in seen:
                raise self.ctx.error(InvalidQuery, f"there is no window {name.name!r}", name)
            base = named.args.get("alias")
            if base is None:
                return named
            _check_whole(named, self.ctx)
            seen.add(name.name.lower())
            name = base

    def _function(self, e: exp.Func) -> exp.Expr | None:
        if isinstance(e, exp.Count) and isinstance(e.this, exp.Star) and not e.expressions:
            return e.copy()
        if any(is_star(part) for part in e.iter_expressions()):
            return self._with_stars(e)
        if isinstance(e, exp.ArraysZip):
            return self._zipped(e)
        name = function_name(e)
        synonym = _SYNONYMS.get(name) if isinstance(e, exp.Anonymous) else None
        if synonym is not None and len(e.expressions) == 1:
            return rebuild_parts(synonym(this=e.expressions[0]), self._change)
        return outside_value(e, self.ctx, allowed=self.clock_allowed)

    def _with_stars(self, e: exp.Expr) -> exp.Expr:
        """A call, or the DISTINCT in one, with columns for its stars; a struct names them."""
        first: Any = e.args.get("this")
        single = is_star(first)
        spread = self._spread([first] if single else e.expressions, named=isinstance(e, exp.Struct))
        if single and isinstance(e, exp.Count):
            raise self.ctx.error(InvalidQuery, "count(t.*) is not Spark SQL", e, "use count(*)")
        if single and not e.expressions and len(spread) > 1 and "expressions" not in e.arg_types:
            what = f"* stands for {len(spread)} columns, {function_name(e)}() does not take so many"
            raise self.ctx.error(InvalidQuery, what, e)
        args = {k: _each(v, self) for k, v in e.args.items() if k not in ("this", "expressions")}
        if single:
            rest = [*spread[1:], *self._spread(e.expressions, named=False)]
            args |= {"this": spread[0], **({"expressions": rest} if rest else {})}
        else:
            this = self(first) if isinstance(first, exp.Expr) else first
            args |= {"this": this, "expressions": spread}
        return e.__class__(**args)

    def _spread(self, parts: list[exp.Expr], *, named: bool) -> list[exp.Expr]:
        out: list[exp.Expr] = []
        for part in parts:
            if not is_star(part):
                out.append(self(part))
                continue
            for name, value in starred(part, self.scope, self.ctx, self):
                label = exp.to_identifier(name, quoted=True)
                out.append(exp.PropertyEQ(this=label, expression=value) if named else value)
        return out

    def _zipped(self, e: exp.ArraysZip) -> exp.Expr | None:
        """The fields of arrays_zip() are called as the user calls its arguments.

        Columns of the tree have other names, so the fields are numbered first, then named.
        """
        names = [_own_name(part) for part in e.expressions]
        if not any(names):
            return None
        values = [exp.Coalesce(this=self(part), expressions=[]) for part in e.expressions]
        variable = exp.to_identifier(f"{_VARIABLE}{len(self._variables)}")
        fields: list[exp.Expr] = []
        for i, name in enumerate(names):
            field = exp.Dot(this=variable.copy(), expression=exp.to_identifier(str(i), quoted=True))
            label = exp.to_identifier(name or str(i), quoted=True)
            fields.append(exp.PropertyEQ(this=label, expression=field))
        renamed = exp.Lambda(this=exp.Struct(expressions=fields), expressions=[variable])
        return exp.Transform(this=exp.ArraysZip(expressions=values), expression=renamed)


_RULES: tuple[tuple[Any, Callable[[Resolver, Any], exp.Expr | None]], ...] = (
    (exp.Column, Resolver._column),
    (exp.Lambda, Resolver._lambda),
    (exp.Identifier, Resolver._variable),
    (exp.Distinct, Resolver._distinct),
    (exp.Window, Resolver._window),
    (
        exp.Not | exp.EQ | exp.NEQ | exp.In | exp.Exists | exp.Subquery | exp.Query,
        Resolver._subquery,
    ),
    (exp.Like | exp.ILike, Resolver._like),
    (exp.Any | exp.All, Resolver._quantified),
    (exp.Collate, Resolver._collated),
    (exp.Func, Resolver._function),
)


def _own_name(e: exp.Expr) -> str:
    """The name of a column, a field or a variable; empty for other expressions."""
    named = isinstance(bare(e), exp.Column | exp.Dot | exp.Identifier)
    return bare(e).name if named else ""


def _each(value: object, resolve: Resolver) -> object:
    if isinstance(value, exp.Expr):
        return resolve(value)
    return [_each(part, resolve) for part in value] if isinstance(value, list) else value


def _check_whole(window: exp.Expr, ctx: Context) -> None:
    """Refuse a window that adds to another: `(w ORDER BY x)`."""
    if any(window.args.get(part) for part in ("partition_by", "order", "spec")):
        base = window.args["alias"]
        what = f"a window that adds to {base.name!r} is not Spark SQL"
        raise ctx.error(InvalidQuery, what, base, "write the window out")
