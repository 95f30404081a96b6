"""The column `window` of a block that groups by a time window.

    SELECT k, window.start, COUNT(*) FROM t GROUP BY k, window(ts, '5 minutes')

is the block with the call in place of its name: `SELECT k, window(ts, '5 minutes').start, …`.
"""

from __future__ import annotations

from sqlglot import exp

from headwater.sql.functions import function_name
from headwater.sql.rebuild import bare

_NAME = "window"
_CLAUSES = ("expressions", "having", "order", "qualify")


def with_window_calls(ast: exp.Select) -> exp.Select:
    """The block with the call it is grouped by in place of `window`."""
    call = _grouped_by(ast)
    if call is None:
        return ast
    block = ast.copy()
    block.set("expressions", [_named(item) for item in block.expressions])
    for clause in _CLAUSES:
        found = block.args.get(clause)
        for part in found if isinstance(found, list) else [found] if found else []:
            for column in list(part.find_all(exp.Column)):
                if column.parts[0].name.lower() == _NAME:
                    column.replace(_over(call, column))
    return block


def _grouped_by(ast: exp.Select) -> exp.Expr | None:
    group = ast.args.get("group")
    if group is None:
        return None
    calls = (key for key in group.find_all(exp.Anonymous) if function_name(key) == _NAME)
    return next(calls, None)


def _named(item: exp.Expr) -> exp.Expr:
    """`window` and `window.start` keep their names when the call takes their place."""
    value = bare(item)
    is_window = isinstance(value, exp.Column) and value.parts[0].name.lower() == _NAME
    return exp.alias_(item, value.name, quoted=True) if is_window else item


def _over(call: exp.Expr, column: exp.Column) -> exp.Expr:
    value: exp.Expr = call.copy()
    for part in column.parts[1:]:
        value = exp.Dot(this=value, expression=exp.to_identifier(part.name, quoted=True))
    return value
