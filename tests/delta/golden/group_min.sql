-- query
SELECT k, MIN(x) AS lo, MAX(x) AS hi FROM l GROUP BY k

-- stored as one row per group, with hidden state that changes are added to
SELECT
  `k`,
  `__hw_m1` AS `lo`,
  `__hw_m2` AS `hi`,
  `__hw_n`
FROM (
  SELECT
    `k`,
    COUNT(*) AS `__hw_n`,
    MIN(`x`) AS `__hw_m1`,
    MAX(`x`) AS `__hw_m2`
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
  MIN(`x`) AS `__hw_d_m1`,
  MAX(`x`) AS `__hw_d_m2`
FROM `__hw_src_0_delta`
GROUP BY
  `k`
) AS s
ON t.`k` IS NOT DISTINCT FROM s.`k`
WHEN MATCHED THEN UPDATE SET
  `lo` = LEAST(t.`lo`, s.`__hw_d_m1`),
  `hi` = GREATEST(t.`hi`, s.`__hw_d_m2`),
  `__hw_n` = t.`__hw_n` + s.`__hw_d_n`
WHEN NOT MATCHED THEN INSERT (`k`, `lo`, `hi`, `__hw_n`)
VALUES (
  s.`k`,
  s.`__hw_d_m1`,
  s.`__hw_d_m2`,
  s.`__hw_d_n`
)

-- mixed changes: replace_keys
-- __hw_stage_1
SELECT DISTINCT
  `k` AS `__hw_f1`
FROM `__hw_src_0_delta`
-- __hw_stage_2
SELECT
  `__hw_f1`,
  `k`,
  `lo`,
  `hi`,
  `__hw_n`,
  `__hw_here`
FROM (
  SELECT
    `__hw_f1`
  FROM `__hw_stage_1`
) AS t1
LEFT JOIN (
  SELECT
    `k`,
    `__hw_m1` AS `lo`,
    `__hw_m2` AS `hi`,
    `__hw_n`,
    TRUE AS `__hw_here`
  FROM (
    SELECT
      `k`,
      COUNT(*) AS `__hw_n`,
      MIN(`x`) AS `__hw_m1`,
      MAX(`x`) AS `__hw_m2`
    FROM (
      SELECT
        `k`,
        `x`
      FROM `__hw_src_0_new`
    ) AS t2
    LEFT SEMI JOIN (
      SELECT
        `__hw_f1`
      FROM `__hw_stage_1`
    ) AS t3
      ON `k` IS NOT DISTINCT FROM `__hw_f1`
    GROUP BY
      `k`
  ) AS t4
) AS t5
  ON `k` IS NOT DISTINCT FROM `__hw_f1`
-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT
  `__hw_f1`,
  `k`,
  `lo`,
  `hi`,
  `__hw_n`,
  `__hw_here`
FROM `__hw_stage_2`
) AS s
ON t.`k` IS NOT DISTINCT FROM s.`__hw_f1`
WHEN MATCHED AND (s.`__hw_here` IS NULL) THEN DELETE
WHEN MATCHED AND (NOT t.`lo` IS NOT DISTINCT FROM s.`lo` OR NOT t.`hi` IS NOT DISTINCT FROM s.`hi` OR NOT t.`__hw_n` IS NOT DISTINCT FROM s.`__hw_n`) THEN UPDATE SET
  `lo` = s.`lo`,
  `hi` = s.`hi`,
  `__hw_n` = s.`__hw_n`
WHEN NOT MATCHED AND (s.`__hw_here`) THEN INSERT (`k`, `lo`, `hi`, `__hw_n`)
VALUES (
  s.`k`,
  s.`lo`,
  s.`hi`,
  s.`__hw_n`
)
