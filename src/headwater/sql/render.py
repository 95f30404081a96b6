"""Writes an operator tree as SQL: the last step of every compilation, and what `explain` prints.

Sources appear as holes: a quoted name `__hw_src_<i>_<new|old|delta>`, where i is the position of
the table in `sources`; the refresh step puts a pinned table or a sub-select in its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp
from sqlglot.errors import ErrorLevel, UnsupportedError

from headwater.core.errors import InvalidQuery, PlanBug
from headwater.core.names import WEIGHT
from headwater.sql.columns import ref
from headwater.sql.dialect import LEVELS, HeadwaterSpark
from headwater.sql.grouping import Aggregate, Generate, Limit, Reshape, Window
from headwater.sql.nesting import Apply, Lateral, Opaque, Recursive, Reference, SubqueryKind
from headwater.sql.parse import parse_query
from headwater.sql.relations import (
    At,
    Distinct,
    Filter,
    Join,
    JoinKind,
    Project,
    Scan,
    SetOperation,
    Union,
    Values,
)
from headwater.sql.select_block import (
    ROW_MARK,
    SelectBlock,
    conjunction,
    derived,
    identity,
    substituted,
    table,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlglot.dialects.dialect import Dialect

    from headwater.core.names import TableName
    from headwater.sql.columns import Column
    from headwater.sql.node import Node

_SIDES = {
    JoinKind.INNER: ("", "INNER"),
    JoinKind.LEFT: ("LEFT", ""),
    JoinKind.RIGHT: ("RIGHT", ""),
    JoinKind.FULL: ("FULL", ""),
    JoinKind.SEMI: ("LEFT", "SEMI"),
    JoinKind.ANTI: ("LEFT", "ANTI"),
}


def render(node: Node, sources: Sequence[TableName]) -> exp.Query:
    """The query that computes a tree, with holes for its sources."""
    return _Renderer(sources).block(node).to_query()


def to_sql(
    node: Node,
    sources: Sequence[TableName],
    *,
    pretty: bool = False,
    dialect: str | type[Dialect] = HeadwaterSpark,
) -> str:
    """The text of `render`.

    Raises:
        InvalidQuery: the query has a part that the dialect has no words for.
    """
    query = render(node, sources)
    try:
        return query.sql(dialect, pretty=pretty, copy=False, unsupported_level=ErrorLevel.RAISE)
    except (UnsupportedError, ValueError) as error:
        raise InvalidQuery(f"the query cannot be written as SQL: {error}") from error


def hole(sources: Sequence[TableName], name: TableName, at: At) -> str:
    """The name that stands for a source at a version in a template."""
    return f"__hw_src_{list(sources).index(name)}_{at.value}"


class _Renderer:
    """One walk over one tree; numbers the aliases it gives."""

    def __init__(self, sources: Sequence[TableName]) -> None:
        self._sources = sources
        self._aliases = 0
        self._working: dict[str, str] = {}
        self._taken: set[str] = set()

    def block(self, node: Node) -> SelectBlock:
        write = _WRITERS.get(type(node))
        if write is None:
            raise PlanBug(f"no SQL form for {type(node).__name__}")
        return write(self, node)

    def query(self, node: Node) -> exp.Query:
        return self.block(node).to_query()

    def alias(self, letter: str = "t") -> str:
        self._aliases += 1
        return f"{letter}{self._aliases}"

    def wrapped(self, block: SelectBlock) -> SelectBlock:
        """The block as a derived table: every name in scope is a tree name."""
        return self.passed(block.to_query(), tuple(block.items))

    def passed(self, query: exp.Query, names: Sequence[str]) -> SelectBlock:
        return SelectBlock(identity(names), derived(query, self.alias()))

    def open_for(self, node: Node, expressions: Sequence[exp.Expr]) -> SelectBlock:
        block = self.block(node)
        return block if block.accepts(expressions) else self.wrapped(block)

    def closed(self, node: Node) -> SelectBlock:
        """A block with only tree names in scope."""
        block = self.block(node)
        kept = block.is_identity and not (block.sealed or block.bare)
        return block if kept else self.wrapped(block)

    def joinable(self, node: Node) -> SelectBlock:
        block = self.block(node)
        return block if block.is_joinable else self.wrapped(block)

    def renamed(self, node: Node, columns: Sequence[Column]) -> exp.Query:
        """A query with these output names, by position, fit to be a branch of a set operation."""
        block = self.block(node)
        if block.sealed or not isinstance(block.to_query(), exp.Select):
            block = self.wrapped(block)
        block.items = {
            column.name: e for column, e in zip(columns, block.items.values(), strict=True)
        }
        query = block.to_query()
        return query if isinstance(query, exp.Select) else exp.Subquery(this=query)

    # Leaves

    def scan(self, node: Scan) -> SelectBlock:
        items: dict[str, exp.Expr] = {column.name: ref(src) for src, column in node.fields}
        if node.at is At.DELTA:
            items[WEIGHT] = ref(WEIGHT)
        return SelectBlock(items, table(hole(self._sources, node.table, node.at)), bare=True)

    def reference(self, node: Reference) -> SelectBlock:
        items: dict[str, exp.Expr] = {column.name: ref(src) for src, column in node.fields}
        return SelectBlock(items, table(self._working.get(node.name, node.name)), bare=True)

    def values(self, node: Values) -> SelectBlock:
        names = [c.name for c in node.schema]
        if not node.rows:
            nulls: dict[str, exp.Expr] = {c.name: _null(c) for c in node.schema}
            return SelectBlock(nulls, where=[exp.false()], sealed=True)
        if len(node.rows) == 1:
            return SelectBlock({n: e.copy() for n, e in zip(names, node.rows[0], strict=True)})
        rows = [exp.Tuple(expressions=[e.copy() for e in row]) for row in node.rows]
        columns = [exp.to_identifier(n, quoted=True) for n in names]
        alias = exp.TableAlias(this=exp.to_identifier(self.alias()), columns=columns)
        return SelectBlock(identity(names), exp.Values(expressions=rows, alias=alias))

    def opaque(self, node: Opaque) -> SelectBlock:
        query = parse_query(node.text)
        inputs = {
            f"__hw_in_{i}": hole(self._sources, s.table, s.at) for i, s in enumerate(node.scans)
        }
        for found in list(query.find_all(exp.Table)):
            if found.name in inputs:
                found.set("this", exp.to_identifier(inputs[found.name], quoted=True))
        columns = [exp.to_identifier(n, quoted=True) for n in node.names]
        alias = exp.TableAlias(this=exp.to_identifier(self.alias()), columns=columns)
        return SelectBlock(identity(node.names), exp.Subquery(this=query, alias=alias))

    # One input

    def filter(self, node: Filter) -> SelectBlock:
        block = self.open_for(node.input, [node.predicate])
        block.where.append(block.over(node.predicate))
        return block

    def project(self, node: Project) -> SelectBlock:
        block = self.open_for(node.input, [e for _, e in node.items])
        block.items = {column.name: block.over(e) for column, e in node.items}
        return block

    def distinct(self, node: Distinct) -> SelectBlock:
        block = self.open_for(node.input, [])
        block.clauses["distinct"] = exp.Distinct()
        block.sealed = True
        return block

    def aggregate(self, node: Aggregate) -> SelectBlock:
        if node.sets is not None:
            return self._grouping_sets(node)
        calls = [e for _, e in node.calls]
        block = self.open_for(node.input, [*calls, *(ref(k) for k in node.keys)])
        keys = {k: block.over(ref(k)) for k in node.keys}
        items = {**keys, **{c.name: block.over(e) for c, e in node.calls}}
        if keys:
            block.clauses["group"] = exp.Group(expressions=[e.copy() for e in keys.values()])
        block.items = items or {ROW_MARK: exp.Count(this=exp.Star())}
        block.sealed = True
        return block

    def _grouping_sets(self, node: Aggregate) -> SelectBlock:
        block = self.closed(node.input)
        sets = [exp.Tuple(expressions=[ref(k) for k in keys]) for keys in node.sets or ()]
        items = identity(node.keys)
        if node.grouping is not None:
            items[node.grouping.name] = _grouping_id(node.keys)
        items.update({c.name: block.over(e) for c, e in node.calls})
        block.items = items
        group = exp.Group(grouping_sets=[exp.GroupingSets(expressions=sets)])
        block.clauses["group"] = group
        block.sealed = True
        return block

    def window(self, node: Window) -> SelectBlock:
        block = self.open_for(node.input, [e for _, e in node.calls])
        block.items |= {c.name: block.over(e) for c, e in node.calls}
        block.sealed = True
        return block

    def limit(self, node: Limit) -> SelectBlock:
        block = self.closed(node.input)
        if node.order:
            block.clauses["order"] = exp.Order(expressions=[e.copy() for e in node.order])
        if node.limit is not None:
            block.clauses["limit"] = exp.Limit(expression=node.limit.copy())
        if node.offset is not None:
            block.clauses["offset"] = exp.Offset(expression=node.offset.copy())
        block.sealed = True
        return block

    def generate(self, node: Generate) -> SelectBlock:
        block = self.closed(node.input)
        if block.where or block.source is None:
            block = self.wrapped(block)
        columns = [exp.to_identifier(c.name, quoted=True) for c in node.outputs]
        alias = exp.TableAlias(this=exp.to_identifier(self.alias("g")), columns=columns)
        block.laterals.append(
            exp.Lateral(this=node.generator.copy(), view=True, outer=node.outer, alias=alias)
        )
        block.items |= identity(c.name for c in node.outputs)
        return block

    def reshape(self, node: Reshape) -> SelectBlock:
        clause = node.clause.copy()
        query = self.query(node.input)
        source = exp.Subquery(this=query, pivots=[clause])
        items = identity(node.keys)
        items.update({column.name: ref(given) for given, column in node.outputs})
        return SelectBlock(items, source)

    # Two inputs

    def join(self, node: Join) -> SelectBlock:
        block = self.joinable(node.left)
        side, kind = _SIDES[node.kind]
        join = exp.Join(this=derived(self.query(node.right), self.alias()))
        if node.condition is not None:
            join.set("on", node.condition.copy())
        elif node.kind is JoinKind.INNER:
            kind = "CROSS"
        else:
            join.set("on", exp.true())
        if side:
            join.set("side", side)
        if kind:
            join.set("kind", kind)
        block.joins.append(join)
        block.items = identity(node.names)
        return block

    def union(self, node: Union) -> SelectBlock:
        branches = [self.renamed(b, node.schema) for b in node.branches]
        query: exp.Query = branches[0]
        for branch in branches[1:]:
            query = exp.Union(this=query, expression=branch, distinct=False)
        return self.passed(query, node.names)

    def set_operation(self, node: SetOperation) -> SelectBlock:
        kind = {"INTERSECT": exp.Intersect, "EXCEPT": exp.Except}[node.kind]
        left, right = (self.renamed(side, node.schema) for side in (node.left, node.right))
        return self.passed(kind(this=left, expression=right, distinct=not node.all), node.names)

    def apply(self, node: Apply) -> SelectBlock:
        block = self.closed(node.input)
        subquery = self.one_block(node.subquery) or self.block(node.subquery)
        block.items[node.output.name] = _value(node, subquery.to_query())
        return block

    def one_block(self, node: Node) -> SelectBlock | None:
        """An expression over a global aggregate as one SELECT; None for other plans.

        Over a derived table Spark would join a correlated subquery with all distinct values of the
        outer columns before it groups.
        """
        if not (isinstance(node, Project) and isinstance(node.input, Aggregate)):
            return None
        used = [column.name for _, e in node.items for column in e.find_all(exp.Column)]
        once = used and len(set(used)) == len(used) and set(used) <= set(node.input.names)
        if node.input.keys or node.input.sets is not None or not once:
            return None
        block = self.aggregate(node.input)
        block.items = {column.name: substituted(e, block.items) for column, e in node.items}
        return block

    def lateral(self, node: Lateral) -> SelectBlock:
        block = self.joinable(node.left)
        alias = exp.TableAlias(this=exp.to_identifier(self.alias()))
        right = exp.Lateral(
            this=exp.Subquery(this=self.query(node.right)), view=False, outer=False, alias=alias
        )
        join = exp.Join(this=right, side="LEFT") if node.outer else exp.Join(this=right)
        if node.condition is not None or node.outer:
            join.set("on", conjunction([node.condition.copy()] if node.condition else []))
        else:
            join.set("kind", "CROSS")
        block.joins.append(join)
        block.items = identity(node.names)
        return block

    def recursive(self, node: Recursive) -> SelectBlock:
        anchor = self.renamed(node.anchor, node.schema)
        name = self._working[node.name] = self._free(node.name)
        step = self.renamed(node.step, node.schema)
        columns = [exp.to_identifier(n, quoted=True) for n in node.names]
        alias = exp.TableAlias(this=exp.to_identifier(name, quoted=True), columns=columns)
        alias.meta[LEVELS] = node.levels
        body = exp.Union(this=anchor, expression=step, distinct=False)
        select = SelectBlock(identity(node.names), table(name)).to_query()
        select.set("with_", exp.With(expressions=[exp.CTE(this=body, alias=alias)], recursive=True))
        return self.passed(select, node.names)

    def _free(self, name: str) -> str:
        """A name for a WITH clause: all of them end up in the outermost query."""
        free, number = name, 1
        while free in self._taken:
            number += 1
            free = f"{name}_{number}"
        self._taken.add(free)
        return free


def _value(node: Apply, query: exp.Query) -> exp.Expr:
    if node.kind is SubqueryKind.SCALAR:
        return exp.Subquery(this=query)
    if node.kind is SubqueryKind.EXISTS:
        return exp.Exists(this=query)
    operands = [substituted(e, {}) for e in node.operands]
    left = operands[0] if len(operands) == 1 else exp.Tuple(expressions=operands)
    found = exp.In(this=left, query=exp.Subquery(this=query))
    return exp.Not(this=found) if node.kind is SubqueryKind.NOT_IN else found


def _grouping_id(keys: Sequence[str]) -> exp.Expr:
    """`grouping_id()` spelled out: its bare form depends on the order of the grouping sets."""
    total: exp.Expr = exp.cast(exp.Literal.number(0), "bigint")
    for position, key in enumerate(reversed(keys)):
        bit = exp.Anonymous(this="grouping", expressions=[ref(key)])
        total = exp.Add(
            this=total,
            expression=exp.Mul(this=bit, expression=exp.Literal.number(1 << position)),
        )
    return total


def _null(column: Column) -> exp.Expr:
    null = exp.null()
    return exp.cast(null, column.type, dialect="spark") if column.type else null


_WRITERS: dict[type[Node], Callable[[_Renderer, Any], SelectBlock]] = {
    Scan: _Renderer.scan,
    Reference: _Renderer.reference,
    Values: _Renderer.values,
    Opaque: _Renderer.opaque,
    Filter: _Renderer.filter,
    Project: _Renderer.project,
    Distinct: _Renderer.distinct,
    Aggregate: _Renderer.aggregate,
    Window: _Renderer.window,
    Limit: _Renderer.limit,
    Generate: _Renderer.generate,
    Reshape: _Renderer.reshape,
    Join: _Renderer.join,
    Union: _Renderer.union,
    SetOperation: _Renderer.set_operation,
    Apply: _Renderer.apply,
    Lateral: _Renderer.lateral,
    Recursive: _Renderer.recursive,
}
