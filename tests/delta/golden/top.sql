-- query
SELECT id, x FROM l ORDER BY x DESC, id, k LIMIT 3

-- stored as rows with ids, recomputed by the keys they belong to
SELECT
  `id`,
  `x`,
  CONCAT('__hw_run', ':', MONOTONICALLY_INCREASING_ID()) AS `__hw_id`
FROM (
  SELECT
    `id`,
    `k`,
    `x`
  FROM (
    SELECT
      `id`,
      `k`,
      `x`
    FROM `__hw_src_0_new`
  ) AS t1
  ORDER BY
    `x` DESC,
    `id`,
    `k`
  LIMIT 3
) AS t2

-- append changes: replace_keys
-- __hw_stage_1
SELECT
  `id`,
  `x`,
  `__hw_w`
FROM (
  SELECT
    `id`,
    `x`,
    SUM(`__hw_w`) AS `__hw_w`
  FROM (
    SELECT
      `id`,
      `x`,
      CAST(1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT
        `id`,
        `k`,
        `x`
      FROM (
        SELECT
          `id`,
          `k`,
          `x`
        FROM `__hw_src_0_new`
      ) AS t1
      ORDER BY
        `x` DESC,
        `id`,
        `k`
      LIMIT 3
    ) AS t2
    UNION ALL
    SELECT
      `id`,
      `x`,
      CAST(-1 AS BIGINT) AS `__hw_w`
    FROM `__hw_target`
  ) AS t3
  GROUP BY
    `id`,
    `x`
) AS t4
WHERE
  `__hw_w` <> 0
-- __hw_stage_2
SELECT
  IF(
    `__hw_copies` >= -`__hw_w`,
    `__hw_stored_id`,
    CAST(RAISE_ERROR('HW4003: the stream table lacks a row that is to be deleted') AS STRING)
  ) AS `__hw_id`,
  CAST(NULL AS INT) AS `id`,
  CAST(NULL AS INT) AS `x`
FROM (
  SELECT
    `id`,
    `x`,
    `__hw_w`,
    `__hw_t1`,
    `__hw_t2`,
    `__hw_stored_id`,
    ROW_NUMBER() OVER (PARTITION BY `id`, `x` ORDER BY `__hw_stored_id` NULLS LAST) AS `__hw_rank`,
    COUNT(`__hw_stored_id`) OVER (PARTITION BY `id`, `x`) AS `__hw_copies`
  FROM (
    SELECT
      `id`,
      `x`,
      `__hw_w`
    FROM `__hw_stage_1`
    WHERE
      `__hw_w` < 0
  ) AS t1
  LEFT JOIN (
    SELECT
      `id` AS `__hw_t1`,
      `x` AS `__hw_t2`,
      `__hw_id` AS `__hw_stored_id`
    FROM `__hw_target`
  ) AS t2
    ON `id` IS NOT DISTINCT FROM `__hw_t1` AND `x` IS NOT DISTINCT FROM `__hw_t2`
) AS t3
WHERE
  `__hw_rank` <= -`__hw_w`
UNION ALL
SELECT
  `__hw_id`,
  `id`,
  `x`
FROM (
  SELECT
    `id`,
    `x`,
    CONCAT('__hw_run', ':', HEX(`__hw_hash`), ':', `__hw_number`) AS `__hw_id`
  FROM (
    SELECT
      `id`,
      `x`,
      `__hw_hash`,
      ROW_NUMBER() OVER (PARTITION BY `__hw_hash` ORDER BY `id` NULLS LAST, `x` NULLS LAST) AS `__hw_number`
    FROM (
      SELECT
        `id`,
        `x`,
        XXHASH64(`id`, `id` IS NULL, `x`, `x` IS NULL) AS `__hw_hash`
      FROM (
        SELECT
          `id`,
          `x`,
          `__hw_w`
        FROM `__hw_stage_1`
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
  `x`
FROM `__hw_stage_2`
) AS s
ON t.`__hw_id` IS NOT DISTINCT FROM s.`__hw_id`
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED THEN INSERT (`id`, `x`, `__hw_id`)
VALUES (
  s.`id`,
  s.`x`,
  s.`__hw_id`
)

-- mixed changes: replace_keys
-- __hw_stage_1
SELECT
  `id`,
  `x`,
  `__hw_w`
FROM (
  SELECT
    `id`,
    `x`,
    SUM(`__hw_w`) AS `__hw_w`
  FROM (
    SELECT
      `id`,
      `x`,
      CAST(1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT
        `id`,
        `k`,
        `x`
      FROM (
        SELECT
          `id`,
          `k`,
          `x`
        FROM `__hw_src_0_new`
      ) AS t1
      ORDER BY
        `x` DESC,
        `id`,
        `k`
      LIMIT 3
    ) AS t2
    UNION ALL
    SELECT
      `id`,
      `x`,
      CAST(-1 AS BIGINT) AS `__hw_w`
    FROM `__hw_target`
  ) AS t3
  GROUP BY
    `id`,
    `x`
) AS t4
WHERE
  `__hw_w` <> 0
-- __hw_stage_2
SELECT
  IF(
    `__hw_copies` >= -`__hw_w`,
    `__hw_stored_id`,
    CAST(RAISE_ERROR('HW4003: the stream table lacks a row that is to be deleted') AS STRING)
  ) AS `__hw_id`,
  CAST(NULL AS INT) AS `id`,
  CAST(NULL AS INT) AS `x`
FROM (
  SELECT
    `id`,
    `x`,
    `__hw_w`,
    `__hw_t1`,
    `__hw_t2`,
    `__hw_stored_id`,
    ROW_NUMBER() OVER (PARTITION BY `id`, `x` ORDER BY `__hw_stored_id` NULLS LAST) AS `__hw_rank`,
    COUNT(`__hw_stored_id`) OVER (PARTITION BY `id`, `x`) AS `__hw_copies`
  FROM (
    SELECT
      `id`,
      `x`,
      `__hw_w`
    FROM `__hw_stage_1`
    WHERE
      `__hw_w` < 0
  ) AS t1
  LEFT JOIN (
    SELECT
      `id` AS `__hw_t1`,
      `x` AS `__hw_t2`,
      `__hw_id` AS `__hw_stored_id`
    FROM `__hw_target`
  ) AS t2
    ON `id` IS NOT DISTINCT FROM `__hw_t1` AND `x` IS NOT DISTINCT FROM `__hw_t2`
) AS t3
WHERE
  `__hw_rank` <= -`__hw_w`
UNION ALL
SELECT
  `__hw_id`,
  `id`,
  `x`
FROM (
  SELECT
    `id`,
    `x`,
    CONCAT('__hw_run', ':', HEX(`__hw_hash`), ':', `__hw_number`) AS `__hw_id`
  FROM (
    SELECT
      `id`,
      `x`,
      `__hw_hash`,
      ROW_NUMBER() OVER (PARTITION BY `__hw_hash` ORDER BY `id` NULLS LAST, `x` NULLS LAST) AS `__hw_number`
    FROM (
      SELECT
        `id`,
        `x`,
        XXHASH64(`id`, `id` IS NULL, `x`, `x` IS NULL) AS `__hw_hash`
      FROM (
        SELECT
          `id`,
          `x`,
          `__hw_w`
        FROM `__hw_stage_1`
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
  `x`
FROM `__hw_stage_2`
) AS s
ON t.`__hw_id` IS NOT DISTINCT FROM s.`__hw_id`
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED THEN INSERT (`id`, `x`, `__hw_id`)
VALUES (
  s.`id`,
  s.`x`,
  s.`__hw_id`
)
