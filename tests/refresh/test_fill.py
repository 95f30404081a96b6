"""Filling templates: every hole, and nothing but holes."""

from __future__ import annotations

import pytest

from headwater.core.errors import PlanBug
from headwater.core.names import TableName
from headwater.refresh.fill import Filling

A, B = TableName.parse("a"), TableName.parse("ns.b")
FILLING = Filling(
    sources=(A, B),
    new={A: "a@2", B: "b@2"},
    old={A: "a@1"},
    delta={A: "(delta a)"},
    target="`hw`.`default`.`t`",
    run_id="r1",
    now="2026-01-01 00:00:00.000000",
)


def test_all_holes_are_filled() -> None:
    template = (
        "MERGE INTO `__hw_target` t USING "
        "(SELECT '__hw_run', x FROM `__hw_src_0_delta` JOIN `__hw_src_1_new`)"
    )
    assert FILLING.fill(template) == (
        "MERGE INTO `hw`.`default`.`t` t USING (SELECT 'r1', x FROM (delta a) JOIN b@2)"
    )
    assert FILLING.fill("SELECT CAST('__hw_now' AS TIMESTAMP) FROM `__hw_src_0_old`") == (
        "SELECT CAST('2026-01-01 00:00:00.000000' AS TIMESTAMP) FROM a@1"
    )


def test_names_that_only_look_like_holes_stay() -> None:
    text = "SELECT `__hw_w`, `__hw_stage_1`, '__hw_runner' FROM `my__hw_target`"
    assert FILLING.fill(text) == text


@pytest.mark.parametrize("template", ["`__hw_src_1_old`", "`__hw_src_1_delta`", "'__hw_before'"])
def test_a_hole_without_a_value_is_a_bug(template: str) -> None:
    with pytest.raises(PlanBug):
        FILLING.fill(template)
