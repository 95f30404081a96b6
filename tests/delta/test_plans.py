"""What is told about plans: layouts, verdicts, and the completeness of the rule tables."""

from __future__ import annotations

import pytest
from delta_harness import Tables, read_shapes

from headwater.delta.dispatch import RULES
from headwater.delta.layout import LayoutKind, layout
from headwater.delta.verdict import verdict
from headwater.sql import render
from headwater.sql.define import define
from headwater.sql.operators import Node

SCHEMAS = Tables(
    {
        "l": "id int, k int, x int",
        "r": "k int, y int",
        "c": "k int, z int",
        "d": "k int, v double",
    }
)
SHAPES = read_shapes()


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


@pytest.mark.parametrize(
    ("query", "code", "column", "advice"),
    [
        ("SELECT k FROM l TABLESAMPLE (5 PERCENT)", "SAMPLE", 15, "xxhash64"),
        ("SELECT k, now() AS n FROM l", "CLOCK", 11, "WHERE"),
        ("SELECT k, uuid() AS n FROM l", "NONDET_FUNC", 11, "source table"),
    ],
)
def test_reasons_have_place_and_advice(query: str, code: str, column: int, advice: str) -> None:
    (reason,) = verdict(define(query, SCHEMAS)).reasons
    assert reason.reason_code == code
    assert advice in str(reason.advice)
    assert reason.place is not None
    assert reason.place.column == column


def test_a_type_without_equality_has_a_place() -> None:
    (reason,) = verdict(define("SELECT m FROM t", Tables({"t": "m map<string,int>"}))).reasons
    assert reason.reason_code == "UNSUPPORTED_TYPE"
    assert reason.place is not None


def test_what_a_query_leaves_open_is_told() -> None:
    told = verdict(define("SELECT k, x FROM l ORDER BY x LIMIT 3", SCHEMAS))
    assert told.incremental
    assert "equal in ORDER BY" in str(told)
    assert "reads the whole input" in str(told)
    told = verdict(
        define("SELECT ROW_NUMBER() OVER (PARTITION BY k ORDER BY x) AS n FROM l", SCHEMAS)
    )
    assert "row_number() is not determined" in str(told)


def test_a_table_function_of_constants_never_changes() -> None:
    told = verdict(define("SELECT l.k, n.id FROM l JOIN range(5) n ON n.id = l.k", SCHEMAS))
    assert told.incremental
    assert ("L", ()) in [(n.strategy, n.reads) for n in told.nodes]
