"""Merges a netted delta on the key the user declared, and fails loudly when it is not one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.core.spec import ApplyKind
from headwater.delta.apply.compared import compared
from headwater.delta.apply.writing import Applied, Writing
from headwater.delta.change import net, passed
from headwater.delta.statements import Merge, differs, matched, of_source, raised
from headwater.sql.operators import WEIGHT, Column, Filter, Project, Window, ref

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headwater.sql.operators import Node

_CAME = Column("__hw_came", "bigint")
_WENT = Column("__hw_went", "bigint")
_NEW = Column("__hw_new", "boolean")
_ROWS = Column("__hw_rows", "bigint")


def apply_unique(writing: Writing) -> Applied:
    """One row per key: the last of its images, or its deletion."""
    root = writing.root
    using = writing.using(_per_key(writing))
    is_new = of_source(_NEW.name)
    others = [n for n in root.columns if n not in root.key]
    update = {n: of_source(n) for n in others}
    changed = differs([(n, n) for n in others])
    insert = {n: of_source(n) for n in root.columns}
    first = root.key[0]
    types = {c.name: c.type or "string" for c in root.tree.columns}
    insert[first] = _if_new(of_source(first), types[first], root.key)
    clash = exp.And(
        this=is_new.copy(),
        expression=exp.EQ(this=of_source(_WENT.name), expression=exp.Literal.number(0)),
    )
    checked = others[0] if others else first
    update[checked] = exp.If(
        this=clash, true=raised(_message(root.key), types[checked]), false=of_source(checked)
    )
    changed = exp.Or(this=clash.copy(), expression=changed) if changed else clash.copy()
    merge = Merge(
        using.sql,
        matched([(k, k) for k in root.key], using.name, root.types),
        delete=exp.Not(this=is_new.copy()),
        update=update,
        update_if=changed,
        insert=insert,
    )
    return using.merged(ApplyKind.MERGE, merge.sql())


def checked_rows(tree: Node, key: Sequence[str]) -> Node:
    """All rows of the query; fails when two have one key."""
    counted = Window(tree, ((_ROWS, _over_key(exp.Count(this=exp.Star()), key)),))
    single = exp.EQ(this=_ROWS.ref, expression=exp.Literal.number(1))
    checked = exp.If(this=single, true=exp.true(), false=raised(_message(key), "boolean"))
    return Project(Filter(counted, checked), passed(tree.columns))


def _per_key(writing: Writing) -> Node:
    root = writing.root
    again = root.again
    change = net(writing.ctx.change(root.tree)) if again is None else compared(writing, again)
    weight = ref(WEIGHT)
    came = exp.Sum(this=exp.Greatest(this=weight, expressions=[exp.Literal.number(0)]))
    went = exp.Sum(
        this=exp.Greatest(this=exp.Neg(this=weight.copy()), expressions=[exp.Literal.number(0)])
    )
    counted = Window(
        change, ((_CAME, _over_key(came, root.key)), (_WENT, _over_key(went, root.key)))
    )
    positive = exp.GT(this=weight.copy(), expression=exp.Literal.number(0))
    only_gone = exp.EQ(this=_CAME.ref, expression=exp.Literal.number(0))
    kept = Filter(counted, exp.Or(this=positive, expression=only_gone))
    one = exp.LTE(this=_CAME.ref, expression=exp.Literal.number(1))
    is_new = exp.If(this=one, true=positive.copy(), false=raised(_message(root.key), "boolean"))
    return Project(kept, (*passed(root.tree.columns), (_WENT, _WENT.ref), (_NEW, is_new)))


def _if_new(value: exp.Expr, kind: str, key: Sequence[str]) -> exp.Expr:
    """Only a new row may be inserted: one that goes must have been stored."""
    gone = "HW4003: the stream table lacks a row that is to be deleted"
    return exp.If(this=of_source(_NEW.name), true=value, false=raised(gone, kind))


def _over_key(call: exp.Expr, key: Sequence[str]) -> exp.Expr:
    return exp.Window(this=call, partition_by=[ref(k) for k in key])


def _message(key: Sequence[str]) -> str:
    return f"HW3003: unique_key ({', '.join(key)}) occurs more than once in the result"
