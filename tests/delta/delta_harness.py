"""Runs compiled programs on DuckDB and compares the stored rows with the query on the new tables.

Change windows are given as a source would give them: not netted, with pairs that cancel out.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import duckdb
import sqlglot
from sqlglot import exp

from headwater.core.names import TableName
from headwater.core.spec import ApplyKind
from headwater.delta.change import Change
from headwater.delta.compile import Program, compile_refresh
from headwater.delta.layout import Layout, layout
from headwater.sql.define import define
from headwater.sql.lookup import SourceField

Rows = list[tuple]


def read_shapes() -> dict[str, str]:
    """The queries of `shapes.sql` by name."""
    parts = (Path(__file__).parent / "shapes.sql").read_text().split("-- name: ")[1:]
    return {name.strip(): query.strip() for name, _, query in (p.partition("\n") for p in parts)}


class Tables:
    """A lookup over fixed schemas, given as `{"t": "k int, x bigint"}`."""

    def __init__(self, schemas: dict[str, str]) -> None:
        self.schemas = {
            TableName.parse(name): tuple(
                SourceField(*part.split(" ", 1)) for part in split_columns(text)
            )
            for name, text in schemas.items()
        }

    def fields(self, table):
        return self.schemas.get(table)

    def view(self, name):
        return None

    def function(self, name):
        return None


def split_columns(text: str) -> list[str]:
    """Column declarations: commas inside a type do not separate."""
    parts, depth, current = [], 0, ""
    for char in text:
        depth += (char in "<(") - (char in ">)")
        if char == "," and depth == 0:
            parts.append(current)
            current = ""
        else:
            current += char
    return [part.strip() for part in (*parts, current)]


@cache
def to_duckdb(text: str) -> str:
    """Spark SQL as DuckDB runs it; functions it lacks are mapped to ones with the same meaning."""
    tree = sqlglot.parse_one(text, read="spark")
    if isinstance(tree, exp.Merge):
        tree.set("using", tree.args["using"].transform(_mapped))
        tree.set("whens", tree.args["whens"].transform(_mapped, in_action=True))
        return tree.sql("duckdb")
    return tree.transform(_mapped).sql("duckdb")


def _mapped(node: exp.Expr, in_action: bool = False) -> exp.Expr:
    name = node.name.lower() if isinstance(node, exp.Anonymous) else ""
    if name == "raise_error":
        # DuckDB evaluates all actions of a MERGE for all rows: the storage check finds the NULL.
        return (
            exp.null() if in_action else exp.Anonymous(this="error", expressions=node.expressions)
        )
    if name == "xxhash64":
        row = exp.Anonymous(this="row", expressions=node.expressions)
        return exp.Anonymous(this="hash", expressions=[row])
    if name == "monotonically_increasing_id":
        return exp.Window(this=exp.RowNumber())
    return node


@cache
def prepared(query: str, schemas: tuple, unique_key: tuple[str, ...]):
    definition = define(query, Tables(dict(schemas)))
    return definition, layout(definition, unique_key=unique_key)


@cache
def compiled(query: str, schemas: tuple, unique_key: tuple[str, ...], changes: tuple) -> Program:
    definition, plan = prepared(query, schemas, unique_key)
    return compile_refresh(definition, plan, dict(changes))


@dataclass
class Outcome:
    layout: Layout
    program: Program
    rows: Counter
    expected: Counter
    before: Counter
    stored: Counter
    stored_before: Counter
    reported: int | None = None


@dataclass
class World:
    """Old and new content of some tables."""

    schemas: dict[str, str]
    old: dict[str, Rows]
    new: dict[str, Rows]
    noise: bool = True
    random: random.Random = field(default_factory=lambda: random.Random(7))

    def window(self, name: str) -> tuple[list[tuple], Change | None]:
        """Weighted rows that lead from old to new, not netted."""
        old, new = Counter(self.old[name]), Counter(self.new[name])
        went, came = list((old - new).elements()), list((new - old).elements())
        if not went and not came and not self.noise:
            return [], None
        if not went and not self.noise:
            return [(*r, 1) for r in came], Change.APPEND
        kept = list((old & new).elements())
        repeated = [r for r in kept if self.random.random() < 0.5] if self.noise else []
        changes = [(*r, -1) for r in went + repeated] + [(*r, 1) for r in came + repeated]
        if self.noise and came:
            passing = self.random.choice(came)
            changes += [(*passing, 1), (*passing, -1)]
        self.random.shuffle(changes)
        return changes, Change.MIXED


def run(
    query: str, world: World, *, unique_key: tuple[str, ...] = (), compare: str | None = None
) -> Outcome:
    """Create the stream table at the old content, refresh it to the new one, read it."""
    schemas = tuple(world.schemas.items())
    definition, plan = prepared(query, schemas, unique_key)
    con = duckdb.connect()
    con.execute("SET default_null_order = 'nulls_first'")
    con.execute("CREATE MACRO array_repeat(v, n) AS list_transform(range(n), lambda x: v)")
    changes: dict[TableName, Change] = {}
    for name, schema in world.schemas.items():
        types = [part.split(" ", 1) for part in split_columns(schema)]
        columns = ", ".join(f'"{n}" {_duck_type(t)}' for n, t in types)
        for at, rows in (("old", world.old[name]), ("new", world.new[name])):
            _create(con, f"{name}_{at}", columns, rows)
        weighted, change = world.window(name)
        _create(con, f"{name}_delta", f'{columns}, "__hw_w" bigint', weighted)
        if change is not None and TableName.parse(name) in definition.sources:
            changes[TableName.parse(name)] = change
    _holes(con, definition.sources, new="old")
    con.execute(f'CREATE TABLE "__hw_target" AS {_filled(plan.initial, "run0")}')
    before, stored_before = _read(con, plan.visible), _read(con, _content(plan))
    _holes(con, definition.sources, new="new")
    program = compiled(query, schemas, unique_key, tuple(sorted(changes.items())))
    for stage in program.stages:
        con.execute(f'CREATE TEMP TABLE "{stage.name}" AS {_filled(stage.sql, "run1")}')
    reported = None
    if program.apply is not ApplyKind.NONE and program.incremental:
        reported = con.execute(_filled(program.statement, "run1")).fetchone()[0]
    expected = _expected(con, compare or query, world)
    _check_storage(con, plan)
    rows, stored = _read(con, plan.visible), _read(con, _content(plan))
    return Outcome(plan, program, rows, expected, before, stored, stored_before, reported)


def check(query: str, world: World, **options: object) -> Outcome:
    """Run and compare as bags; also that only rows that differ were written."""
    outcome = run(query, world, **options)
    assert outcome.program.incremental, [n for n in outcome.program.strategy if n.reason]
    assert outcome.rows == outcome.expected, explain(outcome)
    if outcome.reported is not None:
        came = sum((outcome.stored - outcome.stored_before).values())
        went = sum((outcome.stored_before - outcome.stored).values())
        rewritten = came + went if outcome.layout.bag else max(came, went)
        assert rewritten <= outcome.reported <= came + went, (outcome.reported, came, went)
    return outcome


def explain(outcome: Outcome) -> str:
    stages = "\n".join(f"-- {s.name}\n{s.sql}" for s in outcome.program.stages)
    return (
        f"missing {outcome.expected - outcome.rows}\nunexpected {outcome.rows - outcome.expected}\n"
        f"before {outcome.before}\n{stages}\n-- statement\n{outcome.program.statement}"
    )


def _duck_type(text: str) -> str:
    return exp.DataType.build(text, dialect="spark").sql("duckdb")


def _create(con, name: str, columns: str, rows: Rows) -> None:
    con.execute(f'CREATE TABLE "{name}" ({columns})')
    if rows:
        listed = ", ".join(f"({', '.join(map(_literal, row))})" for row in rows)
        con.execute(f'INSERT INTO "{name}" VALUES {listed}')


def _literal(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, float):
        return f"'{value}'::double"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_literal, value))}]"
    return f"'{value}'" if isinstance(value, str) else str(value)


def _holes(con, sources, *, new: str) -> None:
    for i, source in enumerate(sources):
        for hole, table in (("new", new), ("old", "old"), ("delta", "delta")):
            con.execute(
                f'CREATE OR REPLACE VIEW "__hw_src_{i}_{hole}" AS FROM {source.name}_{table}'
            )


def _filled(template: str, run_id: str) -> str:
    return to_duckdb(template.replace("'__hw_run'", f"'{run_id}'"))


def _content(plan: Layout) -> tuple[str, ...]:
    return tuple(n for n in plan.columns if n != "__hw_id")


def _read(con, names: tuple[str, ...]) -> Counter:
    listed = ", ".join(f'"{n}"' for n in names)
    return Counter(map(_plain, con.execute(f'SELECT {listed} FROM "__hw_target"').fetchall()))


def _plain(row: tuple) -> tuple:
    return tuple(tuple(v) if isinstance(v, list) else "NaN" if v != v else v for v in row)


def _expected(con, query: str, world: World) -> Counter:
    tree = sqlglot.parse_one(query, read="spark")
    ctes = {c.alias for c in tree.find_all(exp.CTE)}
    for table in list(tree.find_all(exp.Table)):
        if table.name in world.schemas and table.name not in ctes:
            if not table.alias:
                table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name)))
            table.set("this", exp.to_identifier(f"{table.name}_new"))
    return Counter(map(_plain, con.execute(tree.transform(_mapped).sql("duckdb")).fetchall()))


def _check_storage(con, plan: Layout) -> None:
    if plan.key:
        key = ", ".join(f'"{n}"' for n in plan.key)
        twice = f'SELECT 1 FROM "__hw_target" GROUP BY {key} HAVING count(*) > 1'
        assert not con.execute(twice).fetchall(), f"key {key} is not unique"
    if "__hw_n" in plan.hidden and plan.key:
        bad = 'SELECT 1 FROM "__hw_target" WHERE "__hw_n" <= 0 OR "__hw_n" IS NULL'
        assert not con.execute(bad).fetchall()
