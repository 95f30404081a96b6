-- query
SELECT l.id, q.m FROM l, LATERAL (SELECT MAX(y) AS m FROM r WHERE r.k = l.k) q

-- stored as rows with ids, inserted and deleted one by one
SELECT
  `id`,
  `m`,
  CONCAT('__hw_run', ':', MONOTONICALLY_INCREASING_ID()) AS `__hw_id`
FROM (
  SELECT
    `id`,
    `k`
  FROM `__hw_src_0_new`
) AS t1
CROSS JOIN LATERAL (
  SELECT
    MAX(`y`) AS `m`
  FROM (
    SELECT
      `k` AS `k_1`,
      `y`
    FROM `__hw_src_1_new`
  ) AS t3
  WHERE
    `k_1` = `k`
) AS t2

-- append changes: bag
-- __hw_stage_1
SELECT DISTINCT
  `k` AS `__hw_f1`
FROM `__hw_src_1_delta`
-- __hw_stage_2
SELECT
  `id`,
  `k`
FROM (
  SELECT
    `id`,
    `k`
  FROM `__hw_src_0_old`
) AS t1
LEFT SEMI JOIN (
  SELECT
    `__hw_f1`
  FROM `__hw_stage_1`
) AS t2
  ON `k` IS NOT DISTINCT FROM `__hw_f1`
-- __hw_stage_3
SELECT
  `id`,
  `m`,
  `__hw_w`
FROM (
  SELECT
    `id`,
    `m`,
    SUM(`__hw_w`) AS `__hw_w`
  FROM (
    SELECT
      `id`,
      `k`,
      `m`,
      `__hw_w`
    FROM (
      SELECT
        `id`,
        `k`,
        `__hw_w`
      FROM `__hw_src_0_delta`
    ) AS t1
    CROSS JOIN LATERAL (
      SELECT
        MAX(`y`) AS `m`
      FROM (
        SELECT
          `k` AS `k_1`,
          `y`
        FROM `__hw_src_1_new`
      ) AS t3
      WHERE
        `k_1` = `k`
    ) AS t2
    UNION ALL
    SELECT
      `id`,
      `k`,
      `m`,
      CAST(1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT
        `id`,
        `k`
      FROM `__hw_stage_2`
    ) AS t4
    CROSS JOIN LATERAL (
      SELECT
        MAX(`y`) AS `m`
      FROM (
        SELECT
          `k` AS `k_1`,
          `y`
        FROM `__hw_src_1_new`
      ) AS t6
      LEFT SEMI JOIN (
        SELECT
          `__hw_f1`
        FROM `__hw_stage_1`
      ) AS t7
        ON `k_1` IS NOT DISTINCT FROM `__hw_f1`
      WHERE
        `k_1` = `k`
    ) AS t5
    UNION ALL
    SELECT
      `id`,
      `k`,
      `m`,
      CAST(-1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT
        `id`,
        `k`
      FROM `__hw_stage_2`
    ) AS t8
    CROSS JOIN LATERAL (
      SELECT
        MAX(`y`) AS `m`
      FROM (
        SELECT
          `k` AS `k_1`,
          `y`
        FROM `__hw_src_1_old`
      ) AS t10
      LEFT SEMI JOIN (
        SELECT
          `__hw_f1`
        FROM `__hw_stage_1`
      ) AS t11
        ON `k_1` IS NOT DISTINCT FROM `__hw_f1`
      WHERE
        `k_1` = `k`
    ) AS t9
  ) AS t12
  GROUP BY
    `id`,
    `m`
) AS t13
WHERE
  `__hw_w` <> 0
-- __hw_stage_4
SELECT
  IF(
    `__hw_copies` >= -`__hw_w`,
    `__hw_stored_id`,
    CAST(RAISE_ERROR('HW4003: the stream table lacks a row that is to be deleted') AS STRING)
  ) AS `__hw_id`,
  CAST(NULL AS INT) AS `id`,
  CAST(NULL AS INT) AS `m`
FROM (
  SELECT
    `id`,
    `m`,
    `__hw_w`,
    `__hw_t1`,
    `__hw_t2`,
    `__hw_stored_id`,
    ROW_NUMBER() OVER (PARTITION BY `id`, `m` ORDER BY `__hw_stored_id` NULLS LAST) AS `__hw_rank`,
    COUNT(`__hw_stored_id`) OVER (PARTITION BY `id`, `m`) AS `__hw_copies`
  FROM (
    SELECT
      `id`,
      `m`,
      `__hw_w`
    FROM `__hw_stage_3`
    WHERE
      `__hw_w` < 0
  ) AS t1
  LEFT JOIN (
    SELECT
      `id` AS `__hw_t1`,
      `m` AS `__hw_t2`,
      `__hw_id` AS `__hw_stored_id`
    FROM `__hw_target`
  ) AS t2
    ON `id` IS NOT DISTINCT FROM `__hw_t1` AND `m` IS NOT DISTINCT FROM `__hw_t2`
) AS t3
WHERE
  `__hw_rank` <= -`__hw_w`
UNION ALL
SELECT
  `__hw_id`,
  `id`,
  `m`
FROM (
  SELECT
    `id`,
    `m`,
    CONCAT('__hw_run', ':', HEX(`__hw_hash`), ':', `__hw_number`) AS `__hw_id`
  FROM (
    SELECT
      `id`,
      `m`,
      `__hw_hash`,
      ROW_NUMBER() OVER (PARTITION BY `__hw_hash` ORDER BY `id` NULLS LAST, `m` NULLS LAST) AS `__hw_number`
    FROM (
      SELECT
        `id`,
        `m`,
        XXHASH64(`id`, `id` IS NULL, `m`, `m` IS NULL) AS `__hw_hash`
      FROM (
        SELECT
          `id`,
          `m`,
          `__hw_w`
        FROM `__hw_stage_3`
        WHERE
          `__hw_w` > 0
      ) AS t4
      LATERAL VIEW
      EXPLODE(ARRAY_REPEAT(0, CAST(`__hw_w` AS INT))) g5 AS `__hw_copy`
    ) AS t6
  ) AS t7
) AS t8
-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT
  `__hw_id`,
  `id`,
  `m`
FROM `__hw_stage_4`
) AS s
ON t.`__hw_id` IS NOT DISTINCT FROM s.`__hw_id`
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED THEN INSERT (`id`, `m`, `__hw_id`)
VALUES (
  s.`id`,
  s.`m`,
  s.`__hw_id`
)

-- mixed changes: bag
-- __hw_stage_1
SELECT DISTINCT
  `k` AS `__hw_f1`
FROM `__hw_src_1_delta`
-- __hw_stage_2
SELECT
  `id`,
  `k`
FROM (
  SELECT
    `id`,
    `k`
  FROM `__hw_src_0_old`
) AS t1
LEFT SEMI JOIN (
  SELECT
    `__hw_f1`
  FROM `__hw_stage_1`
) AS t2
  ON `k` IS NOT DISTINCT FROM `__hw_f1`
-- __hw_stage_3
SELECT
  `id`,
  `m`,
  `__hw_w`
FROM (
  SELECT
    `id`,
    `m`,
    SUM(`__hw_w`) AS `__hw_w`
  FROM (
    SELECT
      `id`,
      `k`,
      `m`,
      `__hw_w`
    FROM (
      SELECT
        `id`,
        `k`,
        `__hw_w`
      FROM (
        SELECT
          `id`,
          `k`,
          SUM(`__hw_w`) AS `__hw_w`
        FROM `__hw_src_0_delta`
        GROUP BY
          `id`,
          `k`
      ) AS t1
      WHERE
        `__hw_w` <> 0
    ) AS t2
    CROSS JOIN LATERAL (
      SELECT
        MAX(`y`) AS `m`
      FROM (
        SELECT
          `k` AS `k_1`,
          `y`
        FROM `__hw_src_1_new`
      ) AS t4
      WHERE
        `k_1` = `k`
    ) AS t3
    UNION ALL
    SELECT
      `id`,
      `k`,
      `m`,
      CAST(1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT
        `id`,
        `k`
      FROM `__hw_stage_2`
    ) AS t5
    CROSS JOIN LATERAL (
      SELECT
        MAX(`y`) AS `m`
      FROM (
        SELECT
          `k` AS `k_1`,
          `y`
        FROM `__hw_src_1_new`
      ) AS t7
      LEFT SEMI JOIN (
        SELECT
          `__hw_f1`
        FROM `__hw_stage_1`
      ) AS t8
        ON `k_1` IS NOT DISTINCT FROM `__hw_f1`
      WHERE
        `k_1` = `k`
    ) AS t6
    UNION ALL
    SELECT
      `id`,
      `k`,
      `m`,
      CAST(-1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT
        `id`,
        `k`
      FROM `__hw_stage_2`
    ) AS t9
    CROSS JOIN LATERAL (
      SELECT
        MAX(`y`) AS `m`
      FROM (
        SELECT
          `k` AS `k_1`,
          `y`
        FROM `__hw_src_1_old`
      ) AS t11
      LEFT SEMI JOIN (
        SELECT
          `__hw_f1`
        FROM `__hw_stage_1`
      ) AS t12
        ON `k_1` IS NOT DISTINCT FROM `__hw_f1`
      WHERE
        `k_1` = `k`
    ) AS t10
  ) AS t13
  GROUP BY
    `id`,
    `m`
) AS t14
WHERE
  `__hw_w` <> 0
-- __hw_stage_4
SELECT
  IF(
    `__hw_copies` >= -`__hw_w`,
    `__hw_stored_id`,
    CAST(RAISE_ERROR('HW4003: the stream table lacks a row that is to be deleted') AS STRING)
  ) AS `__hw_id`,
  CAST(NULL AS INT) AS `id`,
  CAST(NULL AS INT) AS `m`
FROM (
  SELECT
    `id`,
    `m`,
    `__hw_w`,
    `__hw_t1`,
    `__hw_t2`,
    `__hw_stored_id`,
    ROW_NUMBER() OVER (PARTITION BY `id`, `m` ORDER BY `__hw_stored_id` NULLS LAST) AS `__hw_rank`,
    COUNT(`__hw_stored_id`) OVER (PARTITION BY `id`, `m`) AS `__hw_copies`
  FROM (
    SELECT
      `id`,
      `m`,
      `__hw_w`
    FROM `__hw_stage_3`
    WHERE
      `__hw_w` < 0
  ) AS t1
  LEFT JOIN (
    SELECT
      `id` AS `__hw_t1`,
      `m` AS `__hw_t2`,
      `__hw_id` AS `__hw_stored_id`
    FROM `__hw_target`
  ) AS t2
    ON `id` IS NOT DISTINCT FROM `__hw_t1` AND `m` IS NOT DISTINCT FROM `__hw_t2`
) AS t3
WHERE
  `__hw_rank` <= -`__hw_w`
UNION ALL
SELECT
  `__hw_id`,
  `id`,
  `m`
FROM (
  SELECT
    `id`,
    `m`,
    CONCAT('__hw_run', ':', HEX(`__hw_hash`), ':', `__hw_number`) AS `__hw_id`
  FROM (
    SELECT
      `id`,
      `m`,
      `__hw_hash`,
      ROW_NUMBER() OVER (PARTITION BY `__hw_hash` ORDER BY `id` NULLS LAST, `m` NULLS LAST) AS `__hw_number`
    FROM (
      SELECT
        `id`,
        `m`,
        XXHASH64(`id`, `id` IS NULL, `m`, `m` IS NULL) AS `__hw_hash`
      FROM (
        SELECT
          `id`,
          `m`,
          `__hw_w`
        FROM `__hw_stage_3`
        WHERE
          `__hw_w` > 0
      ) AS t4
      LATERAL VIEW
      EXPLODE(ARRAY_REPEAT(0, CAST(`__hw_w` AS INT))) g5 AS `__hw_copy`
    ) AS t6
  ) AS t7
) AS t8
-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT
  `__hw_id`,
  `id`,
  `m`
FROM `__hw_stage_4`
) AS s
ON t.`__hw_id` IS NOT DISTINCT FROM s.`__hw_id`
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED THEN INSERT (`id`, `m`, `__hw_id`)
VALUES (
  s.`id`,
  s.`m`,
  s.`__hw_id`
)
