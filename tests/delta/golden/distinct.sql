-- query
SELECT DISTINCT k, x FROM l

-- stored as one row per group, with hidden state that changes are added to
SELECT
  `k`,
  `x`,
  COUNT(*) AS `__hw_n`
FROM `__hw_src_0_new`
GROUP BY
  `k`,
  `x`

-- append changes: merge
-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT
  `k`,
  `x`,
  SUM(`__hw_w`) AS `__hw_d_n`
FROM `__hw_src_0_delta`
GROUP BY
  `k`,
  `x`
) AS s
ON t.`k` IS NOT DISTINCT FROM s.`k` AND t.`x` IS NOT DISTINCT FROM s.`x`
WHEN MATCHED THEN UPDATE SET
  `__hw_n` = t.`__hw_n` + s.`__hw_d_n`
WHEN NOT MATCHED THEN INSERT (`k`, `x`, `__hw_n`)
VALUES (
  s.`k`,
  s.`x`,
  s.`__hw_d_n`
)

-- mixed changes: merge
-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT
  `k`,
  `x`,
  `__hw_d_n`
FROM (
  SELECT
    `k`,
    `x`,
    SUM(`__hw_w`) AS `__hw_d_n`
  FROM `__hw_src_0_delta`
  GROUP BY
    `k`,
    `x`
) AS t1
WHERE
  `__hw_d_n` <> 0
) AS s
ON t.`k` IS NOT DISTINCT FROM s.`k` AND t.`x` IS NOT DISTINCT FROM s.`x`
WHEN MATCHED AND (t.`__hw_n` + s.`__hw_d_n` = 0) THEN DELETE
WHEN MATCHED THEN UPDATE SET
  `__hw_n` = IF(t.`__hw_n` + s.`__hw_d_n` >= 1, t.`__hw_n` + s.`__hw_d_n`, CAST(RAISE_ERROR('HW4003: a group of the stream table holds fewer rows than are to be taken away') AS BIGINT))
WHEN NOT MATCHED THEN INSERT (`k`, `x`, `__hw_n`)
VALUES (
  s.`k`,
  s.`x`,
  IF(s.`__hw_d_n` >= 1, s.`__hw_d_n`, CAST(RAISE_ERROR('HW4003: a group of the stream table holds fewer rows than are to be taken away') AS BIGINT))
)
