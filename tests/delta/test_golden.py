"""Golden files: what is stored and run for each operator, alone and below each layout.

`make goldens` rewrites them. Each generated statement is also parsed again and filled.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
import sqlglot
from delta_harness import Tables, read_queries

from headwater.core.names import TableName
from headwater.delta.among import AMONG
from headwater.delta.change import Change
from headwater.delta.compile import Program, compile_refresh
from headwater.delta.layout import Layout, LayoutKind, layout
from headwater.refresh.among import with_values
from headwater.refresh.fill import Filling
from headwater.sql.define import define
from headwater.sql.definition import Definition
from headwater.sql.operators import Node

FOLDER = Path(__file__).parent / "golden"
HOLES = ("__hw_src_", "__hw_target", "__hw_run", "__hw_now", "__hw_before", AMONG.upper())
SCHEMAS = Tables(
    {
        "l": "id int, k int, x int",
        "r": "k int, y int",
        "a": "k int, xs array<int>",
        "e": "id int, ts timestamp",
    }
)
OPERATORS = read_queries("operators.sql")
# The operator below an operator that decides how rows are stored.
BELOW = {
    LayoutKind.STATE: "SELECT g, COUNT(*) AS n, SUM(v) AS s FROM ({}) q GROUP BY g",
    LayoutKind.KEYED: "SELECT g, COUNT(DISTINCT v) AS n FROM ({}) q GROUP BY g",
    LayoutKind.REPLACE: "SELECT g, v, COUNT(*) OVER (PARTITION BY g) AS n FROM ({}) q",
}
Changes = Mapping[TableName, Change]


class Plan(NamedTuple):
    """A query with what is stored for it and what its refreshes run."""

    definition: Definition
    stored: Layout
    programs: list[tuple[Changes, Program]]


@cache
def plans(query: str) -> list[Plan]:
    """The query by itself in all its windows, and below each layout."""
    definition = define(query, SCHEMAS)
    found = [planned(definition, layout(definition), list(windows(definition)))]
    if found[0].stored.bag:
        found.append(planned(definition, layout(definition, unique_key=("g",))))
    for kind, text in BELOW.items():
        above = define(text.format(query), SCHEMAS)
        assert layout(above).kind is kind
        found.append(planned(above, layout(above)))
    return found


def planned(definition: Definition, stored: Layout, changes: list[Changes] | None = None) -> Plan:
    all_changed = [dict.fromkeys(definition.sources, Change.MIXED)]
    wanted = changes if changes is not None else all_changed
    return Plan(definition, stored, [(c, compile_refresh(definition, stored, c)) for c in wanted])


def windows(definition: Definition) -> Iterator[Changes]:
    """What a refresh can be made for: all sources grow, all change, one of several changes."""
    for change in Change:
        yield dict.fromkeys(definition.sources, change)
    if len(definition.sources) > 1:
        for source in definition.sources:
            yield {source: Change.MIXED}
    if definition.uses_clock:
        yield {}


def told(definition: Definition, stored: Layout, programs: list) -> Iterator[str]:
    key = f", key {', '.join(stored.key)}" if stored.key else ""
    yield f"---- query\n{definition.text}"
    yield f"-- stored as {stored.kind.name.lower()}{key}\n{compact(stored.initial)}"
    for changed, program in programs:
        which = ", ".join(f"{t.name} {c.value}" for t, c in changed.items()) or "the clock"
        yield f"-- changed: {which}; apply: {program.apply.value}"
        yield from (f"-- {stage.name}\n{compact(stage.sql)}" for stage in program.stages)
        yield f"-- statement\n{compact(program.statement)}"


def compact(text: str) -> str:
    """Lists in one line: one line per clause can be read, one per column cannot."""
    text = re.sub(r",\n\s*", ", ", text)
    text = re.sub(r"(SELECT|WHERE|GROUP BY|ORDER BY|SET|AND|OR|NOT)\n\s*", r"\1 ", text)
    text = re.sub(r"\((IF|CASE)?\n\s*(?!\s*SELECT)", r"(\1 ", text)
    return re.sub(r"(?<=\S)\n\s*\)", " )", text)


@pytest.mark.parametrize("name", OPERATORS)
def test_golden(name: str) -> None:
    query = OPERATORS[name]
    text = "\n\n".join(part for plan in plans(query) for part in told(*plan)) + "\n"
    path = FOLDER / f"{name}.sql"
    if os.environ.get("HW_WRITE_GOLDENS"):
        FOLDER.mkdir(exist_ok=True)
        path.write_text(text)
    assert path.read_text() == text


@pytest.mark.parametrize("name", OPERATORS)
def test_golden_statements_parse_and_can_be_filled(name: str) -> None:
    for definition, stored, programs in plans(OPERATORS[name]):
        texts = [stored.initial]
        for _, program in programs:
            texts += [stage.sql for stage in program.stages]
            texts += [program.statement]
        for text in texts:
            assert len(sqlglot.parse(text, read="spark")) == 1
            filled = with_values(filling(definition).fill(text), lambda stage, key: [1, None])
            sqlglot.parse_one(filled, read="spark")
            for hole in (
                "__hw_src_",
                "__hw_target",
                "__hw_run",
                "__hw_now",
                "__hw_before",
                AMONG.upper(),
            ):
                assert hole not in filled


def filling(definition: Definition) -> Filling:
    names = definition.sources
    return Filling(
        sources=names,
        new={t: f"`hw`.`default`.`{t.name}` VERSION AS OF 2" for t in names},
        old={t: f"`hw`.`default`.`{t.name}` VERSION AS OF 1" for t in names},
        delta={t: f"(SELECT *, 1L AS __hw_w FROM `{t.name}_changes`)" for t in names},
        target="`hw`.`default`.`target`.`branch_x`",
        run_id="run7",
        now="2024-01-02 00:00:00",
        before="2024-01-01 00:00:00",
    )


def test_golden_files_cover_every_operator_and_layout() -> None:
    seen = [plan for query in OPERATORS.values() for plan in plans(query)]
    met = {type(node) for definition, _, _ in seen for node in definition.tree.walk()}
    assert met == set(Node.__subclasses__())
    assert {stored.kind for _, stored, _ in seen} == set(LayoutKind)
    assert {path.stem for path in FOLDER.glob("*.sql")} == set(OPERATORS)
