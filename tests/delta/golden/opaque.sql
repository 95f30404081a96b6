---- query
SELECT k AS g, y AS v FROM r TABLESAMPLE (10 PERCENT)

-- stored as bag, key __hw_id
SELECT `k_1` AS `g`, `y_1` AS `v`, CONCAT('__hw_run', ':', MONOTONICALLY_INCREASING_ID()) AS `__hw_id`
FROM (
  SELECT `k`, `y`
  FROM `__hw_src_0_new` TABLESAMPLE (10 PERCENT) ) AS t1(`k_1`, `y_1`)

-- changed: r append; apply: overwrite

-- statement
INSERT OVERWRITE `__hw_target`
SELECT `k_1` AS `g`, `y_1` AS `v`, CONCAT('__hw_run', ':', MONOTONICALLY_INCREASING_ID()) AS `__hw_id`
FROM (
  SELECT `k`, `y`
  FROM `__hw_src_0_new` TABLESAMPLE (10 PERCENT) ) AS t1(`k_1`, `y_1`)

-- changed: r mixed; apply: overwrite

-- statement
INSERT OVERWRITE `__hw_target`
SELECT `k_1` AS `g`, `y_1` AS `v`, CONCAT('__hw_run', ':', MONOTONICALLY_INCREASING_ID()) AS `__hw_id`
FROM (
  SELECT `k`, `y`
  FROM `__hw_src_0_new` TABLESAMPLE (10 PERCENT) ) AS t1(`k_1`, `y_1`)

-- changed: r netted; apply: overwrite

-- statement
INSERT OVERWRITE `__hw_target`
SELECT `k_1` AS `g`, `y_1` AS `v`, CONCAT('__hw_run', ':', MONOTONICALLY_INCREASING_ID()) AS `__hw_id`
FROM (
  SELECT `k`, `y`
  FROM `__hw_src_0_new` TABLESAMPLE (10 PERCENT) ) AS t1(`k_1`, `y_1`)

---- query
SELECT k AS g, y AS v FROM r TABLESAMPLE (10 PERCENT)

-- stored as unique, key g
SELECT `g`, `v`
FROM (
  SELECT `k_1` AS `g`, `y_1` AS `v`, COUNT(*) OVER (PARTITION BY `k_1`) AS `__hw_rows`
  FROM (
    SELECT `k`, `y`
    FROM `__hw_src_0_new` TABLESAMPLE (10 PERCENT) ) AS t1(`k_1`, `y_1`) ) AS t2
WHERE IF( `__hw_rows` = 1, TRUE, CAST(RAISE_ERROR('HW3003: unique_key (g) occurs more than once in the result') AS BOOLEAN) )

-- changed: r mixed; apply: overwrite

-- statement
INSERT OVERWRITE `__hw_target`
SELECT `g`, `v`
FROM (
  SELECT `k_1` AS `g`, `y_1` AS `v`, COUNT(*) OVER (PARTITION BY `k_1`) AS `__hw_rows`
  FROM (
    SELECT `k`, `y`
    FROM `__hw_src_0_new` TABLESAMPLE (10 PERCENT) ) AS t1(`k_1`, `y_1`) ) AS t2
WHERE IF( `__hw_rows` = 1, TRUE, CAST(RAISE_ERROR('HW3003: unique_key (g) occurs more than once in the result') AS BOOLEAN) )

---- query
SELECT g, COUNT(*) AS n, SUM(v) AS s FROM (SELECT k AS g, y AS v FROM r TABLESAMPLE (10 PERCENT)) q GROUP BY g

-- stored as state, key g
SELECT `k_1` AS `g`, `__hw_n` AS `n`, CASE WHEN `__hw_c2` > 0 THEN `__hw_s1` END AS `s`, `__hw_n`, `__hw_s1`, `__hw_c2`
FROM (
  SELECT `k_1`, COUNT(*) AS `__hw_n`, COALESCE(SUM(`y_1`), 0) AS `__hw_s1`, COUNT(CASE WHEN NOT ( `y_1` ) IS NULL THEN 1 END) AS `__hw_c2`
  FROM (
    SELECT `k`, `y`
    FROM `__hw_src_0_new` TABLESAMPLE (10 PERCENT) ) AS t1(`k_1`, `y_1`)
  GROUP BY `k_1` ) AS t2

-- changed: r mixed; apply: overwrite

-- statement
INSERT OVERWRITE `__hw_target`
SELECT `k_1` AS `g`, `__hw_n` AS `n`, CASE WHEN `__hw_c2` > 0 THEN `__hw_s1` END AS `s`, `__hw_n`, `__hw_s1`, `__hw_c2`
FROM (
  SELECT `k_1`, COUNT(*) AS `__hw_n`, COALESCE(SUM(`y_1`), 0) AS `__hw_s1`, COUNT(CASE WHEN NOT ( `y_1` ) IS NULL THEN 1 END) AS `__hw_c2`
  FROM (
    SELECT `k`, `y`
    FROM `__hw_src_0_new` TABLESAMPLE (10 PERCENT) ) AS t1(`k_1`, `y_1`)
  GROUP BY `k_1` ) AS t2

---- query
SELECT g, COUNT(DISTINCT v) AS n FROM (SELECT k AS g, y AS v FROM r TABLESAMPLE (10 PERCENT)) q GROUP BY g

-- stored as keyed, key g
SELECT `k_1` AS `g`, `n`
FROM (
  SELECT `k_1`, COUNT(DISTINCT `y_1`) AS `n`
  FROM (
    SELECT `k`, `y`
    FROM `__hw_src_0_new` TABLESAMPLE (10 PERCENT) ) AS t1(`k_1`, `y_1`)
  GROUP BY `k_1` ) AS t2

-- changed: r mixed; apply: overwrite

-- statement
INSERT OVERWRITE `__hw_target`
SELECT `k_1` AS `g`, `n`
FROM (
  SELECT `k_1`, COUNT(DISTINCT `y_1`) AS `n`
  FROM (
    SELECT `k`, `y`
    FROM `__hw_src_0_new` TABLESAMPLE (10 PERCENT) ) AS t1(`k_1`, `y_1`)
  GROUP BY `k_1` ) AS t2

---- query
SELECT g, v, COUNT(*) OVER (PARTITION BY g) AS n FROM (SELECT k AS g, y AS v FROM r TABLESAMPLE (10 PERCENT)) q

-- stored as replace, key __hw_id
SELECT `k_1` AS `g`, `y_1` AS `v`, `n`, CONCAT('__hw_run', ':', MONOTONICALLY_INCREASING_ID()) AS `__hw_id`
FROM (
  SELECT `k_1`, `y_1`, COUNT(*) OVER (PARTITION BY `k_1`) AS `n`
  FROM (
    SELECT `k`, `y`
    FROM `__hw_src_0_new` TABLESAMPLE (10 PERCENT) ) AS t1(`k_1`, `y_1`) ) AS t2

-- changed: r mixed; apply: overwrite

-- statement
INSERT OVERWRITE `__hw_target`
SELECT `k_1` AS `g`, `y_1` AS `v`, `n`, CONCAT('__hw_run', ':', MONOTONICALLY_INCREASING_ID()) AS `__hw_id`
FROM (
  SELECT `k_1`, `y_1`, COUNT(*) OVER (PARTITION BY `k_1`) AS `n`
  FROM (
    SELECT `k`, `y`
    FROM `__hw_src_0_new` TABLESAMPLE (10 PERCENT) ) AS t1(`k_1`, `y_1`) ) AS t2
