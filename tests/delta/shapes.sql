-- name: filter
SELECT k, x FROM l WHERE x > 1

-- name: filter_null
SELECT id FROM l WHERE NOT (k = 1)

-- name: project
SELECT x + 1 AS y, k FROM l

-- name: project_constant
SELECT 1 AS one FROM l

-- name: union_all
SELECT k, x FROM l UNION ALL SELECT k, y FROM r UNION ALL SELECT x, k FROM l

-- name: inner
SELECT l.id, r.y FROM l JOIN r ON l.k = r.k

-- name: inner_null_safe
SELECT l.id, r.y FROM l JOIN r ON l.k <=> r.k

-- name: inner_theta
SELECT l.id, r.y FROM l JOIN r ON l.x < r.y

-- name: inner_three
SELECT l.id, r.y, c.z FROM l JOIN r ON l.k = r.k JOIN c ON c.k = r.k AND c.z >= l.x

-- name: inner_four
SELECT l.id, r.y, c.z, d.v FROM l JOIN r ON l.k = r.k JOIN c ON c.k = r.y AND c.z >= l.x JOIN d ON d.k = c.z

-- name: inner_apart
SELECT l.id, r.y, c.z FROM l JOIN c ON l.k = c.k JOIN r ON r.k = c.z AND 6 / (l.x + 1) > r.y - 3

-- name: cross
SELECT l.id, r.y FROM l CROSS JOIN r

-- name: self_join
SELECT a.id, b.id AS other FROM l a JOIN l b ON a.k = b.x

-- name: self_join_three
SELECT a.id, b.x, c.x AS z FROM l a JOIN l b ON a.k = b.k JOIN l c ON b.x = c.x

-- name: left
SELECT l.id, l.k, r.y FROM l LEFT JOIN r ON l.k = r.k

-- name: left_residual
SELECT l.id, r.y FROM l LEFT JOIN r ON l.k = r.k AND r.y <= l.x

-- name: left_theta
SELECT l.id, r.y FROM l LEFT JOIN r ON r.y <= l.x

-- name: right
SELECT l.id, r.k, r.y FROM l RIGHT JOIN r ON l.k = r.k

-- name: full
SELECT l.id, l.k, r.k AS rk, r.y FROM l FULL JOIN r ON l.k = r.k

-- name: full_residual
SELECT l.id, r.y FROM l FULL JOIN r ON l.k = r.k AND l.x > r.y

-- name: left_chain
SELECT l.id, r.y, c.z FROM l LEFT JOIN r ON l.k = r.k LEFT JOIN c ON r.y = c.z

-- name: left_where
SELECT l.id FROM l LEFT JOIN r ON l.k = r.k WHERE r.y IS NULL

-- name: semi
SELECT id FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.k = l.k AND r.y > l.x)

-- name: anti
SELECT id FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.k = l.k)

-- name: in
SELECT id FROM l WHERE k IN (SELECT k FROM r)

-- name: not_in
SELECT id FROM l WHERE k NOT IN (SELECT y FROM r)

-- name: not_of_a_flag
SELECT id, i FROM (SELECT id, x, k IN (SELECT y FROM r) AS i FROM l) WHERE NOT (i AND x = 1)

-- name: not_in_filtered
SELECT id, x FROM l WHERE x > 0 AND x NOT IN (SELECT r.y FROM r JOIN c ON c.k = r.k WHERE c.z > 1)

-- name: not_in_correlated
SELECT id FROM l WHERE k NOT IN (SELECT y FROM r WHERE r.k = l.x)

-- name: in_having
SELECT id FROM l WHERE k IN (SELECT k FROM r GROUP BY k HAVING SUM(y) > 3)

-- name: exists_or
SELECT id FROM l WHERE x = 1 OR EXISTS (SELECT 1 FROM r WHERE r.k = l.k)

-- name: group_sum
SELECT k, SUM(x) AS s, COUNT(*) AS c, COUNT(x) AS n FROM l GROUP BY k

-- name: group_avg
SELECT k, AVG(x) AS a FROM l GROUP BY k

-- name: group_min
SELECT k, MIN(x) AS lo, MAX(x) AS hi FROM l GROUP BY k

-- name: group_expression
SELECT k + 1 AS g, SUM(x) * 2 + COUNT(*) AS s FROM l GROUP BY k + 1

-- name: group_hidden_key
SELECT SUM(x) AS s FROM l GROUP BY k

-- name: group_filter
SELECT k, SUM(x) FILTER (WHERE id > 2) AS s, COUNT_IF(COALESCE(x > 1, FALSE)) AS c FROM l GROUP BY k

-- name: group_bool
SELECT k, bool_and(x > 1) AS a, bool_or(x > 1) AS o FROM l GROUP BY k

-- name: group_double
SELECT k, SUM(v) AS s FROM d GROUP BY k

-- name: group_distinct
SELECT k, COUNT(DISTINCT x) AS n, SUM(x) AS s FROM l GROUP BY k

-- name: having
SELECT k, COUNT(*) AS n FROM l GROUP BY k HAVING SUM(x) > 3

-- name: global
SELECT COUNT(*) AS c, SUM(x) AS s FROM l

-- name: global_min
SELECT MIN(x) AS m FROM l

-- name: global_having
SELECT MAX(x) AS m FROM l HAVING COUNT(*) > 2

-- name: global_double
SELECT SUM(v) AS s FROM d

-- name: group_join
SELECT r.k, SUM(l.x) AS s FROM l JOIN r ON l.k = r.k GROUP BY r.k

-- name: group_join_double
SELECT r.y, SUM(v) AS s FROM d JOIN r ON d.k = r.k GROUP BY r.y

-- name: group_left
SELECT l.k, SUM(r.y) AS s, COUNT(*) AS c FROM l LEFT JOIN r ON l.k = r.k GROUP BY l.k

-- name: group_full
SELECT COALESCE(l.k, r.k) AS g, SUM(y) AS s, COUNT(DISTINCT x) AS n FROM l FULL JOIN r ON l.k = r.k
GROUP BY COALESCE(l.k, r.k)

-- name: group_group
SELECT s, COUNT(*) AS n FROM (SELECT k, SUM(x) AS s FROM l GROUP BY k) q GROUP BY s

-- name: join_group
SELECT l.id, q.s FROM l JOIN (SELECT k, SUM(y) AS s FROM r GROUP BY k) q ON l.k = q.k

-- name: distinct
SELECT DISTINCT k, x FROM l

-- name: distinct_expression
SELECT k + 1 AS a FROM (SELECT DISTINCT k, x FROM l) q

-- name: union
SELECT k FROM l UNION SELECT k FROM r

-- name: intersect
SELECT k FROM l INTERSECT SELECT k FROM r

-- name: intersect_all
SELECT k FROM l INTERSECT ALL SELECT k FROM r

-- name: except
SELECT k FROM l EXCEPT SELECT k FROM r

-- name: except_all
SELECT k FROM l EXCEPT ALL SELECT k FROM r

-- name: join_distinct
SELECT l.id, q.y FROM l JOIN (SELECT DISTINCT k, y FROM r) q ON l.k = q.k

-- name: window
SELECT id, RANK() OVER (PARTITION BY k ORDER BY x, id) AS n FROM l

-- name: window_all
SELECT id, x, SUM(x) OVER () AS s, COUNT(*) OVER (PARTITION BY k) AS n FROM l

-- name: window_all_expression
SELECT k, SUM(x) AS s, 1.0 * SUM(x) / NULLIF(SUM(SUM(x)) OVER (), 0) AS share FROM l GROUP BY k

-- name: qualify_all
SELECT id, x FROM l QUALIFY x = MAX(x) FILTER (WHERE k IS NOT NULL) OVER ()

-- name: window_hidden
SELECT SUM(x) OVER (PARTITION BY k) AS s FROM l

-- name: window_two
SELECT id, COUNT(*) OVER (PARTITION BY k) AS n, COUNT(*) OVER (PARTITION BY k, x) AS m FROM l

-- name: row_number
SELECT k, x FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY x DESC, id DESC) AS rn FROM
l) q WHERE rn = 1

-- name: window_group
SELECT k, s, RANK() OVER (PARTITION BY k ORDER BY s DESC) AS n FROM (SELECT k, x, COUNT(*) AS s FROM
l GROUP BY k, x) q

-- name: group_window
SELECT n, COUNT(*) AS c FROM (SELECT COUNT(*) OVER (PARTITION BY k) AS n FROM l) q GROUP BY n

-- name: top
SELECT id, x FROM l ORDER BY x DESC, id, k LIMIT 3

-- name: top_offset
SELECT id FROM l ORDER BY id, x, k LIMIT 2 OFFSET 1

-- name: top_inside
SELECT q.id, r.y FROM (SELECT id, k FROM l ORDER BY x, id, k LIMIT 3) q JOIN r ON q.k = r.k

-- name: scalar
SELECT id, (SELECT COUNT(*) FROM r WHERE r.k = l.k) AS n FROM l

-- name: scalar_max
SELECT id, (SELECT MAX(y) FROM r WHERE r.k = l.k) AS n FROM l

-- name: scalar_where
SELECT id FROM l WHERE x > (SELECT AVG(x) FROM l)

-- name: scalar_where_correlated
SELECT id FROM l WHERE x >= (SELECT MAX(y) FROM r WHERE r.k = l.k)

-- name: scalar_theta
SELECT id, (SELECT COUNT(*) FROM r WHERE r.y < l.x) AS n FROM l

-- name: cte_twice
WITH q AS (SELECT k, SUM(x) AS s FROM l GROUP BY k) SELECT a.k FROM q a WHERE a.s = (SELECT MAX(s)
FROM q)

-- name: rollup
SELECT k, x, COUNT(*) AS c, SUM(id) AS s FROM l GROUP BY ROLLUP (k, x)

-- name: cube_distinct
SELECT k, x, COUNT(DISTINCT id) AS c FROM l GROUP BY CUBE (k, x)

-- name: left_on_exists
SELECT l.id, r.y FROM l LEFT JOIN r ON l.k = r.k AND EXISTS (SELECT 1 FROM c WHERE c.k = l.x)

-- name: rollup_of_a_key
SELECT k, x, grouping_id() AS g, SUM(id) AS s FROM l GROUP BY k, ROLLUP (k, x) HAVING COUNT(*) > 1

-- name: grouping_sets
SELECT k, x, grouping_id(k, x) AS g, MIN(id) AS m FROM l GROUP BY GROUPING SETS ((k), (x))

-- name: lateral
SELECT l.id, q.m FROM l, LATERAL (SELECT MAX(y) AS m FROM r WHERE r.k = l.k) q

-- name: lateral_window
SELECT l.id, q.y, q.n FROM l, LATERAL (SELECT y, ROW_NUMBER() OVER (ORDER BY y, k) AS n FROM r WHERE r.k = l.k) q

-- name: exists_window
SELECT id FROM l WHERE EXISTS (SELECT 1 FROM (SELECT ROW_NUMBER() OVER (ORDER BY y) AS n FROM r WHERE r.k = l.k) q WHERE n = 2)

-- name: scalar_window
SELECT id, (SELECT MAX(n) FROM (SELECT ROW_NUMBER() OVER (ORDER BY y) AS n FROM r WHERE r.k = l.k) q) AS m FROM l

-- name: exists_limit
SELECT id FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.k = l.k LIMIT 1)

-- name: lateral_top
SELECT l.id, q.y FROM l LEFT JOIN LATERAL (SELECT y FROM r WHERE r.k = l.k ORDER BY y LIMIT 1) q ON
TRUE

-- name: values
SELECT l.id, v.b FROM l JOIN (VALUES (1, 'a'), (2, 'b')) AS v(a, b) ON l.k = v.a

-- name: in_tuple
SELECT id FROM l WHERE (k, x) IN (SELECT k, y FROM r)

-- name: not_in_tuple
SELECT id FROM l WHERE (k, x) NOT IN (SELECT k, y FROM r)

-- name: cte_union
WITH q AS (SELECT k, x FROM l WHERE id > 1) SELECT k FROM q UNION ALL SELECT x FROM q

-- name: group_left_other
SELECT r.y, COUNT(DISTINCT l.id) AS n FROM l LEFT JOIN r ON l.k = r.k GROUP BY r.y

-- name: same_column_twice
SELECT id FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.k = l.k AND r.k = l.x)
