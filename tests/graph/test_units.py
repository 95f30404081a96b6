"""Units: every stream table in exactly one, in an order that can be run."""

from __future__ import annotations

import random
import time

import pytest

from headwater.core.names import TableName
from headwater.graph.circles import circles
from headwater.graph.dependencies import Graph
from headwater.graph.diamonds import diamonds
from headwater.graph.units import UnitGraph, UnitTraits, build_units


def name(text: str) -> TableName:
    return TableName.parse(text)


def graph(**reads: str) -> Graph:
    return Graph.build({name(k): [name(w) for w in v.split()] for k, v in reads.items()})


def units(given: Graph, groups: dict[str, str] | None = None, **traits: UnitTraits) -> UnitGraph:
    found = {name(k): v for k, v in traits.items()}
    declared = {k: [name(w) for w in v.split()] for k, v in (groups or {}).items()}
    return build_units(given, found, declared)


def shown(made: UnitGraph) -> list[str]:
    return [f"{u.kind}:{' '.join(m.name for m in u.members)}" for u in made.units]


LOOSE = UnitTraits(atomic=False)
CLOCK = UnitTraits(calculated=False)
DIAMOND = graph(left="base", right="base", top="left right", over="top other")


def test_a_diamond_and_what_its_arms_share() -> None:
    (found,) = diamonds(DIAMOND)
    assert found.top == name("top")
    assert found.shared == {name("base")}
    assert [m.name for m in found.members] == ["left", "right", "top"]


def test_a_shared_stream_table_is_below_the_arms_and_no_member() -> None:
    (found,) = diamonds(graph(s="base", a="s", b="s", c="a b"))
    assert [m.name for m in found.members] == ["a", "b", "c"]
    assert found.shared == {name("s"), name("base")}


def test_a_table_that_reads_a_base_table_and_a_sum_of_it_is_a_diamond() -> None:
    (found,) = diamonds(graph(total="orders", share="orders total"))
    assert [m.name for m in found.members] == ["total", "share"]


@pytest.mark.parametrize("reads", [{"a": "x", "b": "y", "c": "a b"}, {"a": "x", "b": "a"}])
def test_arms_that_share_nothing_are_no_diamond(reads: dict[str, str]) -> None:
    assert diamonds(graph(**reads)) == ()


def test_an_atomic_diamond_is_one_unit() -> None:
    assert shown(units(DIAMOND)) == ["atomic_group:left right top", "singleton:over"]


def test_one_member_that_opts_out_leaves_the_diamond_apart() -> None:
    assert shown(units(DIAMOND, right=LOOSE)) == [
        "singleton:left",
        "singleton:right",
        "fused_chain:top over",
    ]


def test_overlapping_diamonds_become_one_unit() -> None:
    given = graph(a="x", b="x y", c="y", ab="a b", bc="b c")
    assert shown(units(given)) == ["atomic_group:a b ab c bc"]


def test_a_declared_group_takes_in_what_lies_between_its_members() -> None:
    given = graph(a="x", b="a", c="b", d="y")
    every = dict.fromkeys("abcd", CLOCK)
    made = units(given, {"g": "a c gone"}, **every)
    assert shown(made) == ["refresh_group:a b c", "singleton:d"]


def test_tables_connected_by_immediate_mode_are_one_closure() -> None:
    now = UnitTraits(immediate=True, calculated=False)
    given = graph(a="x", b="a", c="b", lone="y")
    assert shown(units(given, a=now, b=now, c=CLOCK, lone=now)) == [
        "immediate_closure:a b",
        "immediate_closure:lone",
        "singleton:c",
    ]


def test_an_immediate_table_appears_with_the_tables_it_reads() -> None:
    now = UnitTraits(immediate=True, calculated=False)
    given = graph(a="x", other="y", b="a other", c="b", d="c")
    assert shown(units(given, a=CLOCK, b=now, c=now)) == [
        "immediate_closure:a other b c",
        "singleton:d",
    ]


def test_a_chain_is_fused_up_to_where_it_forks_or_meets() -> None:
    given = graph(a="x", b="a", c="b", d="c", e="c", f="y e")
    assert shown(units(given)) == ["fused_chain:a b c", "singleton:d", "fused_chain:e f"]


def test_a_table_with_a_schedule_of_its_own_is_not_fused() -> None:
    given = graph(a="x", b="a", c="b")
    assert shown(units(given, a=CLOCK)) == ["singleton:a", "fused_chain:b c"]
    assert shown(units(given, b=CLOCK)) == ["singleton:a", "singleton:b", "singleton:c"]


def test_keys_are_stable_when_other_tables_come_and_go() -> None:
    wider = Graph.build({**DIAMOND.sources, name("aaa"): [name("base")]})
    before = {u.key for u in units(DIAMOND).units}
    assert before <= {u.key for u in units(wider).units}
    long = {f"t{'x' * 120}{i}": "base" for i in range(50)}
    wide = graph(**long, top=" ".join(long))
    assert all(len(u.key) <= 400 for u in units(wide).units)


def test_circles() -> None:
    found = circles({"a": ["b"], "b": ["c"], "c": ["a", "d"], "d": [], "e": ["e"]})
    assert {frozenset(c) for c in found} == {frozenset("abc"), frozenset("e")}


@pytest.mark.parametrize("seed", range(60))
def test_random_graphs(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randint(1, 60)
    reads: dict[TableName, list[TableName]] = {}
    for i in range(count):
        below = [name(f"t{j}") for j in range(i)] + [name(f"s{j}") for j in range(5)]
        reads[name(f"t{i}")] = rng.sample(below, rng.randint(1, min(3, len(below))))
    given = Graph.build(reads)
    traits = {
        n: UnitTraits(rng.random() < 0.8, rng.random() < 0.1, rng.random() < 0.7) for n in reads
    }
    groups = {"g": rng.sample(sorted(reads), min(count, 3))}
    made = build_units(given, traits, groups)
    members = [m for u in made.units for m in u.members]
    assert sorted(members) == sorted(reads), "every stream table is in exactly one unit"
    place = {u.key: i for i, u in enumerate(made.units)}
    for unit in made.units:
        assert all(place[up] < place[unit.key] for up in made.upstream[unit.key])
        for member in unit.members:
            for source in given.sources[member] & reads.keys():
                other = made.of_table[source]
                inside = other.key == unit.key
                assert inside or other.key in made.upstream[unit.key]
                if inside:
                    assert unit.members.index(source) < unit.members.index(member)
    assert len({u.key for u in made.units}) == len(made.units)
    again = build_units(given, traits, groups)
    assert [u.key for u in again.units] == [u.key for u in made.units]
    for diamond in diamonds(given):
        if all(traits[m].atomic for m in diamond.members):
            assert len({made.of_table[m].key for m in diamond.members}) == 1


@pytest.mark.timed
def test_ten_thousand_tables_are_built_in_seconds() -> None:
    rng = random.Random(1)
    reads = {
        name(f"t{i}"): [name(f"t{rng.randrange(i)}") if i % 3 else name(f"s{i % 50}")]
        for i in range(10_000)
    }
    started = time.process_time()
    made = build_units(Graph.build(reads), {})
    assert len(made.of_table) == 10_000
    assert time.process_time() - started < 5
