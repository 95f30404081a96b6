-- query
SELECT k, SUM(x) AS s, COUNT(*) AS c, COUNT(x) AS n FROM l GROUP BY k

-- stored as one row per group, with hidden state that changes are added to
SELECT
  `k`,
  CASE WHEN `__hw_c2` > 0 THEN `__hw_s1` END AS `s`,
  `__hw_n` AS `c`,
  `__hw_c2` AS `n`,
  `__hw_n`,
  `__hw_s1`
FROM (
  SELECT
    `k`,
    COUNT(*) AS `__hw_n`,
    COALESCE(SUM(`x`), 0) AS `__hw_s1`,
    COUNT(CASE WHEN NOT (
      `x`
    ) IS NULL THEN 1 END) AS `__hw_c2`
  FROM `__hw_src_0_new`
  GROUP BY
    `k`
) AS t1

-- append changes: merge
-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT
  `k`,
  SUM(`__hw_w`) AS `__hw_d_n`,
  COALESCE(SUM(`__hw_w` * CAST(`x` AS BIGINT)), 0) AS `__hw_d_s1`,
  SUM(IF(NOT (
    `x`
  ) IS NULL, `__hw_w`, CAST(0 AS BIGINT))) AS `__hw_d_c2`
FROM `__hw_src_0_delta`
GROUP BY
  `k`
) AS s
ON t.`k` IS NOT DISTINCT FROM s.`k`
WHEN MATCHED THEN UPDATE SET
  `s` = CASE WHEN (t.`n` + s.`__hw_d_c2`) > 0 THEN (t.`__hw_s1` + s.`__hw_d_s1`) END,
  `c` = t.`__hw_n` + s.`__hw_d_n`,
  `n` = t.`n` + s.`__hw_d_c2`,
  `__hw_n` = t.`__hw_n` + s.`__hw_d_n`,
  `__hw_s1` = t.`__hw_s1` + s.`__hw_d_s1`
WHEN NOT MATCHED THEN INSERT (`k`, `s`, `c`, `n`, `__hw_n`, `__hw_s1`)
VALUES (
  s.`k`,
  CASE WHEN s.`__hw_d_c2` > 0 THEN s.`__hw_d_s1` END,
  s.`__hw_d_n`,
  s.`__hw_d_c2`,
  s.`__hw_d_n`,
  s.`__hw_d_s1`
)

-- mixed changes: merge
-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT
  `k`,
  `__hw_d_n`,
  `__hw_d_s1`,
  `__hw_d_c2`
FROM (
  SELECT
    `k`,
    SUM(`__hw_w`) AS `__hw_d_n`,
    COALESCE(SUM(`__hw_w` * CAST(`x` AS BIGINT)), 0) AS `__hw_d_s1`,
    SUM(IF(NOT (
      `x`
    ) IS NULL, `__hw_w`, CAST(0 AS BIGINT))) AS `__hw_d_c2`
  FROM `__hw_src_0_delta`
  GROUP BY
    `k`
) AS t1
WHERE
  (
    `__hw_d_n` <> 0 OR `__hw_d_s1` <> 0 OR `__hw_d_c2` <> 0
  )
) AS s
ON t.`k` IS NOT DISTINCT FROM s.`k`
WHEN MATCHED AND (t.`__hw_n` + s.`__hw_d_n` = 0) THEN DELETE
WHEN MATCHED THEN UPDATE SET
  `s` = CASE WHEN (t.`n` + s.`__hw_d_c2`) > 0 THEN (t.`__hw_s1` + s.`__hw_d_s1`) END,
  `c` = t.`__hw_n` + s.`__hw_d_n`,
  `n` = t.`n` + s.`__hw_d_c2`,
  `__hw_n` = IF(t.`__hw_n` + s.`__hw_d_n` >= 1, t.`__hw_n` + s.`__hw_d_n`, CAST(RAISE_ERROR('HW4003: a group of the stream table holds fewer rows than are to be taken away') AS BIGINT)),
  `__hw_s1` = t.`__hw_s1` + s.`__hw_d_s1`
WHEN NOT MATCHED THEN INSERT (`k`, `s`, `c`, `n`, `__hw_n`, `__hw_s1`)
VALUES (
  s.`k`,
  CASE WHEN s.`__hw_d_c2` > 0 THEN s.`__hw_d_s1` END,
  s.`__hw_d_n`,
  s.`__hw_d_c2`,
  IF(s.`__hw_d_n` >= 1, s.`__hw_d_n`, CAST(RAISE_ERROR('HW4003: a group of the stream table holds fewer rows than are to be taken away') AS BIGINT)),
  s.`__hw_d_s1`
)
