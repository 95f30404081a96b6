"""Shapes that need tables of their own: recursion, generators, reshaping, clocks, declared keys."""

from __future__ import annotations

import random

import duckdb
import pytest
from delta_harness import Tables, World, check, run, to_duckdb

from headwater.core.errors import InvalidOption
from headwater.core.names import TableName
from headwater.core.spec import ApplyKind
from headwater.delta.change import Change
from headwater.delta.compile import compile_refresh
from headwater.delta.layout import LayoutKind, layout
from headwater.sql.define import define

EDGES = {"root": "id int", "edge": "parent int, child int"}
PATHS = """WITH RECURSIVE p(n, d) AS (
  SELECT id, 0 FROM root UNION ALL
  SELECT e.child, p.d + 1 FROM p JOIN edge e ON e.parent = p.n)
SELECT n, d FROM p"""


def graph(rng: random.Random) -> dict:
    edges = [(a, b) for a in range(5) for b in range(a + 1, 6) if rng.random() < 0.35]
    return {"root": [(rng.randint(0, 2),) for _ in range(rng.randint(0, 2))], "edge": edges}


def test_recursion_over_changing_edges_and_roots() -> None:
    for seed in range(15):
        rng = random.Random(seed)
        check(PATHS, World(EDGES, graph(rng), graph(rng), random=rng))


def test_recursion_inside_an_aggregate() -> None:
    query = f"SELECT d, COUNT(*) AS c FROM ({PATHS}) q GROUP BY d"
    for seed in range(8):
        rng = random.Random(seed)
        check(query, World(EDGES, graph(rng), graph(rng), random=rng))


LISTS = {"t": "id int, a array<int>"}


def test_explode() -> None:
    query = "SELECT id, e FROM t LATERAL VIEW explode(a) x AS e"
    for seed in range(8):
        rng = random.Random(seed)
        old, new = (
            [(i % 3, tuple(rng.choices([1, 2], k=rng.randint(0, 3)))) for i in range(5)]
            for _ in range(2)
        )
        check(query, World(LISTS, {"t": old}, {"t": new}, random=rng))


CELLS = {"t": "y int, q string, x int"}
RESHAPED = {
    "pivot": "SELECT * FROM t PIVOT (SUM(x) FOR q IN ('a', 'b'))",
    "pivot_above": "SELECT y, a FROM t PIVOT (SUM(x) FOR q IN ('a', 'b')) WHERE b > 1",
}


@pytest.mark.parametrize("name", RESHAPED)
def test_reshape(name: str) -> None:
    for seed in range(8):
        rng = random.Random(seed)
        old, new = (
            [(rng.randint(1, 3), rng.choice("abc"), rng.randint(1, 4)) for _ in range(6)]
            for _ in range(2)
        )
        check(RESHAPED[name], World(CELLS, {"t": old}, {"t": new}, random=rng))


KEYED = {"t": "id int, x int"}


def test_declared_key_is_merged() -> None:
    world = World(
        KEYED,
        {"t": [(1, 1), (2, 2), (None, 3), (4, 4)]},
        {"t": [(1, 1), (2, 5), (None, 4), (6, 6)]},
    )
    outcome = check("SELECT id, x FROM t", world, unique_key=("id",))
    assert outcome.layout.kind is LayoutKind.UNIQUE
    assert outcome.layout.hidden == ()
    assert outcome.reported == 4


def test_declared_key_that_occurs_twice_is_refused() -> None:
    world = World(KEYED, {"t": [(1, 1)]}, {"t": [(1, 1), (2, 1), (2, 2)]})
    with pytest.raises(duckdb.Error, match="HW3003"):
        run("SELECT id, x FROM t", world, unique_key=("id",))


def test_declared_key_that_is_stored_already_is_refused() -> None:
    definition = define("SELECT id, x FROM t", Tables(KEYED))
    program = compile_refresh(
        definition,
        layout(definition, unique_key=("id",)),
        {TableName.parse("t"): Change.APPEND},
    )
    assert "HW3003" in program.statement.split("WHEN MATCHED", 1)[1]


def test_initial_load_checks_the_declared_key() -> None:
    world = World(KEYED, {"t": [(1, 1), (1, 2)]}, {"t": []})
    with pytest.raises(duckdb.Error, match="HW3003"):
        run("SELECT id, x FROM t", world, unique_key=("id",))


def refuses(query: str, world: World, key: str) -> bool:
    """Whether a key that occurs twice is told; DuckDB writes NULL where a MERGE is to fail."""
    try:
        outcome = run(query, world, unique_key=(key,))
    except duckdb.Error as error:
        return "HW3003" in str(error)
    told = "HW3003" in outcome.program.statement.split("WHEN MATCHED", 1)[1]
    return told and any(None in row for row in outcome.rows)


def test_declared_key_of_all_columns_is_checked_against_what_is_stored() -> None:
    again = World(KEYED, {"t": [(1, 1), (2, 1)]}, {"t": [(1, 1), (2, 1), (1, 2)]}, noise=False)
    assert refuses("SELECT id FROM t", again, "id")
    moved = World(KEYED, {"t": [(1, 1), (2, 1)]}, {"t": [(1, 2), (3, 1)]})
    assert check("SELECT id FROM t", moved, unique_key=("id",)).reported == 2


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id % 2 AS h, SUM(x) AS s FROM t GROUP BY id",
        "SELECT id % 2 AS h, COUNT(DISTINCT x) AS s FROM t GROUP BY id",
        "SELECT DISTINCT id % 2 AS h, x FROM t",
        "SELECT id % 2 AS h, x FROM t UNION SELECT 7, 7",
    ],
)
def test_declared_key_is_checked_whatever_shape_the_query_has(query: str) -> None:
    one, two = [(1, 1), (2, 2)], [(1, 1), (2, 2), (3, 3)]
    for old, new in (([], two), (one, two), (two, one)):
        assert refuses(query, World(KEYED, {"t": old}, {"t": new}, noise=False), "h"), (old, new)
    moved = World(KEYED, {"t": one}, {"t": [(3, 3), (2, 2), (2, 2)]})
    check(query, moved, unique_key=("h",))


def test_declared_key_that_holds_the_groups_needs_no_check() -> None:
    query = "SELECT id, x % 2 AS y, COUNT(*) AS n FROM t GROUP BY id, x % 2"
    definition = define(query, Tables(KEYED))
    assert layout(definition, unique_key=("n", "y", "id")).kind is LayoutKind.STATE
    assert layout(definition, unique_key=("id", "n")).kind is LayoutKind.UNIQUE


def test_declared_key_must_be_a_column() -> None:
    with pytest.raises(InvalidOption):
        layout(define("SELECT id FROM t", Tables(KEYED)), unique_key=("x",))


def test_declared_key_is_found_in_any_case() -> None:
    plan = layout(define("SELECT id, x FROM t", Tables(KEYED)), unique_key=("ID",))
    assert (plan.unique_key, plan.key) == (("id",), ("id",))


def test_unused_columns_and_unchanged_sources_cost_nothing() -> None:
    definition = define("SELECT id FROM t", Tables(KEYED))
    plan = layout(definition)
    assert compile_refresh(definition, plan, {}).apply is ApplyKind.NONE
    program = compile_refresh(definition, plan, {TableName.parse("t"): Change.MIXED})
    assert "`x`" not in program.statement + "".join(s.sql for s in program.stages)


def test_small_append_into_an_aggregate_is_one_statement() -> None:
    definition = define("SELECT id, COUNT(*) AS c, SUM(x) AS s FROM t GROUP BY id", Tables(KEYED))
    program = compile_refresh(definition, layout(definition), {TableName.parse("t"): Change.APPEND})
    assert program.stages == ()
    assert "_new`" not in program.statement
    assert "_old`" not in program.statement


@pytest.mark.parametrize(
    "rest",
    [
        "e WHERE ts > current_timestamp() - INTERVAL 1 DAY",
        "e WHERE NOT (ts <= current_timestamp() - INTERVAL 1 DAY)",
        "e WHERE ts > current_timestamp() - INTERVAL 1 DAY OR id > 5",
        "e GROUP BY id HAVING MAX(ts) > current_timestamp() - INTERVAL 1 DAY",
        "(SELECT id, ts, RANK() OVER (PARTITION BY id ORDER BY ts) AS r FROM e) AS q "
        "WHERE r = 1 AND ts > current_timestamp() - INTERVAL 1 DAY",
    ],
)
def test_clock_in_a_filter_moves_rows_nobody_touched(rest: str) -> None:
    schema = {"e": "id int, ts timestamp"}
    query = f"SELECT id FROM {rest}"
    definition = define(query, Tables(schema))
    plan = layout(definition)
    program = compile_refresh(definition, plan, {})
    assert program.incremental, program.strategy
    con = duckdb.connect()
    con.execute("CREATE MACRO array_repeat(v, n) AS list_transform(range(n), lambda x: v)")
    con.execute("CREATE TABLE e (id int, ts timestamp)")
    con.execute("INSERT INTO e VALUES (1, '2024-01-01 12:00:00'), (2, '2024-01-02 06:00:00')")
    con.execute('CREATE VIEW "__hw_src_0_new" AS FROM e')
    con.execute('CREATE VIEW "__hw_src_0_old" AS FROM e')

    def timed(text: str, now: str) -> str:
        filled = text.replace("__hw_now", now).replace("__hw_before", "2024-01-02 09:00:00")
        return to_duckdb(filled.replace("__hw_run", now))

    con.execute(f'CREATE TABLE "__hw_target" AS {timed(plan.initial, "2024-01-02 09:00:00")}')
    assert sorted(con.execute('SELECT id FROM "__hw_target"').fetchall()) == [(1,), (2,)]
    for stage in program.stages:
        con.execute(f'CREATE TABLE "{stage.name}" AS {timed(stage.sql, "2024-01-02 13:00:00")}')
    con.execute(timed(program.statement, "2024-01-02 13:00:00"))
    assert con.execute('SELECT id FROM "__hw_target"').fetchall() == [(2,)]
