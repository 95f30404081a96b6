"""Queries that few write, through rounds of changes: rare functions, clauses and types."""

from __future__ import annotations

import warnings

import pytest

import headwater
from shared_spark import check

pytestmark = pytest.mark.spark

QUERIES = {
    "pct": (
        "SELECT g, percentile(x, 0.5) p, approx_count_distinct(y) a, mode(y) m, median(x) md "
        "FROM t GROUP BY g"
    ),
    "byfn": (
        "SELECT g, max_by(y, id) mb, min_by(y, id) nb, bit_and(x) ba, bit_xor(x) bx, "
        "bool_or(x>2) bo, every(x>2) ev FROM t GROUP BY g"
    ),
    "lists": (
        "SELECT g, sort_array(collect_list(x)) l, sort_array(collect_set(y)) s, count(distinct "
        "x, y) cd FROM t GROUP BY g"
    ),
    "listagg": "SELECT g, listagg(y, ',') WITHIN GROUP (ORDER BY y, id) AS l FROM t GROUP BY g",
    "pcont": (
        "SELECT g, percentile_cont(0.5) WITHIN GROUP (ORDER BY x) AS p, percentile_disc(0.25) "
        "WITHIN GROUP (ORDER BY x DESC) AS d FROM t GROUP BY g"
    ),
    "trysum": (
        "SELECT g, try_sum(x) s, try_avg(x) a, count_if(x>1) ci, any_value(g) av FROM t GROUP BY g"
    ),
    "win1": (
        "SELECT id, g, x, ntile(2) OVER w AS nt, cume_dist() OVER w cd, percent_rank() OVER w "
        "pr, nth_value(x,2) OVER w nv FROM t WINDOW w AS (PARTITION BY g ORDER BY id, x)"
    ),
    "win2": (
        "SELECT id, g, d, sum(x) OVER (PARTITION BY g ORDER BY d RANGE BETWEEN INTERVAL 2 DAYS "
        "PRECEDING AND CURRENT ROW) s FROM t"
    ),
    "win3": (
        "SELECT id, g, lag(x, 1, 0) OVER (PARTITION BY g ORDER BY id, x) l, first_value(x) "
        "IGNORE NULLS OVER (PARTITION BY g ORDER BY id, x) f, last_value(x, true) OVER "
        "(PARTITION BY g ORDER BY id, x ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) lv FROM t"
    ),
    "groupall": "SELECT g, y, count(*) n FROM t GROUP BY ALL",
    "pipe": "FROM t |> WHERE x > 1 |> AGGREGATE sum(x) AS s GROUP BY g",
    "lca": "SELECT id, x + 1 AS x1, x1 * 2 AS x2 FROM t",
    "exceptcol": "SELECT * EXCEPT (y, d) FROM t",
    "fromselect": "FROM t SELECT id, g",
    "inmulti": "SELECT id FROM t WHERE (g, x) IN (SELECT g, x FROM u)",
    "notinmulti": "SELECT id FROM t WHERE (g, x) NOT IN (SELECT g, x FROM u)",
    "existsneq": "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.x > t.x AND u.g <> t.g)",
    "scalarlim": (
        "SELECT id, (SELECT max(x) FROM u WHERE u.g = t.g) m, (SELECT count(*) FROM u) n FROM t"
    ),
    "scalarord": (
        "SELECT g, n FROM (SELECT g, (SELECT x FROM u WHERE u.g = t.g ORDER BY x, z LIMIT 1) n "
        "FROM t)"
    ),
    "anyall": "SELECT id FROM t WHERE x >= (SELECT avg(x) FROM u)",
    "rec": (
        "WITH RECURSIVE r(n, k) AS (SELECT id, 0 FROM t WHERE g = 1 UNION ALL SELECT n, k + 1 "
        "FROM r WHERE k < 2) SELECT n, k FROM r"
    ),
    "rec2": (
        "WITH RECURSIVE r AS (SELECT id, x AS nxt, 0 AS d FROM t WHERE id < 3 UNION ALL SELECT "
        "u.z, u.x, r.d + 1 FROM r JOIN u ON u.z = r.nxt WHERE r.d < 5) SELECT * FROM r"
    ),
    "sliding": (
        "SELECT window(ts, '10 minutes', '5 minutes').start s, count(*) n FROM t GROUP BY "
        "window(ts, '10 minutes', '5 minutes')"
    ),
    "session": (
        "SELECT session_window(ts, '5 minutes').start s, g, count(*) n FROM t GROUP BY "
        "session_window(ts, '5 minutes'), g"
    ),
    "hof": (
        "SELECT id, transform(a, e -> e + 1) tr, filter(a, e -> e > 1) fi, aggregate(a, 0, (s, "
        "e) -> s + coalesce(e,0)) ag, exists(a, e -> e = 2) ex FROM t"
    ),
    "posexp": "SELECT id, p, e FROM t LATERAL VIEW OUTER posexplode(a) v AS p, e",
    "explsel": "SELECT id, explode(a) AS e FROM t",
    "structs": (
        "SELECT s.a AS sa, named_struct('p', s.b, 'q', g) AS ns, count(*) n FROM t GROUP BY "
        "s.a, s.b, g"
    ),
    "groupstruct": "SELECT s, a, count(*) n FROM t GROUP BY s, a",
    "mapval": "SELECT id, m['k'] AS mk, map_keys(m) ks FROM t",
    "unpivot": (
        "SELECT id, name, val FROM (SELECT id, x, CAST(g AS INT) AS g FROM t) UNPIVOT INCLUDE "
        "NULLS (val FOR name IN (x, g))"
    ),
    "pivot": (
        "SELECT * FROM (SELECT g, y, x FROM t) PIVOT (sum(x) AS s, count(*) AS c FOR y IN ('a',"
        " 'b' AS bb))"
    ),
    "hint": "SELECT /*+ BROADCAST(u) */ t.id, u.z FROM t JOIN u USING (g)",
    "natural": "SELECT * FROM (SELECT g, x, id FROM t) NATURAL JOIN (SELECT g, x, z FROM u)",
    "fullusing": "SELECT g, id, z FROM t FULL JOIN u USING (g)",
    "leftsemi": "SELECT * FROM t LEFT SEMI JOIN u ON t.g = u.g AND t.x < u.x",
    "leftanti": "SELECT id, g FROM t LEFT ANTI JOIN u ON t.g <=> u.g",
    "lateral": (
        "SELECT t.id, l.z FROM t, LATERAL (SELECT z FROM u WHERE u.g = t.g ORDER BY z LIMIT 1) l"
    ),
    "latleft": (
        "SELECT t.id, l.n FROM t LEFT JOIN LATERAL (SELECT count(*) n FROM u WHERE u.g = t.g) l"
    ),
    "values": (
        "SELECT t.id, v.name FROM t JOIN (VALUES (1, 'one'), (2, 'two')) AS v(g, name) ON t.g = v.g"
    ),
    "cube": (
        "SELECT g, y, grouping_id(g, y) gi, grouping(g) gg, sum(x) s FROM t GROUP BY CUBE(g, y)"
    ),
    "gsets": (
        "SELECT g, y, sum(x) s, count(distinct x) d FROM t GROUP BY GROUPING SETS ((g), (y), ())"
    ),
    "rolluphav": "SELECT g, y, count(*) n FROM t GROUP BY ROLLUP(g, y) HAVING count(*) > 1",
    "limit": "SELECT id, x FROM t ORDER BY x DESC NULLS LAST, id LIMIT 3 OFFSET 1",
    "orderall": "SELECT id, x FROM t ORDER BY ALL",
    "setmix": (
        "(SELECT g FROM t EXCEPT ALL SELECT g FROM u) UNION (SELECT x FROM t INTERSECT SELECT x"
        " FROM u)"
    ),
    "minus": "SELECT g FROM t MINUS SELECT g FROM u",
    "cte2": (
        "WITH c AS (SELECT g, sum(x) s FROM t GROUP BY g) SELECT a.g, b.s FROM c a JOIN c b ON "
        "a.s = b.s"
    ),
    "nested": (
        "SELECT avg(n) a FROM (SELECT g, count(*) n FROM t GROUP BY g HAVING count(*) > (SELECT"
        " min(z) FROM u))"
    ),
    "orsub": (
        "SELECT id FROM t WHERE x > 3 OR g IN (SELECT g FROM u WHERE z > 1) OR EXISTS (SELECT 1"
        " FROM u WHERE u.x = t.x)"
    ),
    "casesub": (
        "SELECT id, CASE WHEN g IN (SELECT g FROM u) THEN 'in' WHEN g IS NULL THEN 'null' ELSE "
        "'out' END c FROM t"
    ),
    "tempor": "SELECT id, ts FROM t WHERE ts > current_timestamp() - INTERVAL 10 YEARS",
    "tempor2": (
        "SELECT id FROM t WHERE d BETWEEN current_date() - INTERVAL 5000 DAYS AND current_date()"
    ),
    "backq": "SELECT id AS `a b`, x AS `select`, g AS `ü.x` FROM t",
    "deci": "SELECT g, sum(dec) s, avg(dec) a, max(dec * 2) m FROM t GROUP BY g",
    "dbl": "SELECT g, sum(db) s, avg(db) a, max(db) m FROM t GROUP BY g",
    "dblkey": "SELECT db, count(*) n FROM t GROUP BY db",
    "filter": (
        "SELECT g, sum(x) FILTER (WHERE y = 'a') fa, count(*) FILTER (WHERE x IS NULL) fn, "
        "sum(DISTINCT x) ds FROM t GROUP BY g"
    ),
    "global0": "SELECT count(*) n, sum(x) s, max(y) m FROM t WHERE x > 1000",
    "distinctagg": "SELECT DISTINCT g, count(*) OVER (PARTITION BY g) n FROM t",
    "aggwin": (
        "SELECT g, sum(x) s, rank() OVER (PARTITION BY g % 2 ORDER BY sum(x) DESC) r FROM t "
        "GROUP BY g"
    ),
    "self3": (
        "SELECT a.id, b.id bid, c.id cid FROM t a LEFT JOIN t b ON a.x = b.id LEFT JOIN t c ON "
        "b.x = c.id"
    ),
    "theta": "SELECT t.id, u.z FROM t JOIN u ON t.x < u.x",
    "fulltheta": "SELECT t.id, u.z FROM t FULL JOIN u ON t.x = u.x AND t.g < u.g",
    "trycast": (
        "SELECT id, try_cast(y AS INT) yi, coalesce(nullif(y,'a'), 'z') c, if(x>1, 'p', 'q') i,"
        " nvl2(x, 1, 0) n2 FROM t"
    ),
    "dates": "SELECT date_trunc('month', ts) mo, year(d) yr, count(*) n FROM t GROUP BY 1, 2",
    "rlike": "SELECT id FROM t WHERE y RLIKE '^[ab]' AND y NOT LIKE 'c%' AND y ILIKE 'A%'",
    "stack": "SELECT id, k, v FROM t LATERAL VIEW stack(2, 'x', x, 'g', g) s AS k, v",
    "jsont": "SELECT id, j.q FROM t LATERAL VIEW json_tuple('{\"q\": 1}', 'q') j AS q",
    "hash": "SELECT pmod(hash(y), 3) h, md5(max(y)) m FROM t GROUP BY 1",
    "collation": "SELECT y COLLATE UTF8_LCASE AS yc, count(*) n FROM t GROUP BY 1",
    "uservar": "SELECT id, g FROM t WHERE g IN (1, 2, NULL)",
    "notnull": "SELECT id FROM t WHERE NOT (g IN (SELECT g FROM u))",
    "dupsubq": "SELECT (SELECT sum(x) FROM u) a, (SELECT sum(x) FROM u) b, count(*) FROM t",
    "timetravel": (
        "SELECT t.id, u.z FROM t JOIN u ON t.g = u.g WHERE u.z IS NOT NULL AND t.x BETWEEN u.x "
        "- 1 AND u.x + 1"
    ),
    "listhash": "SELECT g, hll_sketch_estimate(hll_sketch_agg(y)) h FROM t GROUP BY g",
    "histo": "SELECT g, histogram_numeric(x, 3) h FROM t GROUP BY g",
    "firstlast": "SELECT g, first(y) f FROM (SELECT DISTINCT g, g AS y FROM t) GROUP BY g",
    "qual": "SELECT id, g, x FROM t QUALIFY rank() OVER (PARTITION BY g ORDER BY x DESC, id) <= 2",
    "timewindow": (
        "SELECT g, window.start, window.end AS until, count(*) n FROM t GROUP BY g, window(ts, "
        "'5 minutes') HAVING window.start IS NOT NULL"
    ),
    "wholewindow": "SELECT window, mean(x) AS m FROM t GROUP BY window(ts, '1 hour', '30 minutes')",
    "moments": (
        "SELECT g, covar_pop(x, id) c, stddev(x) s, var_pop(x) v, skewness(x) sk, kurtosis(x) "
        "k, regr_slope(x, id) r FROM t GROUP BY g"
    ),
    "numbers": (
        "SELECT t.id, n.id AS n FROM t LEFT JOIN range(1, 4) n ON n.id <= t.x "
        "WHERE NOT (t.ts > now() - INTERVAL 1 DAY) OR t.x > 1"
    ),
    "mapvalues": "SELECT id, map_values(m) vs, map_keys(m) ks FROM t",
    "meaning": (
        "SELECT id, transform(l, x -> x + y) r, to_json(struct(q.*)) j, greatest(q.id, y) m, "
        "to_json(arrays_zip(l, k)) z, get_json_object('{\"a\": {\"b\": 1}}', '$.*.b') p, "
        "rlike(n, 'a') = true w FROM (SELECT id, a AS l, x AS y, a AS k, y AS n FROM t) q "
        "WHERE n LIKE ANY ('a%', 'c%') OR n IS NULL"
    ),
    "hivesets": "SELECT g, y, count(*) n FROM t GROUP BY g, y GROUPING SETS ((g, y), g)",
    "distinctall": "SELECT count(DISTINCT *) n FROM u",
    "pipes": "FROM t |> ORDER BY x, id |> LIMIT 3 |> WHERE g = 1 |> SELECT DISTINCT g, x",
    "orderalllimit": "SELECT g, x, z FROM u ORDER BY ALL LIMIT 3",
    "pivotround": "SELECT * FROM (SELECT g, x, y FROM t) PIVOT (round(sum(x), 2) FOR y IN ('a'))",
}

FULL = {"exceptcol": "UNSUPPORTED_TYPE", "leftsemi": "UNSUPPORTED_TYPE", "collation": "COLLATION"}
"""Those that are refreshed in full, and why."""

OFTEN = (
    "pcont",
    "timewindow",
    "wholewindow",
    "mapvalues",
    "collation",
    "qual",
    "trysum",
    "meaning",
    "numbers",
)

TABLES = (
    "CREATE TABLE t (id BIGINT, g INT, x INT, y STRING, d DATE, ts TIMESTAMP, a ARRAY<INT>, "
    "s STRUCT<a: INT, b: STRING>, m MAP<STRING, INT>, dec DECIMAL(10,2), db DOUBLE) USING iceberg",
    "CREATE TABLE u (g INT, x INT, z BIGINT) USING iceberg",
    """INSERT INTO t VALUES
 (1, 1, 1, 'a', DATE'2024-01-01', TIMESTAMP'2024-01-01 10:00:00', array(1,2), named_struct('a',1,'b','p'), map('z',7,'a',NULL), 1.50, 0.0),
 (2, 1, 2, 'b', DATE'2024-01-02', TIMESTAMP'2024-01-01 10:03:00', array(), named_struct('a',1,'b','q'), map(), 2.50, -0.0),
 (3, 2, NULL, 'a', DATE'2024-01-05', TIMESTAMP'2024-01-01 10:20:00', NULL, NULL, NULL, NULL, double('nan')),
 (4, NULL, 3, NULL, NULL, NULL, array(2,2,3), named_struct('a',NULL,'b',NULL), map('k',NULL), 0.10, 1e300),
 (5, 2, 5, 'c', DATE'2024-02-01', TIMESTAMP'2024-02-01 00:00:00', array(5), named_struct('a',2,'b','p'), map('z',1), 9.99, -1e300),
 (5, 2, 5, 'c', DATE'2024-02-01', TIMESTAMP'2024-02-01 00:00:00', array(5), named_struct('a',2,'b','p'), map('z',1), 9.99, -1e300)""",  # noqa: E501
    "INSERT INTO u VALUES (1, 2, 1), (1, 5, 2), (2, NULL, 3), (NULL, 3, 4), (4, 1, NULL)",
)

ROUNDS = (
    (
        (
            "INSERT INTO t VALUES (9, NULL, 4, 'a', DATE'2024-01-03', TIMESTAMP'2024-01-03 "
            "10:02:00', array(1,NULL), named_struct('a',1,'b','q'), map('k',1), 1.10, 0.1), (2, 1, "
            "2, 'b', NULL, NULL, NULL, NULL, NULL, NULL, double('nan'))"
        ),
        "INSERT INTO u VALUES (3, 4, 9), (NULL, 2, 2)",
    ),
    (
        "DELETE FROM t WHERE id = 1",
        "UPDATE t SET x = x + 1, g = coalesce(g, 2) WHERE id IN (2, 3)",
        "DELETE FROM u WHERE g = 1",
    ),
    (
        "UPDATE u SET g = 1, x = 3 WHERE g IS NULL",
        "INSERT INTO t SELECT * FROM t WHERE id = 5",
    ),
    ("DELETE FROM t WHERE true",),
)


def play(hub: headwater.Hub, names: tuple[str, ...], rounds: int = len(ROUNDS)) -> None:
    for statement in TABLES:
        hub.sql(statement)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", headwater.HeadwaterWarning)
        for name in names:
            hub.create_stream_table(f"st_{name}", QUERIES[name])
            found = {node.reason_code for node in hub.validate(QUERIES[name]).reasons}
            assert found == ({FULL[name]} if name in FULL else set()), name
    for statements in ROUNDS[:rounds]:
        for statement in statements:
            hub.sql(statement)
        for name in names:
            result = hub.refresh_stream_table(f"st_{name}")
            allowed = ("FULL", "NO_DATA") if name in FULL else ("INCREMENTAL", "NO_DATA")
            assert result.action in allowed, (name, result)
            check(hub, f"st_{name}")


def test_some_unusual_queries(hub: headwater.Hub) -> None:
    play(hub, OFTEN, rounds=2)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_all_unusual_queries(hub: headwater.Hub) -> None:
    play(hub, tuple(QUERIES))
