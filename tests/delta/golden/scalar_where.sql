-- query
SELECT id FROM l WHERE x > (SELECT AVG(x) FROM l)

-- stored as rows with ids, inserted and deleted one by one
SELECT
  `id`,
  CONCAT('__hw_run', ':', MONOTONICALLY_INCREASING_ID()) AS `__hw_id`
FROM (
  SELECT
    `id`,
    `x`,
    (
      SELECT
        AVG(`x`) AS `avg`
      FROM `__hw_src_0_new`
    ) AS `avg_1`
  FROM (
    SELECT
      `id`,
      `x`
    FROM `__hw_src_0_new`
  ) AS t1
) AS t2
WHERE
  `x` > `avg_1`

-- append changes: bag
-- __hw_stage_1
SELECT
  `id`,
  `x`,
  `avg_1`,
  `__hw_f1`
FROM (
  SELECT
    `id`,
    `x`,
    `avg_1`,
    (
      SELECT
        AVG(`x`) AS `avg`
      FROM `__hw_src_0_old`
    ) AS `__hw_f1`
  FROM (
    SELECT
      `id`,
      `x`,
      (
        SELECT
          AVG(`x`) AS `avg`
        FROM `__hw_src_0_new`
      ) AS `avg_1`
    FROM (
      SELECT
        `id`,
        `x`
      FROM `__hw_src_0_old`
    ) AS t1
  ) AS t2
) AS t3
WHERE
  NOT `__hw_f1` IS NOT DISTINCT FROM `avg_1`
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
      `x`,
      `avg_1`,
      `__hw_w`
    FROM (
      SELECT
        `id`,
        `x`,
        `__hw_w`,
        (
          SELECT
            AVG(`x`) AS `avg`
          FROM `__hw_src_0_new`
        ) AS `avg_1`
      FROM (
        SELECT
          `id`,
          `x`,
          `__hw_w`
        FROM `__hw_src_0_delta`
      ) AS t1
    ) AS t2
    UNION ALL
    SELECT
      `id`,
      `x`,
      `avg_1`,
      CAST(1 AS BIGINT) AS `__hw_w`
    FROM `__hw_stage_1`
    UNION ALL
    SELECT
      `id`,
      `x`,
      `__hw_f1` AS `avg_1`,
      CAST(-1 AS BIGINT) AS `__hw_w`
    FROM `__hw_stage_1`
  ) AS t3
  WHERE
    `x` > `avg_1`
  GROUP BY
    `id`
) AS t4
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
  `id`,
  `x`,
  `avg_1`,
  `__hw_f1`
FROM (
  SELECT
    `id`,
    `x`,
    `avg_1`,
    (
      SELECT
        AVG(`x`) AS `avg`
      FROM `__hw_src_0_old`
    ) AS `__hw_f1`
  FROM (
    SELECT
      `id`,
      `x`,
      (
        SELECT
          AVG(`x`) AS `avg`
        FROM `__hw_src_0_new`
      ) AS `avg_1`
    FROM (
      SELECT
        `id`,
        `x`
      FROM `__hw_src_0_old`
    ) AS t1
  ) AS t2
) AS t3
WHERE
  NOT `__hw_f1` IS NOT DISTINCT FROM `avg_1`
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
      `x`,
      `avg_1`,
      `__hw_w`
    FROM (
      SELECT
        `id`,
        `x`,
        `__hw_w`,
        (
          SELECT
            AVG(`x`) AS `avg`
          FROM `__hw_src_0_new`
        ) AS `avg_1`
      FROM (
        SELECT
          `id`,
          `x`,
          SUM(`__hw_w`) AS `__hw_w`
        FROM `__hw_src_0_delta`
        GROUP BY
          `id`,
          `x`
      ) AS t1
      WHERE
        `__hw_w` <> 0
    ) AS t2
    UNION ALL
    SELECT
      `id`,
      `x`,
      `avg_1`,
      CAST(1 AS BIGINT) AS `__hw_w`
    FROM `__hw_stage_1`
    UNION ALL
    SELECT
      `id`,
      `x`,
      `__hw_f1` AS `avg_1`,
      CAST(-1 AS BIGINT) AS `__hw_w`
    FROM `__hw_stage_1`
  ) AS t3
  WHERE
    `x` > `avg_1`
  GROUP BY
    `id`
) AS t4
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
