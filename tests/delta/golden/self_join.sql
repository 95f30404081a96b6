-- query
SELECT a.id, b.id AS other FROM l a JOIN l b ON a.k = b.x

-- stored as rows with ids, inserted and deleted one by one
SELECT
  `id`,
  `id_1` AS `other`,
  CONCAT('__hw_run', ':', MONOTONICALLY_INCREASING_ID()) AS `__hw_id`
FROM (
  SELECT
    `id`,
    `k`
  FROM `__hw_src_0_new`
) AS t1
INNER JOIN (
  SELECT
    `id` AS `id_1`,
    `x` AS `x_1`
  FROM `__hw_src_0_new`
) AS t2
  ON `k` = `x_1`

-- append changes: append
-- statement
INSERT INTO `__hw_target` (`id`, `other`, `__hw_id`)
SELECT
  `id`,
  `id_1` AS `other`,
  CONCAT('__hw_run', ':', MONOTONICALLY_INCREASING_ID()) AS `__hw_id`
FROM (
  SELECT
    `id`,
    `k`,
    `id_1`,
    `x_1`,
    `__hw_w`
  FROM (
    SELECT
      `id`,
      `k`,
      `__hw_w`
    FROM `__hw_src_0_delta`
  ) AS t1
  INNER JOIN (
    SELECT
      `id` AS `id_1`,
      `x` AS `x_1`
    FROM `__hw_src_0_old`
  ) AS t2
    ON `k` = `x_1`
  UNION ALL
  SELECT
    `id`,
    `k`,
    `id_1`,
    `x_1`,
    `__hw_w`
  FROM (
    SELECT
      `id` AS `id_1`,
      `x` AS `x_1`,
      `__hw_w`
    FROM `__hw_src_0_delta`
  ) AS t3
  INNER JOIN (
    SELECT
      `id`,
      `k`
    FROM `__hw_src_0_new`
  ) AS t4
    ON `k` = `x_1`
) AS t5

-- mixed changes: bag
-- __hw_stage_1
SELECT
  `id`,
  `other`,
  `__hw_w`
FROM (
  SELECT
    `id`,
    `id_1` AS `other`,
    SUM(`__hw_w`) AS `__hw_w`
  FROM (
    SELECT
      `id`,
      `k`,
      `id_1`,
      `x_1`,
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
    INNER JOIN (
      SELECT
        `id` AS `id_1`,
        `x` AS `x_1`
      FROM `__hw_src_0_old`
    ) AS t3
      ON `k` = `x_1`
    UNION ALL
    SELECT
      `id`,
      `k`,
      `id_1`,
      `x_1`,
      `__hw_w`
    FROM (
      SELECT
        `id_1`,
        `x_1`,
        `__hw_w`
      FROM (
        SELECT
          `id` AS `id_1`,
          `x` AS `x_1`,
          SUM(`__hw_w`) AS `__hw_w`
        FROM `__hw_src_0_delta`
        GROUP BY
          `id`,
          `x`
      ) AS t4
      WHERE
        `__hw_w` <> 0
    ) AS t5
    INNER JOIN (
      SELECT
        `id`,
        `k`
      FROM `__hw_src_0_new`
    ) AS t6
      ON `k` = `x_1`
  ) AS t7
  GROUP BY
    `id`,
    `id_1`
) AS t8
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
  CAST(NULL AS INT) AS `other`
FROM (
  SELECT
    `id`,
    `other`,
    `__hw_w`,
    `__hw_t1`,
    `__hw_t2`,
    `__hw_stored_id`,
    ROW_NUMBER() OVER (PARTITION BY `id`, `other` ORDER BY `__hw_stored_id` NULLS LAST) AS `__hw_rank`,
    COUNT(`__hw_stored_id`) OVER (PARTITION BY `id`, `other`) AS `__hw_copies`
  FROM (
    SELECT
      `id`,
      `other`,
      `__hw_w`
    FROM `__hw_stage_1`
    WHERE
      `__hw_w` < 0
  ) AS t1
  LEFT JOIN (
    SELECT
      `id` AS `__hw_t1`,
      `other` AS `__hw_t2`,
      `__hw_id` AS `__hw_stored_id`
    FROM `__hw_target`
  ) AS t2
    ON `id` IS NOT DISTINCT FROM `__hw_t1` AND `other` IS NOT DISTINCT FROM `__hw_t2`
) AS t3
WHERE
  `__hw_rank` <= -`__hw_w`
UNION ALL
SELECT
  `__hw_id`,
  `id`,
  `other`
FROM (
  SELECT
    `id`,
    `other`,
    CONCAT('__hw_run', ':', HEX(`__hw_hash`), ':', `__hw_number`) AS `__hw_id`
  FROM (
    SELECT
      `id`,
      `other`,
      `__hw_hash`,
      ROW_NUMBER() OVER (PARTITION BY `__hw_hash` ORDER BY `id` NULLS LAST, `other` NULLS LAST) AS `__hw_number`
    FROM (
      SELECT
        `id`,
        `other`,
        XXHASH64(`id`, `id` IS NULL, `other`, `other` IS NULL) AS `__hw_hash`
      FROM (
        SELECT
          `id`,
          `other`,
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
  `other`
FROM `__hw_stage_2`
) AS s
ON t.`__hw_id` IS NOT DISTINCT FROM s.`__hw_id`
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED THEN INSERT (`id`, `other`, `__hw_id`)
VALUES (
  s.`id`,
  s.`other`,
  s.`__hw_id`
)
