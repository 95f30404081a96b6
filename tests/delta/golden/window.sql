-- query
SELECT id, RANK() OVER (PARTITION BY k ORDER BY x, id) AS n FROM l

-- stored as rows with ids, recomputed by the keys they belong to
SELECT
  `id`,
  `n`,
  `k` AS `__hw_k1`,
  CONCAT('__hw_run', ':', MONOTONICALLY_INCREASING_ID()) AS `__hw_id`
FROM (
  SELECT
    `id`,
    `k`,
    `x`,
    RANK() OVER (PARTITION BY `k` ORDER BY `x`, `id`) AS `n`
  FROM `__hw_src_0_new`
) AS t1

-- append changes: replace_keys
-- __hw_stage_1
SELECT DISTINCT
  `k` AS `__hw_f1`
FROM `__hw_src_0_delta`
-- __hw_stage_2
SELECT
  `id`,
  `n`,
  `__hw_k1`,
  `__hw_w`
FROM (
  SELECT
    `id`,
    `n`,
    `__hw_k1`,
    SUM(`__hw_w`) AS `__hw_w`
  FROM (
    SELECT
      `id`,
      `n`,
      `k` AS `__hw_k1`,
      CAST(1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT
        `id`,
        `k`,
        `x`,
        RANK() OVER (PARTITION BY `k` ORDER BY `x`, `id`) AS `n`
      FROM (
        SELECT
          `id`,
          `k`,
          `x`
        FROM `__hw_src_0_new`
      ) AS t1
      LEFT SEMI JOIN (
        SELECT
          `__hw_f1`
        FROM `__hw_stage_1`
      ) AS t2
        ON `k` IS NOT DISTINCT FROM `__hw_f1`
    ) AS t3
    UNION ALL
    SELECT
      `id`,
      `n`,
      `__hw_k1`,
      CAST(-1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT
        `id`,
        `n`,
        `__hw_k1`
      FROM `__hw_target`
    ) AS t4
    LEFT SEMI JOIN (
      SELECT
        `__hw_f1`
      FROM `__hw_stage_1`
    ) AS t5
      ON `__hw_k1` IS NOT DISTINCT FROM `__hw_f1`
  ) AS t6
  GROUP BY
    `id`,
    `n`,
    `__hw_k1`
) AS t7
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
  CAST(NULL AS INT) AS `n`,
  CAST(NULL AS INT) AS `__hw_k1`
FROM (
  SELECT
    `id`,
    `n`,
    `__hw_k1`,
    `__hw_w`,
    `__hw_t1`,
    `__hw_t2`,
    `__hw_t3`,
    `__hw_stored_id`,
    ROW_NUMBER() OVER (PARTITION BY `id`, `n`, `__hw_k1` ORDER BY `__hw_stored_id` NULLS LAST) AS `__hw_rank`,
    COUNT(`__hw_stored_id`) OVER (PARTITION BY `id`, `n`, `__hw_k1`) AS `__hw_copies`
  FROM (
    SELECT
      `id`,
      `n`,
      `__hw_k1`,
      `__hw_w`
    FROM `__hw_stage_2`
    WHERE
      `__hw_w` < 0
  ) AS t1
  LEFT JOIN (
    SELECT
      `id` AS `__hw_t1`,
      `n` AS `__hw_t2`,
      `__hw_k1` AS `__hw_t3`,
      `__hw_id` AS `__hw_stored_id`
    FROM `__hw_target`
  ) AS t2
    ON `id` IS NOT DISTINCT FROM `__hw_t1`
    AND `n` IS NOT DISTINCT FROM `__hw_t2`
    AND `__hw_k1` IS NOT DISTINCT FROM `__hw_t3`
) AS t3
WHERE
  `__hw_rank` <= -`__hw_w`
UNION ALL
SELECT
  `__hw_id`,
  `id`,
  `n`,
  `__hw_k1`
FROM (
  SELECT
    `id`,
    `n`,
    `__hw_k1`,
    CONCAT('__hw_run', ':', HEX(`__hw_hash`), ':', `__hw_number`) AS `__hw_id`
  FROM (
    SELECT
      `id`,
      `n`,
      `__hw_k1`,
      `__hw_hash`,
      ROW_NUMBER() OVER (
        PARTITION BY `__hw_hash`
        ORDER BY `id` NULLS LAST, `n` NULLS LAST, `__hw_k1` NULLS LAST
      ) AS `__hw_number`
    FROM (
      SELECT
        `id`,
        `n`,
        `__hw_k1`,
        XXHASH64(`id`, `id` IS NULL, `n`, `n` IS NULL, `__hw_k1`, `__hw_k1` IS NULL) AS `__hw_hash`
      FROM (
        SELECT
          `id`,
          `n`,
          `__hw_k1`,
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
  `n`,
  `__hw_k1`
FROM `__hw_stage_3`
) AS s
ON t.`__hw_id` IS NOT DISTINCT FROM s.`__hw_id`
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED THEN INSERT (`id`, `n`, `__hw_k1`, `__hw_id`)
VALUES (
  s.`id`,
  s.`n`,
  s.`__hw_k1`,
  s.`__hw_id`
)

-- mixed changes: replace_keys
-- __hw_stage_1
SELECT DISTINCT
  `k` AS `__hw_f1`
FROM `__hw_src_0_delta`
-- __hw_stage_2
SELECT
  `id`,
  `n`,
  `__hw_k1`,
  `__hw_w`
FROM (
  SELECT
    `id`,
    `n`,
    `__hw_k1`,
    SUM(`__hw_w`) AS `__hw_w`
  FROM (
    SELECT
      `id`,
      `n`,
      `k` AS `__hw_k1`,
      CAST(1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT
        `id`,
        `k`,
        `x`,
        RANK() OVER (PARTITION BY `k` ORDER BY `x`, `id`) AS `n`
      FROM (
        SELECT
          `id`,
          `k`,
          `x`
        FROM `__hw_src_0_new`
      ) AS t1
      LEFT SEMI JOIN (
        SELECT
          `__hw_f1`
        FROM `__hw_stage_1`
      ) AS t2
        ON `k` IS NOT DISTINCT FROM `__hw_f1`
    ) AS t3
    UNION ALL
    SELECT
      `id`,
      `n`,
      `__hw_k1`,
      CAST(-1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT
        `id`,
        `n`,
        `__hw_k1`
      FROM `__hw_target`
    ) AS t4
    LEFT SEMI JOIN (
      SELECT
        `__hw_f1`
      FROM `__hw_stage_1`
    ) AS t5
      ON `__hw_k1` IS NOT DISTINCT FROM `__hw_f1`
  ) AS t6
  GROUP BY
    `id`,
    `n`,
    `__hw_k1`
) AS t7
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
  CAST(NULL AS INT) AS `n`,
  CAST(NULL AS INT) AS `__hw_k1`
FROM (
  SELECT
    `id`,
    `n`,
    `__hw_k1`,
    `__hw_w`,
    `__hw_t1`,
    `__hw_t2`,
    `__hw_t3`,
    `__hw_stored_id`,
    ROW_NUMBER() OVER (PARTITION BY `id`, `n`, `__hw_k1` ORDER BY `__hw_stored_id` NULLS LAST) AS `__hw_rank`,
    COUNT(`__hw_stored_id`) OVER (PARTITION BY `id`, `n`, `__hw_k1`) AS `__hw_copies`
  FROM (
    SELECT
      `id`,
      `n`,
      `__hw_k1`,
      `__hw_w`
    FROM `__hw_stage_2`
    WHERE
      `__hw_w` < 0
  ) AS t1
  LEFT JOIN (
    SELECT
      `id` AS `__hw_t1`,
      `n` AS `__hw_t2`,
      `__hw_k1` AS `__hw_t3`,
      `__hw_id` AS `__hw_stored_id`
    FROM `__hw_target`
  ) AS t2
    ON `id` IS NOT DISTINCT FROM `__hw_t1`
    AND `n` IS NOT DISTINCT FROM `__hw_t2`
    AND `__hw_k1` IS NOT DISTINCT FROM `__hw_t3`
) AS t3
WHERE
  `__hw_rank` <= -`__hw_w`
UNION ALL
SELECT
  `__hw_id`,
  `id`,
  `n`,
  `__hw_k1`
FROM (
  SELECT
    `id`,
    `n`,
    `__hw_k1`,
    CONCAT('__hw_run', ':', HEX(`__hw_hash`), ':', `__hw_number`) AS `__hw_id`
  FROM (
    SELECT
      `id`,
      `n`,
      `__hw_k1`,
      `__hw_hash`,
      ROW_NUMBER() OVER (
        PARTITION BY `__hw_hash`
        ORDER BY `id` NULLS LAST, `n` NULLS LAST, `__hw_k1` NULLS LAST
      ) AS `__hw_number`
    FROM (
      SELECT
        `id`,
        `n`,
        `__hw_k1`,
        XXHASH64(`id`, `id` IS NULL, `n`, `n` IS NULL, `__hw_k1`, `__hw_k1` IS NULL) AS `__hw_hash`
      FROM (
        SELECT
          `id`,
          `n`,
          `__hw_k1`,
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
  `n`,
  `__hw_k1`
FROM `__hw_stage_3`
) AS s
ON t.`__hw_id` IS NOT DISTINCT FROM s.`__hw_id`
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED THEN INSERT (`id`, `n`, `__hw_k1`, `__hw_id`)
VALUES (
  s.`id`,
  s.`n`,
  s.`__hw_k1`,
  s.`__hw_id`
)
