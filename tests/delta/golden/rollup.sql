-- query
SELECT k, x, COUNT(*) AS c, SUM(id) AS s FROM l GROUP BY ROLLUP (k, x)

-- stored as one row per group, with hidden state that changes are added to
SELECT
  `k`,
  `x`,
  `__hw_n` AS `c`,
  CASE WHEN `__hw_c2` > 0 THEN `__hw_s1` END AS `s`,
  `grouping_id` AS `__hw_k1`,
  `__hw_n`,
  `__hw_s1`,
  `__hw_c2`
FROM (
  SELECT
    `k`,
    `x`,
    CAST(0 AS BIGINT) + GROUPING(`x`) * 1 + GROUPING(`k`) * 2 AS `grouping_id`,
    COUNT(*) AS `__hw_n`,
    COALESCE(SUM(`id`), 0) AS `__hw_s1`,
    COUNT(CASE WHEN NOT (
      `id`
    ) IS NULL THEN 1 END) AS `__hw_c2`
  FROM (
    SELECT
      `id`,
      `k`,
      `x`
    FROM `__hw_src_0_new`
  ) AS t1
  GROUP BY
    GROUPING SETS (
      (`k`, `x`),
      (`k`),
      ()
    )
) AS t2

-- append changes: merge
-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT
  `k`,
  `x`,
  CAST(0 AS BIGINT) + GROUPING(`x`) * 1 + GROUPING(`k`) * 2 AS `grouping_id`,
  SUM(`__hw_w`) AS `__hw_d_n`,
  COALESCE(SUM(`__hw_w` * CAST(`id` AS BIGINT)), 0) AS `__hw_d_s1`,
  SUM(IF(NOT (
    `id`
  ) IS NULL, `__hw_w`, CAST(0 AS BIGINT))) AS `__hw_d_c2`
FROM (
  SELECT
    `id`,
    `k`,
    `x`,
    `__hw_w`
  FROM `__hw_src_0_delta`
) AS t1
GROUP BY
  GROUPING SETS (
    (`k`, `x`),
    (`k`),
    ()
  )
) AS s
ON t.`k` IS NOT DISTINCT FROM s.`k` AND t.`x` IS NOT DISTINCT FROM s.`x` AND t.`__hw_k1` IS NOT DISTINCT FROM s.`grouping_id`
WHEN MATCHED THEN UPDATE SET
  `c` = t.`__hw_n` + s.`__hw_d_n`,
  `s` = CASE WHEN (t.`__hw_c2` + s.`__hw_d_c2`) > 0 THEN (t.`__hw_s1` + s.`__hw_d_s1`) END,
  `__hw_n` = t.`__hw_n` + s.`__hw_d_n`,
  `__hw_s1` = t.`__hw_s1` + s.`__hw_d_s1`,
  `__hw_c2` = t.`__hw_c2` + s.`__hw_d_c2`
WHEN NOT MATCHED THEN INSERT (`k`, `x`, `c`, `s`, `__hw_k1`, `__hw_n`, `__hw_s1`, `__hw_c2`)
VALUES (
  s.`k`,
  s.`x`,
  s.`__hw_d_n`,
  CASE WHEN s.`__hw_d_c2` > 0 THEN s.`__hw_d_s1` END,
  s.`grouping_id`,
  s.`__hw_d_n`,
  s.`__hw_d_s1`,
  s.`__hw_d_c2`
)

-- mixed changes: merge
-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT
  `k`,
  `x`,
  `grouping_id`,
  `__hw_d_n`,
  `__hw_d_s1`,
  `__hw_d_c2`
FROM (
  SELECT
    `k`,
    `x`,
    CAST(0 AS BIGINT) + GROUPING(`x`) * 1 + GROUPING(`k`) * 2 AS `grouping_id`,
    SUM(`__hw_w`) AS `__hw_d_n`,
    COALESCE(SUM(`__hw_w` * CAST(`id` AS BIGINT)), 0) AS `__hw_d_s1`,
    SUM(IF(NOT (
      `id`
    ) IS NULL, `__hw_w`, CAST(0 AS BIGINT))) AS `__hw_d_c2`
  FROM (
    SELECT
      `id`,
      `k`,
      `x`,
      `__hw_w`
    FROM `__hw_src_0_delta`
  ) AS t1
  GROUP BY
    GROUPING SETS (
      (`k`, `x`),
      (`k`),
      ()
    )
) AS t2
WHERE
  (
    `__hw_d_n` <> 0 OR `__hw_d_s1` <> 0 OR `__hw_d_c2` <> 0
  )
) AS s
ON t.`k` IS NOT DISTINCT FROM s.`k` AND t.`x` IS NOT DISTINCT FROM s.`x` AND t.`__hw_k1` IS NOT DISTINCT FROM s.`grouping_id`
WHEN MATCHED AND (t.`__hw_n` + s.`__hw_d_n` = 0) THEN DELETE
WHEN MATCHED THEN UPDATE SET
  `c` = t.`__hw_n` + s.`__hw_d_n`,
  `s` = CASE WHEN (t.`__hw_c2` + s.`__hw_d_c2`) > 0 THEN (t.`__hw_s1` + s.`__hw_d_s1`) END,
  `__hw_n` = IF(t.`__hw_n` + s.`__hw_d_n` >= 1, t.`__hw_n` + s.`__hw_d_n`, CAST(RAISE_ERROR('HW4003: a group of the stream table holds fewer rows than are to be taken away') AS BIGINT)),
  `__hw_s1` = t.`__hw_s1` + s.`__hw_d_s1`,
  `__hw_c2` = t.`__hw_c2` + s.`__hw_d_c2`
WHEN NOT MATCHED THEN INSERT (`k`, `x`, `c`, `s`, `__hw_k1`, `__hw_n`, `__hw_s1`, `__hw_c2`)
VALUES (
  s.`k`,
  s.`x`,
  s.`__hw_d_n`,
  CASE WHEN s.`__hw_d_c2` > 0 THEN s.`__hw_d_s1` END,
  s.`grouping_id`,
  IF(s.`__hw_d_n` >= 1, s.`__hw_d_n`, CAST(RAISE_ERROR('HW4003: a group of the stream table holds fewer rows than are to be taken away') AS BIGINT)),
  s.`__hw_d_s1`,
  s.`__hw_d_c2`
)
