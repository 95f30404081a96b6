"""The FROM clause: relations side by side, by comma, JOIN … ON, USING and NATURAL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.core.errors import InvalidQuery, UnknownColumn
from headwater.sql.build.clock import has_clock_hole, is_temporal_filter
from headwater.sql.build.decorrelate import free_in
from headwater.sql.build.expressions import Resolver
from headwater.sql.build.filters import filtered
from headwater.sql.build.generators import generator_table, lateral_views
from headwater.sql.build.pending import attach, has_pending, is_pending, pending_of
from headwater.sql.build.projection import extended
from headwater.sql.build.scope import AmbiguousName, Entry, Relation, Scope
from headwater.sql.build.tables import aliased, table
from headwater.sql.columns import names_in
from headwater.sql.nesting import Lateral
from headwater.sql.rebuild import conjunction, conjuncts
from headwater.sql.relations import Join, JoinKind, Values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headwater.sql.build.context import Context
    from headwater.sql.node import Node

_ONE_ROW = Values(((),), ())
_KINDS = {
    ("", "INNER"): JoinKind.INNER,
    ("", "CROSS"): JoinKind.INNER,
    ("", ""): JoinKind.INNER,
    ("LEFT", ""): JoinKind.LEFT,
    ("LEFT", "OUTER"): JoinKind.LEFT,
    ("RIGHT", ""): JoinKind.RIGHT,
    ("RIGHT", "OUTER"): JoinKind.RIGHT,
    ("FULL", ""): JoinKind.FULL,
    ("FULL", "OUTER"): JoinKind.FULL,
    ("LEFT", "SEMI"): JoinKind.SEMI,
    ("", "SEMI"): JoinKind.SEMI,
    ("LEFT", "ANTI"): JoinKind.ANTI,
    ("", "ANTI"): JoinKind.ANTI,
}


def from_clause(ast: exp.Select, outer: Scope | None, ctx: Context) -> Relation:
    """All that a SELECT block reads; one empty row if it has no FROM."""
    clause = ast.args.get("from_")
    if clause is None:
        return Relation(_ONE_ROW, ())
    source = _first(clause.this, outer, ctx)
    source = joined(source, clause.this, outer, ctx)
    joins = ast.args.get("joins") or ()
    _check_pivots(clause.this, joins, ctx)
    for join in joins:
        source = _join(source, join, outer, ctx)
        source = joined(source, join.this, outer, ctx)
    return lateral_views(source, ast, outer, ctx)


def _check_pivots(first: exp.Expr, joins: Sequence[exp.Join], ctx: Context) -> None:
    """Refuse what Spark reads otherwise than it looks.

    A PIVOT or UNPIVOT behind a joined relation reshapes the whole join. The word behind an UNPIVOT
    without a name is taken for its name: LEFT JOIN becomes JOIN.
    """
    for join in joins:
        if join.this.args.get("pivots"):
            what = "Spark applies a PIVOT or UNPIVOT behind JOIN to the whole join"
            raise ctx.error(InvalidQuery, what, join, hint="put it into a subquery with an alias")
    pivots = first.args.get("pivots") or ()
    if joins and pivots and pivots[-1].unpivot and not pivots[-1].alias:
        word = joins[0].method or (joins[0].side if not joins[0].kind else "")
        if word:
            what = f"Spark takes {word} for the name of the UNPIVOT, not for the kind of the join"
            hint = f"give it a name: UNPIVOT (…) AS u {word} JOIN …"
            raise ctx.error(InvalidQuery, what, joins[0], hint=hint)


def joined(source: Relation, ast: exp.Expr, outer: Scope | None, ctx: Context) -> Relation:
    """The joins written inside a FROM item, as in `FROM (a JOIN b)`."""
    for join in ast.args.get("joins") or () if isinstance(ast, exp.Table) else ():
        source = _join(source, join, outer, ctx)
    return source


def _first(ast: exp.Expr, outer: Scope | None, ctx: Context) -> Relation:
    if isinstance(ast, exp.Lateral):
        return _lateral(Relation(_ONE_ROW, ()), ast, exp.Join(), outer, ctx)
    return _source(ast, outer, ctx)


def _source(ast: exp.Expr, outer: Scope | None, ctx: Context) -> Relation:
    if isinstance(ast, exp.Subquery) and not isinstance(ast.this, exp.Query):
        inner = joined(_source(ast.this, outer, ctx), ast.this, outer, ctx)
        for join in ast.args.get("joins") or ():
            inner = _join(inner, join, outer, ctx)
        return aliased(inner, ast, ctx) if ast.alias else inner
    return table(ast, outer, ctx)


def _join(left: Relation, ast: exp.Join, outer: Scope | None, ctx: Context) -> Relation:
    if isinstance(ast.this, exp.Lateral):
        return _lateral(left, ast.this, ast, outer, ctx)
    right = _source(ast.this, outer, ctx)
    kind = _KINDS.get((ast.side, "" if ast.kind == "OUTER" else ast.kind))
    if kind is None:
        raise ctx.error(InvalidQuery, f"{ast.side} {ast.kind} JOIN is not known", ast)
    using = [part.name for part in ast.args.get("using") or ()]
    if ast.method == "NATURAL":
        using = _natural(left, right)
    if using:
        return _join_using(left, right, kind, using, ast, ctx)
    return _join_on(left, right, kind, ast, outer, ctx)


def _natural(left: Relation, right: Relation) -> list[str]:
    names = {entry.name.lower() for entry in right.visible}
    return [entry.name for entry in left.visible if entry.name.lower() in names]


def _join_on(
    left: Relation,
    right: Relation,
    kind: JoinKind,
    ast: exp.Join,
    outer: Scope | None,
    ctx: Context,
) -> Relation:
    entries = left.entries + right.entries
    parts = [
        Resolver(Scope(entries, outer), ctx, clock_allowed=_clock_allowed(part, kind))(part)
        for part in conjuncts(ast.args.get("on"))
    ]
    late = [p for p in parts if has_pending(p) or (has_clock_hole(p) and _is_inner(kind))]
    sides = (left.node, right.node)
    if late and not _is_inner(kind):
        sides, parts = _evaluated_before(sides, parts, ast, ctx)
        late = []
    condition = conjunction(p for p in parts if p not in late)
    node: Node = Join(*sides, kind, condition, place=ctx.place(ast))
    predicate = conjunction(late)
    if predicate is not None:
        node = filtered(node, predicate, ctx, ctx.place(ast))
    if kind in (JoinKind.SEMI, JoinKind.ANTI):
        if condition is None:
            node = Join(*sides, kind, exp.true(), place=ctx.place(ast))
        entries = left.entries
    return Relation(node, entries)


def _is_inner(kind: JoinKind) -> bool:
    return kind is JoinKind.INNER


def _clock_allowed(conjunct: exp.Expr, kind: JoinKind) -> bool:
    return _is_inner(kind) and is_temporal_filter(conjunct)


def _evaluated_before(
    sides: tuple[Node, Node], parts: list[exp.Expr], ast: exp.Join, ctx: Context
) -> tuple[tuple[Node, Node], list[exp.Expr]]:
    """Subqueries in the ON of an outer join, evaluated on the side whose columns they use."""
    left, right = sides
    done = []
    for part in parts:
        used = names_in(part) | _correlated(part, ctx)
        if has_pending(part) and not used & set(left.names):
            right, (part,) = attach(right, [part], ctx)
        elif has_pending(part) and not used & set(right.names):
            left, (part,) = attach(left, [part], ctx)
        elif has_pending(part):
            raise ctx.error(
                InvalidQuery,
                "a subquery in the ON of an outer join uses both sides",
                ast.args.get("on"),
                "compute it in a derived table first",
            )
        done.append(part)
    return (left, right), done


def _correlated(part: exp.Expr, ctx: Context) -> set[str]:
    """The columns around it that subqueries of an expression refer to."""
    calls = [call for call in part.find_all(exp.Anonymous) if is_pending(call)]
    return {name for call in calls for name in free_in(pending_of(call, ctx).built.node)}


def _join_using(
    left: Relation, right: Relation, kind: JoinKind, using: list[str], ast: exp.Join, ctx: Context
) -> Relation:
    pairs = [(_key(left, name, ast, ctx), _key(right, name, ast, ctx)) for name in using]
    condition = conjunction(exp.EQ(this=a.column.ref, expression=b.column.ref) for a, b in pairs)
    node: Node = Join(left.node, right.node, kind, condition, place=ctx.place(ast))
    taken = {id(entry) for pair in pairs for entry in pair}
    if kind in (JoinKind.SEMI, JoinKind.ANTI):
        others = [entry for entry in left.entries if id(entry) not in taken]
        return Relation(node, (*(a for a, _ in pairs), *others))
    hidden = [_hide(entry) for pair in pairs for entry in pair]
    rest = [entry for entry in left.entries + right.entries if id(entry) not in taken]
    if kind is JoinKind.FULL:
        merged = []
        computed = []
        for name, (a, b) in zip(using, pairs, strict=True):
            value = exp.Coalesce(this=a.column.ref, expressions=[b.column.ref])
            column = ctx.computed(name, value)
            computed.append((column, value))
            merged.append(Entry(name, column))
        return Relation(extended(node, computed), (*merged, *hidden, *rest))
    kept = [b if kind is JoinKind.RIGHT else a for a, b in pairs]
    lost = [_hide(a if kind is JoinKind.RIGHT else b) for a, b in pairs]
    return Relation(node, (*kept, *lost, *rest))


def _key(side: Relation, name: str, ast: exp.Join, ctx: Context) -> Entry:
    try:
        match = Scope(side.entries).find([name])
    except AmbiguousName:
        raise ctx.error(UnknownColumn, f"USING column {name!r} is ambiguous", ast) from None
    if match is None:
        raise ctx.error(UnknownColumn, f"USING column {name!r} is not on both sides", ast)
    return match.entry


def _hide(entry: Entry) -> Entry:
    return Entry(entry.name, entry.column, entry.qualifier, hidden=True)


def _lateral(
    left: Relation, ast: exp.Lateral, join: exp.Join, outer: Scope | None, ctx: Context
) -> Relation:
    keep = join.side == "LEFT"
    scope = Scope(left.entries, outer)
    body, on = ast.this, join.args.get("on")
    if isinstance(body, exp.Subquery | exp.Query):
        right = aliased(ctx.query(body, scope, ctx), ast, ctx)
    elif on is None or on == exp.true():
        return generator_table(left, ast, scope, ctx, outer=keep)
    elif keep:
        what = "a generator behind LEFT JOIN LATERAL may have no condition but TRUE"
        hint = "leave the elements out in the call, e.g. explode(filter(xs, x -> x > 1))"
        raise ctx.error(InvalidQuery, what, join, hint=hint)
    else:
        made = generator_table(left, ast, scope, ctx, outer=False)
        predicate = Resolver(Scope(made.entries, outer), ctx)(on)
        return Relation(filtered(made.node, predicate, ctx, ctx.place(join)), made.entries)
    entries = left.entries + right.entries
    condition = Resolver(Scope(entries, outer), ctx)(on) if on is not None else None
    if isinstance(condition, exp.Boolean) and condition.this:
        condition = None
    node = Lateral(left.node, right.node, keep, condition, place=ctx.place(ast))
    return Relation(node, entries)
