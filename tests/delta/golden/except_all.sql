-- query
SELECT k FROM l EXCEPT ALL SELECT k FROM r

-- stored as rows with ids, recomputed by the keys they belong to
SELECT
  `k_2` AS `k`,
  CONCAT('__hw_run', ':', MONOTONICALLY_INCREASING_ID()) AS `__hw_id`
FROM (
  SELECT
    `k` AS `k_2`
  FROM `__hw_src_0_new`
  EXCEPT ALL
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
  `k`,
  `__hw_w`
FROM (
  SELECT
    `k`,
    SUM(`__hw_w`) AS `__hw_w`
  FROM (
    SELECT
      `k_2` AS `k`,
      CAST(1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT
        `k` AS `k_2`
      FROM (
        SELECT
          `k`
        FROM `__hw_src_0_new`
      ) AS t1
      LEFT SEMI JOIN (
        SELECT
          `__hw_f1`
        FROM `__hw_stage_1`
      ) AS t2
        ON `k` IS NOT DISTINCT FROM `__hw_f1`
      EXCEPT ALL
      SELECT
        `k_1` AS `k_2`
      FROM (
        SELECT
          `k` AS `k_1`
        FROM `__hw_src_1_new`
      ) AS t3
      LEFT SEMI JOIN (
        SELECT
          `__hw_f1`
        FROM `__hw_stage_1`
      ) AS t4
        ON `k_1` IS NOT DISTINCT FROM `__hw_f1`
    ) AS t5
    UNION ALL
    SELECT
      `k`,
      CAST(-1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT
        `k`
      FROM `__hw_target`
    ) AS t6
    LEFT SEMI JOIN (
      SELECT
        `__hw_f1`
      FROM `__hw_stage_1`
    ) AS t7
      ON `k` IS NOT DISTINCT FROM `__hw_f1`
  ) AS t8
  GROUP BY
    `k`
) AS t9
WHERE
  `__hw_w` <> 0
-- __hw_stage_3
SELECT
  IF(
    `__hw_copies` >= -`__hw_w`,
    `__hw_stored_id`,
    CAST(RAISE_ERROR('HW4003: the stream table lacks a row that is to be deleted') AS STRING)
  ) AS `__hw_id`,
  CAST(NULL AS INT) AS `k`
FROM (
  SELECT
    `k`,
    `__hw_w`,
    `__hw_t1`,
    `__hw_stored_id`,
    ROW_NUMBER() OVER (PARTITION BY `k` ORDER BY `__hw_stored_id` NULLS LAST) AS `__hw_rank`,
    COUNT(`__hw_stored_id`) OVER (PARTITION BY `k`) AS `__hw_copies`
  FROM (
    SELECT
      `k`,
      `__hw_w`
    FROM `__hw_stage_2`
    WHERE
      `__hw_w` < 0
  ) AS t1
  LEFT JOIN (
    SELECT
      `k` AS `__hw_t1`,
      `__hw_id` AS `__hw_stored_id`
    FROM `__hw_target`
  ) AS t2
    ON `k` IS NOT DISTINCT FROM `__hw_t1`
) AS t3
WHERE
  `__hw_rank` <= -`__hw_w`
UNION ALL
SELECT
  `__hw_id`,
  `k`
FROM (
  SELECT
    `k`,
    CONCAT('__hw_run', ':', HEX(`__hw_hash`), ':', `__hw_number`) AS `__hw_id`
  FROM (
    SELECT
      `k`,
      `__hw_hash`,
      ROW_NUMBER() OVER (PARTITION BY `__hw_hash` ORDER BY `k` NULLS LAST) AS `__hw_number`
    FROM (
      SELECT
        `k`,
        XXHASH64(`k`, `k` IS NULL) AS `__hw_hash`
      FROM (
        SELECT
          `k`,
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
  `k`
FROM `__hw_stage_3`
) AS s
ON t.`__hw_id` IS NOT DISTINCT FROM s.`__hw_id`
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED THEN INSERT (`k`, `__hw_id`)
VALUES (
  s.`k`,
  s.`__hw_id`
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
  `k`,
  `__hw_w`
FROM (
  SELECT
    `k`,
    SUM(`__hw_w`) AS `__hw_w`
  FROM (
    SELECT
      `k_2` AS `k`,
      CAST(1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT
        `k` AS `k_2`
      FROM (
        SELECT
          `k`
        FROM `__hw_src_0_new`
      ) AS t1
      LEFT SEMI JOIN (
        SELECT
          `__hw_f1`
        FROM `__hw_stage_1`
      ) AS t2
        ON `k` IS NOT DISTINCT FROM `__hw_f1`
      EXCEPT ALL
      SELECT
        `k_1` AS `k_2`
      FROM (
        SELECT
          `k` AS `k_1`
        FROM `__hw_src_1_new`
      ) AS t3
      LEFT SEMI JOIN (
        SELECT
          `__hw_f1`
        FROM `__hw_stage_1`
      ) AS t4
        ON `k_1` IS NOT DISTINCT FROM `__hw_f1`
    ) AS t5
    UNION ALL
    SELECT
      `k`,
      CAST(-1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT
        `k`
      FROM `__hw_target`
    ) AS t6
    LEFT SEMI JOIN (
      SELECT
        `__hw_f1`
      FROM `__hw_stage_1`
    ) AS t7
      ON `k` IS NOT DISTINCT FROM `__hw_f1`
  ) AS t8
  GROUP BY
    `k`
) AS t9
WHERE
  `__hw_w` <> 0
-- __hw_stage_3
SELECT
  IF(
    `__hw_copies` >= -`__hw_w`,
    `__hw_stored_id`,
    CAST(RAISE_ERROR('HW4003: the stream table lacks a row that is to be deleted') AS STRING)
  ) AS `__hw_id`,
  CAST(NULL AS INT) AS `k`
FROM (
  SELECT
    `k`,
    `__hw_w`,
    `__hw_t1`,
    `__hw_stored_id`,
    ROW_NUMBER() OVER (PARTITION BY `k` ORDER BY `__hw_stored_id` NULLS LAST) AS `__hw_rank`,
    COUNT(`__hw_stored_id`) OVER (PARTITION BY `k`) AS `__hw_copies`
  FROM (
    SELECT
      `k`,
      `__hw_w`
    FROM `__hw_stage_2`
    WHERE
      `__hw_w` < 0
  ) AS t1
  LEFT JOIN (
    SELECT
      `k` AS `__hw_t1`,
      `__hw_id` AS `__hw_stored_id`
    FROM `__hw_target`
  ) AS t2
    ON `k` IS NOT DISTINCT FROM `__hw_t1`
) AS t3
WHERE
  `__hw_rank` <= -`__hw_w`
UNION ALL
SELECT
  `__hw_id`,
  `k`
FROM (
  SELECT
    `k`,
    CONCAT('__hw_run', ':', HEX(`__hw_hash`), ':', `__hw_number`) AS `__hw_id`
  FROM (
    SELECT
      `k`,
      `__hw_hash`,
      ROW_NUMBER() OVER (PARTITION BY `__hw_hash` ORDER BY `k` NULLS LAST) AS `__hw_number`
    FROM (
      SELECT
        `k`,
        XXHASH64(`k`, `k` IS NULL) AS `__hw_hash`
      FROM (
        SELECT
          `k`,
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
  `k`
FROM `__hw_stage_3`
) AS s
ON t.`__hw_id` IS NOT DISTINCT FROM s.`__hw_id`
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED THEN INSERT (`k`, `__hw_id`)
VALUES (
  s.`k`,
  s.`__hw_id`
)
