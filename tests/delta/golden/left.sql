-- query
SELECT l.id, l.k, r.y FROM l LEFT JOIN r ON l.k = r.k

-- stored as rows with ids, inserted and deleted one by one
SELECT
  `id`,
  `k`,
  `y`,
  CONCAT('__hw_run', ':', MONOTONICALLY_INCREASING_ID()) AS `__hw_id`
FROM (
  SELECT
    `id`,
    `k`
  FROM `__hw_src_0_new`
) AS t1
LEFT JOIN (
  SELECT
    `k` AS `k_1`,
    `y`
  FROM `__hw_src_1_new`
) AS t2
  ON `k` = `k_1`

-- append changes: bag
-- __hw_stage_1
SELECT
  `k` AS `k_1`,
  `y`,
  `__hw_w`
FROM `__hw_src_1_delta`
-- __hw_stage_2
SELECT
  `id`,
  `k`,
  `y`,
  `__hw_w`
FROM (
  SELECT
    `id`,
    `k`,
    `y`,
    SUM(`__hw_w`) AS `__hw_w`
  FROM (
    SELECT
      `id`,
      `k`,
      `k_1`,
      `y`,
      `__hw_w`
    FROM (
      SELECT
        `id`,
        `k`,
        `__hw_w`
      FROM `__hw_src_0_delta`
    ) AS t1
    LEFT JOIN (
      SELECT
        `k` AS `k_1`,
        `y`
      FROM `__hw_src_1_new`
    ) AS t2
      ON `k` = `k_1`
    UNION ALL
    SELECT
      `id`,
      `k`,
      `k_1`,
      `y`,
      `__hw_w`
    FROM (
      SELECT
        `id`,
        `k`
      FROM `__hw_src_0_old`
    ) AS t3
    INNER JOIN (
      SELECT
        `k_1`,
        `y`,
        `__hw_w`
      FROM `__hw_stage_1`
    ) AS t4
      ON `k` = `k_1`
    UNION ALL
    SELECT
      `id`,
      `k`,
      CAST(NULL AS INT) AS `k_1`,
      CAST(NULL AS INT) AS `y`,
      CAST(-1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT
        `id`,
        `k`
      FROM `__hw_src_0_old`
    ) AS t5
    LEFT SEMI JOIN (
      SELECT
        `k_1`,
        `y`,
        `__hw_w`
      FROM `__hw_stage_1`
    ) AS t6
      ON `k` = `k_1`
    LEFT ANTI JOIN (
      SELECT
        `k_1`,
        `y`
      FROM (
        SELECT
          `k` AS `k_1`,
          `y`
        FROM `__hw_src_1_old`
      ) AS t7
      LEFT SEMI JOIN (
        SELECT
          `k_1` AS `__hw_f1`
        FROM `__hw_stage_1`
      ) AS t8
        ON `k_1` IS NOT DISTINCT FROM `__hw_f1`
    ) AS t9
      ON `k` = `k_1`
    LEFT SEMI JOIN (
      SELECT
        `k_1`,
        `y`
      FROM (
        SELECT
          `k` AS `k_1`,
          `y`
        FROM `__hw_src_1_new`
      ) AS t10
      LEFT SEMI JOIN (
        SELECT
          `k_1` AS `__hw_f1`
        FROM `__hw_stage_1`
      ) AS t11
        ON `k_1` IS NOT DISTINCT FROM `__hw_f1`
    ) AS t12
      ON `k` = `k_1`
  ) AS t13
  GROUP BY
    `id`,
    `k`,
    `y`
) AS t14
WHERE
  `__hw_w` <> 0
-- __hw_stage_3
SELECT
  IF(
    `__hw_copies` >= -`__hw_w`,
    `__hw_stored_id`,
    CAST(RAISE_ERROR('HW4003: the stream table lacks a row that is to be deleted') AS STRING)
  ) AS `__hw_id`,
  CAST(NULL AS INT) AS `id`,
  CAST(NULL AS INT) AS `k`,
  CAST(NULL AS INT) AS `y`
FROM (
  SELECT
    `id`,
    `k`,
    `y`,
    `__hw_w`,
    `__hw_t1`,
    `__hw_t2`,
    `__hw_t3`,
    `__hw_stored_id`,
    ROW_NUMBER() OVER (PARTITION BY `id`, `k`, `y` ORDER BY `__hw_stored_id` NULLS LAST) AS `__hw_rank`,
    COUNT(`__hw_stored_id`) OVER (PARTITION BY `id`, `k`, `y`) AS `__hw_copies`
  FROM (
    SELECT
      `id`,
      `k`,
      `y`,
      `__hw_w`
    FROM `__hw_stage_2`
    WHERE
      `__hw_w` < 0
  ) AS t1
  LEFT JOIN (
    SELECT
      `id` AS `__hw_t1`,
      `k` AS `__hw_t2`,
      `y` AS `__hw_t3`,
      `__hw_id` AS `__hw_stored_id`
    FROM `__hw_target`
  ) AS t2
    ON `id` IS NOT DISTINCT FROM `__hw_t1`
    AND `k` IS NOT DISTINCT FROM `__hw_t2`
    AND `y` IS NOT DISTINCT FROM `__hw_t3`
) AS t3
WHERE
  `__hw_rank` <= -`__hw_w`
UNION ALL
SELECT
  `__hw_id`,
  `id`,
  `k`,
  `y`
FROM (
  SELECT
    `id`,
    `k`,
    `y`,
    CONCAT('__hw_run', ':', HEX(`__hw_hash`), ':', `__hw_number`) AS `__hw_id`
  FROM (
    SELECT
      `id`,
      `k`,
      `y`,
      `__hw_hash`,
      ROW_NUMBER() OVER (PARTITION BY `__hw_hash` ORDER BY `id` NULLS LAST, `k` NULLS LAST, `y` NULLS LAST) AS `__hw_number`
    FROM (
      SELECT
        `id`,
        `k`,
        `y`,
        XXHASH64(`id`, `id` IS NULL, `k`, `k` IS NULL, `y`, `y` IS NULL) AS `__hw_hash`
      FROM (
        SELECT
          `id`,
          `k`,
          `y`,
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
  `id`,
  `k`,
  `y`
FROM `__hw_stage_3`
) AS s
ON t.`__hw_id` IS NOT DISTINCT FROM s.`__hw_id`
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED THEN INSERT (`id`, `k`, `y`, `__hw_id`)
VALUES (
  s.`id`,
  s.`k`,
  s.`y`,
  s.`__hw_id`
)

-- mixed changes: bag
-- __hw_stage_1
SELECT
  `k_1`,
  `y`,
  `__hw_w`
FROM (
  SELECT
    `k` AS `k_1`,
    `y`,
    SUM(`__hw_w`) AS `__hw_w`
  FROM `__hw_src_1_delta`
  GROUP BY
    `k`,
    `y`
) AS t1
WHERE
  `__hw_w` <> 0
-- __hw_stage_2
SELECT
  `id`,
  `k`,
  `y`,
  `__hw_w`
FROM (
  SELECT
    `id`,
    `k`,
    `y`,
    SUM(`__hw_w`) AS `__hw_w`
  FROM (
    SELECT
      `id`,
      `k`,
      `k_1`,
      `y`,
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
    LEFT JOIN (
      SELECT
        `k` AS `k_1`,
        `y`
      FROM `__hw_src_1_new`
    ) AS t3
      ON `k` = `k_1`
    UNION ALL
    SELECT
      `id`,
      `k`,
      `k_1`,
      `y`,
      `__hw_w`
    FROM (
      SELECT
        `id`,
        `k`
      FROM `__hw_src_0_old`
    ) AS t4
    INNER JOIN (
      SELECT
        `k_1`,
        `y`,
        `__hw_w`
      FROM `__hw_stage_1`
    ) AS t5
      ON `k` = `k_1`
    UNION ALL
    SELECT
      `id`,
      `k`,
      CAST(NULL AS INT) AS `k_1`,
      CAST(NULL AS INT) AS `y`,
      CAST(-1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT
        `id`,
        `k`
      FROM `__hw_src_0_old`
    ) AS t6
    LEFT SEMI JOIN (
      SELECT
        `k_1`,
        `y`,
        `__hw_w`
      FROM `__hw_stage_1`
    ) AS t7
      ON `k` = `k_1`
    LEFT ANTI JOIN (
      SELECT
        `k_1`,
        `y`
      FROM (
        SELECT
          `k` AS `k_1`,
          `y`
        FROM `__hw_src_1_old`
      ) AS t8
      LEFT SEMI JOIN (
        SELECT
          `k_1` AS `__hw_f1`
        FROM `__hw_stage_1`
      ) AS t9
        ON `k_1` IS NOT DISTINCT FROM `__hw_f1`
    ) AS t10
      ON `k` = `k_1`
    LEFT SEMI JOIN (
      SELECT
        `k_1`,
        `y`
      FROM (
        SELECT
          `k` AS `k_1`,
          `y`
        FROM `__hw_src_1_new`
      ) AS t11
      LEFT SEMI JOIN (
        SELECT
          `k_1` AS `__hw_f1`
        FROM `__hw_stage_1`
      ) AS t12
        ON `k_1` IS NOT DISTINCT FROM `__hw_f1`
    ) AS t13
      ON `k` = `k_1`
    UNION ALL
    SELECT
      `id`,
      `k`,
      CAST(NULL AS INT) AS `k_1`,
      CAST(NULL AS INT) AS `y`,
      CAST(1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT
        `id`,
        `k`
      FROM `__hw_src_0_old`
    ) AS t14
    LEFT SEMI JOIN (
      SELECT
        `k_1`,
        `y`,
        `__hw_w`
      FROM `__hw_stage_1`
    ) AS t15
      ON `k` = `k_1`
    LEFT SEMI JOIN (
      SELECT
        `k_1`,
        `y`
      FROM (
        SELECT
          `k` AS `k_1`,
          `y`
        FROM `__hw_src_1_old`
      ) AS t16
      LEFT SEMI JOIN (
        SELECT
          `k_1` AS `__hw_f1`
        FROM `__hw_stage_1`
      ) AS t17
        ON `k_1` IS NOT DISTINCT FROM `__hw_f1`
    ) AS t18
      ON `k` = `k_1`
    LEFT ANTI JOIN (
      SELECT
        `k_1`,
        `y`
      FROM (
        SELECT
          `k` AS `k_1`,
          `y`
        FROM `__hw_src_1_new`
      ) AS t19
      LEFT SEMI JOIN (
        SELECT
          `k_1` AS `__hw_f1`
        FROM `__hw_stage_1`
      ) AS t20
        ON `k_1` IS NOT DISTINCT FROM `__hw_f1`
    ) AS t21
      ON `k` = `k_1`
  ) AS t22
  GROUP BY
    `id`,
    `k`,
    `y`
) AS t23
WHERE
  `__hw_w` <> 0
-- __hw_stage_3
SELECT
  IF(
    `__hw_copies` >= -`__hw_w`,
    `__hw_stored_id`,
    CAST(RAISE_ERROR('HW4003: the stream table lacks a row that is to be deleted') AS STRING)
  ) AS `__hw_id`,
  CAST(NULL AS INT) AS `id`,
  CAST(NULL AS INT) AS `k`,
  CAST(NULL AS INT) AS `y`
FROM (
  SELECT
    `id`,
    `k`,
    `y`,
    `__hw_w`,
    `__hw_t1`,
    `__hw_t2`,
    `__hw_t3`,
    `__hw_stored_id`,
    ROW_NUMBER() OVER (PARTITION BY `id`, `k`, `y` ORDER BY `__hw_stored_id` NULLS LAST) AS `__hw_rank`,
    COUNT(`__hw_stored_id`) OVER (PARTITION BY `id`, `k`, `y`) AS `__hw_copies`
  FROM (
    SELECT
      `id`,
      `k`,
      `y`,
      `__hw_w`
    FROM `__hw_stage_2`
    WHERE
      `__hw_w` < 0
  ) AS t1
  LEFT JOIN (
    SELECT
      `id` AS `__hw_t1`,
      `k` AS `__hw_t2`,
      `y` AS `__hw_t3`,
      `__hw_id` AS `__hw_stored_id`
    FROM `__hw_target`
  ) AS t2
    ON `id` IS NOT DISTINCT FROM `__hw_t1`
    AND `k` IS NOT DISTINCT FROM `__hw_t2`
    AND `y` IS NOT DISTINCT FROM `__hw_t3`
) AS t3
WHERE
  `__hw_rank` <= -`__hw_w`
UNION ALL
SELECT
  `__hw_id`,
  `id`,
  `k`,
  `y`
FROM (
  SELECT
    `id`,
    `k`,
    `y`,
    CONCAT('__hw_run', ':', HEX(`__hw_hash`), ':', `__hw_number`) AS `__hw_id`
  FROM (
    SELECT
      `id`,
      `k`,
      `y`,
      `__hw_hash`,
      ROW_NUMBER() OVER (PARTITION BY `__hw_hash` ORDER BY `id` NULLS LAST, `k` NULLS LAST, `y` NULLS LAST) AS `__hw_number`
    FROM (
      SELECT
        `id`,
        `k`,
        `y`,
        XXHASH64(`id`, `id` IS NULL, `k`, `k` IS NULL, `y`, `y` IS NULL) AS `__hw_hash`
      FROM (
        SELECT
          `id`,
          `k`,
          `y`,
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
  `id`,
  `k`,
  `y`
FROM `__hw_stage_3`
) AS s
ON t.`__hw_id` IS NOT DISTINCT FROM s.`__hw_id`
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED THEN INSERT (`id`, `k`, `y`, `__hw_id`)
VALUES (
  s.`id`,
  s.`k`,
  s.`y`,
  s.`__hw_id`
)
