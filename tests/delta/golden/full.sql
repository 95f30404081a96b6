-- query
SELECT l.id, l.k, r.k AS rk, r.y FROM l FULL JOIN r ON l.k = r.k

-- stored as rows with ids, inserted and deleted one by one
SELECT
  `id`,
  `k`,
  `k_1` AS `rk`,
  `y`,
  CONCAT('__hw_run', ':', MONOTONICALLY_INCREASING_ID()) AS `__hw_id`
FROM (
  SELECT
    `id`,
    `k`
  FROM `__hw_src_0_new`
) AS t1
FULL JOIN (
  SELECT
    `k` AS `k_1`,
    `y`
  FROM `__hw_src_1_new`
) AS t2
  ON `k` = `k_1`

-- append changes: bag
-- __hw_stage_1
SELECT
  `id`,
  `k`,
  `__hw_w`
FROM `__hw_src_0_delta`
-- __hw_stage_2
SELECT
  `k` AS `k_1`,
  `y`,
  `__hw_w`
FROM `__hw_src_1_delta`
-- __hw_stage_3
SELECT
  `id`,
  `k`,
  `rk`,
  `y`,
  `__hw_w`
FROM (
  SELECT
    `id`,
    `k`,
    `k_1` AS `rk`,
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
      FROM `__hw_stage_1`
    ) AS t1
    LEFT JOIN (
      SELECT
        `k` AS `k_1`,
        `y`
      FROM `__hw_src_1_new`
    ) AS t2
      ON `k` = `k_1`
    UNION ALL
    (
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
        FROM `__hw_stage_2`
      ) AS t4
        ON `k` = `k_1`
      UNION ALL
      SELECT
        CAST(NULL AS INT) AS `id`,
        CAST(NULL AS INT) AS `k`,
        `k_1`,
        `y`,
        `__hw_w`
      FROM (
        SELECT
          `k_1`,
          `y`,
          `__hw_w`
        FROM `__hw_stage_2`
      ) AS t5
      LEFT ANTI JOIN (
        SELECT
          `id`,
          `k`
        FROM `__hw_src_0_new`
      ) AS t6
        ON `k` = `k_1`
    )
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
    ) AS t9
    LEFT SEMI JOIN (
      SELECT
        `k_1`,
        `y`,
        `__hw_w`
      FROM `__hw_stage_2`
    ) AS t10
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
      ) AS t11
      LEFT SEMI JOIN (
        SELECT
          `k_1` AS `__hw_f1`
        FROM `__hw_stage_2`
      ) AS t12
        ON `k_1` IS NOT DISTINCT FROM `__hw_f1`
    ) AS t13
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
      ) AS t14
      LEFT SEMI JOIN (
        SELECT
          `k_1` AS `__hw_f1`
        FROM `__hw_stage_2`
      ) AS t15
        ON `k_1` IS NOT DISTINCT FROM `__hw_f1`
    ) AS t16
      ON `k` = `k_1`
    UNION ALL
    SELECT
      CAST(NULL AS INT) AS `id`,
      CAST(NULL AS INT) AS `k`,
      `k_1`,
      `y`,
      CAST(-1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT
        `k` AS `k_1`,
        `y`
      FROM `__hw_src_1_old`
    ) AS t17
    LEFT SEMI JOIN (
      SELECT
        `id`,
        `k`,
        `__hw_w`
      FROM `__hw_stage_1`
    ) AS t18
      ON `k` = `k_1`
    LEFT ANTI JOIN (
      SELECT
        `id`,
        `k`
      FROM (
        SELECT
          `id`,
          `k`
        FROM `__hw_src_0_old`
      ) AS t19
      LEFT SEMI JOIN (
        SELECT
          `k` AS `__hw_f2`
        FROM `__hw_stage_1`
      ) AS t20
        ON `k` IS NOT DISTINCT FROM `__hw_f2`
    ) AS t21
      ON `k` = `k_1`
    LEFT SEMI JOIN (
      SELECT
        `id`,
        `k`
      FROM (
        SELECT
          `id`,
          `k`
        FROM `__hw_src_0_new`
      ) AS t22
      LEFT SEMI JOIN (
        SELECT
          `k` AS `__hw_f2`
        FROM `__hw_stage_1`
      ) AS t23
        ON `k` IS NOT DISTINCT FROM `__hw_f2`
    ) AS t24
      ON `k` = `k_1`
  ) AS t25
  GROUP BY
    `id`,
    `k`,
    `k_1`,
    `y`
) AS t26
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
  CAST(NULL AS INT) AS `k`,
  CAST(NULL AS INT) AS `rk`,
  CAST(NULL AS INT) AS `y`
FROM (
  SELECT
    `id`,
    `k`,
    `rk`,
    `y`,
    `__hw_w`,
    `__hw_t1`,
    `__hw_t2`,
    `__hw_t3`,
    `__hw_t4`,
    `__hw_stored_id`,
    ROW_NUMBER() OVER (PARTITION BY `id`, `k`, `rk`, `y` ORDER BY `__hw_stored_id` NULLS LAST) AS `__hw_rank`,
    COUNT(`__hw_stored_id`) OVER (PARTITION BY `id`, `k`, `rk`, `y`) AS `__hw_copies`
  FROM (
    SELECT
      `id`,
      `k`,
      `rk`,
      `y`,
      `__hw_w`
    FROM `__hw_stage_3`
    WHERE
      `__hw_w` < 0
  ) AS t1
  LEFT JOIN (
    SELECT
      `id` AS `__hw_t1`,
      `k` AS `__hw_t2`,
      `rk` AS `__hw_t3`,
      `y` AS `__hw_t4`,
      `__hw_id` AS `__hw_stored_id`
    FROM `__hw_target`
  ) AS t2
    ON `id` IS NOT DISTINCT FROM `__hw_t1`
    AND `k` IS NOT DISTINCT FROM `__hw_t2`
    AND `rk` IS NOT DISTINCT FROM `__hw_t3`
    AND `y` IS NOT DISTINCT FROM `__hw_t4`
) AS t3
WHERE
  `__hw_rank` <= -`__hw_w`
UNION ALL
SELECT
  `__hw_id`,
  `id`,
  `k`,
  `rk`,
  `y`
FROM (
  SELECT
    `id`,
    `k`,
    `rk`,
    `y`,
    CONCAT('__hw_run', ':', HEX(`__hw_hash`), ':', `__hw_number`) AS `__hw_id`
  FROM (
    SELECT
      `id`,
      `k`,
      `rk`,
      `y`,
      `__hw_hash`,
      ROW_NUMBER() OVER (
        PARTITION BY `__hw_hash`
        ORDER BY `id` NULLS LAST, `k` NULLS LAST, `rk` NULLS LAST, `y` NULLS LAST
      ) AS `__hw_number`
    FROM (
      SELECT
        `id`,
        `k`,
        `rk`,
        `y`,
        XXHASH64(`id`, `id` IS NULL, `k`, `k` IS NULL, `rk`, `rk` IS NULL, `y`, `y` IS NULL) AS `__hw_hash`
      FROM (
        SELECT
          `id`,
          `k`,
          `rk`,
          `y`,
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
  `k`,
  `rk`,
  `y`
FROM `__hw_stage_4`
) AS s
ON t.`__hw_id` IS NOT DISTINCT FROM s.`__hw_id`
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED THEN INSERT (`id`, `k`, `rk`, `y`, `__hw_id`)
VALUES (
  s.`id`,
  s.`k`,
  s.`rk`,
  s.`y`,
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
-- __hw_stage_3
SELECT
  `id`,
  `k`,
  `rk`,
  `y`,
  `__hw_w`
FROM (
  SELECT
    `id`,
    `k`,
    `k_1` AS `rk`,
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
      FROM `__hw_stage_1`
    ) AS t1
    LEFT JOIN (
      SELECT
        `k` AS `k_1`,
        `y`
      FROM `__hw_src_1_new`
    ) AS t2
      ON `k` = `k_1`
    UNION ALL
    (
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
        FROM `__hw_stage_2`
      ) AS t4
        ON `k` = `k_1`
      UNION ALL
      SELECT
        CAST(NULL AS INT) AS `id`,
        CAST(NULL AS INT) AS `k`,
        `k_1`,
        `y`,
        `__hw_w`
      FROM (
        SELECT
          `k_1`,
          `y`,
          `__hw_w`
        FROM `__hw_stage_2`
      ) AS t5
      LEFT ANTI JOIN (
        SELECT
          `id`,
          `k`
        FROM `__hw_src_0_new`
      ) AS t6
        ON `k` = `k_1`
    )
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
    ) AS t9
    LEFT SEMI JOIN (
      SELECT
        `k_1`,
        `y`,
        `__hw_w`
      FROM `__hw_stage_2`
    ) AS t10
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
      ) AS t11
      LEFT SEMI JOIN (
        SELECT
          `k_1` AS `__hw_f1`
        FROM `__hw_stage_2`
      ) AS t12
        ON `k_1` IS NOT DISTINCT FROM `__hw_f1`
    ) AS t13
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
      ) AS t14
      LEFT SEMI JOIN (
        SELECT
          `k_1` AS `__hw_f1`
        FROM `__hw_stage_2`
      ) AS t15
        ON `k_1` IS NOT DISTINCT FROM `__hw_f1`
    ) AS t16
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
    ) AS t17
    LEFT SEMI JOIN (
      SELECT
        `k_1`,
        `y`,
        `__hw_w`
      FROM `__hw_stage_2`
    ) AS t18
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
      ) AS t19
      LEFT SEMI JOIN (
        SELECT
          `k_1` AS `__hw_f1`
        FROM `__hw_stage_2`
      ) AS t20
        ON `k_1` IS NOT DISTINCT FROM `__hw_f1`
    ) AS t21
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
      ) AS t22
      LEFT SEMI JOIN (
        SELECT
          `k_1` AS `__hw_f1`
        FROM `__hw_stage_2`
      ) AS t23
        ON `k_1` IS NOT DISTINCT FROM `__hw_f1`
    ) AS t24
      ON `k` = `k_1`
    UNION ALL
    SELECT
      CAST(NULL AS INT) AS `id`,
      CAST(NULL AS INT) AS `k`,
      `k_1`,
      `y`,
      CAST(-1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT
        `k` AS `k_1`,
        `y`
      FROM `__hw_src_1_old`
    ) AS t25
    LEFT SEMI JOIN (
      SELECT
        `id`,
        `k`,
        `__hw_w`
      FROM `__hw_stage_1`
    ) AS t26
      ON `k` = `k_1`
    LEFT ANTI JOIN (
      SELECT
        `id`,
        `k`
      FROM (
        SELECT
          `id`,
          `k`
        FROM `__hw_src_0_old`
      ) AS t27
      LEFT SEMI JOIN (
        SELECT
          `k` AS `__hw_f2`
        FROM `__hw_stage_1`
      ) AS t28
        ON `k` IS NOT DISTINCT FROM `__hw_f2`
    ) AS t29
      ON `k` = `k_1`
    LEFT SEMI JOIN (
      SELECT
        `id`,
        `k`
      FROM (
        SELECT
          `id`,
          `k`
        FROM `__hw_src_0_new`
      ) AS t30
      LEFT SEMI JOIN (
        SELECT
          `k` AS `__hw_f2`
        FROM `__hw_stage_1`
      ) AS t31
        ON `k` IS NOT DISTINCT FROM `__hw_f2`
    ) AS t32
      ON `k` = `k_1`
    UNION ALL
    SELECT
      CAST(NULL AS INT) AS `id`,
      CAST(NULL AS INT) AS `k`,
      `k_1`,
      `y`,
      CAST(1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT
        `k` AS `k_1`,
        `y`
      FROM `__hw_src_1_old`
    ) AS t33
    LEFT SEMI JOIN (
      SELECT
        `id`,
        `k`,
        `__hw_w`
      FROM `__hw_stage_1`
    ) AS t34
      ON `k` = `k_1`
    LEFT SEMI JOIN (
      SELECT
        `id`,
        `k`
      FROM (
        SELECT
          `id`,
          `k`
        FROM `__hw_src_0_old`
      ) AS t35
      LEFT SEMI JOIN (
        SELECT
          `k` AS `__hw_f2`
        FROM `__hw_stage_1`
      ) AS t36
        ON `k` IS NOT DISTINCT FROM `__hw_f2`
    ) AS t37
      ON `k` = `k_1`
    LEFT ANTI JOIN (
      SELECT
        `id`,
        `k`
      FROM (
        SELECT
          `id`,
          `k`
        FROM `__hw_src_0_new`
      ) AS t38
      LEFT SEMI JOIN (
        SELECT
          `k` AS `__hw_f2`
        FROM `__hw_stage_1`
      ) AS t39
        ON `k` IS NOT DISTINCT FROM `__hw_f2`
    ) AS t40
      ON `k` = `k_1`
  ) AS t41
  GROUP BY
    `id`,
    `k`,
    `k_1`,
    `y`
) AS t42
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
  CAST(NULL AS INT) AS `k`,
  CAST(NULL AS INT) AS `rk`,
  CAST(NULL AS INT) AS `y`
FROM (
  SELECT
    `id`,
    `k`,
    `rk`,
    `y`,
    `__hw_w`,
    `__hw_t1`,
    `__hw_t2`,
    `__hw_t3`,
    `__hw_t4`,
    `__hw_stored_id`,
    ROW_NUMBER() OVER (PARTITION BY `id`, `k`, `rk`, `y` ORDER BY `__hw_stored_id` NULLS LAST) AS `__hw_rank`,
    COUNT(`__hw_stored_id`) OVER (PARTITION BY `id`, `k`, `rk`, `y`) AS `__hw_copies`
  FROM (
    SELECT
      `id`,
      `k`,
      `rk`,
      `y`,
      `__hw_w`
    FROM `__hw_stage_3`
    WHERE
      `__hw_w` < 0
  ) AS t1
  LEFT JOIN (
    SELECT
      `id` AS `__hw_t1`,
      `k` AS `__hw_t2`,
      `rk` AS `__hw_t3`,
      `y` AS `__hw_t4`,
      `__hw_id` AS `__hw_stored_id`
    FROM `__hw_target`
  ) AS t2
    ON `id` IS NOT DISTINCT FROM `__hw_t1`
    AND `k` IS NOT DISTINCT FROM `__hw_t2`
    AND `rk` IS NOT DISTINCT FROM `__hw_t3`
    AND `y` IS NOT DISTINCT FROM `__hw_t4`
) AS t3
WHERE
  `__hw_rank` <= -`__hw_w`
UNION ALL
SELECT
  `__hw_id`,
  `id`,
  `k`,
  `rk`,
  `y`
FROM (
  SELECT
    `id`,
    `k`,
    `rk`,
    `y`,
    CONCAT('__hw_run', ':', HEX(`__hw_hash`), ':', `__hw_number`) AS `__hw_id`
  FROM (
    SELECT
      `id`,
      `k`,
      `rk`,
      `y`,
      `__hw_hash`,
      ROW_NUMBER() OVER (
        PARTITION BY `__hw_hash`
        ORDER BY `id` NULLS LAST, `k` NULLS LAST, `rk` NULLS LAST, `y` NULLS LAST
      ) AS `__hw_number`
    FROM (
      SELECT
        `id`,
        `k`,
        `rk`,
        `y`,
        XXHASH64(`id`, `id` IS NULL, `k`, `k` IS NULL, `rk`, `rk` IS NULL, `y`, `y` IS NULL) AS `__hw_hash`
      FROM (
        SELECT
          `id`,
          `k`,
          `rk`,
          `y`,
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
  `k`,
  `rk`,
  `y`
FROM `__hw_stage_4`
) AS s
ON t.`__hw_id` IS NOT DISTINCT FROM s.`__hw_id`
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED THEN INSERT (`id`, `k`, `rk`, `y`, `__hw_id`)
VALUES (
  s.`id`,
  s.`k`,
  s.`rk`,
  s.`y`,
  s.`__hw_id`
)
