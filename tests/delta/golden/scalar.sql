-- query
SELECT id, (SELECT COUNT(*) FROM r WHERE r.k = l.k) AS n FROM l

-- stored as rows with ids, inserted and deleted one by one
SELECT
  `id`,
  `count_1` AS `n`,
  CONCAT('__hw_run', ':', MONOTONICALLY_INCREASING_ID()) AS `__hw_id`
FROM (
  SELECT
    `id`,
    `k`,
    (
      SELECT
        COUNT(*) AS `count`
      FROM (
        SELECT
          `k` AS `k_1`
        FROM `__hw_src_1_new`
      ) AS t2
      WHERE
        `k_1` = `k`
    ) AS `count_1`
  FROM (
    SELECT
      `id`,
      `k`
    FROM `__hw_src_0_new`
  ) AS t1
) AS t3

-- append changes: bag
-- __hw_stage_1
SELECT
  `id`,
  `k`,
  `__hw_w`
FROM `__hw_src_0_delta`
-- __hw_stage_2
SELECT DISTINCT
  `k` AS `__hw_f3`
FROM `__hw_src_1_delta`
-- __hw_stage_3
SELECT
  `id`,
  `k`,
  `count_1`,
  `__hw_f2`
FROM (
  SELECT
    `id`,
    `k`,
    `count_1`,
    (
      SELECT
        COUNT(*) AS `count`
      FROM (
        SELECT
          `k` AS `k_1`
        FROM `__hw_src_1_old`
      ) AS t6
      LEFT SEMI JOIN (
        SELECT
          `__hw_f3`
        FROM `__hw_stage_2`
      ) AS t7
        ON `k_1` IS NOT DISTINCT FROM `__hw_f3`
      WHERE
        `k_1` = `k`
    ) AS `__hw_f2`
  FROM (
    SELECT
      `id`,
      `k`,
      (
        SELECT
          COUNT(*) AS `count`
        FROM (
          SELECT
            `k` AS `k_1`
          FROM `__hw_src_1_new`
        ) AS t3
        LEFT SEMI JOIN (
          SELECT
            `__hw_f3`
          FROM `__hw_stage_2`
        ) AS t4
          ON `k_1` IS NOT DISTINCT FROM `__hw_f3`
        WHERE
          `k_1` = `k`
      ) AS `count_1`
    FROM (
      SELECT
        `id`,
        `k`
      FROM `__hw_src_0_old`
    ) AS t1
    LEFT SEMI JOIN (
      SELECT
        `__hw_f3`
      FROM `__hw_stage_2`
    ) AS t2
      ON `k` IS NOT DISTINCT FROM `__hw_f3`
  ) AS t5
) AS t8
WHERE
  NOT `__hw_f2` IS NOT DISTINCT FROM `count_1`
-- __hw_stage_4
SELECT
  `id`,
  `n`,
  `__hw_w`
FROM (
  SELECT
    `id`,
    `count_1` AS `n`,
    SUM(`__hw_w`) AS `__hw_w`
  FROM (
    SELECT
      `id`,
      `k`,
      `count_1`,
      `__hw_w`
    FROM (
      SELECT
        `id`,
        `k`,
        `__hw_w`,
        (
          SELECT
            COUNT(*) AS `count`
          FROM (
            SELECT
              `k` AS `k_1`
            FROM `__hw_src_1_new`
          ) AS t2
          LEFT SEMI JOIN (
            SELECT
              `k` AS `__hw_f1`
            FROM `__hw_stage_1`
          ) AS t3
            ON `k_1` IS NOT DISTINCT FROM `__hw_f1`
          WHERE
            `k_1` = `k`
        ) AS `count_1`
      FROM (
        SELECT
          `id`,
          `k`,
          `__hw_w`
        FROM `__hw_stage_1`
      ) AS t1
    ) AS t4
    UNION ALL
    SELECT
      `id`,
      `k`,
      `count_1`,
      CAST(1 AS BIGINT) AS `__hw_w`
    FROM `__hw_stage_3`
    UNION ALL
    SELECT
      `id`,
      `k`,
      `__hw_f2` AS `count_1`,
      CAST(-1 AS BIGINT) AS `__hw_w`
    FROM `__hw_stage_3`
  ) AS t5
  GROUP BY
    `id`,
    `count_1`
) AS t6
WHERE
  `__hw_w` <> 0
-- __hw_stage_5
SELECT
  IF(
    `__hw_copies` >= -`__hw_w`,
    `__hw_stored_id`,
    CAST(RAISE_ERROR('HW4003: the stream table lacks a row that is to be deleted') AS STRING)
  ) AS `__hw_id`,
  CAST(NULL AS INT) AS `id`,
  CAST(NULL AS BIGINT) AS `n`
FROM (
  SELECT
    `id`,
    `n`,
    `__hw_w`,
    `__hw_t1`,
    `__hw_t2`,
    `__hw_stored_id`,
    ROW_NUMBER() OVER (PARTITION BY `id`, `n` ORDER BY `__hw_stored_id` NULLS LAST) AS `__hw_rank`,
    COUNT(`__hw_stored_id`) OVER (PARTITION BY `id`, `n`) AS `__hw_copies`
  FROM (
    SELECT
      `id`,
      `n`,
      `__hw_w`
    FROM `__hw_stage_4`
    WHERE
      `__hw_w` < 0
  ) AS t1
  LEFT JOIN (
    SELECT
      `id` AS `__hw_t1`,
      `n` AS `__hw_t2`,
      `__hw_id` AS `__hw_stored_id`
    FROM `__hw_target`
  ) AS t2
    ON `id` IS NOT DISTINCT FROM `__hw_t1` AND `n` IS NOT DISTINCT FROM `__hw_t2`
) AS t3
WHERE
  `__hw_rank` <= -`__hw_w`
UNION ALL
SELECT
  `__hw_id`,
  `id`,
  `n`
FROM (
  SELECT
    `id`,
    `n`,
    CONCAT('__hw_run', ':', HEX(`__hw_hash`), ':', `__hw_number`) AS `__hw_id`
  FROM (
    SELECT
      `id`,
      `n`,
      `__hw_hash`,
      ROW_NUMBER() OVER (PARTITION BY `__hw_hash` ORDER BY `id` NULLS LAST, `n` NULLS LAST) AS `__hw_number`
    FROM (
      SELECT
        `id`,
        `n`,
        XXHASH64(`id`, `id` IS NULL, `n`, `n` IS NULL) AS `__hw_hash`
      FROM (
        SELECT
          `id`,
          `n`,
          `__hw_w`
        FROM `__hw_stage_4`
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
  `n`
FROM `__hw_stage_5`
) AS s
ON t.`__hw_id` IS NOT DISTINCT FROM s.`__hw_id`
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED THEN INSERT (`id`, `n`, `__hw_id`)
VALUES (
  s.`id`,
  s.`n`,
  s.`__hw_id`
)

-- mixed changes: bag
-- __hw_stage_1
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
-- __hw_stage_2
SELECT DISTINCT
  `k` AS `__hw_f3`
FROM `__hw_src_1_delta`
-- __hw_stage_3
SELECT
  `id`,
  `k`,
  `count_1`,
  `__hw_f2`
FROM (
  SELECT
    `id`,
    `k`,
    `count_1`,
    (
      SELECT
        COUNT(*) AS `count`
      FROM (
        SELECT
          `k` AS `k_1`
        FROM `__hw_src_1_old`
      ) AS t6
      LEFT SEMI JOIN (
        SELECT
          `__hw_f3`
        FROM `__hw_stage_2`
      ) AS t7
        ON `k_1` IS NOT DISTINCT FROM `__hw_f3`
      WHERE
        `k_1` = `k`
    ) AS `__hw_f2`
  FROM (
    SELECT
      `id`,
      `k`,
      (
        SELECT
          COUNT(*) AS `count`
        FROM (
          SELECT
            `k` AS `k_1`
          FROM `__hw_src_1_new`
        ) AS t3
        LEFT SEMI JOIN (
          SELECT
            `__hw_f3`
          FROM `__hw_stage_2`
        ) AS t4
          ON `k_1` IS NOT DISTINCT FROM `__hw_f3`
        WHERE
          `k_1` = `k`
      ) AS `count_1`
    FROM (
      SELECT
        `id`,
        `k`
      FROM `__hw_src_0_old`
    ) AS t1
    LEFT SEMI JOIN (
      SELECT
        `__hw_f3`
      FROM `__hw_stage_2`
    ) AS t2
      ON `k` IS NOT DISTINCT FROM `__hw_f3`
  ) AS t5
) AS t8
WHERE
  NOT `__hw_f2` IS NOT DISTINCT FROM `count_1`
-- __hw_stage_4
SELECT
  `id`,
  `n`,
  `__hw_w`
FROM (
  SELECT
    `id`,
    `count_1` AS `n`,
    SUM(`__hw_w`) AS `__hw_w`
  FROM (
    SELECT
      `id`,
      `k`,
      `count_1`,
      `__hw_w`
    FROM (
      SELECT
        `id`,
        `k`,
        `__hw_w`,
        (
          SELECT
            COUNT(*) AS `count`
          FROM (
            SELECT
              `k` AS `k_1`
            FROM `__hw_src_1_new`
          ) AS t2
          LEFT SEMI JOIN (
            SELECT
              `k` AS `__hw_f1`
            FROM `__hw_stage_1`
          ) AS t3
            ON `k_1` IS NOT DISTINCT FROM `__hw_f1`
          WHERE
            `k_1` = `k`
        ) AS `count_1`
      FROM (
        SELECT
          `id`,
          `k`,
          `__hw_w`
        FROM `__hw_stage_1`
      ) AS t1
    ) AS t4
    UNION ALL
    SELECT
      `id`,
      `k`,
      `count_1`,
      CAST(1 AS BIGINT) AS `__hw_w`
    FROM `__hw_stage_3`
    UNION ALL
    SELECT
      `id`,
      `k`,
      `__hw_f2` AS `count_1`,
      CAST(-1 AS BIGINT) AS `__hw_w`
    FROM `__hw_stage_3`
  ) AS t5
  GROUP BY
    `id`,
    `count_1`
) AS t6
WHERE
  `__hw_w` <> 0
-- __hw_stage_5
SELECT
  IF(
    `__hw_copies` >= -`__hw_w`,
    `__hw_stored_id`,
    CAST(RAISE_ERROR('HW4003: the stream table lacks a row that is to be deleted') AS STRING)
  ) AS `__hw_id`,
  CAST(NULL AS INT) AS `id`,
  CAST(NULL AS BIGINT) AS `n`
FROM (
  SELECT
    `id`,
    `n`,
    `__hw_w`,
    `__hw_t1`,
    `__hw_t2`,
    `__hw_stored_id`,
    ROW_NUMBER() OVER (PARTITION BY `id`, `n` ORDER BY `__hw_stored_id` NULLS LAST) AS `__hw_rank`,
    COUNT(`__hw_stored_id`) OVER (PARTITION BY `id`, `n`) AS `__hw_copies`
  FROM (
    SELECT
      `id`,
      `n`,
      `__hw_w`
    FROM `__hw_stage_4`
    WHERE
      `__hw_w` < 0
  ) AS t1
  LEFT JOIN (
    SELECT
      `id` AS `__hw_t1`,
      `n` AS `__hw_t2`,
      `__hw_id` AS `__hw_stored_id`
    FROM `__hw_target`
  ) AS t2
    ON `id` IS NOT DISTINCT FROM `__hw_t1` AND `n` IS NOT DISTINCT FROM `__hw_t2`
) AS t3
WHERE
  `__hw_rank` <= -`__hw_w`
UNION ALL
SELECT
  `__hw_id`,
  `id`,
  `n`
FROM (
  SELECT
    `id`,
    `n`,
    CONCAT('__hw_run', ':', HEX(`__hw_hash`), ':', `__hw_number`) AS `__hw_id`
  FROM (
    SELECT
      `id`,
      `n`,
      `__hw_hash`,
      ROW_NUMBER() OVER (PARTITION BY `__hw_hash` ORDER BY `id` NULLS LAST, `n` NULLS LAST) AS `__hw_number`
    FROM (
      SELECT
        `id`,
        `n`,
        XXHASH64(`id`, `id` IS NULL, `n`, `n` IS NULL) AS `__hw_hash`
      FROM (
        SELECT
          `id`,
          `n`,
          `__hw_w`
        FROM `__hw_stage_4`
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
  `n`
FROM `__hw_stage_5`
) AS s
ON t.`__hw_id` IS NOT DISTINCT FROM s.`__hw_id`
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED THEN INSERT (`id`, `n`, `__hw_id`)
VALUES (
  s.`id`,
  s.`n`,
  s.`__hw_id`
)
