"""A SELECT block, clause by clause in the order in which SQL evaluates them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.core.errors import InvalidQuery
from headwater.sql.build.aggregates import Groups, grouped, has_aggregate
from headwater.sql.build.clock import allows_clock, reads_clock
from headwater.sql.build.expressions import Resolver
from headwater.sql.build.filters import filtered
from headwater.sql.build.generators import generated
from headwater.sql.build.grouping_sets import groups_of
from headwater.sql.build.items import Item, select_items
from headwater.sql.build.joins import from_clause
from headwater.sql.build.ordering import limited, ordering_of
from headwater.sql.build.pending import attach
from headwater.sql.build.result import Result
from headwater.sql.build.scope import Relation, Scope
from headwater.sql.build.session_windows import (
    has_session_window,
    session_block,
    sessions_by_windows,
)
from headwater.sql.build.time_windows import with_window_calls
from headwater.sql.build.windows import windowed
from headwater.sql.rebuild import bare, conjunction, conjuncts
from headwater.sql.relations import Distinct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headwater.sql.build.context import Context
    from headwater.sql.node import Node

_CLAUSES = frozenset(
    (
        *("with_", "expressions", "hint", "distinct", "from_", "laterals", "joins", "where"),
        *("group", "having", "qualify", "windows", "order", "sort", "limit", "offset"),
        *("distribute", "cluster"),
    )
)


def select(ast: exp.Select, outer: Scope | None, ctx: Context) -> Relation:
    """The relation of one SELECT block."""
    _check_clauses(ast, ctx)
    if has_session_window(ast):
        split = sessions_by_windows(ast)
        if split is None:
            return session_block(ast, ctx)
        ast = split
    ast = with_window_calls(ast)
    source = from_clause(ast, outer, ctx)
    scope = Scope(source.entries, outer)
    node = where(source.node, ast.args.get("where"), scope, ctx)
    block = _resolved(ast, scope, ctx)
    node, block = _grouped(node, ast, block, scope, ctx)
    node, expressions = windowed(node, block.expressions, block.labels, ctx)
    block = block.over(expressions)
    if block.qualify is not None:
        ctx.session.beyond_spark = True
        node = filtered(node, block.qualify, ctx, ctx.place(ast.args.get("qualify")))
    return _finished(node, ast, block, ctx)


def _check_clauses(ast: exp.Select, ctx: Context) -> None:
    for name, clause in ast.args.items():
        if clause and name not in _CLAUSES:
            what = f"{name.strip('_').upper()} is not supported"
            raise ctx.error(InvalidQuery, what, ast)
    distinct = ast.args.get("distinct")
    if distinct is not None and distinct.args.get("on") is not None:
        what = "DISTINCT ON is not Spark SQL"
        raise ctx.error(InvalidQuery, what, distinct, "use row_number() … = 1")


def where(node: Node, clause: exp.Expr | None, scope: Scope, ctx: Context) -> Node:
    """Filter by a WHERE clause, conjunct by conjunct."""
    if clause is None:
        return node
    parts = [
        Resolver(scope, ctx, clock_allowed=allows_clock(part, ctx))(part)
        for part in conjuncts(clause.this)
    ]
    predicate = conjunction(parts)
    return node if predicate is None else filtered(node, predicate, ctx, ctx.place(clause))


@dataclass(frozen=True)
class _Block:
    """The expressions of a block, all over the same node."""

    items: tuple[Item, ...]
    having: exp.Expr | None
    qualify: exp.Expr | None
    order: tuple[exp.Expr, ...]

    @property
    def expressions(self) -> list[exp.Expr]:
        tests = [e for e in (self.having, self.qualify) if e is not None]
        return [*(item.value for item in self.items), *tests, *self.order]

    @property
    def labels(self) -> dict[exp.Expr, str]:
        return {bare(item.value): item.name for item in self.items if item.aliased}

    def over(self, expressions: Sequence[exp.Expr]) -> _Block:
        rest = list(expressions)
        items = tuple(item.over(rest.pop(0)) for item in self.items)
        having = rest.pop(0) if self.having is not None else None
        qualify = rest.pop(0) if self.qualify is not None else None
        return _Block(items, having, qualify, tuple(rest))


def _resolved(ast: exp.Select, scope: Scope, ctx: Context) -> _Block:
    windows = {w.name.lower(): w for w in ast.args.get("windows") or ()}
    items = select_items(ast, scope, ctx, windows)
    aliases = {item.name.lower(): item.value for item in items if item.aliased}
    named = {item.name.lower(): item.value for item in items}
    having, qualify = ast.args.get("having"), ast.args.get("qualify")
    late = Resolver(
        scope,
        ctx,
        aliases=aliases,
        aliases_first=True,
        windows=windows,
        clock_allowed=having is not None and _allows_clock(having.this, ctx),
    )
    beside = Resolver(scope, ctx, aliases=aliases, windows=windows)
    return _Block(
        items,
        late(having.this) if having is not None else None,
        beside(qualify.this) if qualify is not None else None,
        ordering_of(
            ast,
            [item.value for item in items],
            Resolver(scope, ctx, aliases=named, aliases_first=True, windows=windows),
            ctx,
        ),
    )


def _allows_clock(predicate: exp.Expr, ctx: Context) -> bool:
    timed = [part for part in conjuncts(predicate) if reads_clock(part)]
    return bool(timed) and all(allows_clock(part, ctx) for part in timed)


def _grouped(
    node: Node, ast: exp.Select, block: _Block, scope: Scope, ctx: Context
) -> tuple[Node, _Block]:
    group = ast.args.get("group")
    needs = group is not None or block.having is not None
    if not needs and not any(has_aggregate(e, ctx) for e in block.expressions):
        return node, block
    groups = groups_of(group, block.items, scope, ctx) if group is not None else Groups(())
    node, expressions = grouped(node, groups, block.expressions, block.labels, ctx)
    block = block.over(expressions)
    if block.having is not None:
        node = filtered(node, block.having, ctx, ctx.place(ast.args.get("having")))
    return node, block


def _finished(node: Node, ast: exp.Select, block: _Block, ctx: Context) -> Relation:
    """The result columns, DISTINCT, and ORDER BY with LIMIT."""
    tail = [*(item.value for item in block.items), *block.order]
    node, tail = attach(node, tail, ctx)
    values, order = tail[: len(block.items)], tail[len(block.items) :]
    node, items = generated(
        node, [i.over(v) for i, v in zip(block.items, values, strict=True)], ctx
    )
    distinct = ast.args.get("distinct")
    result = Result(node, items, ctx)
    keys = [result.sort_key(o, may_hide=distinct is None) for o in order]
    relation = result.relation()
    if distinct is not None:
        relation = relation.over(Distinct(relation.node, place=ctx.place(ast)))
    return limited(relation, keys, ast, ctx)
