"""A graph that was patched is the graph that a full build makes."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import pytest

from headwater.core.names import TableName
from headwater.graph.dependencies import Graph
from headwater.graph.patch import patched
from headwater.graph.units import UnitGraph, UnitTraits, build_units

Reads = dict[TableName, frozenset[TableName]]


def name(number: int) -> TableName:
    return TableName("default", f"t{number:05d}")


SOURCES = [TableName("default", f"s{i}") for i in range(4)]


class Definitions:
    """Stream tables that change at random."""

    def __init__(self, seed: int, count: int) -> None:
        self.rng = random.Random(seed)
        self.number = 0
        self.reads: Reads = {}
        self.traits: dict[TableName, UnitTraits] = {}
        for _ in range(count):
            self.define(self.fresh())
        members = self.rng.sample(sorted(self.reads), 3)
        self.groups = {"g": tuple(members), "gone": (name(90_000), members[0])}

    def fresh(self) -> TableName:
        self.number += 1
        return name(self.number)

    def define(self, table: TableName) -> None:
        """Mostly reads what is there already; now and then it closes a circle."""
        rng = self.rng
        near = rng.sample(sorted(self.reads), min(len(self.reads), 3))
        below = [t for t in near if t < table or rng.random() < 0.1]
        known = [*rng.sample(SOURCES, 2), *below, name(rng.randrange(self.number + 2))]
        self.reads[table] = frozenset(rng.sample(known, rng.choice([1, 1, 1, 2, 3])))
        self.traits[table] = UnitTraits(
            atomic=rng.random() < 0.7, immediate=rng.random() < 0.1, calculated=rng.random() < 0.7
        )

    def change(self) -> dict[TableName, frozenset[TableName] | None]:
        changed: dict[TableName, frozenset[TableName] | None] = {}
        for _ in range(self.rng.choice([1, 1, 2, 3])):
            known = sorted(self.reads)
            table = self.rng.choice([*known, self.fresh()])
            if table in self.reads and self.rng.random() < 0.4:
                del self.reads[table], self.traits[table]
                changed[table] = None
            else:
                self.define(table)
                changed[table] = self.reads[table]
        return changed


def check(graph: Graph, units: UnitGraph, definitions: Definitions) -> None:
    full = Graph.build(definitions.reads, circular=True)
    expected = build_units(full, definitions.traits, definitions.groups)
    assert graph.sources == full.sources
    assert graph.consumers == full.consumers
    assert set(graph.circles) == set(full.circles)
    assert sorted(graph.order) == sorted(full.order)
    place = {table: i for i, table in enumerate(graph.order)}
    for table in graph.order:
        upper = graph.sources[table] & graph.sources.keys() - graph.circle_of(table)
        assert all(place[u] < place[table] for u in upper)
    assert set(units.units) == set(expected.units)
    assert units.of_table == expected.of_table
    assert units.upstream == expected.upstream
    assert units.downstream == expected.downstream
    assert units.by_key == expected.by_key
    assert units.position == {unit.key: i for i, unit in enumerate(units.units)}
    for key, above in units.upstream.items():
        assert all(units.position[up] < units.position[key] for up in above)


@pytest.mark.parametrize("seed", range(12))
def test_patching_equals_building(seed: int) -> None:
    definitions = Definitions(seed, count=5 + 3 * seed)
    graph = Graph.build(definitions.reads, circular=True)
    units = build_units(graph, definitions.traits, definitions.groups)
    for _ in range(25):
        changed = definitions.change()
        graph, units = patched(graph, units, changed, definitions.traits, definitions.groups)
        check(graph, units, definitions)


def check_cost(reads: Reads, change: Callable[[int], dict[TableName, Any]]) -> None:
    """A patch takes less than a fifth of the time of a full build."""
    traits = dict.fromkeys(reads, UnitTraits())
    started = time.perf_counter()
    graph = Graph.build(reads, circular=True)
    units = build_units(graph, traits, {})
    full = time.perf_counter() - started
    times = []
    for number in range(5):
        started = time.perf_counter()
        patched(graph, units, change(number), traits, {})
        times.append(time.perf_counter() - started)
    assert median(times) * 5 < full, (times, full)


@pytest.mark.timed
def test_a_new_leaf_of_a_large_tree_is_much_cheaper_than_building_it() -> None:
    """All tables are connected, but nothing reads the changed ones."""
    rng = random.Random(7)
    reads = {name(0): frozenset({SOURCES[0]})}
    for i in range(1, 3_000):
        reads[name(i)] = frozenset({name(rng.randrange(i))})
    read = {source for sources in reads.values() for source in sources}
    leaves = [table for table in reads if table not in read]
    check_cost(
        reads,
        lambda i: {name(20_000 + i): frozenset({name(i)}), leaves[i]: None},
    )


@pytest.mark.timed
def test_a_patch_of_a_large_graph_is_much_cheaper_than_building_it() -> None:
    reads = {
        name(i): frozenset({SOURCES[i % 4], *([name(i - 1)] if i % 5 else [])})
        for i in range(10_000)
    }
    check_cost(
        reads,
        lambda i: {name(20_000 + i): frozenset({name(i), SOURCES[0]}), name(7): None},
    )
