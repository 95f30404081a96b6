-- query
SELECT id FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.k = l.k)

-- stored as rows with ids, inserted and deleted one by one
SELECT
  `id`,
  CONCAT('__hw_run', ':', MONOTONICALLY_INCREASING_ID()) AS `__hw_id`
FROM (
  SELECT
    `id`,
    `k`
  FROM `__hw_src_0_new`
) AS t1
LEFT ANTI JOIN (
  SELECT
    `k` AS `k_1`
  FROM `__hw_src_1_new`
) AS t2
  ON `k_1` = `k`

-- append changes: bag
-- __hw_stage_1
SELECT
  `k` AS `k_1`,
  `__hw_w`
FROM `__hw_src_1_delta`
-- __hw_stage_2
SELECT
  `id`,
  `__hw_w`
FROM (
  SELECT
    `id`,
    SUM(`__hw_w`) AS `__hw_w`
  FROM (
    SELECT
      `id`,
      `k`,
      `__hw_w`
    FROM (
      SELECT
        `id`,
        `k`,
        `__hw_w`
      FROM `__hw_src_0_delta`
    ) AS t1
    LEFT ANTI JOIN (
      SELECT
        `k` AS `k_1`
      FROM `__hw_src_1_new`
    ) AS t2
      ON `k_1` = `k`
    UNION ALL
    SELECT
      `id`,
      `k`,
      CAST(-1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT
        `id`,
        `k`
      FROM `__hw_src_0_old`
    ) AS t3
    LEFT SEMI JOIN (
      SELECT
        `k_1`,
        `__hw_w`
      FROM `__hw_stage_1`
    ) AS t4
      ON `k_1` = `k`
    LEFT ANTI JOIN (
      SELECT
        `k_1`
      FROM (
        SELECT
          `k` AS `k_1`
        FROM `__hw_src_1_old`
      ) AS t5
      LEFT SEMI JOIN (
        SELECT
          `k_1` AS `__hw_f1`
        FROM `__hw_stage_1`
      ) AS t6
        ON `k_1` IS NOT DISTINCT FROM `__hw_f1`
    ) AS t7
      ON `k_1` = `k`
    LEFT SEMI JOIN (
      SELECT
        `k_1`
      FROM (
        SELECT
          `k` AS `k_1`
        FROM `__hw_src_1_new`
      ) AS t8
      LEFT SEMI JOIN (
        SELECT
          `k_1` AS `__hw_f1`
        FROM `__hw_stage_1`
      ) AS t9
        ON `k_1` IS NOT DISTINCT FROM `__hw_f1`
    ) AS t10
      ON `k_1` = `k`
  ) AS t11
  GROUP BY
    `id`
) AS t12
WHERE
  `__hw_w` <> 0
-- __hw_stage_3
SELECT
  IF(
    `__hw_copies` >= -`__hw_w`,
    `__hw_stored_id`,
    CAST(RAISE_ERROR('HW4003: the stream table lacks a row that is to be deleted') AS STRING)
  ) AS `__hw_id`,
  CAST(NULL AS INT) AS `id`
FROM (
  SELECT
    `id`,
    `__hw_w`,
    `__hw_t1`,
    `__hw_stored_id`,
    ROW_NUMBER() OVER (PARTITION BY `id` ORDER BY `__hw_stored_id` NULLS LAST) AS `__hw_rank`,
    COUNT(`__hw_stored_id`) OVER (PARTITION BY `id`) AS `__hw_copies`
  FROM (
    SELECT
      `id`,
      `__hw_w`
    FROM `__hw_stage_2`
    WHERE
      `__hw_w` < 0
  ) AS t1
  LEFT JOIN (
    SELECT
      `id` AS `__hw_t1`,
      `__hw_id` AS `__hw_stored_id`
    FROM `__hw_target`
  ) AS t2
    ON `id` IS NOT DISTINCT FROM `__hw_t1`
) AS t3
WHERE
  `__hw_rank` <= -`__hw_w`
UNION ALL
SELECT
  `__hw_id`,
  `id`
FROM (
  SELECT
    `id`,
    CONCAT('__hw_run', ':', HEX(`__hw_hash`), ':', `__hw_number`) AS `__hw_id`
  FROM (
    SELECT
      `id`,
      `__hw_hash`,
      ROW_NUMBER() OVER (PARTITION BY `__hw_hash` ORDER BY `id` NULLS LAST) AS `__hw_number`
    FROM (
      SELECT
        `id`,
        XXHASH64(`id`, `id` IS NULL) AS `__hw_hash`
      FROM (
        SELECT
          `id`,
          `__hw_w`
        FROM `__hw_stage_2`
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
  `id`
FROM `__hw_stage_3`
) AS s
ON t.`__hw_id` IS NOT DISTINCT FROM s.`__hw_id`
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED THEN INSERT (`id`, `__hw_id`)
VALUES (
  s.`id`,
  s.`__hw_id`
)

-- mixed changes: bag
-- __hw_stage_1
SELECT
  `k_1`,
  `__hw_w`
FROM (
  SELECT
    `k` AS `k_1`,
    SUM(`__hw_w`) AS `__hw_w`
  FROM `__hw_src_1_delta`
  GROUP BY
    `k`
) AS t1
WHERE
  `__hw_w` <> 0
-- __hw_stage_2
SELECT
  `id`,
  `__hw_w`
FROM (
  SELECT
    `id`,
    SUM(`__hw_w`) AS `__hw_w`
  FROM (
    SELECT
      `id`,
      `k`,
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
    LEFT ANTI JOIN (
      SELECT
        `k` AS `k_1`
      FROM `__hw_src_1_new`
    ) AS t3
      ON `k_1` = `k`
    UNION ALL
    SELECT
      `id`,
      `k`,
      CAST(-1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT
        `id`,
        `k`
      FROM `__hw_src_0_old`
    ) AS t4
    LEFT SEMI JOIN (
      SELECT
        `k_1`,
        `__hw_w`
      FROM `__hw_stage_1`
    ) AS t5
      ON `k_1` = `k`
    LEFT ANTI JOIN (
      SELECT
        `k_1`
      FROM (
        SELECT
          `k` AS `k_1`
        FROM `__hw_src_1_old`
      ) AS t6
      LEFT SEMI JOIN (
        SELECT
          `k_1` AS `__hw_f1`
        FROM `__hw_stage_1`
      ) AS t7
        ON `k_1` IS NOT DISTINCT FROM `__hw_f1`
    ) AS t8
      ON `k_1` = `k`
    LEFT SEMI JOIN (
      SELECT
        `k_1`
      FROM (
        SELECT
          `k` AS `k_1`
        FROM `__hw_src_1_new`
      ) AS t9
      LEFT SEMI JOIN (
        SELECT
          `k_1` AS `__hw_f1`
        FROM `__hw_stage_1`
      ) AS t10
        ON `k_1` IS NOT DISTINCT FROM `__hw_f1`
    ) AS t11
      ON `k_1` = `k`
    UNION ALL
    SELECT
      `id`,
      `k`,
      CAST(1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT
        `id`,
        `k`
      FROM `__hw_src_0_old`
    ) AS t12
    LEFT SEMI JOIN (
      SELECT
        `k_1`,
        `__hw_w`
      FROM `__hw_stage_1`
    ) AS t13
      ON `k_1` = `k`
    LEFT SEMI JOIN (
      SELECT
        `k_1`
      FROM (
        SELECT
          `k` AS `k_1`
        FROM `__hw_src_1_old`
      ) AS t14
      LEFT SEMI JOIN (
        SELECT
          `k_1` AS `__hw_f1`
        FROM `__hw_stage_1`
      ) AS t15
        ON `k_1` IS NOT DISTINCT FROM `__hw_f1`
    ) AS t16
      ON `k_1` = `k`
    LEFT ANTI JOIN (
      SELECT
        `k_1`
      FROM (
        SELECT
          `k` AS `k_1`
        FROM `__hw_src_1_new`
      ) AS t17
      LEFT SEMI JOIN (
        SELECT
          `k_1` AS `__hw_f1`
        FROM `__hw_stage_1`
      ) AS t18
        ON `k_1` IS NOT DISTINCT FROM `__hw_f1`
    ) AS t19
      ON `k_1` = `k`
  ) AS t20
  GROUP BY
    `id`
) AS t21
WHERE
  `__hw_w` <> 0
-- __hw_stage_3
SELECT
  IF(
    `__hw_copies` >= -`__hw_w`,
    `__hw_stored_id`,
    CAST(RAISE_ERROR('HW4003: the stream table lacks a row that is to be deleted') AS STRING)
  ) AS `__hw_id`,
  CAST(NULL AS INT) AS `id`
FROM (
  SELECT
    `id`,
    `__hw_w`,
    `__hw_t1`,
    `__hw_stored_id`,
    ROW_NUMBER() OVER (PARTITION BY `id` ORDER BY `__hw_stored_id` NULLS LAST) AS `__hw_rank`,
    COUNT(`__hw_stored_id`) OVER (PARTITION BY `id`) AS `__hw_copies`
  FROM (
    SELECT
      `id`,
      `__hw_w`
    FROM `__hw_stage_2`
    WHERE
      `__hw_w` < 0
  ) AS t1
  LEFT JOIN (
    SELECT
      `id` AS `__hw_t1`,
      `__hw_id` AS `__hw_stored_id`
    FROM `__hw_target`
  ) AS t2
    ON `id` IS NOT DISTINCT FROM `__hw_t1`
) AS t3
WHERE
  `__hw_rank` <= -`__hw_w`
UNION ALL
SELECT
  `__hw_id`,
  `id`
FROM (
  SELECT
    `id`,
    CONCAT('__hw_run', ':', HEX(`__hw_hash`), ':', `__hw_number`) AS `__hw_id`
  FROM (
    SELECT
      `id`,
      `__hw_hash`,
      ROW_NUMBER() OVER (PARTITION BY `__hw_hash` ORDER BY `id` NULLS LAST) AS `__hw_number`
    FROM (
      SELECT
        `id`,
        XXHASH64(`id`, `id` IS NULL) AS `__hw_hash`
      FROM (
        SELECT
          `id`,
          `__hw_w`
        FROM `__hw_stage_2`
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
  `id`
FROM `__hw_stage_3`
) AS s
ON t.`__hw_id` IS NOT DISTINCT FROM s.`__hw_id`
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED THEN INSERT (`id`, `__hw_id`)
VALUES (
  s.`id`,
  s.`__hw_id`
)
