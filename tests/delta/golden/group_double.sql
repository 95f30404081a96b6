-- query
SELECT k, SUM(v) AS s FROM d GROUP BY k

-- stored as one row per key, recomputed when the key is affected
SELECT
  `k`,
  SUM(`v`) AS `s`
FROM `__hw_src_0_new`
GROUP BY
  `k`

-- append changes: replace_keys
-- __hw_stage_1
SELECT DISTINCT
  `k` AS `__hw_f1`
FROM `__hw_src_0_delta`
-- __hw_stage_2
SELECT
  `__hw_f1`,
  `k`,
  `s`,
  `__hw_here`
FROM (
  SELECT
    `__hw_f1`
  FROM `__hw_stage_1`
) AS t1
LEFT JOIN (
  SELECT
    `k`,
    `s`,
    TRUE AS `__hw_here`
  FROM (
    SELECT
      `k`,
      SUM(`v`) AS `s`
    FROM (
      SELECT
        `k`,
        `v`
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
  `s`,
  `__hw_here`
FROM `__hw_stage_2`
) AS s
ON t.`k` IS NOT DISTINCT FROM s.`__hw_f1`
WHEN MATCHED AND (s.`__hw_here` IS NULL) THEN DELETE
WHEN MATCHED AND (NOT t.`s` IS NOT DISTINCT FROM s.`s`) THEN UPDATE SET
  `s` = s.`s`
WHEN NOT MATCHED AND (s.`__hw_here`) THEN INSERT (`k`, `s`)
VALUES (
  s.`k`,
  s.`s`
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
  `s`,
  `__hw_here`
FROM (
  SELECT
    `__hw_f1`
  FROM `__hw_stage_1`
) AS t1
LEFT JOIN (
  SELECT
    `k`,
    `s`,
    TRUE AS `__hw_here`
  FROM (
    SELECT
      `k`,
      SUM(`v`) AS `s`
    FROM (
      SELECT
        `k`,
        `v`
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
  `s`,
  `__hw_here`
FROM `__hw_stage_2`
) AS s
ON t.`k` IS NOT DISTINCT FROM s.`__hw_f1`
WHEN MATCHED AND (s.`__hw_here` IS NULL) THEN DELETE
WHEN MATCHED AND (NOT t.`s` IS NOT DISTINCT FROM s.`s`) THEN UPDATE SET
  `s` = s.`s`
WHEN NOT MATCHED AND (s.`__hw_here`) THEN INSERT (`k`, `s`)
VALUES (
  s.`k`,
  s.`s`
)
