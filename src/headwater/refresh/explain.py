"""Explains a stream table, or a query before it becomes one. Starts no Spark.

Everything shown comes from the objects that a refresh itself uses: the verdict, the program for
the pending windows, the plan of stages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlglot
from sqlglot.errors import SqlglotError

from headwater.core.errors import InvalidName, InvalidOption
from headwater.core.names import TableName
from headwater.core.results import Explanation
from headwater.delta.change import Change
from headwater.refresh.advice import explain_cost
from headwater.refresh.among import as_subqueries
from headwater.refresh.definitions import resolved_for
from headwater.refresh.lifecycle import judged
from headwater.refresh.pin import View
from headwater.refresh.plan import plan_refresh
from headwater.refresh.stages import ORDER
from headwater.sql.dialect import HeadwaterSpark

if TYPE_CHECKING:
    from headwater.catalog.rows import StreamTableRow
    from headwater.refresh.definitions import Resolved
    from headwater.refresh.runtime import Runtime

WHAT = ("plan", "delta", "sql", "cost", "refresh")


def explain(runtime: Runtime, name_or_query: str, what: str = "plan") -> Explanation:
    """Explain a stream table by name, or a query by its text."""
    if what not in WHAT:
        raise InvalidOption(f"cannot explain {what!r}", hint=f"use one of {', '.join(WHAT)}")
    row = _row(runtime, name_or_query)
    resolved = resolved_for(runtime, row) if row is not None else judged(runtime, name_or_query)
    subject = str(row.name) if row is not None else "query"
    tell = {"plan": _plan, "delta": _delta, "sql": _sql, "cost": _cost, "refresh": _refresh}[what]
    text, document = tell(runtime, row, resolved)
    return Explanation(subject, what, text, document)


def _row(runtime: Runtime, text: str) -> StreamTableRow | None:
    try:
        name = TableName.parse(text.strip())
    except InvalidName:
        return None
    return runtime.store.tables.get(name)


def _plan(
    runtime: Runtime, row: StreamTableRow | None, resolved: Resolved
) -> tuple[str, dict[str, Any]]:
    layout = resolved.layout
    lines = [
        str(resolved.verdict),
        "",
        f"stored as: {layout.apply}",
        f"  columns: {', '.join(layout.visible)}",
    ]
    if layout.hidden:
        lines.append(f"  hidden:  {', '.join(layout.hidden)}")
    if layout.key:
        lines.append(f"  key:     {', '.join(layout.key)}")
    document = {
        "verdict": resolved.verdict.to_dict(),
        "layout": {
            "visible": list(layout.visible),
            "hidden": list(layout.hidden),
            "key": list(layout.key),
            "apply": layout.apply,
        },
        "sources": [str(s) for s in resolved.sources],
    }
    return "\n".join(lines), document


def _delta(
    runtime: Runtime, row: StreamTableRow | None, resolved: Resolved
) -> tuple[str, dict[str, Any]]:
    """The delta program when every source has inserts, updates and deletes."""
    if not resolved.verdict.incremental:
        code, reason = resolved.obstacle or ("NOT_INCREMENTAL", "no delta rule")
        text = f"no delta: every refresh is full ({code}: {reason})"
        return text, {"incremental": False, "reason_code": code, "reason": reason}
    changed = dict.fromkeys(resolved.sources, Change.MIXED)
    program = runtime.templates.program(resolved, changed)
    parts = [f"-- {s.name}\n{pretty(as_subqueries(s.sql))};" for s in program.stages]
    parts.append(f"-- apply: {program.apply.value}\n{pretty(as_subqueries(program.statement))};")
    names = ", ".join(f"{i} = {s}" for i, s in enumerate(resolved.sources))
    text = f"-- sources: {names}\n" + "\n\n".join(parts)
    return text, {
        "incremental": True,
        "apply": program.apply.value,
        "stages": [{"name": s.name, "sql": as_subqueries(s.sql)} for s in program.stages],
        "statement": as_subqueries(program.statement),
        "sources": [str(s) for s in resolved.sources],
    }


def _sql(
    runtime: Runtime, row: StreamTableRow | None, resolved: Resolved
) -> tuple[str, dict[str, Any]]:
    """The query that fills the table from nothing."""
    return pretty(resolved.layout.initial), {"initial": resolved.layout.initial}


def _cost(
    runtime: Runtime, row: StreamTableRow | None, resolved: Resolved
) -> tuple[str, dict[str, Any]]:
    """What the next refresh has to read, and what both ways are expected to take."""
    if row is None:
        return "no cost is known before the stream table exists", {}
    planned, _ = plan_refresh(runtime, row, view=View.take(runtime), strict=False)
    return explain_cost(runtime, planned)


def _refresh(
    runtime: Runtime, row: StreamTableRow | None, resolved: Resolved
) -> tuple[str, dict[str, Any]]:
    """The stages of the next refresh, as they would run now."""
    if row is None:
        return "stages: " + " → ".join(ORDER), {"stages": list(ORDER)}
    planned, _ = plan_refresh(runtime, row, view=View.take(runtime), strict=False)
    decision = planned.decision
    old = planned.old.versions() if planned.old else {}
    new = planned.new.versions()
    last = runtime.store.schedule.all().get(row.id)
    told = (last.decision_code, last.decision_reason) if last is not None else (None, None)
    lines = []
    if told[0] is not None:
        lines.append(f"last decision of the scheduler\n  {told[0]}: {told[1]}")
    lines.append("pin")
    lines += [f"  {n}: {old.get(n)} → {v}" for n, v in new.items()]
    lines.append("window")
    lines += [f"  {n}: {w.kind} by {w.how} ({w.reason})" for n, w in planned.windows.items()]
    lines.append(f"decide\n  {decision.action}: {decision.reason_code}, {decision.reason}")
    lines.append("compile → stage → publish by compare-and-swap → record")
    return "\n".join(lines), {
        "frontier": {"old": old, "new": new},
        "windows": {str(n): w.kind.value for n, w in planned.windows.items()},
        "action": decision.action.value,
        "reason_code": decision.reason_code,
        "reason": decision.reason,
        "scheduler": {"decision_code": told[0], "decision_reason": told[1]},
    }


def pretty(sql: str) -> str:
    """A statement laid out for reading; as it is when the parser cannot read it."""
    try:
        return sqlglot.transpile(sql, read=HeadwaterSpark, write=HeadwaterSpark, pretty=True)[0]
    except SqlglotError:
        return sql
