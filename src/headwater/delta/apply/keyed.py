"""Recomputes the affected keys and merges the rows that differ; each key has one row at most."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.core.spec import ApplyKind
from headwater.delta.affected import affected
from headwater.delta.apply.writing import Applied, Writing
from headwater.delta.change import passed
from headwater.delta.predicates import matches
from headwater.delta.restrict import restrict
from headwater.delta.statements import Merge, differs, matched, of_source
from headwater.sql.operators import Column, Join, JoinKind, Project, Values

if TYPE_CHECKING:
    from headwater.sql.operators import Node

_HERE = Column("__hw_here", "boolean")


def apply_keyed(writing: Writing) -> Applied:
    """Keys that lost their row are deleted, rows that differ updated, new ones inserted."""
    root, ctx = writing.root, writing.ctx
    keys: Node = affected(root.tree, root.key, ctx) if root.key else Values(((),), ())
    rows = restrict(ctx.new(root.tree), root.key, keys)
    marked = Project(rows, (*passed(rows.columns), (_HERE, exp.true())))
    condition = matches(root.key, keys.names) if root.key else None
    using = writing.using(Join(keys, marked, JoinKind.LEFT, condition))
    here = of_source(_HERE.name)
    others = [(n, n) for n in root.columns if n not in root.key]
    insert = {n: of_source(n) for n in root.columns}
    merge = Merge(
        using.sql,
        matched(list(zip(root.key, keys.names, strict=True)), using.name, root.types),
        delete=exp.Is(this=here, expression=exp.null()),
        update={n: of_source(n) for n, _ in others},
        update_if=differs(others),
        insert=insert,
        insert_if=here.copy(),
    )
    return using.merged(ApplyKind.REPLACE_KEYS, merge.sql())
