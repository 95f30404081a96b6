"""A query keeps its meaning on the way through the tree: what is written back is what was read."""

from __future__ import annotations

import pytest
from sql_harness import LOOKUP, ROWS, SCHEMAS, Duck, Tables, assert_round_trip

from headwater.core.errors import HeadwaterError, InvalidQuery
from headwater.sql.define import define
from headwater.sql.operators import Project
from headwater.sql.render import to_sql

NAMES = Tables({"n": "id int, ü int, 1st int, a.b int, q'q int", "w": "id int, j string"})


@pytest.fixture(scope="module")
def duck() -> Duck:
    return Duck(SCHEMAS, ROWS)


def written(text: str, lookup: Tables = LOOKUP) -> str:
    """The SQL of a query, with S for its first table."""
    definition = define(text, lookup)
    items = tuple((column, column.ref) for _, column in definition.output)
    sql = to_sql(Project(definition.tree, items), sources=definition.sources)
    return sql.replace("`__hw_src_0_new`", "S")


def codes(text: str) -> set[str]:
    return {fact.reason_code for fact in define(text, LOOKUP).facts}


@pytest.mark.parametrize(
    "text",
    [
        "SELECT id, transform(l, x -> x + y) r FROM (SELECT id, array(1, 2) l, x AS y FROM t)",
        "WITH c AS (SELECT id, x AS y FROM t) SELECT transform(array(1), x -> x + y) r FROM c",
        "SELECT x AS v, transform(array(1), x -> x + v) r FROM t",
        "SELECT transform(array(1), id -> id + c.id) r FROM t AS c",
        "SELECT transform(array(1), id_1 -> id_1 + b.id) r FROM t a JOIN t b ON a.id = b.id",
        "SELECT transform(array(1), e -> E + x) r FROM t",
        "SELECT transform(array(array(1)), e -> transform(e, f -> f + x)) r FROM t",
    ],
)
def test_no_lambda_takes_a_column_for_its_variable(text: str, duck: Duck) -> None:
    assert_round_trip(duck, text)
    assert "__hw_x0 -> " in written(text)


def test_a_field_keeps_the_name_of_a_variable() -> None:
    text = "SELECT transform(array(1), x -> struct(x, X + id, id)) r FROM t"
    made = "STRUCT(__hw_x0 AS x, __hw_x0 + `id` AS col2, `id` AS id)"
    assert made in written(text)


def test_equal_lambdas_are_one_key() -> None:
    text = (
        "SELECT transform(array(x), a -> a + 1) r, count(*) n FROM t "
        "GROUP BY transform(array(x), b -> b + 1)"
    )
    assert written(text).count("TRANSFORM") == 1


@pytest.mark.parametrize(
    ("text", "sets"),
    [
        ("GROUP BY g, s GROUPING SETS ((g, s), g)", "((`g`, `s`), (`g`))"),
        ("GROUP BY g, GROUPING SETS ((s), ())", "((`g`, `s`), (`g`))"),
        ("GROUP BY GROUPING SETS ((g, s), ())", "((`g`, `s`), ())"),
        ("GROUP BY g, s WITH ROLLUP", "((`g`, `s`), (`g`), ())"),
    ],
)
def test_grouping_sets_stand_for_what_spark_says(text: str, sets: str) -> None:
    assert f"GROUPING SETS {sets}" in written(f"SELECT g, s, count(*) n FROM t {text}")


def test_a_key_in_no_grouping_set_is_refused() -> None:
    with pytest.raises(InvalidQuery, match="in none of its grouping sets"):
        define("SELECT g, s, count(*) n FROM t GROUP BY g, s GROUPING SETS (g)", LOOKUP)


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("greatest(*)", "GREATEST(`k`, `z`)"),
        ("coalesce(*)", "COALESCE(`k`, `z`)"),
        ("hash(1, v.*)", "HASH(1, `k`, `z`)"),
        ("count(DISTINCT *)", "COUNT(DISTINCT `k`, `z`)"),
        ("count(*)", "COUNT(*)"),
        ("to_json(struct(*))", "TO_JSON(STRUCT(`k` AS `k`, `z` AS `z`))"),
        ("struct(v.*, z + 1)", "STRUCT(`k` AS `k`, `z` AS `z`, `z` + 1 AS col2)"),
        ("1 IN (*)", "1 IN (`k`, `z`)"),
    ],
)
def test_a_star_in_a_call_is_its_columns(text: str, made: str) -> None:
    assert f"SELECT {made} AS" in written(f"SELECT {text} AS r FROM v")


def test_fields_are_called_as_the_query_calls_its_columns() -> None:
    swapped = "FROM (SELECT z AS k, k AS z FROM v)"
    assert "STRUCT(`z` AS `k`, `k` AS `z`)" in written(f"SELECT struct(*) r {swapped}")
    zipped = written("SELECT arrays_zip(p, q) r FROM (SELECT a AS p, id, a AS q FROM e)")
    assert "STRUCT(__hw_x0.`0` AS `p`, __hw_x0.`1` AS `q`)" in zipped
    assert "ARRAYS_ZIP(COALESCE(`a`), COALESCE(`a`))" in zipped


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("SELECT * REPLACE (1 AS id) FROM t", "REPLACE is not Spark"),
        ("SELECT count(t.*) FROM t", "count"),
        ("SELECT sum(x) OVER (w ORDER BY id) FROM t WINDOW w AS (PARTITION BY g)", "adds to 'w'"),
        (
            "SELECT sum(x) OVER v FROM t WINDOW w AS (PARTITION BY g), v AS (w ORDER BY id)",
            "adds to 'w'",
        ),
        ("SELECT upper(*) FROM t", "stands for 5 columns"),
        ("SELECT regexp_replace(s, 'a', 'b'), map(1) FROM t", "too few arguments"),
    ],
)
def test_what_spark_cannot_read_is_refused(text: str, what: str) -> None:
    with pytest.raises(HeadwaterError, match=what):
        define(text, LOOKUP)


def test_a_window_may_repeat_another() -> None:
    text = "SELECT sum(x) OVER v AS r FROM t WINDOW w AS (PARTITION BY g), v AS (w)"
    assert "OVER (PARTITION BY `g`)" in written(text)


@pytest.mark.parametrize("path", ["$.*.b", "$[1:2]", "$..a", "$.a[*].b", "x"])
def test_a_path_in_json_stays_as_it_is(path: str) -> None:
    made = written(f"SELECT get_json_object(j, '{path}') r FROM w", NAMES)
    assert f"GET_JSON_OBJECT(`j`, '{path}')" in made


def test_columns_keep_their_names() -> None:
    definition = define("SELECT `ü`, `1st`, (`a.b`), `q'q` FROM n", NAMES)
    assert [name for name, _ in definition.output] == ["ü", "1st", "a.b", "q'q"]


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("s LIKE ANY ('a%', 'b%')", "`s` LIKE ANY ('a%', 'b%')"),
        ("s ILIKE ALL ('a%', 'b%')", "`s` ILIKE ALL ('a%', 'b%')"),
        ("s NOT LIKE ANY ('a%', s)", "`s` NOT LIKE ANY ('a%', `s`)"),
        ("rlike(s, 'a') = true", "RLIKE(`s`, 'a') = TRUE"),
        ("true = like(s, 'a')", "TRUE = LIKE(`s`, 'a')"),
    ],
)
def test_patterns(text: str, made: str) -> None:
    assert made in written(f"SELECT id FROM t WHERE {text}")


def test_order_by_all_orders_by_every_column() -> None:
    assert "ORDER BY `g` DESC, `x` DESC LIMIT 3" in written(
        "SELECT g, x FROM t ORDER BY ALL DESC LIMIT 3"
    )


def test_sort_by_is_no_order_for_a_limit() -> None:
    assert "ORDER BY" not in written("SELECT g, x FROM t SORT BY g LIMIT 3")
    assert "LIMIT_NO_ORDER" in codes("SELECT g, x FROM t SORT BY g LIMIT 3")


@pytest.mark.parametrize(
    "call",
    [
        *("ARRAY_SUM(s)", "TRUNCATE(s)", "TRY(s)", "QUANTILE(s, 1)", "TO_ARRAY(s)", "FORMAT(s, 1)"),
        *("UNICODE(s)", "NORMALIZE(s)", "CONVERT(s, 1)", "JSON_EXTRACT(s, 'a')", "STRPOS(s, 'a')"),
        *("SAFE_DIVIDE(1, 2)", "GENERATE_SERIES(1, 2)", "TO_HEX(s)", "BOOLAND(TRUE, s)"),
        *("MAX_BY(s, s, 3)", "NAMED_STRUCT(LOWER('A'), 1)", "LEVENSHTEIN(s, 'a', 2)", "SPACE(3)"),
        *("TIME_TRUNC('HOUR', s)", "LIKE(s, 'a', '/')"),
    ],
)
def test_a_call_is_written_back_as_it_is(call: str) -> None:
    """Also one that another dialect gives a meaning: here it is a function of the user."""
    assert call.replace("(s", "(`s`").replace(" s,", " `s`,").replace(" s)", " `s`)") in written(
        f"SELECT {call} AS r FROM t"
    )


@pytest.mark.parametrize(
    ("piped", "nested"),
    [
        (
            "FROM t |> ORDER BY x, id |> LIMIT 3 |> WHERE g = 1",
            "SELECT * FROM (SELECT * FROM t ORDER BY x, id LIMIT 3) WHERE g = 1",
        ),
        (
            "FROM t |> ORDER BY x, id |> WHERE g = 1 |> LIMIT 3",
            "SELECT * FROM t WHERE g = 1 ORDER BY x, id LIMIT 3",
        ),
        ("FROM t |> LIMIT 3 |> LIMIT 5", "SELECT * FROM (SELECT * FROM t LIMIT 3) LIMIT 5"),
        (
            "SELECT g FROM t ORDER BY g |> LIMIT 3 |> WHERE g = 1",
            "SELECT * FROM (SELECT g FROM t ORDER BY g LIMIT 3) WHERE g = 1",
        ),
        (
            "FROM t |> SELECT DISTINCT g |> AGGREGATE count(*) AS n",
            "SELECT count(*) AS n FROM (SELECT DISTINCT g FROM t)",
        ),
        (
            "FROM t |> WHERE g = 1 |> FULL JOIN v ON t.g = v.k |> SELECT z",
            "SELECT z FROM (SELECT * FROM t WHERE g = 1) t FULL JOIN v ON t.g = v.k",
        ),
        (
            "FROM t |> AS a |> JOIN u ON a.id = u.id |> WHERE u.k > 1 |> SELECT a.id, u.y",
            "SELECT a.id, u.y FROM t a JOIN u ON a.id = u.id WHERE u.k > 1",
        ),
        (
            "FROM t |> AGGREGATE sum(x) AS n GROUP BY g |> WHERE n > 3 |> EXTEND n + 1 AS m",
            "SELECT *, n + 1 AS m FROM (SELECT g, sum(x) AS n FROM t GROUP BY g) WHERE n > 3",
        ),
        (
            "FROM t |> WHERE g = 1 |> SET x = x + id, id = x * 2 |> DROP g, s",
            "SELECT x * 2 AS id, x, d FROM (SELECT x + id AS x, d FROM t WHERE g = 1)",
        ),
        (
            "FROM t |> SELECT id |> UNION ALL (SELECT id FROM u) |> WHERE id > 1",
            "SELECT * FROM (SELECT id FROM t UNION ALL SELECT id FROM u) WHERE id > 1",
        ),
    ],
)
def test_a_pipe_operator_reads_what_the_one_before_it_gives(piped: str, nested: str) -> None:
    assert written(piped) == written(nested)


@pytest.mark.parametrize(
    ("negated", "parts"),
    [
        ("NOT (g IN (SELECT k FROM v) AND x = 1)", "g NOT IN (SELECT k FROM v) OR NOT (x = 1)"),
        (
            "NOT (x = 1 OR NOT (id = 2 AND g IN (SELECT k FROM v)))",
            "NOT (x = 1) AND (id = 2 AND g IN (SELECT k FROM v))",
        ),
        ("NOT (NOT (g IN (SELECT k FROM v)))", "g IN (SELECT k FROM v)"),
        ("(g IN (SELECT k FROM v)) = FALSE", "g NOT IN (SELECT k FROM v)"),
        ("TRUE <> (g IN (SELECT k FROM v))", "g NOT IN (SELECT k FROM v)"),
        ("(g NOT IN (SELECT k FROM v)) = FALSE", "g IN (SELECT k FROM v)"),
        ("TRUE = (g IN (SELECT k FROM v))", "g IN (SELECT k FROM v)"),
    ],
)
def test_not_stands_right_before_in(negated: str, parts: str) -> None:
    assert written(f"SELECT id FROM t WHERE {negated}") == written(
        f"SELECT id FROM t WHERE ({parts})"
    )


def test_a_recursion_keeps_its_number_of_levels() -> None:
    made = written(
        "WITH RECURSIVE r(n) MAX RECURSION LEVEL 7 AS "
        "(SELECT g FROM t UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT n FROM r"
    )
    assert "WITH RECURSIVE `r`(`n`) MAX RECURSION LEVEL 7 AS (" in made


@pytest.mark.parametrize("call", ["window(ts, '5 minutes')", "session_window(ts, '5 minutes')"])
def test_a_time_window_without_alias_is_called_as_its_function(call: str) -> None:
    name = call.partition("(")[0]
    assert written(f"SELECT `{name}` FROM (SELECT {call} FROM ev)") == written(
        f"SELECT `{name}` FROM (SELECT {call} AS `{name}` FROM ev)"
    )


@pytest.mark.parametrize(
    "text",
    [
        "FROM t |> ORDER BY x |> SELECT id |> LIMIT 3",
        "FROM t |> ORDER BY x |> LIMIT 5 |> LIMIT 3",
        "FROM t |> SELECT id WHERE x > 1",
        "FROM t |> DROP",
        "FROM t |> DROP nothing",
        "FROM t |> SET x",
        "FROM t |> SET nothing = 1",
        "SELECT * REPLACE (1 AS x) FROM t",
    ],
)
def test_a_pipe_that_cannot_be_followed_is_refused(text: str) -> None:
    with pytest.raises(HeadwaterError) as caught:
        define(text, LOOKUP)
    assert caught.value.place is not None


def test_a_session_block_as_text_keeps_its_calls() -> None:
    text = (
        "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY amount) p, to_char(max(ts), 'yyyy') c, "
        "now() n, uuid() u FROM ev GROUP BY session_window(ts, '5 minutes')"
    )
    made = written(text)
    assert "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY amount)" in made
    assert "TO_CHAR(MAX(ts), 'yyyy')" in made
    assert "CAST('__hw_now' AS TIMESTAMP) AS n" in made
    assert {"CLOCK", "NONDET_FUNC"} <= codes(text)


def test_an_aggregate_may_read_the_session() -> None:
    text = "SELECT id, max(session_window.end) e FROM ev GROUP BY session_window(ts, '1 hour'), id"
    assert "MAX(session_window.end)" in written(text)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("SELECT inline(array(struct(1, 'a'), struct(2, 'b'))) FROM t", ["col1", "col2"]),
        ("SELECT explode(map('a', 1)) FROM t", ["key", "value"]),
        ("SELECT posexplode(map('a', 1)) FROM t", ["pos", "key", "value"]),
        ("SELECT explode(array(1)) FROM t", ["col"]),
        ("TABLE v", ["k", "z"]),
        ("SELECT k FROM (TABLE v) UNION ALL SELECT id FROM t", ["k"]),
        ("SELECT * FROM (SELECT x, g FROM t) PIVOT (round(sum(x), 2) FOR g IN (1, 2))", ["1", "2"]),
    ],
)
def test_forms_that_spark_reads(text: str, names: list[str]) -> None:
    assert [name for name, _ in define(text, LOOKUP).output] == names


def test_a_column_may_name_the_catalog() -> None:
    class Catalog(Tables):
        catalog = "hw"

    assert "SELECT `x` FROM S" in written(
        "SELECT hw.default.t.x FROM hw.default.t", Catalog(SCHEMAS)
    )


NESTED = Tables({"o": "a int, b int", "i": "k int, x int"})


def subquery(select: str) -> str:
    """A correlated subquery over a global aggregate as it is written back, on one line."""
    text = written(f"SELECT a, (SELECT {select} FROM i WHERE k = b) AS v FROM o", NESTED)
    return " ".join(text.split())


def test_an_expression_over_a_global_aggregate_is_one_select() -> None:
    """Over a derived table Spark would list all distinct values of the outer columns first."""
    assert "(SELECT 2 * SUM(`x`) AS" in subquery("2 * SUM(x)")
    assert "(SELECT SUM(`x`) / COUNT(*) AS" in subquery("SUM(x) / COUNT(*)")


def test_what_would_change_its_rows_stays_apart() -> None:
    text = written("SELECT a, (SELECT 7 FROM (SELECT COUNT(*) AS n FROM i)) AS v FROM o", NESTED)
    assert "COUNT(*)" in text, "one row, however many rows there are"
