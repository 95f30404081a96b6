-- query
SELECT k FROM l INTERSECT SELECT k FROM r

-- stored as one row per key, recomputed when the key is affected
SELECT
  `k_2` AS `k`
FROM (
  SELECT
    `k` AS `k_2`
  FROM `__hw_src_0_new`
  INTERSECT
  SELECT
    `k` AS `k_2`
  FROM `__hw_src_1_new`
) AS t1

-- append changes: replace_keys
-- __hw_stage_1
SELECT DISTINCT
  `k` AS `__hw_f1`
FROM (
  SELECT
    `k`
  FROM `__hw_src_0_delta`
  UNION ALL
  SELECT
    `k`
  FROM `__hw_src_1_delta`
) AS t1
-- __hw_stage_2
SELECT
  `__hw_f1`,
  `k`,
  `__hw_here`
FROM (
  SELECT
    `__hw_f1`
  FROM `__hw_stage_1`
) AS t1
LEFT JOIN (
  SELECT
    `k_2` AS `k`,
    TRUE AS `__hw_here`
  FROM (
    SELECT
      `k` AS `k_2`
    FROM (
      SELECT
        `k`
      FROM `__hw_src_0_new`
    ) AS t2
    LEFT SEMI JOIN (
      SELECT
        `__hw_f1`
      FROM `__hw_stage_1`
    ) AS t3
      ON `k` IS NOT DISTINCT FROM `__hw_f1`
    INTERSECT
    SELECT
      `k_1` AS `k_2`
    FROM (
      SELECT
        `k` AS `k_1`
      FROM `__hw_src_1_new`
    ) AS t4
    LEFT SEMI JOIN (
      SELECT
        `__hw_f1`
      FROM `__hw_stage_1`
    ) AS t5
      ON `k_1` IS NOT DISTINCT FROM `__hw_f1`
  ) AS t6
) AS t7
  ON `k` IS NOT DISTINCT FROM `__hw_f1`
-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT
  `__hw_f1`,
  `k`,
  `__hw_here`
FROM `__hw_stage_2`
) AS s
ON t.`k` IS NOT DISTINCT FROM s.`__hw_f1`
WHEN MATCHED AND (s.`__hw_here` IS NULL) THEN DELETE
WHEN NOT MATCHED AND (s.`__hw_here`) THEN INSERT (`k`)
VALUES (
  s.`k`
)

-- mixed changes: replace_keys
-- __hw_stage_1
SELECT DISTINCT
  `k` AS `__hw_f1`
FROM (
  SELECT
    `k`
  FROM `__hw_src_0_delta`
  UNION ALL
  SELECT
    `k`
  FROM `__hw_src_1_delta`
) AS t1
-- __hw_stage_2
SELECT
  `__hw_f1`,
  `k`,
  `__hw_here`
FROM (
  SELECT
    `__hw_f1`
  FROM `__hw_stage_1`
) AS t1
LEFT JOIN (
  SELECT
    `k_2` AS `k`,
    TRUE AS `__hw_here`
  FROM (
    SELECT
      `k` AS `k_2`
    FROM (
      SELECT
        `k`
      FROM `__hw_src_0_new`
    ) AS t2
    LEFT SEMI JOIN (
      SELECT
        `__hw_f1`
      FROM `__hw_stage_1`
    ) AS t3
      ON `k` IS NOT DISTINCT FROM `__hw_f1`
    INTERSECT
    SELECT
      `k_1` AS `k_2`
    FROM (
      SELECT
        `k` AS `k_1`
      FROM `__hw_src_1_new`
    ) AS t4
    LEFT SEMI JOIN (
      SELECT
        `__hw_f1`
      FROM `__hw_stage_1`
    ) AS t5
      ON `k_1` IS NOT DISTINCT FROM `__hw_f1`
  ) AS t6
) AS t7
  ON `k` IS NOT DISTINCT FROM `__hw_f1`
-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT
  `__hw_f1`,
  `k`,
  `__hw_here`
FROM `__hw_stage_2`
) AS s
ON t.`k` IS NOT DISTINCT FROM s.`__hw_f1`
WHEN MATCHED AND (s.`__hw_here` IS NULL) THEN DELETE
WHEN NOT MATCHED AND (s.`__hw_here`) THEN INSERT (`k`)
VALUES (
  s.`k`
)
