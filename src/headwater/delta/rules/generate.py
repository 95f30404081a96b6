"""D(generate R) = generate(D R), the weight passed on.

A generator looks at one row, so the rows it made from the old image go and those from the new one
come. With OUTER a row without elements gives one padded row, at either sign.

Reference: DBSP (2022), linear operators (flat map). Cost: the delta times its elements.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headwater.delta.careful import careful
from headwater.delta.change import Delta, weighted

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlglot import exp

    from headwater.delta.context import DeltaContext
    from headwater.sql.operators import Generate


def delta(node: Generate, ctx: DeltaContext) -> Delta:
    """The rows generated from the changes."""
    below, guard = careful(ctx.change(node.input), list(node.generator.iter_expressions()))
    made = replace(node, input=below.tree, generator=_inside(node.generator, guard))
    tree = weighted(made, node.columns)
    return Delta(tree, inserts_only=below.inserts_only)


def _inside(generator: exp.Expr, guard: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """The generator with guarded arguments: it has to stay a call itself."""
    copy = generator.copy()
    for argument in list(copy.iter_expressions()):
        written = guard(argument)
        if written is not argument:
            argument.replace(written)
    return copy
