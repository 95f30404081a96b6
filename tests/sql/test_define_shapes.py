"""The tree of each SQL construct."""

from __future__ import annotations

import pytest
from sql_harness import SCHEMAS, Tables, defined, shape

from headwater.sql.operators import (
    Aggregate,
    Apply,
    Generate,
    Join,
    JoinKind,
    Limit,
    Node,
    Recursive,
    Reference,
    Reshape,
    Scan,
    SubqueryKind,
    Union,
    Window,
)

SEMI_OF_JOIN = (
    "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u JOIN v ON u.k = v.k WHERE u.id = t.id)"
)


def find(text: str, kind: type[Node]) -> Node:
    return next(node for node in defined(text).tree.walk() if isinstance(node, kind))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT x FROM t", "Scan"),
        ("SELECT * FROM t", "Scan"),
        ("SELECT x FROM t ORDER BY id", "Scan"),
        ("SELECT x + 1 AS y FROM t", "Project(Scan)"),
        ("SELECT id FROM t WHERE id > 1", "Filter(Scan)"),
        ("SELECT id FROM t WHERE x > 1", "Project(Filter(Scan))"),
        ("SELECT t.id, k FROM t, u WHERE t.id = u.id", "Project(Join(Scan, Scan))"),
        ("SELECT COUNT(*) AS c FROM t", "Aggregate(Scan)"),
        ("SELECT g, SUM(x) AS s FROM t GROUP BY g", "Aggregate(Scan)"),
        ("SELECT g, SUM(x * 2) AS s FROM t GROUP BY g", "Aggregate(Project(Scan))"),
        ("SELECT SUM(x) AS s FROM t GROUP BY g", "Project(Aggregate(Scan))"),
        ("SELECT g, SUM(x) + 1 AS s FROM t GROUP BY g", "Project(Aggregate(Scan))"),
        ("SELECT g FROM t GROUP BY g HAVING SUM(x) > 1", "Project(Filter(Aggregate(Scan)))"),
        ("SELECT id, x, RANK() OVER (ORDER BY x) AS r FROM t", "Window(Scan)"),
        ("SELECT id FROM t QUALIFY RANK() OVER (ORDER BY id) = 1", "Project(Filter(Window(Scan)))"),
        ("SELECT DISTINCT x FROM t", "Distinct(Scan)"),
        ("SELECT id FROM t UNION SELECT id FROM u", "Distinct(Union(Scan, Scan))"),
        ("SELECT id FROM t EXCEPT SELECT id FROM u", "SetOperation(Scan, Scan)"),
        ("SELECT id FROM t WHERE id IN (SELECT id FROM u)", "Join(Scan, Scan)"),
        ("SELECT id FROM t ORDER BY id LIMIT 2", "Limit(Scan)"),
        ("SELECT id FROM t ORDER BY x LIMIT 2", "Project(Limit(Scan))"),
        ("SELECT * FROM (SELECT * FROM (SELECT id FROM t) a) b", "Scan"),
        ("SELECT 1 AS a", "Project(Values)"),
        (SEMI_OF_JOIN, "Join(Scan, Join(Scan, Scan))"),
    ],
)
def test_shape(text: str, expected: str) -> None:
    assert shape(defined(text).tree) == expected


def test_union_all_chains_are_one_union() -> None:
    union = find("SELECT id FROM t UNION ALL SELECT k FROM u UNION ALL SELECT k FROM v", Union)
    assert len(union.inputs) == 3


def test_every_reference_has_columns_of_its_own() -> None:
    tree = defined("WITH q AS (SELECT id FROM t) SELECT a.id FROM q a JOIN q b ON a.id = b.id").tree
    scans = [n.names for n in tree.walk() if isinstance(n, Scan)]
    assert scans == [("id",), ("id_1",)]


def test_not_in_keeps_unknowns() -> None:
    tree = defined("SELECT id FROM t WHERE x NOT IN (SELECT y FROM u)").tree
    joins = {n.kind: n for n in tree.walk() if isinstance(n, Join)}
    test, equal = joins[JoinKind.INNER].condition, joins[JoinKind.ANTI].condition
    assert test is not None
    assert equal is not None
    assert test.sql("spark") == "(`empty` OR (NOT `x` IS NULL AND NOT `unknown`))"
    assert equal.sql("spark") == "`x` = `y`"
    names = [n for node in tree.walk() if isinstance(node, Scan) for n in node.names]
    assert len(names) == len(set(names))


def test_not_in_of_two_keeps_unknowns() -> None:
    join = find("SELECT id FROM t WHERE (x, id) NOT IN (SELECT y, y FROM u)", Join)
    assert isinstance(join, Join)
    assert join.condition is not None
    assert join.condition.sql("spark").startswith("COALESCE(`x` = `y`")


def test_aggregate_over_all_rows_is_a_cross_join() -> None:
    query = "SELECT id, SUM(x) OVER () AS s, x + MAX(x) FILTER (WHERE id > 1) OVER () AS m FROM t"
    tree = defined(query).tree
    (join,) = (n for n in tree.walk() if isinstance(n, Join))
    assert (join.kind, join.condition) == (JoinKind.INNER, None)
    names = [n for node in tree.walk() if isinstance(node, Scan) for n in node.names]
    assert len(names) == len(set(names))


def test_correlated_not_in_joins_on_both() -> None:
    join = find("SELECT id FROM t WHERE x NOT IN (SELECT y FROM u WHERE u.id = t.id)", Join)
    assert isinstance(join, Join)
    assert join.condition is not None
    assert join.condition.sql("spark") == "`id_1` = `id` AND COALESCE(`x` = `y`, TRUE)"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("SELECT id FROM t WHERE g = 1 OR x IN (SELECT y FROM u)", SubqueryKind.IN),
        ("SELECT id FROM t WHERE g = 1 OR x NOT IN (SELECT y FROM u)", SubqueryKind.NOT_IN),
        ("SELECT id, x NOT IN (SELECT y FROM u) AS f FROM t", SubqueryKind.NOT_IN),
        ("SELECT id FROM t WHERE g = 1 OR EXISTS (SELECT 1 FROM u)", SubqueryKind.EXISTS),
        ("SELECT (SELECT MAX(y) FROM u WHERE u.id = t.id) AS m FROM t", SubqueryKind.SCALAR),
        ("SELECT id FROM t WHERE x > (SELECT AVG(y) FROM u)", SubqueryKind.SCALAR),
        ("SELECT id FROM t WHERE x IN (SELECT MAX(y) FROM u WHERE u.id = t.id)", SubqueryKind.IN),
    ],
)
def test_other_subqueries_are_applied(text: str, kind: SubqueryKind) -> None:
    apply = find(text, Apply)
    assert isinstance(apply, Apply)
    assert apply.kind is kind


def test_uncorrelated_exists_joins_on_true() -> None:
    join = find("SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u)", Join)
    assert isinstance(join, Join)
    assert join.condition is not None
    assert join.condition.sql() == "TRUE"
    assert join.right.columns == ()


def test_where_becomes_join_condition() -> None:
    join = find(
        "SELECT t.id FROM t, u WHERE (t.id = u.id AND t.x = 1) OR (t.id = u.id AND u.y = 2)", Join
    )
    assert isinstance(join, Join)
    assert join.condition is not None
    assert join.condition.sql("spark").startswith("`id` = `id_1` AND")


def test_grouping_sets_are_spelled_out() -> None:
    node = find("SELECT g, s, COUNT(*) AS n FROM t GROUP BY ROLLUP(g, s)", Aggregate)
    assert isinstance(node, Aggregate)
    assert node.keys == ("g", "s")
    assert node.sets == (("g", "s"), ("g",), ())
    assert node.grouping is not None


@pytest.mark.parametrize(
    ("clause", "sets"),
    [
        ("CUBE(g, s)", (("g", "s"), ("g",), ("s",), ())),
        ("g, s WITH ROLLUP", (("g", "s"), ("g",), ())),
        ("GROUPING SETS ((g), (g, s), ())", (("g",), ("g", "s"), ())),
        ("g, ROLLUP(s)", (("g", "s"), ("g",))),
        ("ROLLUP((g, s), x)", (("g", "s", "x"), ("g", "s"), ())),
    ],
)
def test_each_form_of_grouping_sets(clause: str, sets: tuple[tuple[str, ...], ...]) -> None:
    node = find(f"SELECT COUNT(*) AS n FROM t GROUP BY {clause}", Aggregate)
    assert isinstance(node, Aggregate)
    assert node.sets == sets


def test_filter_stays_in_the_aggregate() -> None:
    node = find("SELECT SUM(x) FILTER (WHERE s = 'a') AS f FROM t", Aggregate)
    assert isinstance(node, Aggregate)
    assert node.calls[0][1].sql("spark") == "SUM(`x`) FILTER(WHERE `s` = 'a')"


def test_equal_calls_are_made_once() -> None:
    node = find("SELECT SUM(x) AS a, SUM(x) + 1 AS b, sum(x) AS c FROM t", Aggregate)
    assert isinstance(node, Aggregate)
    assert len(node.calls) == 1


def test_window_inputs_are_columns() -> None:
    node = find("SELECT SUM(x + 1) OVER (PARTITION BY g + 1 ORDER BY id * 2) AS s FROM t", Window)
    assert isinstance(node, Window)
    text = node.calls[0][1].sql("spark")
    assert text == "SUM(`arg`) OVER (PARTITION BY `arg_1` ORDER BY `arg_2`)"


def test_limit_keeps_order_and_offset() -> None:
    node = find("SELECT id FROM t ORDER BY id DESC LIMIT 3 OFFSET 2", Limit)
    assert isinstance(node, Limit)
    assert [o.sql("spark") for o in node.order] == ["`id` DESC"]
    assert node.offset is not None
    assert node.offset.sql() == "2"


def test_generators() -> None:
    node = find("SELECT id, w FROM e LATERAL VIEW OUTER explode(a) q AS w", Generate)
    assert isinstance(node, Generate)
    assert node.outer
    assert [c.type for c in node.outputs] == ["int"]
    assert find("SELECT explode_outer(a) AS w FROM e", Generate).outer  # type: ignore[attr-defined]


def test_recursion_reads_its_working_table() -> None:
    text = (
        "WITH RECURSIVE r(n) AS (SELECT id FROM t UNION ALL SELECT k FROM r JOIN u ON u.id = r.n)"
        " SELECT n FROM r"
    )
    recursive, reference = find(text, Recursive), find(text, Reference)
    assert isinstance(recursive, Recursive)
    assert isinstance(reference, Reference)
    assert reference.name == recursive.name
    assert [source for source, _ in reference.fields] == [c.name for c in recursive.schema]


def test_pivot_keeps_its_groups() -> None:
    node = find("SELECT * FROM (SELECT g, s, x FROM t) PIVOT (SUM(x) FOR s IN ('a', 'b'))", Reshape)
    assert isinstance(node, Reshape)
    assert node.keys == ("g",)
    assert [name for name, _ in node.outputs] == ["a", "b"]


def test_unpivot_keeps_the_names_of_columns() -> None:
    text = "SELECT q.name FROM (SELECT t.id, u.id AS k FROM t, u) UNPIVOT (v FOR name IN (id, k)) q"
    node = find(text, Reshape)
    assert isinstance(node, Reshape)
    assert "`id_1` AS `k`" in node.clause.sql("spark")


def test_scans_list_used_columns_only() -> None:
    definition = defined("SELECT COUNT(*) AS c FROM t JOIN u ON t.id = u.id")
    scans = [
        [n for n, _ in node.fields] for node in definition.tree.walk() if isinstance(node, Scan)
    ]
    assert scans == [["id"], ["id"]]
    (scan,) = [n for n in defined("SELECT COUNT(*) AS c FROM t").tree.walk() if isinstance(n, Scan)]
    assert scan.fields == ()


def test_pruning_goes_through_views_and_unions() -> None:
    lookup = Tables(SCHEMAS, views={"w": "SELECT * FROM t UNION ALL SELECT * FROM t"})
    tree = defined("SELECT SUM(x) AS s FROM w", lookup).tree
    assert [n.names for n in tree.walk() if isinstance(n, Scan)] == [("x",), ("x_1",)]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("SELECT t.id, x AS y FROM t", ["id", "y"]),
        ("SELECT COUNT(*), SUM(x), x + 1 FROM t GROUP BY x", ["count(1)", "sum(x)", "(x + 1)"]),
        ("SELECT p.q, e.p.r FROM e", ["q", "r"]),
        ("SELECT CAST(x AS STRING), 'a.b' FROM t", ["x", "_c1"]),
        ("SELECT * FROM (SELECT id, y FROM u) a JOIN (SELECT x, id FROM t) b USING (id)", None),
    ],
)
def test_visible_names(text: str, names: list[str] | None) -> None:
    assert [name for name, _ in defined(text).output] == (names or ["id", "y", "x"])


def test_nodes_know_their_place() -> None:
    definition = defined("SELECT g, SUM(x) AS s\nFROM t\nGROUP BY g")
    assert definition.tree.place is not None
    assert definition.tree.place.line == 3
