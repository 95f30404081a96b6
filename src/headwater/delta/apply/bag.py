"""Inserts and deletes single rows of a bag: a netted delta says how many copies come and go.

Deleting n copies of a row picks n of the stored ids; deleting by value would take all copies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.core.spec import ApplyKind
from headwater.delta.apply.compared import compared
from headwater.delta.apply.row_ids import ID_COLUMN, numbered_as_written, numbered_by_content
from headwater.delta.apply.writing import Applied, Writing
from headwater.delta.change import cast, net, null_of, passed
from headwater.delta.predicates import matches
from headwater.delta.program import ROW_ID, TARGET
from headwater.delta.statements import Merge, insert_into, matched, of_source, raised
from headwater.sql.operators import (
    WEIGHT,
    Column,
    Filter,
    Generate,
    Join,
    JoinKind,
    Project,
    Reference,
    Union,
    Window,
    ref,
)

if TYPE_CHECKING:
    from headwater.delta.change import Delta
    from headwater.sql.operators import Node

_DAMAGED = "HW4003: the stream table lacks a row that is to be deleted"
_STORED_ID = Column("__hw_stored_id", "string")
_RANK = Column("__hw_rank", "int")
_COPIES = Column("__hw_copies", "bigint")


def apply_bag(writing: Writing) -> Applied:
    """Apply the delta of the whole query; rows that only appear are a plain append."""
    change = writing.ctx.change(writing.root.tree)
    if change.inserts_only:
        return _append(writing, change)
    if writing.root.again is not None:
        return _merge(writing, compared(writing, writing.root.again), ApplyKind.REPLACE_KEYS)
    return _merge(writing, net(change), ApplyKind.BAG)


def apply_replace(writing: Writing) -> Applied:
    """Recompute the affected keys, apply the difference to what is stored under them."""
    return _merge(writing, compared(writing, writing.root.key), ApplyKind.REPLACE_KEYS)


def _append(writing: Writing, change: Delta) -> Applied:
    rows = Project(change.tree, passed(writing.root.tree.columns))
    query = writing.query(numbered_as_written(rows))
    statement = insert_into((*writing.root.columns, ROW_ID), query.sql)
    return Applied(ApplyKind.APPEND, query.stages, statement, whole=query.whole)


def _merge(writing: Writing, netted: Node, kind: ApplyKind) -> Applied:
    root = writing.root
    change = writing.ctx.share(netted)
    schema = (ID_COLUMN, *root.tree.columns)
    going = _going(writing, change)
    coming = Project(_coming(writing, change), passed(schema))
    using = writing.using(Union((going, coming), schema))
    merge = Merge(
        using.sql,
        matched([(ROW_ID, ROW_ID)], using.name, {ROW_ID: ID_COLUMN.type}),
        delete=exp.true(),
        insert={n: of_source(n) for n in (*root.columns, ROW_ID)},
    )
    return using.merged(kind, merge.sql())


def _going(writing: Writing, change: Node) -> Node:
    """As many stored ids as there are copies to delete."""
    root = writing.root
    columns = root.tree.columns
    own = [f"__hw_t{i}" for i in range(1, len(columns) + 1)]
    fields = [(c.name, Column(n, c.type)) for c, n in zip(columns, own, strict=True)]
    stored = Reference(TARGET, (*fields, (ROW_ID, _STORED_ID)))
    lost = Filter(change, exp.LT(this=ref(WEIGHT), expression=exp.Literal.number(0)))
    condition = matches([c.name for c in columns], own)
    found = Join(lost, stored, JoinKind.LEFT, condition)
    parts = [c.ref for c in columns]
    order = exp.Order(expressions=[exp.Ordered(this=_STORED_ID.ref)])
    rank = exp.Window(this=exp.RowNumber(), partition_by=parts, order=order)
    copies = exp.Window(this=exp.Count(this=_STORED_ID.ref), partition_by=[p.copy() for p in parts])
    ranked = Window(found, ((_RANK, rank), (_COPIES, copies)))
    wanted = exp.Neg(this=ref(WEIGHT))
    picked = Filter(ranked, exp.LTE(this=_RANK.ref, expression=wanted))
    enough = exp.GTE(this=_COPIES.ref, expression=wanted.copy())
    row_id = exp.If(this=enough, true=_STORED_ID.ref, false=raised(_DAMAGED, "string"))
    return Project(picked, ((ID_COLUMN, row_id), *((c, null_of(c)) for c in columns)))


def _coming(writing: Writing, change: Node) -> Node:
    """One row per copy to insert."""
    names = writing.root.columns
    gained = Filter(change, exp.GT(this=ref(WEIGHT), expression=exp.Literal.number(0)))
    times = cast(ref(WEIGHT), "int")
    copies = exp.Anonymous(this="array_repeat", expressions=[exp.Literal.number(0), times])
    repeated = Generate(gained, exp.Explode(this=copies), False, (Column("__hw_copy", "int"),))
    return numbered_by_content(repeated, names)
