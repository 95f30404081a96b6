"""Structural identity, pinning and rebuilding of operator trees."""

from __future__ import annotations

import sqlglot
from sql_harness import defined

from headwater.core.errors import Place
from headwater.core.names import TableName
from headwater.sql.operators import At, Column, Filter, Scan, pinned, transform

T = TableName("default", "t")


def scan(place: Place | None = None) -> Scan:
    return Scan(T, (("x", Column("x", "int")),), place=place)


def test_equal_trees_are_equal_wherever_they_stand() -> None:
    predicate = sqlglot.parse_one("x > 1")
    one, two = Filter(scan(Place(1, 1)), predicate), Filter(scan(Place(9, 9)), predicate.copy())
    assert one == two
    assert hash(one) == hash(two)
    assert one != Filter(scan(), sqlglot.parse_one("x > 2"))
    assert one != scan()


def test_pinning_reaches_every_scan_and_the_clock() -> None:
    tree = defined(
        "SELECT id FROM ev WHERE ts > current_timestamp() - INTERVAL 7 DAYS"
        " AND id IN (SELECT id FROM t)"
    ).tree
    old = pinned(tree, At.OLD)
    assert {n.at for n in old.walk() if isinstance(n, Scan)} == {At.OLD}
    text = str([e.sql("spark") for n in old.walk() for e in n.expressions])
    assert "__hw_before" in text
    assert "__hw_now" not in text
    assert pinned(old, At.NEW) == tree


def test_transform_keeps_what_does_not_change() -> None:
    tree = defined("SELECT g, SUM(x) AS s FROM t WHERE x > 1 GROUP BY g").tree
    assert transform(tree, lambda node: node) is tree


def test_map_expressions_touches_only_this_node() -> None:
    tree = defined("SELECT id FROM t WHERE x > 1").tree
    below = tree.inputs[0]
    assert isinstance(below, Filter)
    changed = below.map_expressions(lambda e: sqlglot.parse_one("x > 2"))
    assert changed.input is below.input
    assert changed != below
