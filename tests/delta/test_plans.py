"""Plans as text: golden files per operator, verdicts, and the completeness of the rule tables.

HW_WRITE_GOLDENS=1 rewrites the golden files.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import sqlglot
from delta_harness import Tables, read_shapes

from headwater.delta.change import Change
from headwater.delta.compile import compile_refresh
from headwater.delta.dispatch import RULES
from headwater.delta.layout import LayoutKind, layout
from headwater.delta.verdict import verdict
from headwater.sql import render
from headwater.sql.define import define
from headwater.sql.operators import Node

GOLDEN = Path(__file__).parent / "golden"
SCHEMAS = Tables(
    {
        "l": "id int, k int, x int",
        "r": "k int, y int",
        "c": "k int, z int",
        "d": "k int, v double",
    }
)
SHAPES = read_shapes()
CASES = [
    "filter", "project", "union_all", "inner", "self_join", "left", "full", "semi", "anti",
    "group_sum", "group_min", "group_double", "group_group", "having", "global", "distinct",
    "intersect", "except_all", "window", "row_number", "top", "scalar", "scalar_where", "lateral",
    "rollup",
]  # fmt: skip


def _plan(query: str) -> str:
    definition = define(query, SCHEMAS)
    plan = layout(definition)
    parts = [f"-- query\n{query}", f"-- stored as {plan.kind.value}\n{plan.initial}"]
    for change in (Change.APPEND, Change.MIXED):
        program = compile_refresh(definition, plan, dict.fromkeys(definition.sources, change))
        head = f"-- {change.value} changes: {program.apply.value}"
        body = [f"-- {s.name}\n{s.sql}" for s in program.stages]
        parts.append("\n".join([head, *body, "-- statement", program.statement]))
    return "\n\n".join(parts) + "\n"


@pytest.mark.parametrize("name", CASES)
def test_plan_is_as_agreed(name: str) -> None:
    path = GOLDEN / f"{name}.sql"
    text = _plan(SHAPES[name])
    if os.environ.get("HW_WRITE_GOLDENS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert path.read_text() == text


@pytest.mark.parametrize("name", SHAPES)
def test_every_statement_parses_and_leaves_only_known_holes(name: str) -> None:
    definition = define(SHAPES[name], SCHEMAS)
    plan = layout(definition)
    program = compile_refresh(definition, plan, dict.fromkeys(definition.sources, Change.MIXED))
    known = {f"__hw_src_{i}_{at}" for i in range(4) for at in ("new", "old", "delta")}
    known |= {"__hw_target"} | {s.name for s in program.stages}
    for text in (plan.initial, program.statement, *(s.sql for s in program.stages)):
        tree = sqlglot.parse_one(text, read="spark")
        holes = {t.name for t in tree.find_all(sqlglot.exp.Table) if t.name.startswith("__hw_")}
        assert holes <= known


def test_every_operator_has_a_rule_and_a_form() -> None:
    kinds = set(Node.__subclasses__())
    assert set(RULES) == kinds
    assert set(render._WRITERS) == kinds


@pytest.mark.parametrize(
    ("query", "kind", "hidden"),
    [
        ("SELECT k FROM l", LayoutKind.BAG, ("__hw_id",)),
        ("SELECT k, COUNT(*) AS c FROM l GROUP BY k", LayoutKind.STATE, ("__hw_n",)),
        ("SELECT COUNT(*) AS c FROM l GROUP BY k", LayoutKind.STATE, ("__hw_k1", "__hw_n")),
        ("SELECT DISTINCT k FROM l", LayoutKind.STATE, ("__hw_n",)),
        ("SELECT k, SUM(v) AS s FROM d GROUP BY k", LayoutKind.KEYED, ()),
        ("SELECT k, SUM(x) AS s FROM l GROUP BY k HAVING SUM(x) > 1", LayoutKind.KEYED, ()),
        (
            "SELECT id, RANK() OVER (PARTITION BY k ORDER BY x) AS n FROM l",
            LayoutKind.REPLACE,
            ("__hw_k1", "__hw_id"),
        ),
        ("SELECT k FROM l ORDER BY k, id, x LIMIT 2", LayoutKind.REPLACE, ("__hw_id",)),
    ],
)
def test_layout_follows_the_shape(query: str, kind: LayoutKind, hidden: tuple[str, ...]) -> None:
    plan = layout(define(query, SCHEMAS))
    assert (plan.kind, plan.hidden) == (kind, hidden)


def test_verdict_names_strategies_and_reasons() -> None:
    told = verdict(define(SHAPES["left"], SCHEMAS))
    assert told.incremental
    assert [n.strategy for n in told.nodes if n.node == "Join left"] == ["F"]
    told = verdict(define("SELECT id, SUM(x) OVER (ORDER BY id) AS s FROM l", SCHEMAS))
    assert not told.incremental
    (reason,) = told.reasons
    assert reason.reason_code == "NO_PARTITION"
    assert reason.advice
