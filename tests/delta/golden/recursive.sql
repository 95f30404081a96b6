---- query
WITH RECURSIVE p(g, v) AS (
  SELECT k, 0 FROM r UNION ALL SELECT l.x, p.v + 1 FROM p JOIN l ON l.k = p.g
) SELECT g, v FROM p

-- stored as bag, key __hw_id
WITH RECURSIVE `p`(`g`, `v`) AS (
  SELECT `k` AS `g`, 0 AS `v`
  FROM `__hw_src_1_new`
  UNION ALL
  SELECT `x` AS `g`, `v_1` + 1 AS `v`
  FROM (
    SELECT `g` AS `g_1`, `v` AS `v_1`
    FROM `p` ) AS t1
  INNER JOIN (
    SELECT `k` AS `k_1`, `x`
    FROM `__hw_src_0_new` ) AS t2
    ON `k_1` = `g_1` )
SELECT `g`, `v`, CONCAT('__hw_run', ':', MONOTONICALLY_INCREASING_ID()) AS `__hw_id`
FROM (
  SELECT `g`, `v`
  FROM `p` ) AS t3

-- changed: l append, r append; apply: bag

-- __hw_stage_1
WITH RECURSIVE `p`(`g`, `v`) AS (
  SELECT `k` AS `g`, 0 AS `v`
  FROM `__hw_src_1_old`
  UNION ALL
  SELECT `x` AS `g`, `v_1` + 1 AS `v`
  FROM (
    SELECT `g` AS `g_1`, `v` AS `v_1`
    FROM `p` ) AS t1
  INNER JOIN (
    SELECT `k` AS `k_1`, `x`
    FROM `__hw_src_0_old` ) AS t2
    ON `k_1` = `g_1` )
SELECT `g`, `v`
FROM `p`

-- __hw_stage_2
WITH RECURSIVE `p_delta`(`g`, `v`, `__hw_w`) AS ( (
    SELECT `k` AS `g`, `_c1` AS `v`, `__hw_w`
    FROM (
      SELECT `k`, 0 AS `_c1`, `__hw_w`
      FROM `__hw_src_1_delta` ) AS t1
    UNION ALL
    SELECT `x` AS `g`, `(v + 1)` AS `v`, `__hw_w`
    FROM (
      SELECT `x`, `v_1` + 1 AS `(v + 1)`, `__hw_w`
      FROM (
        SELECT `k` AS `k_1`, `x`, `__hw_w`
        FROM `__hw_src_0_delta` ) AS t2
      INNER JOIN (
        SELECT `g` AS `g_1`, `v` AS `v_1`
        FROM (
          SELECT `g`, `v`
          FROM `__hw_stage_1` ) AS t3
        LEFT SEMI JOIN (
          SELECT `k` AS `__hw_f1`
          FROM `__hw_src_0_delta` ) AS t4
          ON `g` IS NOT DISTINCT FROM `__hw_f1` ) AS t5
        ON `k_1` = `g_1` ) AS t6 )
  UNION ALL
  SELECT `x` AS `g`, `(v + 1)` AS `v`, `__hw_w`
  FROM (
    SELECT `x`, `v_1` + 1 AS `(v + 1)`, `__hw_w`
    FROM (
      SELECT `g` AS `g_1`, `v` AS `v_1`, `__hw_w`
      FROM `p_delta` ) AS t9
    INNER JOIN (
      SELECT `k` AS `k_1`, `x`
      FROM `__hw_src_0_new` ) AS t10
      ON `k_1` = `g_1` ) AS t11 )
SELECT `g`, `v`, `__hw_w`
FROM `p_delta`

-- __hw_stage_3
SELECT `g`, `v`, `__hw_w`
FROM (
  SELECT `g`, `v`, SUM(`__hw_w`) AS `__hw_w`
  FROM `__hw_stage_2`
  GROUP BY `g`, `v` ) AS t1
WHERE `__hw_w` <> 0

-- __hw_stage_4
SELECT IF( `__hw_copies` >= -`__hw_w`, `__hw_stored_id`, CAST(RAISE_ERROR('HW4003: the stream table lacks a row that is to be deleted') AS STRING) ) AS `__hw_id`, CAST(NULL AS INT) AS `g`, CAST(NULL AS INT) AS `v`
FROM (
  SELECT `g`, `v`, `__hw_w`, `__hw_t1`, `__hw_t2`, `__hw_stored_id`, ROW_NUMBER() OVER (PARTITION BY `g`, `v` ORDER BY `__hw_stored_id` NULLS LAST) AS `__hw_rank`, COUNT(`__hw_stored_id`) OVER (PARTITION BY `g`, `v`) AS `__hw_copies`
  FROM (
    SELECT `g`, `v`, `__hw_w`
    FROM `__hw_stage_3`
    WHERE `__hw_w` < 0 ) AS t1
  LEFT JOIN (
    SELECT `g` AS `__hw_t1`, `v` AS `__hw_t2`, `__hw_id` AS `__hw_stored_id`
    FROM `__hw_target`
    WHERE __HW_AMONG('__hw_stage_3', 'g', `g`) AND __HW_AMONG('__hw_stage_3', 'v', `v`) ) AS t2
    ON `g` IS NOT DISTINCT FROM `__hw_t1` AND `v` IS NOT DISTINCT FROM `__hw_t2` ) AS t3
WHERE `__hw_rank` <= -`__hw_w`
UNION ALL
SELECT `__hw_id`, `g`, `v`
FROM (
  SELECT `g`, `v`, CONCAT('__hw_run', ':', HEX(`__hw_hash`), ':', `__hw_number`) AS `__hw_id`
  FROM (
    SELECT `g`, `v`, `__hw_hash`, ROW_NUMBER() OVER (PARTITION BY `__hw_hash` ORDER BY `g` NULLS LAST, `v` NULLS LAST) AS `__hw_number`
    FROM (
      SELECT `g`, `v`, XXHASH64(`g`, `g` IS NULL, `v`, `v` IS NULL) AS `__hw_hash`
      FROM (
        SELECT `g`, `v`, `__hw_w`
        FROM `__hw_stage_3`
        WHERE `__hw_w` > 0 ) AS t4
      LATERAL VIEW
      EXPLODE(ARRAY_REPEAT(0, CAST(`__hw_w` AS INT))) g5 AS `__hw_copy` ) AS t6 ) AS t7 ) AS t8

-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT `__hw_id`, `g`, `v`
FROM `__hw_stage_4` ) AS s
ON t.`__hw_id` IS NOT DISTINCT FROM s.`__hw_id` AND __HW_AMONG('__hw_stage_4', '__hw_id', t.`__hw_id`)
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED THEN INSERT (`g`, `v`, `__hw_id`)
VALUES ( s.`g`, s.`v`, s.`__hw_id` )

-- changed: l mixed, r mixed; apply: bag

-- __hw_stage_1
SELECT `k_1`, `x`, `__hw_w`
FROM (
  SELECT `k` AS `k_1`, `x`, SUM(`__hw_w`) AS `__hw_w`
  FROM `__hw_src_0_delta`
  GROUP BY `k`, `x` ) AS t1
WHERE `__hw_w` <> 0

-- __hw_stage_2
WITH RECURSIVE `p`(`g`, `v`) AS (
  SELECT `k` AS `g`, 0 AS `v`
  FROM `__hw_src_1_old`
  UNION ALL
  SELECT `x` AS `g`, `v_1` + 1 AS `v`
  FROM (
    SELECT `g` AS `g_1`, `v` AS `v_1`
    FROM `p` ) AS t1
  INNER JOIN (
    SELECT `k` AS `k_1`, `x`
    FROM `__hw_src_0_old` ) AS t2
    ON `k_1` = `g_1` )
SELECT `g`, `v`
FROM `p`

-- __hw_stage_3
WITH RECURSIVE `p_delta`(`g`, `v`, `__hw_w`) AS ( (
    SELECT `k` AS `g`, `_c1` AS `v`, `__hw_w`
    FROM (
      SELECT `k`, 0 AS `_c1`, `__hw_w`
      FROM `__hw_src_1_delta` ) AS t1
    UNION ALL
    SELECT `x` AS `g`, `(v + 1)` AS `v`, `__hw_w`
    FROM (
      SELECT `x`, CASE WHEN `__hw_w` <> 0 THEN `v_1` + 1 END AS `(v + 1)`, `__hw_w`
      FROM (
        SELECT `g_1`, `v_1`, `k_1`, `x`, SUM(`__hw_w`) AS `__hw_w`
        FROM (
          SELECT `k_1`, `x`, `__hw_w`
          FROM `__hw_stage_1` ) AS t2
        INNER JOIN (
          SELECT `g` AS `g_1`, `v` AS `v_1`
          FROM (
            SELECT `g`, `v`
            FROM `__hw_stage_2` ) AS t3
          LEFT SEMI JOIN (
            SELECT `k_1` AS `__hw_f1`
            FROM `__hw_stage_1` ) AS t4
            ON `g` IS NOT DISTINCT FROM `__hw_f1` ) AS t5
          ON `k_1` = `g_1`
        GROUP BY `g_1`, `v_1`, `k_1`, `x` ) AS t6
      WHERE `__hw_w` <> 0 ) AS t7 )
  UNION ALL
  SELECT `x` AS `g`, `(v + 1)` AS `v`, `__hw_w`
  FROM (
    SELECT `x`, `v_1` + 1 AS `(v + 1)`, `__hw_w`
    FROM (
      SELECT `g` AS `g_1`, `v` AS `v_1`, `__hw_w`
      FROM `p_delta` ) AS t10
    INNER JOIN (
      SELECT `k` AS `k_1`, `x`
      FROM `__hw_src_0_new` ) AS t11
      ON `k_1` = `g_1` ) AS t12 )
SELECT `g`, `v`, `__hw_w`
FROM `p_delta`

-- __hw_stage_4
SELECT `g`, `v`, `__hw_w`
FROM (
  SELECT `g`, `v`, SUM(`__hw_w`) AS `__hw_w`
  FROM `__hw_stage_3`
  GROUP BY `g`, `v` ) AS t1
WHERE `__hw_w` <> 0

-- __hw_stage_5
SELECT IF( `__hw_copies` >= -`__hw_w`, `__hw_stored_id`, CAST(RAISE_ERROR('HW4003: the stream table lacks a row that is to be deleted') AS STRING) ) AS `__hw_id`, CAST(NULL AS INT) AS `g`, CAST(NULL AS INT) AS `v`
FROM (
  SELECT `g`, `v`, `__hw_w`, `__hw_t1`, `__hw_t2`, `__hw_stored_id`, ROW_NUMBER() OVER (PARTITION BY `g`, `v` ORDER BY `__hw_stored_id` NULLS LAST) AS `__hw_rank`, COUNT(`__hw_stored_id`) OVER (PARTITION BY `g`, `v`) AS `__hw_copies`
  FROM (
    SELECT `g`, `v`, `__hw_w`
    FROM `__hw_stage_4`
    WHERE `__hw_w` < 0 ) AS t1
  LEFT JOIN (
    SELECT `g` AS `__hw_t1`, `v` AS `__hw_t2`, `__hw_id` AS `__hw_stored_id`
    FROM `__hw_target`
    WHERE __HW_AMONG('__hw_stage_4', 'g', `g`) AND __HW_AMONG('__hw_stage_4', 'v', `v`) ) AS t2
    ON `g` IS NOT DISTINCT FROM `__hw_t1` AND `v` IS NOT DISTINCT FROM `__hw_t2` ) AS t3
WHERE `__hw_rank` <= -`__hw_w`
UNION ALL
SELECT `__hw_id`, `g`, `v`
FROM (
  SELECT `g`, `v`, CONCAT('__hw_run', ':', HEX(`__hw_hash`), ':', `__hw_number`) AS `__hw_id`
  FROM (
    SELECT `g`, `v`, `__hw_hash`, ROW_NUMBER() OVER (PARTITION BY `__hw_hash` ORDER BY `g` NULLS LAST, `v` NULLS LAST) AS `__hw_number`
    FROM (
      SELECT `g`, `v`, XXHASH64(`g`, `g` IS NULL, `v`, `v` IS NULL) AS `__hw_hash`
      FROM (
        SELECT `g`, `v`, `__hw_w`
        FROM `__hw_stage_4`
        WHERE `__hw_w` > 0 ) AS t4
      LATERAL VIEW
      EXPLODE(ARRAY_REPEAT(0, CAST(`__hw_w` AS INT))) g5 AS `__hw_copy` ) AS t6 ) AS t7 ) AS t8

-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT `__hw_id`, `g`, `v`
FROM `__hw_stage_5` ) AS s
ON t.`__hw_id` IS NOT DISTINCT FROM s.`__hw_id` AND __HW_AMONG('__hw_stage_5', '__hw_id', t.`__hw_id`)
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED THEN INSERT (`g`, `v`, `__hw_id`)
VALUES ( s.`g`, s.`v`, s.`__hw_id` )

-- changed: l netted, r netted; apply: bag

-- __hw_stage_1
WITH RECURSIVE `p`(`g`, `v`) AS (
  SELECT `k` AS `g`, 0 AS `v`
  FROM `__hw_src_1_old`
  UNION ALL
  SELECT `x` AS `g`, `v_1` + 1 AS `v`
  FROM (
    SELECT `g` AS `g_1`, `v` AS `v_1`
    FROM `p` ) AS t1
  INNER JOIN (
    SELECT `k` AS `k_1`, `x`
    FROM `__hw_src_0_old` ) AS t2
    ON `k_1` = `g_1` )
SELECT `g`, `v`
FROM `p`

-- __hw_stage_2
WITH RECURSIVE `p_delta`(`g`, `v`, `__hw_w`) AS ( (
    SELECT `k` AS `g`, `_c1` AS `v`, `__hw_w`
    FROM (
      SELECT `k`, 0 AS `_c1`, `__hw_w`
      FROM `__hw_src_1_delta` ) AS t1
    UNION ALL
    SELECT `x` AS `g`, `(v + 1)` AS `v`, `__hw_w`
    FROM (
      SELECT `x`, CASE WHEN `__hw_w` <> 0 THEN `v_1` + 1 END AS `(v + 1)`, `__hw_w`
      FROM (
        SELECT `g_1`, `v_1`, `k_1`, `x`, SUM(`__hw_w`) AS `__hw_w`
        FROM (
          SELECT `k` AS `k_1`, `x`, `__hw_w`
          FROM `__hw_src_0_delta` ) AS t2
        INNER JOIN (
          SELECT `g` AS `g_1`, `v` AS `v_1`
          FROM (
            SELECT `g`, `v`
            FROM `__hw_stage_1` ) AS t3
          LEFT SEMI JOIN (
            SELECT `k` AS `__hw_f1`
            FROM `__hw_src_0_delta` ) AS t4
            ON `g` IS NOT DISTINCT FROM `__hw_f1` ) AS t5
          ON `k_1` = `g_1`
        GROUP BY `g_1`, `v_1`, `k_1`, `x` ) AS t6
      WHERE `__hw_w` <> 0 ) AS t7 )
  UNION ALL
  SELECT `x` AS `g`, `(v + 1)` AS `v`, `__hw_w`
  FROM (
    SELECT `x`, `v_1` + 1 AS `(v + 1)`, `__hw_w`
    FROM (
      SELECT `g` AS `g_1`, `v` AS `v_1`, `__hw_w`
      FROM `p_delta` ) AS t10
    INNER JOIN (
      SELECT `k` AS `k_1`, `x`
      FROM `__hw_src_0_new` ) AS t11
      ON `k_1` = `g_1` ) AS t12 )
SELECT `g`, `v`, `__hw_w`
FROM `p_delta`

-- __hw_stage_3
SELECT `g`, `v`, `__hw_w`
FROM (
  SELECT `g`, `v`, SUM(`__hw_w`) AS `__hw_w`
  FROM `__hw_stage_2`
  GROUP BY `g`, `v` ) AS t1
WHERE `__hw_w` <> 0

-- __hw_stage_4
SELECT IF( `__hw_copies` >= -`__hw_w`, `__hw_stored_id`, CAST(RAISE_ERROR('HW4003: the stream table lacks a row that is to be deleted') AS STRING) ) AS `__hw_id`, CAST(NULL AS INT) AS `g`, CAST(NULL AS INT) AS `v`
FROM (
  SELECT `g`, `v`, `__hw_w`, `__hw_t1`, `__hw_t2`, `__hw_stored_id`, ROW_NUMBER() OVER (PARTITION BY `g`, `v` ORDER BY `__hw_stored_id` NULLS LAST) AS `__hw_rank`, COUNT(`__hw_stored_id`) OVER (PARTITION BY `g`, `v`) AS `__hw_copies`
  FROM (
    SELECT `g`, `v`, `__hw_w`
    FROM `__hw_stage_3`
    WHERE `__hw_w` < 0 ) AS t1
  LEFT JOIN (
    SELECT `g` AS `__hw_t1`, `v` AS `__hw_t2`, `__hw_id` AS `__hw_stored_id`
    FROM `__hw_target`
    WHERE __HW_AMONG('__hw_stage_3', 'g', `g`) AND __HW_AMONG('__hw_stage_3', 'v', `v`) ) AS t2
    ON `g` IS NOT DISTINCT FROM `__hw_t1` AND `v` IS NOT DISTINCT FROM `__hw_t2` ) AS t3
WHERE `__hw_rank` <= -`__hw_w`
UNION ALL
SELECT `__hw_id`, `g`, `v`
FROM (
  SELECT `g`, `v`, CONCAT('__hw_run', ':', HEX(`__hw_hash`), ':', `__hw_number`) AS `__hw_id`
  FROM (
    SELECT `g`, `v`, `__hw_hash`, ROW_NUMBER() OVER (PARTITION BY `__hw_hash` ORDER BY `g` NULLS LAST, `v` NULLS LAST) AS `__hw_number`
    FROM (
      SELECT `g`, `v`, XXHASH64(`g`, `g` IS NULL, `v`, `v` IS NULL) AS `__hw_hash`
      FROM (
        SELECT `g`, `v`, `__hw_w`
        FROM `__hw_stage_3`
        WHERE `__hw_w` > 0 ) AS t4
      LATERAL VIEW
      EXPLODE(ARRAY_REPEAT(0, CAST(`__hw_w` AS INT))) g5 AS `__hw_copy` ) AS t6 ) AS t7 ) AS t8

-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT `__hw_id`, `g`, `v`
FROM `__hw_stage_4` ) AS s
ON t.`__hw_id` IS NOT DISTINCT FROM s.`__hw_id` AND __HW_AMONG('__hw_stage_4', '__hw_id', t.`__hw_id`)
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED THEN INSERT (`g`, `v`, `__hw_id`)
VALUES ( s.`g`, s.`v`, s.`__hw_id` )

-- changed: l mixed; apply: bag

-- __hw_stage_1
SELECT `k_1`, `x`, `__hw_w`
FROM (
  SELECT `k` AS `k_1`, `x`, SUM(`__hw_w`) AS `__hw_w`
  FROM `__hw_src_0_delta`
  GROUP BY `k`, `x` ) AS t1
WHERE `__hw_w` <> 0

-- __hw_stage_2
WITH RECURSIVE `p`(`g`, `v`) AS (
  SELECT `k` AS `g`, 0 AS `v`
  FROM `__hw_src_1_new`
  UNION ALL
  SELECT `x` AS `g`, `v_1` + 1 AS `v`
  FROM (
    SELECT `g` AS `g_1`, `v` AS `v_1`
    FROM `p` ) AS t1
  INNER JOIN (
    SELECT `k` AS `k_1`, `x`
    FROM `__hw_src_0_old` ) AS t2
    ON `k_1` = `g_1` )
SELECT `g`, `v`
FROM `p`

-- __hw_stage_3
WITH RECURSIVE `p_delta`(`g`, `v`, `__hw_w`) AS (
  SELECT `x` AS `g`, `(v + 1)` AS `v`, `__hw_w`
  FROM (
    SELECT `x`, CASE WHEN `__hw_w` <> 0 THEN `v_1` + 1 END AS `(v + 1)`, `__hw_w`
    FROM (
      SELECT `g_1`, `v_1`, `k_1`, `x`, SUM(`__hw_w`) AS `__hw_w`
      FROM (
        SELECT `k_1`, `x`, `__hw_w`
        FROM `__hw_stage_1` ) AS t1
      INNER JOIN (
        SELECT `g` AS `g_1`, `v` AS `v_1`
        FROM (
          SELECT `g`, `v`
          FROM `__hw_stage_2` ) AS t2
        LEFT SEMI JOIN (
          SELECT `k_1` AS `__hw_f1`
          FROM `__hw_stage_1` ) AS t3
          ON `g` IS NOT DISTINCT FROM `__hw_f1` ) AS t4
        ON `k_1` = `g_1`
      GROUP BY `g_1`, `v_1`, `k_1`, `x` ) AS t5
    WHERE `__hw_w` <> 0 ) AS t6
  UNION ALL
  SELECT `x` AS `g`, `(v + 1)` AS `v`, `__hw_w`
  FROM (
    SELECT `x`, `v_1` + 1 AS `(v + 1)`, `__hw_w`
    FROM (
      SELECT `g` AS `g_1`, `v` AS `v_1`, `__hw_w`
      FROM `p_delta` ) AS t7
    INNER JOIN (
      SELECT `k` AS `k_1`, `x`
      FROM `__hw_src_0_new` ) AS t8
      ON `k_1` = `g_1` ) AS t9 )
SELECT `g`, `v`, `__hw_w`
FROM `p_delta`

-- __hw_stage_4
SELECT `g`, `v`, `__hw_w`
FROM (
  SELECT `g`, `v`, SUM(`__hw_w`) AS `__hw_w`
  FROM `__hw_stage_3`
  GROUP BY `g`, `v` ) AS t1
WHERE `__hw_w` <> 0

-- __hw_stage_5
SELECT IF( `__hw_copies` >= -`__hw_w`, `__hw_stored_id`, CAST(RAISE_ERROR('HW4003: the stream table lacks a row that is to be deleted') AS STRING) ) AS `__hw_id`, CAST(NULL AS INT) AS `g`, CAST(NULL AS INT) AS `v`
FROM (
  SELECT `g`, `v`, `__hw_w`, `__hw_t1`, `__hw_t2`, `__hw_stored_id`, ROW_NUMBER() OVER (PARTITION BY `g`, `v` ORDER BY `__hw_stored_id` NULLS LAST) AS `__hw_rank`, COUNT(`__hw_stored_id`) OVER (PARTITION BY `g`, `v`) AS `__hw_copies`
  FROM (
    SELECT `g`, `v`, `__hw_w`
    FROM `__hw_stage_4`
    WHERE `__hw_w` < 0 ) AS t1
  LEFT JOIN (
    SELECT `g` AS `__hw_t1`, `v` AS `__hw_t2`, `__hw_id` AS `__hw_stored_id`
    FROM `__hw_target`
    WHERE __HW_AMONG('__hw_stage_4', 'g', `g`) AND __HW_AMONG('__hw_stage_4', 'v', `v`) ) AS t2
    ON `g` IS NOT DISTINCT FROM `__hw_t1` AND `v` IS NOT DISTINCT FROM `__hw_t2` ) AS t3
WHERE `__hw_rank` <= -`__hw_w`
UNION ALL
SELECT `__hw_id`, `g`, `v`
FROM (
  SELECT `g`, `v`, CONCAT('__hw_run', ':', HEX(`__hw_hash`), ':', `__hw_number`) AS `__hw_id`
  FROM (
    SELECT `g`, `v`, `__hw_hash`, ROW_NUMBER() OVER (PARTITION BY `__hw_hash` ORDER BY `g` NULLS LAST, `v` NULLS LAST) AS `__hw_number`
    FROM (
      SELECT `g`, `v`, XXHASH64(`g`, `g` IS NULL, `v`, `v` IS NULL) AS `__hw_hash`
      FROM (
        SELECT `g`, `v`, `__hw_w`
        FROM `__hw_stage_4`
        WHERE `__hw_w` > 0 ) AS t4
      LATERAL VIEW
      EXPLODE(ARRAY_REPEAT(0, CAST(`__hw_w` AS INT))) g5 AS `__hw_copy` ) AS t6 ) AS t7 ) AS t8

-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT `__hw_id`, `g`, `v`
FROM `__hw_stage_5` ) AS s
ON t.`__hw_id` IS NOT DISTINCT FROM s.`__hw_id` AND __HW_AMONG('__hw_stage_5', '__hw_id', t.`__hw_id`)
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED THEN INSERT (`g`, `v`, `__hw_id`)
VALUES ( s.`g`, s.`v`, s.`__hw_id` )

-- changed: r mixed; apply: bag

-- __hw_stage_1
WITH RECURSIVE `p_delta`(`g`, `v`, `__hw_w`) AS (
  SELECT `k` AS `g`, `_c1` AS `v`, `__hw_w`
  FROM (
    SELECT `k`, 0 AS `_c1`, `__hw_w`
    FROM `__hw_src_1_delta` ) AS t1
  UNION ALL
  SELECT `x` AS `g`, `(v + 1)` AS `v`, `__hw_w`
  FROM (
    SELECT `x`, `v_1` + 1 AS `(v + 1)`, `__hw_w`
    FROM (
      SELECT `g` AS `g_1`, `v` AS `v_1`, `__hw_w`
      FROM `p_delta` ) AS t2
    INNER JOIN (
      SELECT `k` AS `k_1`, `x`
      FROM `__hw_src_0_new` ) AS t3
      ON `k_1` = `g_1` ) AS t4 )
SELECT `g`, `v`, `__hw_w`
FROM `p_delta`

-- __hw_stage_2
SELECT `g`, `v`, `__hw_w`
FROM (
  SELECT `g`, `v`, SUM(`__hw_w`) AS `__hw_w`
  FROM `__hw_stage_1`
  GROUP BY `g`, `v` ) AS t1
WHERE `__hw_w` <> 0

-- __hw_stage_3
SELECT IF( `__hw_copies` >= -`__hw_w`, `__hw_stored_id`, CAST(RAISE_ERROR('HW4003: the stream table lacks a row that is to be deleted') AS STRING) ) AS `__hw_id`, CAST(NULL AS INT) AS `g`, CAST(NULL AS INT) AS `v`
FROM (
  SELECT `g`, `v`, `__hw_w`, `__hw_t1`, `__hw_t2`, `__hw_stored_id`, ROW_NUMBER() OVER (PARTITION BY `g`, `v` ORDER BY `__hw_stored_id` NULLS LAST) AS `__hw_rank`, COUNT(`__hw_stored_id`) OVER (PARTITION BY `g`, `v`) AS `__hw_copies`
  FROM (
    SELECT `g`, `v`, `__hw_w`
    FROM `__hw_stage_2`
    WHERE `__hw_w` < 0 ) AS t1
  LEFT JOIN (
    SELECT `g` AS `__hw_t1`, `v` AS `__hw_t2`, `__hw_id` AS `__hw_stored_id`
    FROM `__hw_target`
    WHERE __HW_AMONG('__hw_stage_2', 'g', `g`) AND __HW_AMONG('__hw_stage_2', 'v', `v`) ) AS t2
    ON `g` IS NOT DISTINCT FROM `__hw_t1` AND `v` IS NOT DISTINCT FROM `__hw_t2` ) AS t3
WHERE `__hw_rank` <= -`__hw_w`
UNION ALL
SELECT `__hw_id`, `g`, `v`
FROM (
  SELECT `g`, `v`, CONCAT('__hw_run', ':', HEX(`__hw_hash`), ':', `__hw_number`) AS `__hw_id`
  FROM (
    SELECT `g`, `v`, `__hw_hash`, ROW_NUMBER() OVER (PARTITION BY `__hw_hash` ORDER BY `g` NULLS LAST, `v` NULLS LAST) AS `__hw_number`
    FROM (
      SELECT `g`, `v`, XXHASH64(`g`, `g` IS NULL, `v`, `v` IS NULL) AS `__hw_hash`
      FROM (
        SELECT `g`, `v`, `__hw_w`
        FROM `__hw_stage_2`
        WHERE `__hw_w` > 0 ) AS t4
      LATERAL VIEW
      EXPLODE(ARRAY_REPEAT(0, CAST(`__hw_w` AS INT))) g5 AS `__hw_copy` ) AS t6 ) AS t7 ) AS t8

-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT `__hw_id`, `g`, `v`
FROM `__hw_stage_3` ) AS s
ON t.`__hw_id` IS NOT DISTINCT FROM s.`__hw_id` AND __HW_AMONG('__hw_stage_3', '__hw_id', t.`__hw_id`)
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED THEN INSERT (`g`, `v`, `__hw_id`)
VALUES ( s.`g`, s.`v`, s.`__hw_id` )

---- query
WITH RECURSIVE p(g, v) AS (
  SELECT k, 0 FROM r UNION ALL SELECT l.x, p.v + 1 FROM p JOIN l ON l.k = p.g
) SELECT g, v FROM p

-- stored as unique, key g
WITH RECURSIVE `p`(`g`, `v`) AS (
  SELECT `k` AS `g`, 0 AS `v`
  FROM `__hw_src_1_new`
  UNION ALL
  SELECT `x` AS `g`, `v_1` + 1 AS `v`
  FROM (
    SELECT `g` AS `g_1`, `v` AS `v_1`
    FROM `p` ) AS t1
  INNER JOIN (
    SELECT `k` AS `k_1`, `x`
    FROM `__hw_src_0_new` ) AS t2
    ON `k_1` = `g_1` )
SELECT `g`, `v`
FROM (
  SELECT `g`, `v`, COUNT(*) OVER (PARTITION BY `g`) AS `__hw_rows`
  FROM (
    SELECT `g`, `v`
    FROM `p` ) AS t3 ) AS t4
WHERE IF( `__hw_rows` = 1, TRUE, CAST(RAISE_ERROR('HW3003: unique_key (g) occurs more than once in the result') AS BOOLEAN) )

-- changed: l mixed, r mixed; apply: merge

-- __hw_stage_1
SELECT `k_1`, `x`, `__hw_w`
FROM (
  SELECT `k` AS `k_1`, `x`, SUM(`__hw_w`) AS `__hw_w`
  FROM `__hw_src_0_delta`
  GROUP BY `k`, `x` ) AS t1
WHERE `__hw_w` <> 0

-- __hw_stage_2
WITH RECURSIVE `p`(`g`, `v`) AS (
  SELECT `k` AS `g`, 0 AS `v`
  FROM `__hw_src_1_old`
  UNION ALL
  SELECT `x` AS `g`, `v_1` + 1 AS `v`
  FROM (
    SELECT `g` AS `g_1`, `v` AS `v_1`
    FROM `p` ) AS t1
  INNER JOIN (
    SELECT `k` AS `k_1`, `x`
    FROM `__hw_src_0_old` ) AS t2
    ON `k_1` = `g_1` )
SELECT `g`, `v`
FROM `p`

-- __hw_stage_3
WITH RECURSIVE `p_delta`(`g`, `v`, `__hw_w`) AS ( (
    SELECT `k` AS `g`, `_c1` AS `v`, `__hw_w`
    FROM (
      SELECT `k`, 0 AS `_c1`, `__hw_w`
      FROM `__hw_src_1_delta` ) AS t1
    UNION ALL
    SELECT `x` AS `g`, `(v + 1)` AS `v`, `__hw_w`
    FROM (
      SELECT `x`, CASE WHEN `__hw_w` <> 0 THEN `v_1` + 1 END AS `(v + 1)`, `__hw_w`
      FROM (
        SELECT `g_1`, `v_1`, `k_1`, `x`, SUM(`__hw_w`) AS `__hw_w`
        FROM (
          SELECT `k_1`, `x`, `__hw_w`
          FROM `__hw_stage_1` ) AS t2
        INNER JOIN (
          SELECT `g` AS `g_1`, `v` AS `v_1`
          FROM (
            SELECT `g`, `v`
            FROM `__hw_stage_2` ) AS t3
          LEFT SEMI JOIN (
            SELECT `k_1` AS `__hw_f1`
            FROM `__hw_stage_1` ) AS t4
            ON `g` IS NOT DISTINCT FROM `__hw_f1` ) AS t5
          ON `k_1` = `g_1`
        GROUP BY `g_1`, `v_1`, `k_1`, `x` ) AS t6
      WHERE `__hw_w` <> 0 ) AS t7 )
  UNION ALL
  SELECT `x` AS `g`, `(v + 1)` AS `v`, `__hw_w`
  FROM (
    SELECT `x`, `v_1` + 1 AS `(v + 1)`, `__hw_w`
    FROM (
      SELECT `g` AS `g_1`, `v` AS `v_1`, `__hw_w`
      FROM `p_delta` ) AS t10
    INNER JOIN (
      SELECT `k` AS `k_1`, `x`
      FROM `__hw_src_0_new` ) AS t11
      ON `k_1` = `g_1` ) AS t12 )
SELECT `g`, `v`, `__hw_w`
FROM `p_delta`

-- __hw_stage_4
SELECT `g`, `v`, `__hw_went`, IF( `__hw_came` <= 1, `__hw_w` > 0, CAST(RAISE_ERROR('HW3003: unique_key (g) occurs more than once in the result') AS BOOLEAN) ) AS `__hw_new`
FROM (
  SELECT `g`, `v`, `__hw_w`, SUM(GREATEST(`__hw_w`, 0)) OVER (PARTITION BY `g`) AS `__hw_came`, SUM(GREATEST(-`__hw_w`, 0)) OVER (PARTITION BY `g`) AS `__hw_went`
  FROM (
    SELECT `g`, `v`, SUM(`__hw_w`) AS `__hw_w`
    FROM `__hw_stage_3`
    GROUP BY `g`, `v` ) AS t1
  WHERE `__hw_w` <> 0 ) AS t2
WHERE ( `__hw_w` > 0 OR `__hw_came` = 0 )

-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT `g`, `v`, `__hw_went`, `__hw_new`
FROM `__hw_stage_4` ) AS s
ON t.`g` IS NOT DISTINCT FROM s.`g` AND __HW_AMONG('__hw_stage_4', 'g', t.`g`)
WHEN MATCHED AND (NOT s.`__hw_new`) THEN DELETE
WHEN MATCHED AND (s.`__hw_new` AND s.`__hw_went` = 0 OR NOT t.`v` IS NOT DISTINCT FROM s.`v`) THEN UPDATE SET `v` = IF(s.`__hw_new` AND s.`__hw_went` = 0, CAST(RAISE_ERROR('HW3003: unique_key (g) occurs more than once in the result') AS INT), s.`v`)
WHEN NOT MATCHED THEN INSERT (`g`, `v`)
VALUES ( IF(s.`__hw_new`, s.`g`, CAST(RAISE_ERROR('HW4003: the stream table lacks a row that is to be deleted') AS INT)), s.`v` )

---- query
SELECT g, COUNT(*) AS n, SUM(v) AS s FROM (WITH RECURSIVE p(g, v) AS (
  SELECT k, 0 FROM r UNION ALL SELECT l.x, p.v + 1 FROM p JOIN l ON l.k = p.g
) SELECT g, v FROM p) q GROUP BY g

-- stored as state, key g
WITH RECURSIVE `p`(`g`, `v`) AS (
  SELECT `k` AS `g`, 0 AS `v`
  FROM `__hw_src_1_new`
  UNION ALL
  SELECT `x` AS `g`, `v_1` + 1 AS `v`
  FROM (
    SELECT `g` AS `g_1`, `v` AS `v_1`
    FROM `p` ) AS t1
  INNER JOIN (
    SELECT `k` AS `k_1`, `x`
    FROM `__hw_src_0_new` ) AS t2
    ON `k_1` = `g_1` )
SELECT `g`, `__hw_n` AS `n`, CASE WHEN `__hw_c2` > 0 THEN `__hw_s1` END AS `s`, `__hw_n`, `__hw_s1`, `__hw_c2`
FROM (
  SELECT `g`, COUNT(*) AS `__hw_n`, COALESCE(SUM(`v`), 0) AS `__hw_s1`, COUNT(CASE WHEN NOT ( `v` ) IS NULL THEN 1 END) AS `__hw_c2`
  FROM (
    SELECT `g`, `v`
    FROM `p` ) AS t3
  GROUP BY `g` ) AS t4

-- changed: l mixed, r mixed; apply: merge

-- __hw_stage_1
SELECT `k_1`, `x`, `__hw_w`
FROM (
  SELECT `k` AS `k_1`, `x`, SUM(`__hw_w`) AS `__hw_w`
  FROM `__hw_src_0_delta`
  GROUP BY `k`, `x` ) AS t1
WHERE `__hw_w` <> 0

-- __hw_stage_2
WITH RECURSIVE `p`(`g`, `v`) AS (
  SELECT `k` AS `g`, 0 AS `v`
  FROM `__hw_src_1_old`
  UNION ALL
  SELECT `x` AS `g`, `v_1` + 1 AS `v`
  FROM (
    SELECT `g` AS `g_1`, `v` AS `v_1`
    FROM `p` ) AS t1
  INNER JOIN (
    SELECT `k` AS `k_1`, `x`
    FROM `__hw_src_0_old` ) AS t2
    ON `k_1` = `g_1` )
SELECT `g`, `v`
FROM `p`

-- __hw_stage_3
WITH RECURSIVE `p_delta`(`g`, `v`, `__hw_w`) AS ( (
    SELECT `k` AS `g`, `_c1` AS `v`, `__hw_w`
    FROM (
      SELECT `k`, 0 AS `_c1`, `__hw_w`
      FROM `__hw_src_1_delta` ) AS t1
    UNION ALL
    SELECT `x` AS `g`, `(v + 1)` AS `v`, `__hw_w`
    FROM (
      SELECT `x`, CASE WHEN `__hw_w` <> 0 THEN `v_1` + 1 END AS `(v + 1)`, `__hw_w`
      FROM (
        SELECT `g_1`, `v_1`, `k_1`, `x`, SUM(`__hw_w`) AS `__hw_w`
        FROM (
          SELECT `k_1`, `x`, `__hw_w`
          FROM `__hw_stage_1` ) AS t2
        INNER JOIN (
          SELECT `g` AS `g_1`, `v` AS `v_1`
          FROM (
            SELECT `g`, `v`
            FROM `__hw_stage_2` ) AS t3
          LEFT SEMI JOIN (
            SELECT `k_1` AS `__hw_f1`
            FROM `__hw_stage_1` ) AS t4
            ON `g` IS NOT DISTINCT FROM `__hw_f1` ) AS t5
          ON `k_1` = `g_1`
        GROUP BY `g_1`, `v_1`, `k_1`, `x` ) AS t6
      WHERE `__hw_w` <> 0 ) AS t7 )
  UNION ALL
  SELECT `x` AS `g`, `(v + 1)` AS `v`, `__hw_w`
  FROM (
    SELECT `x`, `v_1` + 1 AS `(v + 1)`, `__hw_w`
    FROM (
      SELECT `g` AS `g_1`, `v` AS `v_1`, `__hw_w`
      FROM `p_delta` ) AS t10
    INNER JOIN (
      SELECT `k` AS `k_1`, `x`
      FROM `__hw_src_0_new` ) AS t11
      ON `k_1` = `g_1` ) AS t12 )
SELECT `g`, `v`, `__hw_w`
FROM `p_delta`

-- __hw_stage_4
SELECT `g`, `__hw_d_n`, `__hw_d_s1`, `__hw_d_c2`
FROM (
  SELECT `g`, SUM(`__hw_w`) AS `__hw_d_n`, COALESCE(SUM(`__hw_w` * CAST(`v` AS BIGINT)), 0) AS `__hw_d_s1`, SUM(IF(NOT ( `v` ) IS NULL, `__hw_w`, CAST(0 AS BIGINT))) AS `__hw_d_c2`
  FROM `__hw_stage_3`
  GROUP BY `g` ) AS t1
WHERE ( `__hw_d_n` <> 0 OR `__hw_d_s1` <> 0 OR `__hw_d_c2` <> 0 )

-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT `g`, `__hw_d_n`, `__hw_d_s1`, `__hw_d_c2`
FROM `__hw_stage_4` ) AS s
ON t.`g` IS NOT DISTINCT FROM s.`g` AND __HW_AMONG('__hw_stage_4', 'g', t.`g`)
WHEN MATCHED AND (t.`__hw_n` + s.`__hw_d_n` = 0) THEN DELETE
WHEN MATCHED THEN UPDATE SET `n` = t.`__hw_n` + s.`__hw_d_n`, `s` = CASE WHEN (t.`__hw_c2` + s.`__hw_d_c2`) > 0 THEN (t.`__hw_s1` + s.`__hw_d_s1`) END, `__hw_n` = IF(t.`__hw_n` + s.`__hw_d_n` >= 1, t.`__hw_n` + s.`__hw_d_n`, CAST(RAISE_ERROR('HW4003: a group of the stream table holds fewer rows than are to be taken away') AS BIGINT)), `__hw_s1` = t.`__hw_s1` + s.`__hw_d_s1`, `__hw_c2` = t.`__hw_c2` + s.`__hw_d_c2`
WHEN NOT MATCHED THEN INSERT (`g`, `n`, `s`, `__hw_n`, `__hw_s1`, `__hw_c2`)
VALUES ( s.`g`, s.`__hw_d_n`, CASE WHEN s.`__hw_d_c2` > 0 THEN s.`__hw_d_s1` END, IF(s.`__hw_d_n` >= 1, s.`__hw_d_n`, CAST(RAISE_ERROR('HW4003: a group of the stream table holds fewer rows than are to be taken away') AS BIGINT)), s.`__hw_d_s1`, s.`__hw_d_c2` )

---- query
SELECT g, COUNT(DISTINCT v) AS n FROM (WITH RECURSIVE p(g, v) AS (
  SELECT k, 0 FROM r UNION ALL SELECT l.x, p.v + 1 FROM p JOIN l ON l.k = p.g
) SELECT g, v FROM p) q GROUP BY g

-- stored as keyed, key g
SELECT `g`, COUNT(DISTINCT `v`) AS `n`
FROM ( WITH RECURSIVE `p`(`g`, `v`) AS (
    SELECT `k` AS `g`, 0 AS `v`
    FROM `__hw_src_1_new`
    UNION ALL
    SELECT `x` AS `g`, `v_1` + 1 AS `v`
    FROM (
      SELECT `g` AS `g_1`, `v` AS `v_1`
      FROM `p` ) AS t1
    INNER JOIN (
      SELECT `k` AS `k_1`, `x`
      FROM `__hw_src_0_new` ) AS t2
      ON `k_1` = `g_1` )
  SELECT `g`, `v`
  FROM `p` ) AS t3
GROUP BY `g`

-- changed: l mixed, r mixed; apply: replace_keys

-- __hw_stage_1
SELECT `k_1`, `x`, `__hw_w`
FROM (
  SELECT `k` AS `k_1`, `x`, SUM(`__hw_w`) AS `__hw_w`
  FROM `__hw_src_0_delta`
  GROUP BY `k`, `x` ) AS t1
WHERE `__hw_w` <> 0

-- __hw_stage_2
WITH RECURSIVE `p`(`g`, `v`) AS (
  SELECT `k` AS `g`, 0 AS `v`
  FROM `__hw_src_1_old`
  UNION ALL
  SELECT `x` AS `g`, `v_1` + 1 AS `v`
  FROM (
    SELECT `g` AS `g_1`, `v` AS `v_1`
    FROM `p` ) AS t1
  INNER JOIN (
    SELECT `k` AS `k_1`, `x`
    FROM `__hw_src_0_old` ) AS t2
    ON `k_1` = `g_1` )
SELECT `g`, `v`
FROM `p`

-- __hw_stage_3
WITH RECURSIVE `p_delta`(`g`, `v`, `__hw_w`) AS ( (
    SELECT `k` AS `g`, `_c1` AS `v`, `__hw_w`
    FROM (
      SELECT `k`, 0 AS `_c1`, `__hw_w`
      FROM `__hw_src_1_delta` ) AS t1
    UNION ALL
    SELECT `x` AS `g`, `(v + 1)` AS `v`, `__hw_w`
    FROM (
      SELECT `x`, CASE WHEN `__hw_w` <> 0 THEN `v_1` + 1 END AS `(v + 1)`, `__hw_w`
      FROM (
        SELECT `g_1`, `v_1`, `k_1`, `x`, SUM(`__hw_w`) AS `__hw_w`
        FROM (
          SELECT `k_1`, `x`, `__hw_w`
          FROM `__hw_stage_1` ) AS t2
        INNER JOIN (
          SELECT `g` AS `g_1`, `v` AS `v_1`
          FROM (
            SELECT `g`, `v`
            FROM `__hw_stage_2` ) AS t3
          LEFT SEMI JOIN (
            SELECT `k_1` AS `__hw_f1`
            FROM `__hw_stage_1` ) AS t4
            ON `g` IS NOT DISTINCT FROM `__hw_f1` ) AS t5
          ON `k_1` = `g_1`
        GROUP BY `g_1`, `v_1`, `k_1`, `x` ) AS t6
      WHERE `__hw_w` <> 0 ) AS t7 )
  UNION ALL
  SELECT `x` AS `g`, `(v + 1)` AS `v`, `__hw_w`
  FROM (
    SELECT `x`, `v_1` + 1 AS `(v + 1)`, `__hw_w`
    FROM (
      SELECT `g` AS `g_1`, `v` AS `v_1`, `__hw_w`
      FROM `p_delta` ) AS t10
    INNER JOIN (
      SELECT `k` AS `k_1`, `x`
      FROM `__hw_src_0_new` ) AS t11
      ON `k_1` = `g_1` ) AS t12 )
SELECT `g`, `v`, `__hw_w`
FROM `p_delta`

-- __hw_stage_4
SELECT DISTINCT
  `g` AS `__hw_f2`
FROM (
  SELECT `g`, `v`, SUM(`__hw_w`) AS `__hw_w`
  FROM `__hw_stage_3`
  GROUP BY `g`, `v` ) AS t1
WHERE `__hw_w` <> 0

-- __hw_stage_5
WITH RECURSIVE `p`(`g`, `v`) AS (
  SELECT `k` AS `g`, 0 AS `v`
  FROM `__hw_src_1_new`
  UNION ALL
  SELECT `x` AS `g`, `v_1` + 1 AS `v`
  FROM (
    SELECT `g` AS `g_1`, `v` AS `v_1`
    FROM `p` ) AS t1
  INNER JOIN (
    SELECT `k` AS `k_1`, `x`
    FROM `__hw_src_0_new` ) AS t2
    ON `k_1` = `g_1` )
SELECT `g`, `v`
FROM `p`

-- __hw_stage_6
SELECT `__hw_f2`, `g`, `n`, `__hw_here`
FROM (
  SELECT `__hw_f2`
  FROM `__hw_stage_4` ) AS t1
LEFT JOIN (
  SELECT `g`, `n`, TRUE AS `__hw_here`
  FROM (
    SELECT `g`, COUNT(DISTINCT `v`) AS `n`
    FROM (
      SELECT `g`, `v`
      FROM `__hw_stage_5` ) AS t2
    LEFT SEMI JOIN (
      SELECT `__hw_f2`
      FROM `__hw_stage_4` ) AS t3
      ON `g` IS NOT DISTINCT FROM `__hw_f2`
    GROUP BY `g` ) AS t4 ) AS t5
  ON `g` IS NOT DISTINCT FROM `__hw_f2`

-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT `__hw_f2`, `g`, `n`, `__hw_here`
FROM `__hw_stage_6` ) AS s
ON t.`g` IS NOT DISTINCT FROM s.`__hw_f2` AND __HW_AMONG('__hw_stage_6', '__hw_f2', t.`g`)
WHEN MATCHED AND (s.`__hw_here` IS NULL) THEN DELETE
WHEN MATCHED AND (NOT t.`n` IS NOT DISTINCT FROM s.`n`) THEN UPDATE SET `n` = s.`n`
WHEN NOT MATCHED AND (s.`__hw_here`) THEN INSERT (`g`, `n`)
VALUES ( s.`g`, s.`n` )

---- query
SELECT g, v, COUNT(*) OVER (PARTITION BY g) AS n FROM (WITH RECURSIVE p(g, v) AS (
  SELECT k, 0 FROM r UNION ALL SELECT l.x, p.v + 1 FROM p JOIN l ON l.k = p.g
) SELECT g, v FROM p) q

-- stored as replace, key __hw_id
WITH RECURSIVE `p`(`g`, `v`) AS (
  SELECT `k` AS `g`, 0 AS `v`
  FROM `__hw_src_1_new`
  UNION ALL
  SELECT `x` AS `g`, `v_1` + 1 AS `v`
  FROM (
    SELECT `g` AS `g_1`, `v` AS `v_1`
    FROM `p` ) AS t1
  INNER JOIN (
    SELECT `k` AS `k_1`, `x`
    FROM `__hw_src_0_new` ) AS t2
    ON `k_1` = `g_1` )
SELECT `g`, `v`, `n`, CONCAT('__hw_run', ':', MONOTONICALLY_INCREASING_ID()) AS `__hw_id`
FROM (
  SELECT `g`, `v`, COUNT(*) OVER (PARTITION BY `g`) AS `n`
  FROM (
    SELECT `g`, `v`
    FROM `p` ) AS t3 ) AS t4

-- changed: l mixed, r mixed; apply: replace_keys

-- __hw_stage_1
WITH RECURSIVE `p`(`g`, `v`) AS (
  SELECT `k` AS `g`, 0 AS `v`
  FROM `__hw_src_1_new`
  UNION ALL
  SELECT `x` AS `g`, `v_1` + 1 AS `v`
  FROM (
    SELECT `g` AS `g_1`, `v` AS `v_1`
    FROM `p` ) AS t1
  INNER JOIN (
    SELECT `k` AS `k_1`, `x`
    FROM `__hw_src_0_new` ) AS t2
    ON `k_1` = `g_1` )
SELECT `g`, `v`
FROM `p`

-- __hw_stage_2
SELECT `k_1`, `x`, `__hw_w`
FROM (
  SELECT `k` AS `k_1`, `x`, SUM(`__hw_w`) AS `__hw_w`
  FROM `__hw_src_0_delta`
  GROUP BY `k`, `x` ) AS t1
WHERE `__hw_w` <> 0

-- __hw_stage_3
WITH RECURSIVE `p`(`g`, `v`) AS (
  SELECT `k` AS `g`, 0 AS `v`
  FROM `__hw_src_1_old`
  UNION ALL
  SELECT `x` AS `g`, `v_1` + 1 AS `v`
  FROM (
    SELECT `g` AS `g_1`, `v` AS `v_1`
    FROM `p` ) AS t1
  INNER JOIN (
    SELECT `k` AS `k_1`, `x`
    FROM `__hw_src_0_old` ) AS t2
    ON `k_1` = `g_1` )
SELECT `g`, `v`
FROM `p`

-- __hw_stage_4
WITH RECURSIVE `p_delta`(`g`, `v`, `__hw_w`) AS ( (
    SELECT `k` AS `g`, `_c1` AS `v`, `__hw_w`
    FROM (
      SELECT `k`, 0 AS `_c1`, `__hw_w`
      FROM `__hw_src_1_delta` ) AS t1
    UNION ALL
    SELECT `x` AS `g`, `(v + 1)` AS `v`, `__hw_w`
    FROM (
      SELECT `x`, CASE WHEN `__hw_w` <> 0 THEN `v_1` + 1 END AS `(v + 1)`, `__hw_w`
      FROM (
        SELECT `g_1`, `v_1`, `k_1`, `x`, SUM(`__hw_w`) AS `__hw_w`
        FROM (
          SELECT `k_1`, `x`, `__hw_w`
          FROM `__hw_stage_2` ) AS t2
        INNER JOIN (
          SELECT `g` AS `g_1`, `v` AS `v_1`
          FROM (
            SELECT `g`, `v`
            FROM `__hw_stage_3` ) AS t3
          LEFT SEMI JOIN (
            SELECT `k_1` AS `__hw_f1`
            FROM `__hw_stage_2` ) AS t4
            ON `g` IS NOT DISTINCT FROM `__hw_f1` ) AS t5
          ON `k_1` = `g_1`
        GROUP BY `g_1`, `v_1`, `k_1`, `x` ) AS t6
      WHERE `__hw_w` <> 0 ) AS t7 )
  UNION ALL
  SELECT `x` AS `g`, `(v + 1)` AS `v`, `__hw_w`
  FROM (
    SELECT `x`, `v_1` + 1 AS `(v + 1)`, `__hw_w`
    FROM (
      SELECT `g` AS `g_1`, `v` AS `v_1`, `__hw_w`
      FROM `p_delta` ) AS t10
    INNER JOIN (
      SELECT `k` AS `k_1`, `x`
      FROM `__hw_src_0_new` ) AS t11
      ON `k_1` = `g_1` ) AS t12 )
SELECT `g`, `v`, `__hw_w`
FROM `p_delta`

-- __hw_stage_5
SELECT DISTINCT
  `g` AS `__hw_f2`
FROM (
  SELECT `g`, `v`, SUM(`__hw_w`) AS `__hw_w`
  FROM `__hw_stage_4`
  GROUP BY `g`, `v` ) AS t1
WHERE `__hw_w` <> 0

-- __hw_stage_6
SELECT `g`, `v`, `n`, `__hw_w`
FROM (
  SELECT `g`, `v`, `n`, SUM(`__hw_w`) AS `__hw_w`
  FROM (
    SELECT `g`, `v`, `n`, CAST(1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT `g`, `v`, COUNT(*) OVER (PARTITION BY `g`) AS `n`
      FROM (
        SELECT `g`, `v`
        FROM `__hw_stage_1` ) AS t1
      LEFT SEMI JOIN (
        SELECT `__hw_f2`
        FROM `__hw_stage_5` ) AS t2
        ON `g` IS NOT DISTINCT FROM `__hw_f2` ) AS t3
    UNION ALL
    SELECT `g`, `v`, `n`, CAST(-1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT `g`, `v`, `n`
      FROM `__hw_target`
      WHERE __HW_AMONG('__hw_stage_5', '__hw_f2', `g`) ) AS t4
    LEFT SEMI JOIN (
      SELECT `__hw_f2`
      FROM `__hw_stage_5` ) AS t5
      ON `g` IS NOT DISTINCT FROM `__hw_f2` ) AS t6
  GROUP BY `g`, `v`, `n` ) AS t7
WHERE `__hw_w` <> 0

-- __hw_stage_7
SELECT IF( `__hw_copies` >= -`__hw_w`, `__hw_stored_id`, CAST(RAISE_ERROR('HW4003: the stream table lacks a row that is to be deleted') AS STRING) ) AS `__hw_id`, CAST(NULL AS INT) AS `g`, CAST(NULL AS INT) AS `v`, CAST(NULL AS BIGINT) AS `n`
FROM (
  SELECT `g`, `v`, `n`, `__hw_w`, `__hw_t1`, `__hw_t2`, `__hw_t3`, `__hw_stored_id`, ROW_NUMBER() OVER (PARTITION BY `g`, `v`, `n` ORDER BY `__hw_stored_id` NULLS LAST) AS `__hw_rank`, COUNT(`__hw_stored_id`) OVER (PARTITION BY `g`, `v`, `n`) AS `__hw_copies`
  FROM (
    SELECT `g`, `v`, `n`, `__hw_w`
    FROM `__hw_stage_6`
    WHERE `__hw_w` < 0 ) AS t1
  LEFT JOIN (
    SELECT `g` AS `__hw_t1`, `v` AS `__hw_t2`, `n` AS `__hw_t3`, `__hw_id` AS `__hw_stored_id`
    FROM `__hw_target`
    WHERE __HW_AMONG('__hw_stage_6', 'g', `g`)
      AND __HW_AMONG('__hw_stage_6', 'v', `v`)
      AND __HW_AMONG('__hw_stage_6', 'n', `n`) ) AS t2
    ON `g` IS NOT DISTINCT FROM `__hw_t1`
    AND `v` IS NOT DISTINCT FROM `__hw_t2`
    AND `n` IS NOT DISTINCT FROM `__hw_t3` ) AS t3
WHERE `__hw_rank` <= -`__hw_w`
UNION ALL
SELECT `__hw_id`, `g`, `v`, `n`
FROM (
  SELECT `g`, `v`, `n`, CONCAT('__hw_run', ':', HEX(`__hw_hash`), ':', `__hw_number`) AS `__hw_id`
  FROM (
    SELECT `g`, `v`, `n`, `__hw_hash`, ROW_NUMBER() OVER (PARTITION BY `__hw_hash` ORDER BY `g` NULLS LAST, `v` NULLS LAST, `n` NULLS LAST) AS `__hw_number`
    FROM (
      SELECT `g`, `v`, `n`, XXHASH64(`g`, `g` IS NULL, `v`, `v` IS NULL, `n`, `n` IS NULL) AS `__hw_hash`
      FROM (
        SELECT `g`, `v`, `n`, `__hw_w`
        FROM `__hw_stage_6`
        WHERE `__hw_w` > 0 ) AS t4
      LATERAL VIEW
      EXPLODE(ARRAY_REPEAT(0, CAST(`__hw_w` AS INT))) g5 AS `__hw_copy` ) AS t6 ) AS t7 ) AS t8

-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT `__hw_id`, `g`, `v`, `n`
FROM `__hw_stage_7` ) AS s
ON t.`__hw_id` IS NOT DISTINCT FROM s.`__hw_id` AND __HW_AMONG('__hw_stage_7', '__hw_id', t.`__hw_id`)
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED THEN INSERT (`g`, `v`, `n`, `__hw_id`)
VALUES ( s.`g`, s.`v`, s.`n`, s.`__hw_id` )
