"""Runs compiled programs on DuckDB and compares the stored rows with the query on the new tables.

Change windows are given as a source would give them: not netted, with pairs that cancel out.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import NamedTuple

import duckdb
import sqlglot
from duck import Row, bag, create, exact_bag, scratch, to_duckdb, translated
from generator.shapes import FUNCTION, FUNCTION_BODY
from sqlglot import exp

from headwater.core.names import TableName
from headwater.core.spec import ApplyKind
from headwater.delta.change import Change
from headwater.delta.compile import Program, compile_refresh
from headwater.delta.layout import Layout, layout
from headwater.sql.define import define
from headwater.sql.definition import Definition
from headwater.sql.inline import read_function
from headwater.sql.lookup import FunctionFact, SourceField

Rows = list[Row]
Schemas = Mapping[str, str]
_FOLDED = read_function(FUNCTION, f"(x INT) RETURNS INT RETURN {FUNCTION_BODY}")
_START, _STEP = datetime(2024, 1, 1, 3), timedelta(minutes=50)


def read_shapes() -> dict[str, str]:
    """The queries of `shapes.sql` by name."""
    return read_queries("shapes.sql")


def read_queries(file: str) -> dict[str, str]:
    """The queries of a file by name."""
    parts = (Path(__file__).parent / file).read_text().split("-- name: ")[1:]
    return {name.strip(): query.strip() for name, _, query in (p.partition("\n") for p in parts)}


class Tables:
    """A lookup over fixed schemas, given as `{"t": "k int, x bigint"}`."""

    def __init__(self, schemas: Schemas) -> None:
        self.schemas = {
            TableName.parse(name): tuple(SourceField(*column) for column in columns_of(text))
            for name, text in schemas.items()
        }

    def fields(self, table):
        return self.schemas.get(table)

    def view(self, name):
        return None

    def function(self, name):
        return FunctionFact(body=_FOLDED) if name == FUNCTION else None


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
def columns_of(schema: str) -> tuple[tuple[str, str], ...]:
    """Names and Spark types of a table."""
    pairs = (part.split(" ", 1) for part in split_columns(schema))
    return tuple((name, kind) for name, kind in pairs)


@cache
def prepared(
    query: str, schemas: tuple, unique_key: tuple[str, ...] = ()
) -> tuple[Definition, Layout]:
    definition = define(query, Tables(dict(schemas)))
    return definition, layout(definition, unique_key=unique_key)


@cache
def compiled(query: str, schemas: tuple, unique_key: tuple[str, ...], changes: tuple) -> Program:
    definition, plan = prepared(query, schemas, unique_key)
    return compile_refresh(definition, plan, dict(changes))


def forget() -> None:
    """Compile everything anew: the rules are other ones now."""
    for known in (prepared, compiled):
        known.cache_clear()


def window(
    old: Rows, new: Rows, rng: random.Random, *, noise: bool, passing: Rows | None = None
) -> tuple[Rows, Change | None]:
    """Weighted rows that lead from old to new, and what a source would call them.

    Noise are rows that were rewritten unchanged and rows that came and went again. `passing` are
    more of the latter, which no version holds. Without either, half of the windows are netted.
    """
    gone = [*(passing or ())]
    before, after = Counter(old), Counter(new)
    went, came = list((before - after).elements()), list((after - before).elements())
    if not (went or came or noise or gone):
        return [], None
    if not (went or noise or gone):
        return [(*r, 1) for r in came], Change.APPEND
    if not (noise or gone) and rng.random() < 0.5:
        moved = [(*r, n) for r, n in (after - before).items()]
        return moved + [(*r, -n) for r, n in (before - after).items()], Change.NETTED
    kept = list((before & after).elements())
    repeated = [r for r in kept if rng.random() < 0.5] if noise else []
    changes = [(*r, -1) for r in went + repeated] + [(*r, 1) for r in came + repeated]
    if noise and came:
        gone.append(rng.choice(came))
        one, other = rng.choice(came), rng.choice(old or came)
        cut = rng.randrange(len(one))
        gone.append((*one[:cut], *other[cut:]))
    changes += [(*row, weight) for row in gone for weight in (1, -1)]
    rng.shuffle(changes)
    return changes, Change.MIXED


class Frame(NamedTuple):
    """What one refresh may read: the names of tables at both versions, the changes, the clock."""

    new: dict[str, str]
    old: dict[str, str]
    delta: dict[str, str]
    changes: dict[TableName, Change]
    number: int = 0

    @property
    def now(self) -> str:
        """The clock of this frame."""
        return str(_START + self.number * _STEP)

    @property
    def before(self) -> str:
        """The clock of the frame before."""
        return str(_START + (self.number - 1) * _STEP)


class Sandbox:
    """Tables with versions: each step makes the next one, all stay readable."""

    made = 0

    def __init__(
        self, con: duckdb.DuckDBPyConnection, schemas: Schemas, rows: Mapping[str, Rows]
    ) -> None:
        Sandbox.made += 1
        self.con = con
        self.schemas = dict(schemas)
        self.rows = {name: list(rows[name]) for name in schemas}
        self._prefix = f"w{Sandbox.made}"
        self._tables: list[str] = []
        first = {name: self._put(name, 0) for name in schemas}
        self.frames = [Frame(first, first, {}, {})]

    def step(
        self,
        rows: Mapping[str, Rows],
        rng: random.Random,
        *,
        noise: bool,
        passing: Mapping[str, Rows] | None = None,
    ) -> None:
        """The next version of the tables; those not named stay as they are."""
        number, old = len(self.frames), self.frames[-1].new
        new, delta, changes = dict(old), {}, {}
        for name, after in rows.items():
            extra = (passing or {}).get(name)
            weighted, change = window(self.rows[name], after, rng, noise=noise, passing=extra)
            if change is None:
                continue
            changes[TableName.parse(name)] = change
            columns = (*columns_of(self.schemas[name]), ("__hw_w", "bigint"))
            delta[name] = self._made(f"{name}_delta_{number}", columns, weighted)
            self.rows[name] = list(after)
            new[name] = self._put(name, number)
        self.frames.append(Frame(new, old, delta, changes, number))

    def _put(self, name: str, number: int) -> str:
        return self._made(f"{name}_{number}", columns_of(self.schemas[name]), self.rows[name])

    def _made(self, name: str, columns: tuple[tuple[str, str], ...], rows: Rows) -> str:
        table = f"{self._prefix}_{name}"
        create(self.con, table, columns, rows)
        self._tables.append(table)
        return table

    def close(self) -> None:
        """Drop all tables, where no transaction does."""
        for table in self._tables:
            self.con.execute(f'DROP TABLE "{table}"')

    def answer(self, query: str, frame: Frame | None = None) -> Counter:
        """The query itself on the new tables of a frame, as DuckDB understands it."""
        text = question(query, tuple(self.schemas))
        frame = frame or self.frames[-1]
        for name, table in frame.new.items():
            text = text.replace(f'"__hw_table_{name}"', f'"{table}"')
        text = text.replace("'__hw_now'", f"'{frame.now}'")
        return bag(self.con.execute(text).fetchall())


@cache
def question(query: str, tables: tuple[str, ...]) -> str:
    """A query of Spark SQL for DuckDB, with a hole for each table it reads."""
    tree = sqlglot.parse_one(query, read="spark")
    ctes = {c.alias for c in tree.find_all(exp.CTE)}
    for table in list(tree.find_all(exp.Table)):
        if table.name in tables and table.name not in ctes:
            if not table.alias:
                table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name)))
            table.set("this", exp.to_identifier(f"__hw_table_{table.name}", quoted=True))
    for clock in list(tree.find_all(exp.CurrentTimestamp)):
        clock.replace(exp.cast(exp.Literal.string("__hw_now"), "timestamp"))
    return translated(tree)


class Maintained:
    """One stream table over a sandbox, refreshed by compiled programs."""

    made = 0

    def __init__(
        self,
        box: Sandbox,
        query: str,
        unique_key: tuple[str, ...] = (),
        frame: Frame | None = None,
    ) -> None:
        Maintained.made += 1
        self.box, self.query, self.unique_key = box, query, unique_key
        self._schemas = tuple(box.schemas.items())
        self.definition, self.layout = prepared(query, self._schemas, unique_key)
        self._target = f"target_{Maintained.made}"
        self._runs = 0
        self._frame = frame or box.frames[-1]
        box.con.execute(f'CREATE TABLE "{self._target}" AS {self._filled(self.layout.initial)}')
        self.stored = self._read()

    def refresh(self, frame: Frame | None = None) -> tuple[Program, int | None]:
        """Follow one step of the sandbox; the program and the rows it says it wrote."""
        self._runs += 1
        self._frame = frame or self.box.frames[-1]
        own = set(self.definition.sources)
        changes = tuple(sorted(item for item in self._frame.changes.items() if item[0] in own))
        program = compiled(self.query, self._schemas, self.unique_key, changes)
        reported = None
        if not program.incremental:
            self._recompute()
        elif program.apply is not ApplyKind.NONE:
            reported = self._apply(program)
        self.stored = self._read()
        return program, reported

    def _apply(self, program: Program) -> int:
        con = self.box.con
        for stage in program.stages:
            con.execute(f'CREATE TEMP TABLE "{stage.name}" AS {self._filled(stage.sql)}')
        reported = con.execute(self._filled(program.statement)).fetchone()[0]
        for stage in program.stages:
            con.execute(f'DROP TABLE "{stage.name}"')
        return reported

    def _recompute(self) -> None:
        self.box.con.execute(f'DELETE FROM "{self._target}"')
        self.box.con.execute(f'INSERT INTO "{self._target}" {self._filled(self.layout.initial)}')

    @property
    def rows(self) -> Counter:
        """What a reader sees."""
        width = len(self.layout.visible)
        return bag(row[:width] for row in self.stored.elements())

    def _read(self) -> Counter:
        """All that is stored, but for row ids; fails when that is not sound."""
        columns = self.layout.columns
        listed = ", ".join(f'"{n}"' for n in columns)
        found = self.box.con.execute(f'SELECT {listed} FROM "{self._target}"').fetchall()
        self._check_storage(list(exact_bag(found).elements()))
        content = [i for i, n in enumerate(columns) if n != "__hw_id"]
        return exact_bag(tuple(row[i] for i in content) for row in found)

    def _check_storage(self, found: Rows) -> None:
        plan, places = self.layout, {n: i for i, n in enumerate(self.layout.columns)}
        if plan.key:
            keys = {tuple(row[places[k]] for k in plan.key) for row in found}
            assert len(keys) == len(found), f"key {plan.key} is not unique in {found}"
        if "__hw_n" in plan.hidden and plan.key:
            counts = [row[places["__hw_n"]] for row in found]
            assert all(n is not None and n > 0 for n in counts), "a group without rows is stored"

    def _filled(self, template: str) -> str:
        text = to_duckdb(template).replace('"__hw_target"', f'"{self._target}"')
        for i, source in enumerate(self.definition.sources):
            for at in ("new", "old", "delta"):
                table = getattr(self._frame, at).get(source.name)
                text = text.replace(f'"__hw_src_{i}_{at}"', f'"{table}"')
        text = text.replace("'__hw_now'", f"'{self._frame.now}'")
        text = text.replace("'__hw_before'", f"'{self._frame.before}'")
        return text.replace("'__hw_run'", f"'run{self._runs}'")


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
    passing: dict[str, Rows] = field(default_factory=dict)

    def window(self, name: str) -> tuple[Rows, Change | None]:
        """Weighted rows that lead from old to new, not netted."""
        extra = self.passing.get(name)
        return window(self.old[name], self.new[name], self.random, noise=self.noise, passing=extra)


def run(query: str, world: World, *, unique_key: tuple[str, ...] = ()) -> Outcome:
    """Create the stream table at the old content, refresh it to the new one, read it."""
    with scratch() as con:
        box = Sandbox(con, world.schemas, world.old)
        box.step(world.new, world.random, noise=world.noise, passing=world.passing)
        return followed(query, box, unique_key)


def followed(query: str, box: Sandbox, unique_key: tuple[str, ...] = ()) -> Outcome:
    """A stream table made before the last step of the sandbox and refreshed after it."""
    table = Maintained(box, query, unique_key, box.frames[-2])
    before, stored_before = table.rows, table.stored
    program, reported = table.refresh()
    return Outcome(
        table.layout,
        program,
        table.rows,
        box.answer(query),
        before,
        table.stored,
        stored_before,
        reported,
    )


def check(query: str, world: World, **options: object) -> Outcome:
    """Run and compare as bags; also that only rows that differ were written."""
    return judged(run(query, world, **options))


def judged(outcome: Outcome) -> Outcome:
    """Fail unless the outcome is what the query says."""
    assert outcome.program.incremental, [n for n in outcome.program.strategy if n.reason]
    assert outcome.rows == outcome.expected, explain(outcome)
    check_churn(outcome.layout, outcome.stored_before, outcome.stored, outcome.reported)
    return outcome


def check_churn(plan: Layout, before: Counter, after: Counter, reported: int | None) -> None:
    """The statement wrote exactly the rows that differ; with a key, a row that changed is one."""
    if reported is None:
        return
    came, went = after - before, before - after
    differ = sum(came.values()) + sum(went.values())
    if not plan.bag:
        places = [plan.columns.index(k) for k in plan.key]
        differ = len({tuple(row[i] for i in places) for row in (*came, *went)})
    assert reported == differ, f"wrote {reported} rows, +{dict(came)} -{dict(went)} differ"


def explain(outcome: Outcome) -> str:
    stages = "\n".join(f"-- {s.name}\n{s.sql}" for s in outcome.program.stages)
    return (
        f"missing {outcome.expected - outcome.rows}\nunexpected {outcome.rows - outcome.expected}\n"
        f"before {outcome.before}\n{stages}\n-- statement\n{outcome.program.statement}"
    )
