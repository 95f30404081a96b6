-- name: scan
SELECT k AS g, x AS v FROM l

-- name: values
SELECT l.k AS g, w.b AS v FROM l JOIN (VALUES (1, 10), (2, 20)) AS w(a, b) ON l.x = w.a

-- name: filter
SELECT k AS g, x AS v FROM l WHERE x > 1

-- name: project
SELECT k + 1 AS g, CASE WHEN x > 1 THEN x END AS v FROM l

-- name: inner_join
SELECT l.k AS g, r.y AS v FROM l JOIN r ON l.k = r.k AND l.x <= r.y

-- name: self_join
SELECT a.k AS g, b.x AS v FROM l a JOIN l b ON a.k = b.x

-- name: cross_join
SELECT l.k AS g, r.y AS v FROM l CROSS JOIN r

-- name: left_join
SELECT l.k AS g, r.y AS v FROM l LEFT JOIN r ON l.k = r.k

-- name: right_join
SELECT r.k AS g, l.x AS v FROM l RIGHT JOIN r ON l.k = r.k

-- name: full_join
SELECT COALESCE(l.k, r.k) AS g, r.y AS v FROM l FULL JOIN r ON l.k = r.k

-- name: semi_join
SELECT k AS g, x AS v FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.k = l.k AND r.y > l.x)

-- name: anti_join
SELECT k AS g, x AS v FROM l WHERE k NOT IN (SELECT y FROM r)

-- name: union
SELECT k AS g, x AS v FROM l UNION ALL SELECT k, y FROM r

-- name: intersect
SELECT k AS g, x AS v FROM l INTERSECT SELECT k, y FROM r

-- name: except_all
SELECT k AS g, x AS v FROM l EXCEPT ALL SELECT k, y FROM r

-- name: distinct
SELECT DISTINCT k AS g, x AS v FROM l

-- name: aggregate
SELECT k AS g, SUM(x) AS v, MIN(x) AS lo FROM l GROUP BY k

-- name: aggregate_having
SELECT k AS g, SUM(x) AS v FROM l GROUP BY k HAVING COUNT(*) > 1

-- name: aggregate_global
SELECT COUNT(*) AS g, SUM(x) AS v FROM l

-- name: grouping_sets
SELECT k AS g, SUM(id) AS v, grouping_id(k, x) AS gid FROM l GROUP BY ROLLUP (k, x)

-- name: window
SELECT k AS g, ROW_NUMBER() OVER (PARTITION BY k ORDER BY x, id) AS v FROM l

-- name: limit
SELECT k AS g, x AS v FROM l ORDER BY x DESC, k LIMIT 3

-- name: generate
SELECT k AS g, e AS v FROM a LATERAL VIEW explode(xs) t AS e

-- name: pivot
SELECT k AS g, p1 AS v FROM l PIVOT (SUM(id) FOR x IN (1 AS p1, 2 AS p2))

-- name: unpivot
SELECT k AS g, v FROM l UNPIVOT (v FOR name IN (id, x))

-- name: apply_scalar
SELECT k AS g, (SELECT COUNT(*) FROM r WHERE r.k = l.k) AS v FROM l

-- name: apply_exists
SELECT k AS g, x AS v FROM l WHERE x = 1 OR EXISTS (SELECT 1 FROM r WHERE r.k = l.k)

-- name: apply_in
SELECT k AS g, CASE WHEN x IN (SELECT y FROM r) THEN 1 ELSE 0 END AS v FROM l

-- name: apply_not_in
SELECT k AS g, x AS v FROM l WHERE x = 1 OR k NOT IN (SELECT y FROM r)

-- name: lateral
SELECT l.k AS g, q.m AS v FROM l, LATERAL (SELECT MAX(y) AS m FROM r WHERE r.k = l.k) q

-- name: recursive
WITH RECURSIVE p(g, v) AS (
  SELECT k, 0 FROM r UNION ALL SELECT l.x, p.v + 1 FROM p JOIN l ON l.k = p.g
) SELECT g, v FROM p

-- name: clock
SELECT id AS g, 1 AS v FROM e WHERE ts > current_timestamp() - INTERVAL 1 DAY

-- name: opaque
SELECT k AS g, y AS v FROM r TABLESAMPLE (10 PERCENT)
