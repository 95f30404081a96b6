"""The dependency graph."""

from __future__ import annotations

import random
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.errors import DependencyCycle
from headwater.core.names import TableName
from headwater.graph.dependencies import Graph


def named(*texts: str) -> list[TableName]:
    return [TableName.parse(text) for text in texts]


def build(**reads: str) -> Graph:
    return Graph.build({TableName.parse(k): named(*v.split()) for k, v in reads.items()})


def words(names: object) -> str:
    return " ".join(name.name for name in names)  # type: ignore[attr-defined]


DIAMOND = build(left="base", right="base", top="left right", lone="other", over="top lone")


def test_upstream_comes_first_and_ties_go_by_name() -> None:
    assert words(DIAMOND.order) == "left lone right top over"


def test_closures() -> None:
    assert DIAMOND.upstream(named("top")) == set(named("left", "right"))
    assert DIAMOND.upstream(named("over")) == set(named("top", "lone", "left", "right"))
    assert DIAMOND.downstream(named("left")) == set(named("top", "over"))
    assert DIAMOND.downstream(named("base")) == set(named("left", "right", "top", "over"))
    assert DIAMOND.upstream(named("left")) == set()
    assert DIAMOND.base_tables == set(named("base", "other"))
    assert DIAMOND.base_of(named("top")[0]) == set(named("base"))
    assert DIAMOND.base_of(named("over")[0]) == set(named("base", "other"))


def test_levels() -> None:
    assert [words(level) for level in DIAMOND.levels()] == ["left lone right", "top", "over"]
    assert Graph.build({}).levels() == ()


def test_a_cycle_is_named_in_the_direction_of_reading() -> None:
    with pytest.raises(DependencyCycle) as refused:
        build(a="b", b="c", c="a x", d="a")
    text = refused.value.what
    circles = [" reads ".join(f"default.{n}" for n in c) for c in ("abca", "bcab", "cabc")]
    assert any(text.endswith(circle) for circle in circles), text


def test_a_table_that_reads_itself_is_a_cycle() -> None:
    with pytest.raises(DependencyCycle, match=r"default\.a reads default\.a"):
        build(a="a")


def test_a_cycle_is_told_before_it_exists() -> None:
    with pytest.raises(DependencyCycle):
        DIAMOND.with_table(named("left")[0], named("over"))
    assert words(DIAMOND.with_table(named("new")[0], named("top")).order) == (
        "left lone right top new over"
    )
    assert named("new")[0] not in DIAMOND.sources


tables = [TableName("default", f"t{n:02}") for n in range(12)]
acyclic = st.builds(
    lambda arrows: {
        table: [tables[i] for i in range(n) if (n, i) in arrows] for n, table in enumerate(tables)
    },
    st.sets(st.tuples(st.integers(0, 11), st.integers(0, 11))),
)


@given(acyclic, st.randoms())
def test_order_respects_every_arrow_and_not_the_input_order(
    reads: dict[TableName, list[TableName]], shuffle: random.Random
) -> None:
    graph = Graph.build(reads)
    place = {name: i for i, name in enumerate(graph.order)}
    assert len(place) == len(reads)
    assert all(place[s] < place[name] for name, read in reads.items() for s in read)
    items = list(reads.items())
    shuffle.shuffle(items)
    assert Graph.build(dict(items)).order == graph.order


@given(acyclic)
def test_upstream_and_downstream_mirror_each_other(
    reads: dict[TableName, list[TableName]],
) -> None:
    graph = Graph.build(reads)
    for name in reads:
        for other in graph.upstream([name]):
            assert name in graph.downstream([other])


@given(st.dictionaries(st.sampled_from(tables), st.lists(st.sampled_from(tables), max_size=3)))
def test_any_graph_is_ordered_or_its_cycle_is_real(
    reads: dict[TableName, list[TableName]],
) -> None:
    try:
        Graph.build(reads)
    except DependencyCycle as refused:
        circle = named(*refused.what.split("circle: ")[1].split(" reads "))
        assert circle[0] == circle[-1]
        for reader, read in pairwise(circle):
            assert read in reads[reader]


@pytest.mark.timed
def test_ten_thousand_tables_are_ordered_quickly() -> None:
    many = [TableName("default", f"t{n:05}") for n in range(10_000)]
    reads = {name: many[max(0, i - 3) : i] for i, name in enumerate(many)}
    started = time.perf_counter()
    graph = Graph.build(reads)
    assert graph.order == tuple(many)
    assert time.perf_counter() - started < 5
