"""Graphs with circles: order, units, diamonds around them."""

from __future__ import annotations

import pytest

from headwater.core.errors import DependencyCycle
from headwater.core.names import TableName
from headwater.graph.dependencies import Graph
from headwater.graph.units import UnitKind, build_units


def name(word: str) -> TableName:
    return TableName.parse(word)


def graph(**reads: str) -> Graph:
    return Graph.build(
        {name(k): [name(w) for w in v.split()] for k, v in reads.items()}, circular=True
    )


RING = graph(below="s", a="below b", b="a s", over="a", apart="s")


def test_members_stand_together_after_what_they_read() -> None:
    order = [n.name for n in RING.order]
    assert order.index("below") < order.index("a") < order.index("b") < order.index("over")
    assert RING.circle_of(name("a")) == {name("a"), name("b")} == RING.circle_of(name("b"))
    assert RING.circle_of(name("over")) == frozenset()


def test_a_circle_is_one_unit() -> None:
    units = build_units(RING, {})
    unit = units.of_table[name("a")]
    assert (unit.kind, unit.members) == (UnitKind.CYCLIC_SCC, (name("a"), name("b")))
    assert units.of_table[name("over")] is not unit
    assert unit.key in units.upstream[units.of_table[name("over")].key]


def test_a_table_over_a_circle_and_its_source_is_a_diamond() -> None:
    wide = graph(a="b s", b="a", over="a s")
    assert build_units(wide, {}).of_table[name("over")].members == (
        name("a"),
        name("b"),
        name("over"),
    )


def test_a_circle_is_told_before_it_exists() -> None:
    line = graph(a="s", b="a")
    with pytest.raises(DependencyCycle, match=r"default\.a reads default\.b reads default\.a"):
        line.with_table(name("a"), [name("s"), name("b")])
    wider = line.with_table(name("a"), [name("s"), name("b")], circular=True)
    assert wider.circle_of(name("a")) == {name("a"), name("b")}
    assert RING.with_table(name("c"), [name("over")]).circles == RING.circles, "it was allowed"
