-- query
SELECT k, COUNT(*) AS n FROM l GROUP BY k HAVING SUM(x) > 3

-- stored as one row per key, recomputed when the key is affected
SELECT
  `k`,
  `n`
FROM (
  SELECT
    `k`,
    COUNT(*) AS `n`,
    SUM(`x`) AS `sum`
  FROM `__hw_src_0_new`
  GROUP BY
    `k`
) AS t1
WHERE
  `sum` > 3

-- append changes: replace_keys
-- __hw_stage_1
SELECT DISTINCT
  `k` AS `__hw_f1`
FROM `__hw_src_0_delta`
-- __hw_stage_2
SELECT
  `__hw_f1`,
  `k`,
  `n`,
  `__hw_here`
FROM (
  SELECT
    `__hw_f1`
  FROM `__hw_stage_1`
) AS t1
LEFT JOIN (
  SELECT
    `k`,
    `n`,
    TRUE AS `__hw_here`
  FROM (
    SELECT
      `k`,
      COUNT(*) AS `n`,
      SUM(`x`) AS `sum`
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
  WHERE
    `sum` > 3
) AS t5
  ON `k` IS NOT DISTINCT FROM `__hw_f1`
-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT
  `__hw_f1`,
  `k`,
  `n`,
  `__hw_here`
FROM `__hw_stage_2`
) AS s
ON t.`k` IS NOT DISTINCT FROM s.`__hw_f1`
WHEN MATCHED AND (s.`__hw_here` IS NULL) THEN DELETE
WHEN MATCHED AND (NOT t.`n` IS NOT DISTINCT FROM s.`n`) THEN UPDATE SET
  `n` = s.`n`
WHEN NOT MATCHED AND (s.`__hw_here`) THEN INSERT (`k`, `n`)
VALUES (
  s.`k`,
  s.`n`
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
  `n`,
  `__hw_here`
FROM (
  SELECT
    `__hw_f1`
  FROM `__hw_stage_1`
) AS t1
LEFT JOIN (
  SELECT
    `k`,
    `n`,
    TRUE AS `__hw_here`
  FROM (
    SELECT
      `k`,
      COUNT(*) AS `n`,
      SUM(`x`) AS `sum`
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
  WHERE
    `sum` > 3
) AS t5
  ON `k` IS NOT DISTINCT FROM `__hw_f1`
-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT
  `__hw_f1`,
  `k`,
  `n`,
  `__hw_here`
FROM `__hw_stage_2`
) AS s
ON t.`k` IS NOT DISTINCT FROM s.`__hw_f1`
WHEN MATCHED AND (s.`__hw_here` IS NULL) THEN DELETE
WHEN MATCHED AND (NOT t.`n` IS NOT DISTINCT FROM s.`n`) THEN UPDATE SET
  `n` = s.`n`
WHEN NOT MATCHED AND (s.`__hw_here`) THEN INSERT (`k`, `n`)
VALUES (
  s.`k`,
  s.`n`
)
