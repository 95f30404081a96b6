---- query
SELECT COALESCE(l.k, r.k) AS g, r.y AS v FROM l FULL JOIN r ON l.k = r.k

-- stored as bag, key __hw_id
SELECT `g`, `y` AS `v`, CONCAT('__hw_run', ':', MONOTONICALLY_INCREASING_ID()) AS `__hw_id`
FROM (
  SELECT COALESCE(`k`, `k_1`) AS `g`, `y`
  FROM (
    SELECT `k`
    FROM `__hw_src_0_new` ) AS t1
  FULL JOIN (
    SELECT `k` AS `k_1`, `y`
    FROM `__hw_src_1_new` ) AS t2
    ON `k` = `k_1` ) AS t3

-- changed: l append, r append; apply: bag

-- __hw_stage_1
SELECT `k_1`, `y`
FROM (
  SELECT `k` AS `k_1`, `y`
  FROM `__hw_src_1_new`
  WHERE __HW_AMONG('__hw_src_1_delta', 'k', `k`) ) AS t1
LEFT SEMI JOIN (
  SELECT `k` AS `__hw_f1`
  FROM `__hw_src_1_delta` ) AS t2
  ON `k_1` IS NOT DISTINCT FROM `__hw_f1`

-- __hw_stage_2
SELECT `k`
FROM (
  SELECT `k`
  FROM `__hw_src_0_new`
  WHERE __HW_AMONG('__hw_src_0_delta', 'k', `k`) ) AS t1
LEFT SEMI JOIN (
  SELECT `k` AS `__hw_f2`
  FROM `__hw_src_0_delta` ) AS t2
  ON `k` IS NOT DISTINCT FROM `__hw_f2`

-- __hw_stage_3
SELECT `g`, `v`, `__hw_w`
FROM (
  SELECT `g`, `y` AS `v`, SUM(`__hw_w`) AS `__hw_w`
  FROM (
    SELECT COALESCE(`k`, `k_1`) AS `g`, `y`, `__hw_w`
    FROM (
      SELECT `k`, `k_1`, `y`, `__hw_w`
      FROM (
        SELECT `k`, `__hw_w`
        FROM `__hw_src_0_delta` ) AS t1
      LEFT JOIN (
        SELECT `k` AS `k_1`, `y`
        FROM `__hw_src_1_new`
        WHERE __HW_AMONG('__hw_src_0_delta', 'k', `k`) ) AS t2
        ON `k` = `k_1`
      UNION ALL
      (
        SELECT `k`, `k_1`, `y`, `__hw_w`
        FROM (
          SELECT `k`
          FROM `__hw_src_0_old`
          WHERE __HW_AMONG('__hw_src_1_delta', 'k', `k`) ) AS t3
        INNER JOIN (
          SELECT `k` AS `k_1`, `y`, `__hw_w`
          FROM `__hw_src_1_delta` ) AS t4
          ON `k` = `k_1`
        UNION ALL
        SELECT CAST(NULL AS INT) AS `k`, `k_1`, `y`, `__hw_w`
        FROM (
          SELECT `k` AS `k_1`, `y`, `__hw_w`
          FROM `__hw_src_1_delta` ) AS t5
        LEFT ANTI JOIN (
          SELECT `k`
          FROM `__hw_src_0_new`
          WHERE __HW_AMONG('__hw_src_1_delta', 'k', `k`) ) AS t6
          ON `k` = `k_1` )
      UNION ALL
      SELECT `k`, CAST(NULL AS INT) AS `k_1`, CAST(NULL AS INT) AS `y`, CAST(-1 AS BIGINT) AS `__hw_w`
      FROM (
        SELECT `k`
        FROM `__hw_src_0_old`
        WHERE __HW_AMONG('__hw_stage_1', 'k_1', `k`)
          AND __HW_AMONG('__hw_src_1_delta', 'k', `k`) ) AS t9
      LEFT SEMI JOIN (
        SELECT `k` AS `k_1`, `y`, `__hw_w`
        FROM `__hw_src_1_delta` ) AS t10
        ON `k` = `k_1`
      LEFT ANTI JOIN (
        SELECT `k_1`, `y`
        FROM (
          SELECT `k_1`, `y`, `__hw_w`
          FROM (
            SELECT `k_1`, `y`, SUM(`__hw_w`) AS `__hw_w`
            FROM (
              SELECT `k_1`, `y`, CAST(1 AS BIGINT) AS `__hw_w`
              FROM `__hw_stage_1`
              UNION ALL
              SELECT `k_1`, `y`, -`__hw_w` AS `__hw_w`
              FROM (
                SELECT `k` AS `k_1`, `y`, `__hw_w`
                FROM `__hw_src_1_delta` ) AS t11
              LEFT SEMI JOIN (
                SELECT `k` AS `__hw_f1`
                FROM `__hw_src_1_delta` ) AS t12
                ON `k_1` IS NOT DISTINCT FROM `__hw_f1` ) AS t13
            GROUP BY `k_1`, `y` ) AS t14
          WHERE `__hw_w` <> 0 ) AS t15
        LATERAL VIEW
        EXPLODE(ARRAY_REPEAT(0, CAST(`__hw_w` AS INT))) g16 AS `__hw_f3` ) AS t17
        ON `k` = `k_1`
      LEFT SEMI JOIN (
        SELECT `k_1`, `y`
        FROM `__hw_stage_1` ) AS t18
        ON `k` = `k_1`
      UNION ALL
      SELECT CAST(NULL AS INT) AS `k`, `k_1`, `y`, CAST(-1 AS BIGINT) AS `__hw_w`
      FROM (
        SELECT `k` AS `k_1`, `y`
        FROM `__hw_src_1_old`
        WHERE __HW_AMONG('__hw_stage_2', 'k', `k`) AND __HW_AMONG('__hw_src_0_delta', 'k', `k`) ) AS t19
      LEFT SEMI JOIN (
        SELECT `k`, `__hw_w`
        FROM `__hw_src_0_delta` ) AS t20
        ON `k` = `k_1`
      LEFT ANTI JOIN (
        SELECT `k`
        FROM (
          SELECT `k`, `__hw_w`
          FROM (
            SELECT `k`, SUM(`__hw_w`) AS `__hw_w`
            FROM (
              SELECT `k`, CAST(1 AS BIGINT) AS `__hw_w`
              FROM `__hw_stage_2`
              UNION ALL
              SELECT `k`, -`__hw_w` AS `__hw_w`
              FROM (
                SELECT `k`, `__hw_w`
                FROM `__hw_src_0_delta` ) AS t21
              LEFT SEMI JOIN (
                SELECT `k` AS `__hw_f2`
                FROM `__hw_src_0_delta` ) AS t22
                ON `k` IS NOT DISTINCT FROM `__hw_f2` ) AS t23
            GROUP BY `k` ) AS t24
          WHERE `__hw_w` <> 0 ) AS t25
        LATERAL VIEW
        EXPLODE(ARRAY_REPEAT(0, CAST(`__hw_w` AS INT))) g26 AS `__hw_f4` ) AS t27
        ON `k` = `k_1`
      LEFT SEMI JOIN (
        SELECT `k`
        FROM `__hw_stage_2` ) AS t28
        ON `k` = `k_1` ) AS t29 ) AS t30
  GROUP BY `g`, `y` ) AS t31
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
SELECT `k`, `__hw_w`
FROM (
  SELECT `k`, SUM(`__hw_w`) AS `__hw_w`
  FROM `__hw_src_0_delta`
  GROUP BY `k` ) AS t1
WHERE `__hw_w` <> 0

-- __hw_stage_2
SELECT `k_1`, `y`, `__hw_w`
FROM (
  SELECT `k` AS `k_1`, `y`, SUM(`__hw_w`) AS `__hw_w`
  FROM `__hw_src_1_delta`
  GROUP BY `k`, `y` ) AS t1
WHERE `__hw_w` <> 0

-- __hw_stage_3
SELECT `k_1`, `y`
FROM (
  SELECT `k` AS `k_1`, `y`
  FROM `__hw_src_1_new`
  WHERE __HW_AMONG('__hw_stage_2', 'k_1', `k`) ) AS t1
LEFT SEMI JOIN (
  SELECT `k_1` AS `__hw_f1`
  FROM `__hw_stage_2` ) AS t2
  ON `k_1` IS NOT DISTINCT FROM `__hw_f1`

-- __hw_stage_4
SELECT `k_1`, `y`
FROM (
  SELECT `k_1`, `y`, `__hw_w`
  FROM (
    SELECT `k_1`, `y`, SUM(`__hw_w`) AS `__hw_w`
    FROM (
      SELECT `k_1`, `y`, CAST(1 AS BIGINT) AS `__hw_w`
      FROM `__hw_stage_3`
      UNION ALL
      SELECT `k_1`, `y`, -`__hw_w` AS `__hw_w`
      FROM (
        SELECT `k` AS `k_1`, `y`, `__hw_w`
        FROM `__hw_src_1_delta` ) AS t1
      LEFT SEMI JOIN (
        SELECT `k_1` AS `__hw_f1`
        FROM `__hw_stage_2` ) AS t2
        ON `k_1` IS NOT DISTINCT FROM `__hw_f1` ) AS t3
    GROUP BY `k_1`, `y` ) AS t4
  WHERE `__hw_w` <> 0 ) AS t5
LATERAL VIEW
EXPLODE(ARRAY_REPEAT(0, CAST(`__hw_w` AS INT))) g6 AS `__hw_f3`

-- __hw_stage_5
SELECT `k`
FROM (
  SELECT `k`
  FROM `__hw_src_0_new`
  WHERE __HW_AMONG('__hw_stage_1', 'k', `k`) ) AS t1
LEFT SEMI JOIN (
  SELECT `k` AS `__hw_f2`
  FROM `__hw_stage_1` ) AS t2
  ON `k` IS NOT DISTINCT FROM `__hw_f2`

-- __hw_stage_6
SELECT `k`
FROM (
  SELECT `k`, `__hw_w`
  FROM (
    SELECT `k`, SUM(`__hw_w`) AS `__hw_w`
    FROM (
      SELECT `k`, CAST(1 AS BIGINT) AS `__hw_w`
      FROM `__hw_stage_5`
      UNION ALL
      SELECT `k`, -`__hw_w` AS `__hw_w`
      FROM (
        SELECT `k`, `__hw_w`
        FROM `__hw_src_0_delta` ) AS t1
      LEFT SEMI JOIN (
        SELECT `k` AS `__hw_f2`
        FROM `__hw_stage_1` ) AS t2
        ON `k` IS NOT DISTINCT FROM `__hw_f2` ) AS t3
    GROUP BY `k` ) AS t4
  WHERE `__hw_w` <> 0 ) AS t5
LATERAL VIEW
EXPLODE(ARRAY_REPEAT(0, CAST(`__hw_w` AS INT))) g6 AS `__hw_f4`

-- __hw_stage_7
SELECT `g`, `v`, `__hw_w`
FROM (
  SELECT `g`, `y` AS `v`, SUM(`__hw_w`) AS `__hw_w`
  FROM (
    SELECT COALESCE(`k`, `k_1`) AS `g`, `y`, `__hw_w`
    FROM (
      SELECT `k`, `k_1`, `y`, `__hw_w`
      FROM (
        SELECT `k`, `__hw_w`
        FROM `__hw_stage_1` ) AS t1
      LEFT JOIN (
        SELECT `k` AS `k_1`, `y`
        FROM `__hw_src_1_new`
        WHERE __HW_AMONG('__hw_stage_1', 'k', `k`) ) AS t2
        ON `k` = `k_1`
      UNION ALL
      (
        SELECT `k`, `k_1`, `y`, `__hw_w`
        FROM (
          SELECT `k`
          FROM `__hw_src_0_old`
          WHERE __HW_AMONG('__hw_stage_2', 'k_1', `k`) ) AS t3
        INNER JOIN (
          SELECT `k_1`, `y`, `__hw_w`
          FROM `__hw_stage_2` ) AS t4
          ON `k` = `k_1`
        UNION ALL
        SELECT CAST(NULL AS INT) AS `k`, `k_1`, `y`, `__hw_w`
        FROM (
          SELECT `k_1`, `y`, `__hw_w`
          FROM `__hw_stage_2` ) AS t5
        LEFT ANTI JOIN (
          SELECT `k`
          FROM `__hw_src_0_new`
          WHERE __HW_AMONG('__hw_stage_2', 'k_1', `k`) ) AS t6
          ON `k` = `k_1` )
      UNION ALL
      SELECT `k`, CAST(NULL AS INT) AS `k_1`, CAST(NULL AS INT) AS `y`, CAST(-1 AS BIGINT) AS `__hw_w`
      FROM (
        SELECT `k`
        FROM `__hw_src_0_old`
        WHERE __HW_AMONG('__hw_stage_3', 'k_1', `k`) AND __HW_AMONG('__hw_stage_2', 'k_1', `k`) ) AS t9
      LEFT SEMI JOIN (
        SELECT `k_1`, `y`, `__hw_w`
        FROM `__hw_stage_2` ) AS t10
        ON `k` = `k_1`
      LEFT ANTI JOIN (
        SELECT `k_1`, `y`
        FROM `__hw_stage_4` ) AS t11
        ON `k` = `k_1`
      LEFT SEMI JOIN (
        SELECT `k_1`, `y`
        FROM `__hw_stage_3` ) AS t12
        ON `k` = `k_1`
      UNION ALL
      SELECT `k`, CAST(NULL AS INT) AS `k_1`, CAST(NULL AS INT) AS `y`, CAST(1 AS BIGINT) AS `__hw_w`
      FROM (
        SELECT `k`
        FROM `__hw_src_0_old`
        WHERE __HW_AMONG('__hw_stage_4', 'k_1', `k`) AND __HW_AMONG('__hw_stage_2', 'k_1', `k`) ) AS t13
      LEFT SEMI JOIN (
        SELECT `k_1`, `y`, `__hw_w`
        FROM `__hw_stage_2` ) AS t14
        ON `k` = `k_1`
      LEFT SEMI JOIN (
        SELECT `k_1`, `y`
        FROM `__hw_stage_4` ) AS t15
        ON `k` = `k_1`
      LEFT ANTI JOIN (
        SELECT `k_1`, `y`
        FROM `__hw_stage_3` ) AS t16
        ON `k` = `k_1`
      UNION ALL
      SELECT CAST(NULL AS INT) AS `k`, `k_1`, `y`, CAST(-1 AS BIGINT) AS `__hw_w`
      FROM (
        SELECT `k` AS `k_1`, `y`
        FROM `__hw_src_1_old`
        WHERE __HW_AMONG('__hw_stage_5', 'k', `k`) AND __HW_AMONG('__hw_stage_1', 'k', `k`) ) AS t17
      LEFT SEMI JOIN (
        SELECT `k`, `__hw_w`
        FROM `__hw_stage_1` ) AS t18
        ON `k` = `k_1`
      LEFT ANTI JOIN (
        SELECT `k`
        FROM `__hw_stage_6` ) AS t19
        ON `k` = `k_1`
      LEFT SEMI JOIN (
        SELECT `k`
        FROM `__hw_stage_5` ) AS t20
        ON `k` = `k_1`
      UNION ALL
      SELECT CAST(NULL AS INT) AS `k`, `k_1`, `y`, CAST(1 AS BIGINT) AS `__hw_w`
      FROM (
        SELECT `k` AS `k_1`, `y`
        FROM `__hw_src_1_old`
        WHERE __HW_AMONG('__hw_stage_6', 'k', `k`) AND __HW_AMONG('__hw_stage_1', 'k', `k`) ) AS t21
      LEFT SEMI JOIN (
        SELECT `k`, `__hw_w`
        FROM `__hw_stage_1` ) AS t22
        ON `k` = `k_1`
      LEFT SEMI JOIN (
        SELECT `k`
        FROM `__hw_stage_6` ) AS t23
        ON `k` = `k_1`
      LEFT ANTI JOIN (
        SELECT `k`
        FROM `__hw_stage_5` ) AS t24
        ON `k` = `k_1` ) AS t25 ) AS t26
  GROUP BY `g`, `y` ) AS t27
WHERE `__hw_w` <> 0

-- __hw_stage_8
SELECT IF( `__hw_copies` >= -`__hw_w`, `__hw_stored_id`, CAST(RAISE_ERROR('HW4003: the stream table lacks a row that is to be deleted') AS STRING) ) AS `__hw_id`, CAST(NULL AS INT) AS `g`, CAST(NULL AS INT) AS `v`
FROM (
  SELECT `g`, `v`, `__hw_w`, `__hw_t1`, `__hw_t2`, `__hw_stored_id`, ROW_NUMBER() OVER (PARTITION BY `g`, `v` ORDER BY `__hw_stored_id` NULLS LAST) AS `__hw_rank`, COUNT(`__hw_stored_id`) OVER (PARTITION BY `g`, `v`) AS `__hw_copies`
  FROM (
    SELECT `g`, `v`, `__hw_w`
    FROM `__hw_stage_7`
    WHERE `__hw_w` < 0 ) AS t1
  LEFT JOIN (
    SELECT `g` AS `__hw_t1`, `v` AS `__hw_t2`, `__hw_id` AS `__hw_stored_id`
    FROM `__hw_target`
    WHERE __HW_AMONG('__hw_stage_7', 'g', `g`) AND __HW_AMONG('__hw_stage_7', 'v', `v`) ) AS t2
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
        FROM `__hw_stage_7`
        WHERE `__hw_w` > 0 ) AS t4
      LATERAL VIEW
      EXPLODE(ARRAY_REPEAT(0, CAST(`__hw_w` AS INT))) g5 AS `__hw_copy` ) AS t6 ) AS t7 ) AS t8

-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT `__hw_id`, `g`, `v`
FROM `__hw_stage_8` ) AS s
ON t.`__hw_id` IS NOT DISTINCT FROM s.`__hw_id` AND __HW_AMONG('__hw_stage_8', '__hw_id', t.`__hw_id`)
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED THEN INSERT (`g`, `v`, `__hw_id`)
VALUES ( s.`g`, s.`v`, s.`__hw_id` )

-- changed: l netted, r netted; apply: bag

-- __hw_stage_1
SELECT `k_1`, `y`
FROM (
  SELECT `k` AS `k_1`, `y`
  FROM `__hw_src_1_new`
  WHERE __HW_AMONG('__hw_src_1_delta', 'k', `k`) ) AS t1
LEFT SEMI JOIN (
  SELECT `k` AS `__hw_f1`
  FROM `__hw_src_1_delta` ) AS t2
  ON `k_1` IS NOT DISTINCT FROM `__hw_f1`

-- __hw_stage_2
SELECT `k_1`, `y`
FROM (
  SELECT `k_1`, `y`, `__hw_w`
  FROM (
    SELECT `k_1`, `y`, SUM(`__hw_w`) AS `__hw_w`
    FROM (
      SELECT `k_1`, `y`, CAST(1 AS BIGINT) AS `__hw_w`
      FROM `__hw_stage_1`
      UNION ALL
      SELECT `k_1`, `y`, -`__hw_w` AS `__hw_w`
      FROM (
        SELECT `k` AS `k_1`, `y`, `__hw_w`
        FROM `__hw_src_1_delta` ) AS t1
      LEFT SEMI JOIN (
        SELECT `k` AS `__hw_f1`
        FROM `__hw_src_1_delta` ) AS t2
        ON `k_1` IS NOT DISTINCT FROM `__hw_f1` ) AS t3
    GROUP BY `k_1`, `y` ) AS t4
  WHERE `__hw_w` <> 0 ) AS t5
LATERAL VIEW
EXPLODE(ARRAY_REPEAT(0, CAST(`__hw_w` AS INT))) g6 AS `__hw_f3`

-- __hw_stage_3
SELECT `k`
FROM (
  SELECT `k`
  FROM `__hw_src_0_new`
  WHERE __HW_AMONG('__hw_src_0_delta', 'k', `k`) ) AS t1
LEFT SEMI JOIN (
  SELECT `k` AS `__hw_f2`
  FROM `__hw_src_0_delta` ) AS t2
  ON `k` IS NOT DISTINCT FROM `__hw_f2`

-- __hw_stage_4
SELECT `k`
FROM (
  SELECT `k`, `__hw_w`
  FROM (
    SELECT `k`, SUM(`__hw_w`) AS `__hw_w`
    FROM (
      SELECT `k`, CAST(1 AS BIGINT) AS `__hw_w`
      FROM `__hw_stage_3`
      UNION ALL
      SELECT `k`, -`__hw_w` AS `__hw_w`
      FROM (
        SELECT `k`, `__hw_w`
        FROM `__hw_src_0_delta` ) AS t1
      LEFT SEMI JOIN (
        SELECT `k` AS `__hw_f2`
        FROM `__hw_src_0_delta` ) AS t2
        ON `k` IS NOT DISTINCT FROM `__hw_f2` ) AS t3
    GROUP BY `k` ) AS t4
  WHERE `__hw_w` <> 0 ) AS t5
LATERAL VIEW
EXPLODE(ARRAY_REPEAT(0, CAST(`__hw_w` AS INT))) g6 AS `__hw_f4`

-- __hw_stage_5
SELECT `g`, `v`, `__hw_w`
FROM (
  SELECT `g`, `y` AS `v`, SUM(`__hw_w`) AS `__hw_w`
  FROM (
    SELECT COALESCE(`k`, `k_1`) AS `g`, `y`, `__hw_w`
    FROM (
      SELECT `k`, `k_1`, `y`, `__hw_w`
      FROM (
        SELECT `k`, `__hw_w`
        FROM `__hw_src_0_delta` ) AS t1
      LEFT JOIN (
        SELECT `k` AS `k_1`, `y`
        FROM `__hw_src_1_new`
        WHERE __HW_AMONG('__hw_src_0_delta', 'k', `k`) ) AS t2
        ON `k` = `k_1`
      UNION ALL
      (
        SELECT `k`, `k_1`, `y`, `__hw_w`
        FROM (
          SELECT `k`
          FROM `__hw_src_0_old`
          WHERE __HW_AMONG('__hw_src_1_delta', 'k', `k`) ) AS t3
        INNER JOIN (
          SELECT `k` AS `k_1`, `y`, `__hw_w`
          FROM `__hw_src_1_delta` ) AS t4
          ON `k` = `k_1`
        UNION ALL
        SELECT CAST(NULL AS INT) AS `k`, `k_1`, `y`, `__hw_w`
        FROM (
          SELECT `k` AS `k_1`, `y`, `__hw_w`
          FROM `__hw_src_1_delta` ) AS t5
        LEFT ANTI JOIN (
          SELECT `k`
          FROM `__hw_src_0_new`
          WHERE __HW_AMONG('__hw_src_1_delta', 'k', `k`) ) AS t6
          ON `k` = `k_1` )
      UNION ALL
      SELECT `k`, CAST(NULL AS INT) AS `k_1`, CAST(NULL AS INT) AS `y`, CAST(-1 AS BIGINT) AS `__hw_w`
      FROM (
        SELECT `k`
        FROM `__hw_src_0_old`
        WHERE __HW_AMONG('__hw_stage_1', 'k_1', `k`)
          AND __HW_AMONG('__hw_src_1_delta', 'k', `k`) ) AS t9
      LEFT SEMI JOIN (
        SELECT `k` AS `k_1`, `y`, `__hw_w`
        FROM `__hw_src_1_delta` ) AS t10
        ON `k` = `k_1`
      LEFT ANTI JOIN (
        SELECT `k_1`, `y`
        FROM `__hw_stage_2` ) AS t11
        ON `k` = `k_1`
      LEFT SEMI JOIN (
        SELECT `k_1`, `y`
        FROM `__hw_stage_1` ) AS t12
        ON `k` = `k_1`
      UNION ALL
      SELECT `k`, CAST(NULL AS INT) AS `k_1`, CAST(NULL AS INT) AS `y`, CAST(1 AS BIGINT) AS `__hw_w`
      FROM (
        SELECT `k`
        FROM `__hw_src_0_old`
        WHERE __HW_AMONG('__hw_stage_2', 'k_1', `k`)
          AND __HW_AMONG('__hw_src_1_delta', 'k', `k`) ) AS t13
      LEFT SEMI JOIN (
        SELECT `k` AS `k_1`, `y`, `__hw_w`
        FROM `__hw_src_1_delta` ) AS t14
        ON `k` = `k_1`
      LEFT SEMI JOIN (
        SELECT `k_1`, `y`
        FROM `__hw_stage_2` ) AS t15
        ON `k` = `k_1`
      LEFT ANTI JOIN (
        SELECT `k_1`, `y`
        FROM `__hw_stage_1` ) AS t16
        ON `k` = `k_1`
      UNION ALL
      SELECT CAST(NULL AS INT) AS `k`, `k_1`, `y`, CAST(-1 AS BIGINT) AS `__hw_w`
      FROM (
        SELECT `k` AS `k_1`, `y`
        FROM `__hw_src_1_old`
        WHERE __HW_AMONG('__hw_stage_3', 'k', `k`) AND __HW_AMONG('__hw_src_0_delta', 'k', `k`) ) AS t17
      LEFT SEMI JOIN (
        SELECT `k`, `__hw_w`
        FROM `__hw_src_0_delta` ) AS t18
        ON `k` = `k_1`
      LEFT ANTI JOIN (
        SELECT `k`
        FROM `__hw_stage_4` ) AS t19
        ON `k` = `k_1`
      LEFT SEMI JOIN (
        SELECT `k`
        FROM `__hw_stage_3` ) AS t20
        ON `k` = `k_1`
      UNION ALL
      SELECT CAST(NULL AS INT) AS `k`, `k_1`, `y`, CAST(1 AS BIGINT) AS `__hw_w`
      FROM (
        SELECT `k` AS `k_1`, `y`
        FROM `__hw_src_1_old`
        WHERE __HW_AMONG('__hw_stage_4', 'k', `k`) AND __HW_AMONG('__hw_src_0_delta', 'k', `k`) ) AS t21
      LEFT SEMI JOIN (
        SELECT `k`, `__hw_w`
        FROM `__hw_src_0_delta` ) AS t22
        ON `k` = `k_1`
      LEFT SEMI JOIN (
        SELECT `k`
        FROM `__hw_stage_4` ) AS t23
        ON `k` = `k_1`
      LEFT ANTI JOIN (
        SELECT `k`
        FROM `__hw_stage_3` ) AS t24
        ON `k` = `k_1` ) AS t25 ) AS t26
  GROUP BY `g`, `y` ) AS t27
WHERE `__hw_w` <> 0

-- __hw_stage_6
SELECT IF( `__hw_copies` >= -`__hw_w`, `__hw_stored_id`, CAST(RAISE_ERROR('HW4003: the stream table lacks a row that is to be deleted') AS STRING) ) AS `__hw_id`, CAST(NULL AS INT) AS `g`, CAST(NULL AS INT) AS `v`
FROM (
  SELECT `g`, `v`, `__hw_w`, `__hw_t1`, `__hw_t2`, `__hw_stored_id`, ROW_NUMBER() OVER (PARTITION BY `g`, `v` ORDER BY `__hw_stored_id` NULLS LAST) AS `__hw_rank`, COUNT(`__hw_stored_id`) OVER (PARTITION BY `g`, `v`) AS `__hw_copies`
  FROM (
    SELECT `g`, `v`, `__hw_w`
    FROM `__hw_stage_5`
    WHERE `__hw_w` < 0 ) AS t1
  LEFT JOIN (
    SELECT `g` AS `__hw_t1`, `v` AS `__hw_t2`, `__hw_id` AS `__hw_stored_id`
    FROM `__hw_target`
    WHERE __HW_AMONG('__hw_stage_5', 'g', `g`) AND __HW_AMONG('__hw_stage_5', 'v', `v`) ) AS t2
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
        FROM `__hw_stage_5`
        WHERE `__hw_w` > 0 ) AS t4
      LATERAL VIEW
      EXPLODE(ARRAY_REPEAT(0, CAST(`__hw_w` AS INT))) g5 AS `__hw_copy` ) AS t6 ) AS t7 ) AS t8

-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT `__hw_id`, `g`, `v`
FROM `__hw_stage_6` ) AS s
ON t.`__hw_id` IS NOT DISTINCT FROM s.`__hw_id` AND __HW_AMONG('__hw_stage_6', '__hw_id', t.`__hw_id`)
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED THEN INSERT (`g`, `v`, `__hw_id`)
VALUES ( s.`g`, s.`v`, s.`__hw_id` )

-- changed: l mixed; apply: bag

-- __hw_stage_1
SELECT `k`, `__hw_w`
FROM (
  SELECT `k`, SUM(`__hw_w`) AS `__hw_w`
  FROM `__hw_src_0_delta`
  GROUP BY `k` ) AS t1
WHERE `__hw_w` <> 0

-- __hw_stage_2
SELECT `k`
FROM (
  SELECT `k`
  FROM `__hw_src_0_new`
  WHERE __HW_AMONG('__hw_stage_1', 'k', `k`) ) AS t1
LEFT SEMI JOIN (
  SELECT `k` AS `__hw_f1`
  FROM `__hw_stage_1` ) AS t2
  ON `k` IS NOT DISTINCT FROM `__hw_f1`

-- __hw_stage_3
SELECT `k`
FROM (
  SELECT `k`, `__hw_w`
  FROM (
    SELECT `k`, SUM(`__hw_w`) AS `__hw_w`
    FROM (
      SELECT `k`, CAST(1 AS BIGINT) AS `__hw_w`
      FROM `__hw_stage_2`
      UNION ALL
      SELECT `k`, -`__hw_w` AS `__hw_w`
      FROM (
        SELECT `k`, `__hw_w`
        FROM `__hw_src_0_delta` ) AS t1
      LEFT SEMI JOIN (
        SELECT `k` AS `__hw_f1`
        FROM `__hw_stage_1` ) AS t2
        ON `k` IS NOT DISTINCT FROM `__hw_f1` ) AS t3
    GROUP BY `k` ) AS t4
  WHERE `__hw_w` <> 0 ) AS t5
LATERAL VIEW
EXPLODE(ARRAY_REPEAT(0, CAST(`__hw_w` AS INT))) g6 AS `__hw_f2`

-- __hw_stage_4
SELECT `g`, `v`, `__hw_w`
FROM (
  SELECT `g`, `y` AS `v`, SUM(`__hw_w`) AS `__hw_w`
  FROM (
    SELECT COALESCE(`k`, `k_1`) AS `g`, `y`, `__hw_w`
    FROM (
      SELECT `k`, `k_1`, `y`, `__hw_w`
      FROM (
        SELECT `k`, `__hw_w`
        FROM `__hw_stage_1` ) AS t1
      LEFT JOIN (
        SELECT `k` AS `k_1`, `y`
        FROM `__hw_src_1_new`
        WHERE __HW_AMONG('__hw_stage_1', 'k', `k`) ) AS t2
        ON `k` = `k_1`
      UNION ALL
      SELECT CAST(NULL AS INT) AS `k`, `k_1`, `y`, CAST(-1 AS BIGINT) AS `__hw_w`
      FROM (
        SELECT `k` AS `k_1`, `y`
        FROM `__hw_src_1_new`
        WHERE __HW_AMONG('__hw_stage_2', 'k', `k`) AND __HW_AMONG('__hw_stage_1', 'k', `k`) ) AS t3
      LEFT SEMI JOIN (
        SELECT `k`, `__hw_w`
        FROM `__hw_stage_1` ) AS t4
        ON `k` = `k_1`
      LEFT ANTI JOIN (
        SELECT `k`
        FROM `__hw_stage_3` ) AS t5
        ON `k` = `k_1`
      LEFT SEMI JOIN (
        SELECT `k`
        FROM `__hw_stage_2` ) AS t6
        ON `k` = `k_1`
      UNION ALL
      SELECT CAST(NULL AS INT) AS `k`, `k_1`, `y`, CAST(1 AS BIGINT) AS `__hw_w`
      FROM (
        SELECT `k` AS `k_1`, `y`
        FROM `__hw_src_1_new`
        WHERE __HW_AMONG('__hw_stage_3', 'k', `k`) AND __HW_AMONG('__hw_stage_1', 'k', `k`) ) AS t7
      LEFT SEMI JOIN (
        SELECT `k`, `__hw_w`
        FROM `__hw_stage_1` ) AS t8
        ON `k` = `k_1`
      LEFT SEMI JOIN (
        SELECT `k`
        FROM `__hw_stage_3` ) AS t9
        ON `k` = `k_1`
      LEFT ANTI JOIN (
        SELECT `k`
        FROM `__hw_stage_2` ) AS t10
        ON `k` = `k_1` ) AS t11 ) AS t12
  GROUP BY `g`, `y` ) AS t13
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
SELECT `k_1`, `y`, `__hw_w`
FROM (
  SELECT `k` AS `k_1`, `y`, SUM(`__hw_w`) AS `__hw_w`
  FROM `__hw_src_1_delta`
  GROUP BY `k`, `y` ) AS t1
WHERE `__hw_w` <> 0

-- __hw_stage_2
SELECT `k_1`, `y`
FROM (
  SELECT `k` AS `k_1`, `y`
  FROM `__hw_src_1_new`
  WHERE __HW_AMONG('__hw_stage_1', 'k_1', `k`) ) AS t1
LEFT SEMI JOIN (
  SELECT `k_1` AS `__hw_f1`
  FROM `__hw_stage_1` ) AS t2
  ON `k_1` IS NOT DISTINCT FROM `__hw_f1`

-- __hw_stage_3
SELECT `k_1`, `y`
FROM (
  SELECT `k_1`, `y`, `__hw_w`
  FROM (
    SELECT `k_1`, `y`, SUM(`__hw_w`) AS `__hw_w`
    FROM (
      SELECT `k_1`, `y`, CAST(1 AS BIGINT) AS `__hw_w`
      FROM `__hw_stage_2`
      UNION ALL
      SELECT `k_1`, `y`, -`__hw_w` AS `__hw_w`
      FROM (
        SELECT `k` AS `k_1`, `y`, `__hw_w`
        FROM `__hw_src_1_delta` ) AS t1
      LEFT SEMI JOIN (
        SELECT `k_1` AS `__hw_f1`
        FROM `__hw_stage_1` ) AS t2
        ON `k_1` IS NOT DISTINCT FROM `__hw_f1` ) AS t3
    GROUP BY `k_1`, `y` ) AS t4
  WHERE `__hw_w` <> 0 ) AS t5
LATERAL VIEW
EXPLODE(ARRAY_REPEAT(0, CAST(`__hw_w` AS INT))) g6 AS `__hw_f2`

-- __hw_stage_4
SELECT `g`, `v`, `__hw_w`
FROM (
  SELECT `g`, `y` AS `v`, SUM(`__hw_w`) AS `__hw_w`
  FROM (
    SELECT COALESCE(`k`, `k_1`) AS `g`, `y`, `__hw_w`
    FROM ( (
        SELECT `k`, `k_1`, `y`, `__hw_w`
        FROM (
          SELECT `k`
          FROM `__hw_src_0_new`
          WHERE __HW_AMONG('__hw_stage_1', 'k_1', `k`) ) AS t1
        INNER JOIN (
          SELECT `k_1`, `y`, `__hw_w`
          FROM `__hw_stage_1` ) AS t2
          ON `k` = `k_1`
        UNION ALL
        SELECT CAST(NULL AS INT) AS `k`, `k_1`, `y`, `__hw_w`
        FROM (
          SELECT `k_1`, `y`, `__hw_w`
          FROM `__hw_stage_1` ) AS t3
        LEFT ANTI JOIN (
          SELECT `k`
          FROM `__hw_src_0_new`
          WHERE __HW_AMONG('__hw_stage_1', 'k_1', `k`) ) AS t4
          ON `k` = `k_1` )
      UNION ALL
      SELECT `k`, CAST(NULL AS INT) AS `k_1`, CAST(NULL AS INT) AS `y`, CAST(-1 AS BIGINT) AS `__hw_w`
      FROM (
        SELECT `k`
        FROM `__hw_src_0_new`
        WHERE __HW_AMONG('__hw_stage_2', 'k_1', `k`) AND __HW_AMONG('__hw_stage_1', 'k_1', `k`) ) AS t7
      LEFT SEMI JOIN (
        SELECT `k_1`, `y`, `__hw_w`
        FROM `__hw_stage_1` ) AS t8
        ON `k` = `k_1`
      LEFT ANTI JOIN (
        SELECT `k_1`, `y`
        FROM `__hw_stage_3` ) AS t9
        ON `k` = `k_1`
      LEFT SEMI JOIN (
        SELECT `k_1`, `y`
        FROM `__hw_stage_2` ) AS t10
        ON `k` = `k_1`
      UNION ALL
      SELECT `k`, CAST(NULL AS INT) AS `k_1`, CAST(NULL AS INT) AS `y`, CAST(1 AS BIGINT) AS `__hw_w`
      FROM (
        SELECT `k`
        FROM `__hw_src_0_new`
        WHERE __HW_AMONG('__hw_stage_3', 'k_1', `k`) AND __HW_AMONG('__hw_stage_1', 'k_1', `k`) ) AS t11
      LEFT SEMI JOIN (
        SELECT `k_1`, `y`, `__hw_w`
        FROM `__hw_stage_1` ) AS t12
        ON `k` = `k_1`
      LEFT SEMI JOIN (
        SELECT `k_1`, `y`
        FROM `__hw_stage_3` ) AS t13
        ON `k` = `k_1`
      LEFT ANTI JOIN (
        SELECT `k_1`, `y`
        FROM `__hw_stage_2` ) AS t14
        ON `k` = `k_1` ) AS t15 ) AS t16
  GROUP BY `g`, `y` ) AS t17
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

---- query
SELECT COALESCE(l.k, r.k) AS g, r.y AS v FROM l FULL JOIN r ON l.k = r.k

-- stored as unique, key g
SELECT `g`, `v`
FROM (
  SELECT `g`, `y` AS `v`, COUNT(*) OVER (PARTITION BY `g`) AS `__hw_rows`
  FROM (
    SELECT COALESCE(`k`, `k_1`) AS `g`, `y`
    FROM (
      SELECT `k`
      FROM `__hw_src_0_new` ) AS t1
    FULL JOIN (
      SELECT `k` AS `k_1`, `y`
      FROM `__hw_src_1_new` ) AS t2
      ON `k` = `k_1` ) AS t3 ) AS t4
WHERE IF( `__hw_rows` = 1, TRUE, CAST(RAISE_ERROR('HW3003: unique_key (g) occurs more than once in the result') AS BOOLEAN) )

-- changed: l mixed, r mixed; apply: merge

-- __hw_stage_1
SELECT `k`, `__hw_w`
FROM (
  SELECT `k`, SUM(`__hw_w`) AS `__hw_w`
  FROM `__hw_src_0_delta`
  GROUP BY `k` ) AS t1
WHERE `__hw_w` <> 0

-- __hw_stage_2
SELECT `k_1`, `y`, `__hw_w`
FROM (
  SELECT `k` AS `k_1`, `y`, SUM(`__hw_w`) AS `__hw_w`
  FROM `__hw_src_1_delta`
  GROUP BY `k`, `y` ) AS t1
WHERE `__hw_w` <> 0

-- __hw_stage_3
SELECT `k_1`, `y`
FROM (
  SELECT `k` AS `k_1`, `y`
  FROM `__hw_src_1_new`
  WHERE __HW_AMONG('__hw_stage_2', 'k_1', `k`) ) AS t1
LEFT SEMI JOIN (
  SELECT `k_1` AS `__hw_f1`
  FROM `__hw_stage_2` ) AS t2
  ON `k_1` IS NOT DISTINCT FROM `__hw_f1`

-- __hw_stage_4
SELECT `k_1`, `y`
FROM (
  SELECT `k_1`, `y`, `__hw_w`
  FROM (
    SELECT `k_1`, `y`, SUM(`__hw_w`) AS `__hw_w`
    FROM (
      SELECT `k_1`, `y`, CAST(1 AS BIGINT) AS `__hw_w`
      FROM `__hw_stage_3`
      UNION ALL
      SELECT `k_1`, `y`, -`__hw_w` AS `__hw_w`
      FROM (
        SELECT `k` AS `k_1`, `y`, `__hw_w`
        FROM `__hw_src_1_delta` ) AS t1
      LEFT SEMI JOIN (
        SELECT `k_1` AS `__hw_f1`
        FROM `__hw_stage_2` ) AS t2
        ON `k_1` IS NOT DISTINCT FROM `__hw_f1` ) AS t3
    GROUP BY `k_1`, `y` ) AS t4
  WHERE `__hw_w` <> 0 ) AS t5
LATERAL VIEW
EXPLODE(ARRAY_REPEAT(0, CAST(`__hw_w` AS INT))) g6 AS `__hw_f3`

-- __hw_stage_5
SELECT `k`
FROM (
  SELECT `k`
  FROM `__hw_src_0_new`
  WHERE __HW_AMONG('__hw_stage_1', 'k', `k`) ) AS t1
LEFT SEMI JOIN (
  SELECT `k` AS `__hw_f2`
  FROM `__hw_stage_1` ) AS t2
  ON `k` IS NOT DISTINCT FROM `__hw_f2`

-- __hw_stage_6
SELECT `k`
FROM (
  SELECT `k`, `__hw_w`
  FROM (
    SELECT `k`, SUM(`__hw_w`) AS `__hw_w`
    FROM (
      SELECT `k`, CAST(1 AS BIGINT) AS `__hw_w`
      FROM `__hw_stage_5`
      UNION ALL
      SELECT `k`, -`__hw_w` AS `__hw_w`
      FROM (
        SELECT `k`, `__hw_w`
        FROM `__hw_src_0_delta` ) AS t1
      LEFT SEMI JOIN (
        SELECT `k` AS `__hw_f2`
        FROM `__hw_stage_1` ) AS t2
        ON `k` IS NOT DISTINCT FROM `__hw_f2` ) AS t3
    GROUP BY `k` ) AS t4
  WHERE `__hw_w` <> 0 ) AS t5
LATERAL VIEW
EXPLODE(ARRAY_REPEAT(0, CAST(`__hw_w` AS INT))) g6 AS `__hw_f4`

-- __hw_stage_7
SELECT `g`, `v`, `__hw_went`, IF( `__hw_came` <= 1, `__hw_w` > 0, CAST(RAISE_ERROR('HW3003: unique_key (g) occurs more than once in the result') AS BOOLEAN) ) AS `__hw_new`
FROM (
  SELECT `g`, `v`, `__hw_w`, SUM(GREATEST(`__hw_w`, 0)) OVER (PARTITION BY `g`) AS `__hw_came`, SUM(GREATEST(-`__hw_w`, 0)) OVER (PARTITION BY `g`) AS `__hw_went`
  FROM (
    SELECT `g`, `y` AS `v`, SUM(`__hw_w`) AS `__hw_w`
    FROM (
      SELECT COALESCE(`k`, `k_1`) AS `g`, `y`, `__hw_w`
      FROM (
        SELECT `k`, `k_1`, `y`, `__hw_w`
        FROM (
          SELECT `k`, `__hw_w`
          FROM `__hw_stage_1` ) AS t1
        LEFT JOIN (
          SELECT `k` AS `k_1`, `y`
          FROM `__hw_src_1_new`
          WHERE __HW_AMONG('__hw_stage_1', 'k', `k`) ) AS t2
          ON `k` = `k_1`
        UNION ALL
        (
          SELECT `k`, `k_1`, `y`, `__hw_w`
          FROM (
            SELECT `k`
            FROM `__hw_src_0_old`
            WHERE __HW_AMONG('__hw_stage_2', 'k_1', `k`) ) AS t3
          INNER JOIN (
            SELECT `k_1`, `y`, `__hw_w`
            FROM `__hw_stage_2` ) AS t4
            ON `k` = `k_1`
          UNION ALL
          SELECT CAST(NULL AS INT) AS `k`, `k_1`, `y`, `__hw_w`
          FROM (
            SELECT `k_1`, `y`, `__hw_w`
            FROM `__hw_stage_2` ) AS t5
          LEFT ANTI JOIN (
            SELECT `k`
            FROM `__hw_src_0_new`
            WHERE __HW_AMONG('__hw_stage_2', 'k_1', `k`) ) AS t6
            ON `k` = `k_1` )
        UNION ALL
        SELECT `k`, CAST(NULL AS INT) AS `k_1`, CAST(NULL AS INT) AS `y`, CAST(-1 AS BIGINT) AS `__hw_w`
        FROM (
          SELECT `k`
          FROM `__hw_src_0_old`
          WHERE __HW_AMONG('__hw_stage_3', 'k_1', `k`) AND __HW_AMONG('__hw_stage_2', 'k_1', `k`) ) AS t9
        LEFT SEMI JOIN (
          SELECT `k_1`, `y`, `__hw_w`
          FROM `__hw_stage_2` ) AS t10
          ON `k` = `k_1`
        LEFT ANTI JOIN (
          SELECT `k_1`, `y`
          FROM `__hw_stage_4` ) AS t11
          ON `k` = `k_1`
        LEFT SEMI JOIN (
          SELECT `k_1`, `y`
          FROM `__hw_stage_3` ) AS t12
          ON `k` = `k_1`
        UNION ALL
        SELECT `k`, CAST(NULL AS INT) AS `k_1`, CAST(NULL AS INT) AS `y`, CAST(1 AS BIGINT) AS `__hw_w`
        FROM (
          SELECT `k`
          FROM `__hw_src_0_old`
          WHERE __HW_AMONG('__hw_stage_4', 'k_1', `k`) AND __HW_AMONG('__hw_stage_2', 'k_1', `k`) ) AS t13
        LEFT SEMI JOIN (
          SELECT `k_1`, `y`, `__hw_w`
          FROM `__hw_stage_2` ) AS t14
          ON `k` = `k_1`
        LEFT SEMI JOIN (
          SELECT `k_1`, `y`
          FROM `__hw_stage_4` ) AS t15
          ON `k` = `k_1`
        LEFT ANTI JOIN (
          SELECT `k_1`, `y`
          FROM `__hw_stage_3` ) AS t16
          ON `k` = `k_1`
        UNION ALL
        SELECT CAST(NULL AS INT) AS `k`, `k_1`, `y`, CAST(-1 AS BIGINT) AS `__hw_w`
        FROM (
          SELECT `k` AS `k_1`, `y`
          FROM `__hw_src_1_old`
          WHERE __HW_AMONG('__hw_stage_5', 'k', `k`) AND __HW_AMONG('__hw_stage_1', 'k', `k`) ) AS t17
        LEFT SEMI JOIN (
          SELECT `k`, `__hw_w`
          FROM `__hw_stage_1` ) AS t18
          ON `k` = `k_1`
        LEFT ANTI JOIN (
          SELECT `k`
          FROM `__hw_stage_6` ) AS t19
          ON `k` = `k_1`
        LEFT SEMI JOIN (
          SELECT `k`
          FROM `__hw_stage_5` ) AS t20
          ON `k` = `k_1`
        UNION ALL
        SELECT CAST(NULL AS INT) AS `k`, `k_1`, `y`, CAST(1 AS BIGINT) AS `__hw_w`
        FROM (
          SELECT `k` AS `k_1`, `y`
          FROM `__hw_src_1_old`
          WHERE __HW_AMONG('__hw_stage_6', 'k', `k`) AND __HW_AMONG('__hw_stage_1', 'k', `k`) ) AS t21
        LEFT SEMI JOIN (
          SELECT `k`, `__hw_w`
          FROM `__hw_stage_1` ) AS t22
          ON `k` = `k_1`
        LEFT SEMI JOIN (
          SELECT `k`
          FROM `__hw_stage_6` ) AS t23
          ON `k` = `k_1`
        LEFT ANTI JOIN (
          SELECT `k`
          FROM `__hw_stage_5` ) AS t24
          ON `k` = `k_1` ) AS t25 ) AS t26
    GROUP BY `g`, `y` ) AS t27
  WHERE `__hw_w` <> 0 ) AS t28
WHERE ( `__hw_w` > 0 OR `__hw_came` = 0 )

-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT `g`, `v`, `__hw_went`, `__hw_new`
FROM `__hw_stage_7` ) AS s
ON t.`g` IS NOT DISTINCT FROM s.`g` AND __HW_AMONG('__hw_stage_7', 'g', t.`g`)
WHEN MATCHED AND (NOT s.`__hw_new`) THEN DELETE
WHEN MATCHED AND (s.`__hw_new` AND s.`__hw_went` = 0 OR NOT t.`v` IS NOT DISTINCT FROM s.`v`) THEN UPDATE SET `v` = IF(s.`__hw_new` AND s.`__hw_went` = 0, CAST(RAISE_ERROR('HW3003: unique_key (g) occurs more than once in the result') AS INT), s.`v`)
WHEN NOT MATCHED THEN INSERT (`g`, `v`)
VALUES ( IF(s.`__hw_new`, s.`g`, CAST(RAISE_ERROR('HW4003: the stream table lacks a row that is to be deleted') AS INT)), s.`v` )

---- query
SELECT g, COUNT(*) AS n, SUM(v) AS s FROM (SELECT COALESCE(l.k, r.k) AS g, r.y AS v FROM l FULL JOIN r ON l.k = r.k) q GROUP BY g

-- stored as state, key g
SELECT `g`, `__hw_n` AS `n`, CASE WHEN `__hw_c2` > 0 THEN `__hw_s1` END AS `s`, `__hw_n`, `__hw_s1`, `__hw_c2`
FROM (
  SELECT `g`, COUNT(*) AS `__hw_n`, COALESCE(SUM(`y`), 0) AS `__hw_s1`, COUNT(CASE WHEN NOT ( `y` ) IS NULL THEN 1 END) AS `__hw_c2`
  FROM (
    SELECT COALESCE(`k`, `k_1`) AS `g`, `y`
    FROM (
      SELECT `k`
      FROM `__hw_src_0_new` ) AS t1
    FULL JOIN (
      SELECT `k` AS `k_1`, `y`
      FROM `__hw_src_1_new` ) AS t2
      ON `k` = `k_1` ) AS t3
  GROUP BY `g` ) AS t4

-- changed: l mixed, r mixed; apply: merge

-- __hw_stage_1
SELECT `k`, `__hw_w`
FROM (
  SELECT `k`, SUM(`__hw_w`) AS `__hw_w`
  FROM `__hw_src_0_delta`
  GROUP BY `k` ) AS t1
WHERE `__hw_w` <> 0

-- __hw_stage_2
SELECT `k_1`, `y`, `__hw_w`
FROM (
  SELECT `k` AS `k_1`, `y`, SUM(`__hw_w`) AS `__hw_w`
  FROM `__hw_src_1_delta`
  GROUP BY `k`, `y` ) AS t1
WHERE `__hw_w` <> 0

-- __hw_stage_3
SELECT `k_1`, `y`
FROM (
  SELECT `k` AS `k_1`, `y`
  FROM `__hw_src_1_new`
  WHERE __HW_AMONG('__hw_stage_2', 'k_1', `k`) ) AS t1
LEFT SEMI JOIN (
  SELECT `k_1` AS `__hw_f1`
  FROM `__hw_stage_2` ) AS t2
  ON `k_1` IS NOT DISTINCT FROM `__hw_f1`

-- __hw_stage_4
SELECT `k_1`, `y`
FROM (
  SELECT `k_1`, `y`, `__hw_w`
  FROM (
    SELECT `k_1`, `y`, SUM(`__hw_w`) AS `__hw_w`
    FROM (
      SELECT `k_1`, `y`, CAST(1 AS BIGINT) AS `__hw_w`
      FROM `__hw_stage_3`
      UNION ALL
      SELECT `k_1`, `y`, -`__hw_w` AS `__hw_w`
      FROM (
        SELECT `k` AS `k_1`, `y`, `__hw_w`
        FROM `__hw_src_1_delta` ) AS t1
      LEFT SEMI JOIN (
        SELECT `k_1` AS `__hw_f1`
        FROM `__hw_stage_2` ) AS t2
        ON `k_1` IS NOT DISTINCT FROM `__hw_f1` ) AS t3
    GROUP BY `k_1`, `y` ) AS t4
  WHERE `__hw_w` <> 0 ) AS t5
LATERAL VIEW
EXPLODE(ARRAY_REPEAT(0, CAST(`__hw_w` AS INT))) g6 AS `__hw_f3`

-- __hw_stage_5
SELECT `k`
FROM (
  SELECT `k`
  FROM `__hw_src_0_new`
  WHERE __HW_AMONG('__hw_stage_1', 'k', `k`) ) AS t1
LEFT SEMI JOIN (
  SELECT `k` AS `__hw_f2`
  FROM `__hw_stage_1` ) AS t2
  ON `k` IS NOT DISTINCT FROM `__hw_f2`

-- __hw_stage_6
SELECT `k`
FROM (
  SELECT `k`, `__hw_w`
  FROM (
    SELECT `k`, SUM(`__hw_w`) AS `__hw_w`
    FROM (
      SELECT `k`, CAST(1 AS BIGINT) AS `__hw_w`
      FROM `__hw_stage_5`
      UNION ALL
      SELECT `k`, -`__hw_w` AS `__hw_w`
      FROM (
        SELECT `k`, `__hw_w`
        FROM `__hw_src_0_delta` ) AS t1
      LEFT SEMI JOIN (
        SELECT `k` AS `__hw_f2`
        FROM `__hw_stage_1` ) AS t2
        ON `k` IS NOT DISTINCT FROM `__hw_f2` ) AS t3
    GROUP BY `k` ) AS t4
  WHERE `__hw_w` <> 0 ) AS t5
LATERAL VIEW
EXPLODE(ARRAY_REPEAT(0, CAST(`__hw_w` AS INT))) g6 AS `__hw_f4`

-- __hw_stage_7
SELECT `g`, `__hw_d_n`, `__hw_d_s1`, `__hw_d_c2`
FROM (
  SELECT `g`, SUM(`__hw_w`) AS `__hw_d_n`, COALESCE(SUM(`__hw_w` * CAST(`y` AS BIGINT)), 0) AS `__hw_d_s1`, SUM(IF(NOT ( `y` ) IS NULL, `__hw_w`, CAST(0 AS BIGINT))) AS `__hw_d_c2`
  FROM (
    SELECT COALESCE(`k`, `k_1`) AS `g`, `y`, `__hw_w`
    FROM (
      SELECT `k`, `k_1`, `y`, `__hw_w`
      FROM (
        SELECT `k`, `__hw_w`
        FROM `__hw_stage_1` ) AS t1
      LEFT JOIN (
        SELECT `k` AS `k_1`, `y`
        FROM `__hw_src_1_new`
        WHERE __HW_AMONG('__hw_stage_1', 'k', `k`) ) AS t2
        ON `k` = `k_1`
      UNION ALL
      (
        SELECT `k`, `k_1`, `y`, `__hw_w`
        FROM (
          SELECT `k`
          FROM `__hw_src_0_old`
          WHERE __HW_AMONG('__hw_stage_2', 'k_1', `k`) ) AS t3
        INNER JOIN (
          SELECT `k_1`, `y`, `__hw_w`
          FROM `__hw_stage_2` ) AS t4
          ON `k` = `k_1`
        UNION ALL
        SELECT CAST(NULL AS INT) AS `k`, `k_1`, `y`, `__hw_w`
        FROM (
          SELECT `k_1`, `y`, `__hw_w`
          FROM `__hw_stage_2` ) AS t5
        LEFT ANTI JOIN (
          SELECT `k`
          FROM `__hw_src_0_new`
          WHERE __HW_AMONG('__hw_stage_2', 'k_1', `k`) ) AS t6
          ON `k` = `k_1` )
      UNION ALL
      SELECT `k`, CAST(NULL AS INT) AS `k_1`, CAST(NULL AS INT) AS `y`, CAST(-1 AS BIGINT) AS `__hw_w`
      FROM (
        SELECT `k`
        FROM `__hw_src_0_old`
        WHERE __HW_AMONG('__hw_stage_3', 'k_1', `k`) AND __HW_AMONG('__hw_stage_2', 'k_1', `k`) ) AS t9
      LEFT SEMI JOIN (
        SELECT `k_1`, `y`, `__hw_w`
        FROM `__hw_stage_2` ) AS t10
        ON `k` = `k_1`
      LEFT ANTI JOIN (
        SELECT `k_1`, `y`
        FROM `__hw_stage_4` ) AS t11
        ON `k` = `k_1`
      LEFT SEMI JOIN (
        SELECT `k_1`, `y`
        FROM `__hw_stage_3` ) AS t12
        ON `k` = `k_1`
      UNION ALL
      SELECT `k`, CAST(NULL AS INT) AS `k_1`, CAST(NULL AS INT) AS `y`, CAST(1 AS BIGINT) AS `__hw_w`
      FROM (
        SELECT `k`
        FROM `__hw_src_0_old`
        WHERE __HW_AMONG('__hw_stage_4', 'k_1', `k`) AND __HW_AMONG('__hw_stage_2', 'k_1', `k`) ) AS t13
      LEFT SEMI JOIN (
        SELECT `k_1`, `y`, `__hw_w`
        FROM `__hw_stage_2` ) AS t14
        ON `k` = `k_1`
      LEFT SEMI JOIN (
        SELECT `k_1`, `y`
        FROM `__hw_stage_4` ) AS t15
        ON `k` = `k_1`
      LEFT ANTI JOIN (
        SELECT `k_1`, `y`
        FROM `__hw_stage_3` ) AS t16
        ON `k` = `k_1`
      UNION ALL
      SELECT CAST(NULL AS INT) AS `k`, `k_1`, `y`, CAST(-1 AS BIGINT) AS `__hw_w`
      FROM (
        SELECT `k` AS `k_1`, `y`
        FROM `__hw_src_1_old`
        WHERE __HW_AMONG('__hw_stage_5', 'k', `k`) AND __HW_AMONG('__hw_stage_1', 'k', `k`) ) AS t17
      LEFT SEMI JOIN (
        SELECT `k`, `__hw_w`
        FROM `__hw_stage_1` ) AS t18
        ON `k` = `k_1`
      LEFT ANTI JOIN (
        SELECT `k`
        FROM `__hw_stage_6` ) AS t19
        ON `k` = `k_1`
      LEFT SEMI JOIN (
        SELECT `k`
        FROM `__hw_stage_5` ) AS t20
        ON `k` = `k_1`
      UNION ALL
      SELECT CAST(NULL AS INT) AS `k`, `k_1`, `y`, CAST(1 AS BIGINT) AS `__hw_w`
      FROM (
        SELECT `k` AS `k_1`, `y`
        FROM `__hw_src_1_old`
        WHERE __HW_AMONG('__hw_stage_6', 'k', `k`) AND __HW_AMONG('__hw_stage_1', 'k', `k`) ) AS t21
      LEFT SEMI JOIN (
        SELECT `k`, `__hw_w`
        FROM `__hw_stage_1` ) AS t22
        ON `k` = `k_1`
      LEFT SEMI JOIN (
        SELECT `k`
        FROM `__hw_stage_6` ) AS t23
        ON `k` = `k_1`
      LEFT ANTI JOIN (
        SELECT `k`
        FROM `__hw_stage_5` ) AS t24
        ON `k` = `k_1` ) AS t25 ) AS t26
  GROUP BY `g` ) AS t27
WHERE ( `__hw_d_n` <> 0 OR `__hw_d_s1` <> 0 OR `__hw_d_c2` <> 0 )

-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT `g`, `__hw_d_n`, `__hw_d_s1`, `__hw_d_c2`
FROM `__hw_stage_7` ) AS s
ON t.`g` IS NOT DISTINCT FROM s.`g` AND __HW_AMONG('__hw_stage_7', 'g', t.`g`)
WHEN MATCHED AND (t.`__hw_n` + s.`__hw_d_n` = 0) THEN DELETE
WHEN MATCHED THEN UPDATE SET `n` = t.`__hw_n` + s.`__hw_d_n`, `s` = CASE WHEN (t.`__hw_c2` + s.`__hw_d_c2`) > 0 THEN (t.`__hw_s1` + s.`__hw_d_s1`) END, `__hw_n` = IF(t.`__hw_n` + s.`__hw_d_n` >= 1, t.`__hw_n` + s.`__hw_d_n`, CAST(RAISE_ERROR('HW4003: a group of the stream table holds fewer rows than are to be taken away') AS BIGINT)), `__hw_s1` = t.`__hw_s1` + s.`__hw_d_s1`, `__hw_c2` = t.`__hw_c2` + s.`__hw_d_c2`
WHEN NOT MATCHED THEN INSERT (`g`, `n`, `s`, `__hw_n`, `__hw_s1`, `__hw_c2`)
VALUES ( s.`g`, s.`__hw_d_n`, CASE WHEN s.`__hw_d_c2` > 0 THEN s.`__hw_d_s1` END, IF(s.`__hw_d_n` >= 1, s.`__hw_d_n`, CAST(RAISE_ERROR('HW4003: a group of the stream table holds fewer rows than are to be taken away') AS BIGINT)), s.`__hw_d_s1`, s.`__hw_d_c2` )

---- query
SELECT g, COUNT(DISTINCT v) AS n FROM (SELECT COALESCE(l.k, r.k) AS g, r.y AS v FROM l FULL JOIN r ON l.k = r.k) q GROUP BY g

-- stored as keyed, key g
SELECT `g`, COUNT(DISTINCT `y`) AS `n`
FROM (
  SELECT COALESCE(`k`, `k_1`) AS `g`, `y`
  FROM (
    SELECT `k`
    FROM `__hw_src_0_new` ) AS t1
  FULL JOIN (
    SELECT `k` AS `k_1`, `y`
    FROM `__hw_src_1_new` ) AS t2
    ON `k` = `k_1` ) AS t3
GROUP BY `g`

-- changed: l mixed, r mixed; apply: replace_keys

-- __hw_stage_1
SELECT `k`, `__hw_w`
FROM (
  SELECT `k`, SUM(`__hw_w`) AS `__hw_w`
  FROM `__hw_src_0_delta`
  GROUP BY `k` ) AS t1
WHERE `__hw_w` <> 0

-- __hw_stage_2
SELECT `k_1`, `y`, `__hw_w`
FROM (
  SELECT `k` AS `k_1`, `y`, SUM(`__hw_w`) AS `__hw_w`
  FROM `__hw_src_1_delta`
  GROUP BY `k`, `y` ) AS t1
WHERE `__hw_w` <> 0

-- __hw_stage_3
SELECT `k_1`, `y`
FROM (
  SELECT `k` AS `k_1`, `y`
  FROM `__hw_src_1_new`
  WHERE __HW_AMONG('__hw_stage_2', 'k_1', `k`) ) AS t1
LEFT SEMI JOIN (
  SELECT `k_1` AS `__hw_f1`
  FROM `__hw_stage_2` ) AS t2
  ON `k_1` IS NOT DISTINCT FROM `__hw_f1`

-- __hw_stage_4
SELECT `k_1`, `y`
FROM (
  SELECT `k_1`, `y`, `__hw_w`
  FROM (
    SELECT `k_1`, `y`, SUM(`__hw_w`) AS `__hw_w`
    FROM (
      SELECT `k_1`, `y`, CAST(1 AS BIGINT) AS `__hw_w`
      FROM `__hw_stage_3`
      UNION ALL
      SELECT `k_1`, `y`, -`__hw_w` AS `__hw_w`
      FROM (
        SELECT `k` AS `k_1`, `y`, `__hw_w`
        FROM `__hw_src_1_delta` ) AS t1
      LEFT SEMI JOIN (
        SELECT `k_1` AS `__hw_f1`
        FROM `__hw_stage_2` ) AS t2
        ON `k_1` IS NOT DISTINCT FROM `__hw_f1` ) AS t3
    GROUP BY `k_1`, `y` ) AS t4
  WHERE `__hw_w` <> 0 ) AS t5
LATERAL VIEW
EXPLODE(ARRAY_REPEAT(0, CAST(`__hw_w` AS INT))) g6 AS `__hw_f4`

-- __hw_stage_5
SELECT `k`
FROM (
  SELECT `k`
  FROM `__hw_src_0_new`
  WHERE __HW_AMONG('__hw_stage_1', 'k', `k`) ) AS t1
LEFT SEMI JOIN (
  SELECT `k` AS `__hw_f2`
  FROM `__hw_stage_1` ) AS t2
  ON `k` IS NOT DISTINCT FROM `__hw_f2`

-- __hw_stage_6
SELECT `k`
FROM (
  SELECT `k`, `__hw_w`
  FROM (
    SELECT `k`, SUM(`__hw_w`) AS `__hw_w`
    FROM (
      SELECT `k`, CAST(1 AS BIGINT) AS `__hw_w`
      FROM `__hw_stage_5`
      UNION ALL
      SELECT `k`, -`__hw_w` AS `__hw_w`
      FROM (
        SELECT `k`, `__hw_w`
        FROM `__hw_src_0_delta` ) AS t1
      LEFT SEMI JOIN (
        SELECT `k` AS `__hw_f2`
        FROM `__hw_stage_1` ) AS t2
        ON `k` IS NOT DISTINCT FROM `__hw_f2` ) AS t3
    GROUP BY `k` ) AS t4
  WHERE `__hw_w` <> 0 ) AS t5
LATERAL VIEW
EXPLODE(ARRAY_REPEAT(0, CAST(`__hw_w` AS INT))) g6 AS `__hw_f5`

-- __hw_stage_7
SELECT DISTINCT
  `g` AS `__hw_f3`
FROM (
  SELECT COALESCE(`k`, `k_1`) AS `g`
  FROM (
    SELECT `k`, `k_1`, `y`, SUM(`__hw_w`) AS `__hw_w`
    FROM (
      SELECT `k`, `k_1`, `y`, `__hw_w`
      FROM (
        SELECT `k`, `__hw_w`
        FROM `__hw_stage_1` ) AS t1
      LEFT JOIN (
        SELECT `k` AS `k_1`, `y`
        FROM `__hw_src_1_new`
        WHERE __HW_AMONG('__hw_stage_1', 'k', `k`) ) AS t2
        ON `k` = `k_1`
      UNION ALL
      (
        SELECT `k`, `k_1`, `y`, `__hw_w`
        FROM (
          SELECT `k`
          FROM `__hw_src_0_old`
          WHERE __HW_AMONG('__hw_stage_2', 'k_1', `k`) ) AS t3
        INNER JOIN (
          SELECT `k_1`, `y`, `__hw_w`
          FROM `__hw_stage_2` ) AS t4
          ON `k` = `k_1`
        UNION ALL
        SELECT CAST(NULL AS INT) AS `k`, `k_1`, `y`, `__hw_w`
        FROM (
          SELECT `k_1`, `y`, `__hw_w`
          FROM `__hw_stage_2` ) AS t5
        LEFT ANTI JOIN (
          SELECT `k`
          FROM `__hw_src_0_new`
          WHERE __HW_AMONG('__hw_stage_2', 'k_1', `k`) ) AS t6
          ON `k` = `k_1` )
      UNION ALL
      SELECT `k`, CAST(NULL AS INT) AS `k_1`, CAST(NULL AS INT) AS `y`, CAST(-1 AS BIGINT) AS `__hw_w`
      FROM (
        SELECT `k`
        FROM `__hw_src_0_old`
        WHERE __HW_AMONG('__hw_stage_3', 'k_1', `k`) AND __HW_AMONG('__hw_stage_2', 'k_1', `k`) ) AS t9
      LEFT SEMI JOIN (
        SELECT `k_1`, `y`, `__hw_w`
        FROM `__hw_stage_2` ) AS t10
        ON `k` = `k_1`
      LEFT ANTI JOIN (
        SELECT `k_1`, `y`
        FROM `__hw_stage_4` ) AS t11
        ON `k` = `k_1`
      LEFT SEMI JOIN (
        SELECT `k_1`, `y`
        FROM `__hw_stage_3` ) AS t12
        ON `k` = `k_1`
      UNION ALL
      SELECT `k`, CAST(NULL AS INT) AS `k_1`, CAST(NULL AS INT) AS `y`, CAST(1 AS BIGINT) AS `__hw_w`
      FROM (
        SELECT `k`
        FROM `__hw_src_0_old`
        WHERE __HW_AMONG('__hw_stage_4', 'k_1', `k`) AND __HW_AMONG('__hw_stage_2', 'k_1', `k`) ) AS t13
      LEFT SEMI JOIN (
        SELECT `k_1`, `y`, `__hw_w`
        FROM `__hw_stage_2` ) AS t14
        ON `k` = `k_1`
      LEFT SEMI JOIN (
        SELECT `k_1`, `y`
        FROM `__hw_stage_4` ) AS t15
        ON `k` = `k_1`
      LEFT ANTI JOIN (
        SELECT `k_1`, `y`
        FROM `__hw_stage_3` ) AS t16
        ON `k` = `k_1`
      UNION ALL
      SELECT CAST(NULL AS INT) AS `k`, `k_1`, `y`, CAST(-1 AS BIGINT) AS `__hw_w`
      FROM (
        SELECT `k` AS `k_1`, `y`
        FROM `__hw_src_1_old`
        WHERE __HW_AMONG('__hw_stage_5', 'k', `k`) AND __HW_AMONG('__hw_stage_1', 'k', `k`) ) AS t17
      LEFT SEMI JOIN (
        SELECT `k`, `__hw_w`
        FROM `__hw_stage_1` ) AS t18
        ON `k` = `k_1`
      LEFT ANTI JOIN (
        SELECT `k`
        FROM `__hw_stage_6` ) AS t19
        ON `k` = `k_1`
      LEFT SEMI JOIN (
        SELECT `k`
        FROM `__hw_stage_5` ) AS t20
        ON `k` = `k_1`
      UNION ALL
      SELECT CAST(NULL AS INT) AS `k`, `k_1`, `y`, CAST(1 AS BIGINT) AS `__hw_w`
      FROM (
        SELECT `k` AS `k_1`, `y`
        FROM `__hw_src_1_old`
        WHERE __HW_AMONG('__hw_stage_6', 'k', `k`) AND __HW_AMONG('__hw_stage_1', 'k', `k`) ) AS t21
      LEFT SEMI JOIN (
        SELECT `k`, `__hw_w`
        FROM `__hw_stage_1` ) AS t22
        ON `k` = `k_1`
      LEFT SEMI JOIN (
        SELECT `k`
        FROM `__hw_stage_6` ) AS t23
        ON `k` = `k_1`
      LEFT ANTI JOIN (
        SELECT `k`
        FROM `__hw_stage_5` ) AS t24
        ON `k` = `k_1` ) AS t25
    GROUP BY `k`, `k_1`, `y` ) AS t26
  WHERE `__hw_w` <> 0 ) AS t27

-- __hw_stage_8
SELECT `__hw_f3`, `g`, `n`, `__hw_here`
FROM (
  SELECT `__hw_f3`
  FROM `__hw_stage_7` ) AS t1
LEFT JOIN (
  SELECT `g`, `n`, TRUE AS `__hw_here`
  FROM (
    SELECT `g`, COUNT(DISTINCT `y`) AS `n`
    FROM (
      SELECT COALESCE(`k`, `k_1`) AS `g`, `y`
      FROM (
        SELECT `k`
        FROM `__hw_src_0_new`
        WHERE __HW_AMONG('__hw_stage_7', '__hw_f3', `k`) ) AS t2
      LEFT SEMI JOIN (
        SELECT `__hw_f3`
        FROM `__hw_stage_7` ) AS t3
        ON `k` IS NOT DISTINCT FROM `__hw_f3`
      FULL JOIN (
        SELECT `k_1`, `y`
        FROM (
          SELECT `k` AS `k_1`, `y`
          FROM `__hw_src_1_new`
          WHERE __HW_AMONG('__hw_stage_7', '__hw_f3', `k`) ) AS t4
        LEFT SEMI JOIN (
          SELECT `__hw_f3`
          FROM `__hw_stage_7` ) AS t5
          ON `k_1` IS NOT DISTINCT FROM `__hw_f3` ) AS t6
        ON `k` = `k_1` ) AS t7
    GROUP BY `g` ) AS t8 ) AS t9
  ON `g` IS NOT DISTINCT FROM `__hw_f3`

-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT `__hw_f3`, `g`, `n`, `__hw_here`
FROM `__hw_stage_8` ) AS s
ON t.`g` IS NOT DISTINCT FROM s.`__hw_f3` AND __HW_AMONG('__hw_stage_8', '__hw_f3', t.`g`)
WHEN MATCHED AND (s.`__hw_here` IS NULL) THEN DELETE
WHEN MATCHED AND (NOT t.`n` IS NOT DISTINCT FROM s.`n`) THEN UPDATE SET `n` = s.`n`
WHEN NOT MATCHED AND (s.`__hw_here`) THEN INSERT (`g`, `n`)
VALUES ( s.`g`, s.`n` )

---- query
SELECT g, v, COUNT(*) OVER (PARTITION BY g) AS n FROM (SELECT COALESCE(l.k, r.k) AS g, r.y AS v FROM l FULL JOIN r ON l.k = r.k) q

-- stored as replace, key __hw_id
SELECT `g`, `y` AS `v`, `n`, CONCAT('__hw_run', ':', MONOTONICALLY_INCREASING_ID()) AS `__hw_id`
FROM (
  SELECT `g`, `y`, COUNT(*) OVER (PARTITION BY `g`) AS `n`
  FROM (
    SELECT COALESCE(`k`, `k_1`) AS `g`, `y`
    FROM (
      SELECT `k`
      FROM `__hw_src_0_new` ) AS t1
    FULL JOIN (
      SELECT `k` AS `k_1`, `y`
      FROM `__hw_src_1_new` ) AS t2
      ON `k` = `k_1` ) AS t3 ) AS t4

-- changed: l mixed, r mixed; apply: replace_keys

-- __hw_stage_1
SELECT `k`, `__hw_w`
FROM (
  SELECT `k`, SUM(`__hw_w`) AS `__hw_w`
  FROM `__hw_src_0_delta`
  GROUP BY `k` ) AS t1
WHERE `__hw_w` <> 0

-- __hw_stage_2
SELECT `k_1`, `y`, `__hw_w`
FROM (
  SELECT `k` AS `k_1`, `y`, SUM(`__hw_w`) AS `__hw_w`
  FROM `__hw_src_1_delta`
  GROUP BY `k`, `y` ) AS t1
WHERE `__hw_w` <> 0

-- __hw_stage_3
SELECT `k_1`, `y`
FROM (
  SELECT `k` AS `k_1`, `y`
  FROM `__hw_src_1_new`
  WHERE __HW_AMONG('__hw_stage_2', 'k_1', `k`) ) AS t1
LEFT SEMI JOIN (
  SELECT `k_1` AS `__hw_f1`
  FROM `__hw_stage_2` ) AS t2
  ON `k_1` IS NOT DISTINCT FROM `__hw_f1`

-- __hw_stage_4
SELECT `k`
FROM (
  SELECT `k`
  FROM `__hw_src_0_new`
  WHERE __HW_AMONG('__hw_stage_1', 'k', `k`) ) AS t1
LEFT SEMI JOIN (
  SELECT `k` AS `__hw_f2`
  FROM `__hw_stage_1` ) AS t2
  ON `k` IS NOT DISTINCT FROM `__hw_f2`

-- __hw_stage_5
SELECT DISTINCT
  `g` AS `__hw_f3`
FROM (
  SELECT COALESCE(`k`, `k_1`) AS `g`
  FROM (
    SELECT `k`, `k_1`, `y`, SUM(`__hw_w`) AS `__hw_w`
    FROM (
      SELECT `k`, `k_1`, `y`, `__hw_w`
      FROM (
        SELECT `k`, `__hw_w`
        FROM `__hw_stage_1` ) AS t1
      LEFT JOIN (
        SELECT `k` AS `k_1`, `y`
        FROM `__hw_src_1_new`
        WHERE __HW_AMONG('__hw_stage_1', 'k', `k`) ) AS t2
        ON `k` = `k_1`
      UNION ALL
      (
        SELECT `k`, `k_1`, `y`, `__hw_w`
        FROM (
          SELECT `k`
          FROM `__hw_src_0_old`
          WHERE __HW_AMONG('__hw_stage_2', 'k_1', `k`) ) AS t3
        INNER JOIN (
          SELECT `k_1`, `y`, `__hw_w`
          FROM `__hw_stage_2` ) AS t4
          ON `k` = `k_1`
        UNION ALL
        SELECT CAST(NULL AS INT) AS `k`, `k_1`, `y`, `__hw_w`
        FROM (
          SELECT `k_1`, `y`, `__hw_w`
          FROM `__hw_stage_2` ) AS t5
        LEFT ANTI JOIN (
          SELECT `k`
          FROM `__hw_src_0_new`
          WHERE __HW_AMONG('__hw_stage_2', 'k_1', `k`) ) AS t6
          ON `k` = `k_1` )
      UNION ALL
      SELECT `k`, CAST(NULL AS INT) AS `k_1`, CAST(NULL AS INT) AS `y`, CAST(-1 AS BIGINT) AS `__hw_w`
      FROM (
        SELECT `k`
        FROM `__hw_src_0_old`
        WHERE __HW_AMONG('__hw_stage_3', 'k_1', `k`) AND __HW_AMONG('__hw_stage_2', 'k_1', `k`) ) AS t9
      LEFT SEMI JOIN (
        SELECT `k_1`, `y`, `__hw_w`
        FROM `__hw_stage_2` ) AS t10
        ON `k` = `k_1`
      LEFT ANTI JOIN (
        SELECT `k_1`, `y`
        FROM (
          SELECT `k` AS `k_1`, `y`
          FROM `__hw_src_1_old`
          WHERE __HW_AMONG('__hw_stage_3', 'k_1', `k`) AND __HW_AMONG('__hw_stage_2', 'k_1', `k`) ) AS t11
        LEFT SEMI JOIN (
          SELECT `k_1` AS `__hw_f1`
          FROM `__hw_stage_2` ) AS t12
          ON `k_1` IS NOT DISTINCT FROM `__hw_f1` ) AS t13
        ON `k` = `k_1`
      LEFT SEMI JOIN (
        SELECT `k_1`, `y`
        FROM `__hw_stage_3` ) AS t14
        ON `k` = `k_1`
      UNION ALL
      SELECT `k`, CAST(NULL AS INT) AS `k_1`, CAST(NULL AS INT) AS `y`, CAST(1 AS BIGINT) AS `__hw_w`
      FROM (
        SELECT `k`
        FROM `__hw_src_0_old`
        WHERE __HW_AMONG('__hw_stage_2', 'k_1', `k`) ) AS t15
      LEFT SEMI JOIN (
        SELECT `k_1`, `y`, `__hw_w`
        FROM `__hw_stage_2` ) AS t16
        ON `k` = `k_1`
      LEFT SEMI JOIN (
        SELECT `k_1`, `y`
        FROM (
          SELECT `k` AS `k_1`, `y`
          FROM `__hw_src_1_old`
          WHERE __HW_AMONG('__hw_stage_2', 'k_1', `k`) ) AS t17
        LEFT SEMI JOIN (
          SELECT `k_1` AS `__hw_f1`
          FROM `__hw_stage_2` ) AS t18
          ON `k_1` IS NOT DISTINCT FROM `__hw_f1` ) AS t19
        ON `k` = `k_1`
      LEFT ANTI JOIN (
        SELECT `k_1`, `y`
        FROM `__hw_stage_3` ) AS t20
        ON `k` = `k_1`
      UNION ALL
      SELECT CAST(NULL AS INT) AS `k`, `k_1`, `y`, CAST(-1 AS BIGINT) AS `__hw_w`
      FROM (
        SELECT `k` AS `k_1`, `y`
        FROM `__hw_src_1_old`
        WHERE __HW_AMONG('__hw_stage_4', 'k', `k`) AND __HW_AMONG('__hw_stage_1', 'k', `k`) ) AS t21
      LEFT SEMI JOIN (
        SELECT `k`, `__hw_w`
        FROM `__hw_stage_1` ) AS t22
        ON `k` = `k_1`
      LEFT ANTI JOIN (
        SELECT `k`
        FROM (
          SELECT `k`
          FROM `__hw_src_0_old`
          WHERE __HW_AMONG('__hw_stage_4', 'k', `k`) AND __HW_AMONG('__hw_stage_1', 'k', `k`) ) AS t23
        LEFT SEMI JOIN (
          SELECT `k` AS `__hw_f2`
          FROM `__hw_stage_1` ) AS t24
          ON `k` IS NOT DISTINCT FROM `__hw_f2` ) AS t25
        ON `k` = `k_1`
      LEFT SEMI JOIN (
        SELECT `k`
        FROM `__hw_stage_4` ) AS t26
        ON `k` = `k_1`
      UNION ALL
      SELECT CAST(NULL AS INT) AS `k`, `k_1`, `y`, CAST(1 AS BIGINT) AS `__hw_w`
      FROM (
        SELECT `k` AS `k_1`, `y`
        FROM `__hw_src_1_old`
        WHERE __HW_AMONG('__hw_stage_1', 'k', `k`) ) AS t27
      LEFT SEMI JOIN (
        SELECT `k`, `__hw_w`
        FROM `__hw_stage_1` ) AS t28
        ON `k` = `k_1`
      LEFT SEMI JOIN (
        SELECT `k`
        FROM (
          SELECT `k`
          FROM `__hw_src_0_old`
          WHERE __HW_AMONG('__hw_stage_1', 'k', `k`) ) AS t29
        LEFT SEMI JOIN (
          SELECT `k` AS `__hw_f2`
          FROM `__hw_stage_1` ) AS t30
          ON `k` IS NOT DISTINCT FROM `__hw_f2` ) AS t31
        ON `k` = `k_1`
      LEFT ANTI JOIN (
        SELECT `k`
        FROM `__hw_stage_4` ) AS t32
        ON `k` = `k_1` ) AS t33
    GROUP BY `k`, `k_1`, `y` ) AS t34
  WHERE `__hw_w` <> 0 ) AS t35

-- __hw_stage_6
SELECT `k`
FROM (
  SELECT `k`
  FROM `__hw_src_0_new`
  WHERE __HW_AMONG('__hw_stage_5', '__hw_f3', `k`) ) AS t1
LEFT SEMI JOIN (
  SELECT `__hw_f3`
  FROM `__hw_stage_5` ) AS t2
  ON `k` IS NOT DISTINCT FROM `__hw_f3`

-- __hw_stage_7
SELECT `k_1`, `y`
FROM (
  SELECT `k` AS `k_1`, `y`
  FROM `__hw_src_1_new`
  WHERE __HW_AMONG('__hw_stage_5', '__hw_f3', `k`) ) AS t1
LEFT SEMI JOIN (
  SELECT `__hw_f3`
  FROM `__hw_stage_5` ) AS t2
  ON `k_1` IS NOT DISTINCT FROM `__hw_f3`

-- __hw_stage_8
SELECT `k_1`, `y`
FROM (
  SELECT `k_1`, `y`, `__hw_w`
  FROM (
    SELECT `k_1`, `y`, SUM(`__hw_w`) AS `__hw_w`
    FROM (
      SELECT `k_1`, `y`, CAST(1 AS BIGINT) AS `__hw_w`
      FROM `__hw_stage_3`
      UNION ALL
      SELECT `k_1`, `y`, -`__hw_w` AS `__hw_w`
      FROM (
        SELECT `k` AS `k_1`, `y`, `__hw_w`
        FROM `__hw_src_1_delta` ) AS t1
      LEFT SEMI JOIN (
        SELECT `k_1` AS `__hw_f1`
        FROM `__hw_stage_2` ) AS t2
        ON `k_1` IS NOT DISTINCT FROM `__hw_f1` ) AS t3
    GROUP BY `k_1`, `y` ) AS t4
  WHERE `__hw_w` <> 0 ) AS t5
LATERAL VIEW
EXPLODE(ARRAY_REPEAT(0, CAST(`__hw_w` AS INT))) g6 AS `__hw_f5`

-- __hw_stage_9
SELECT `k`
FROM (
  SELECT `k`, `__hw_w`
  FROM (
    SELECT `k`, SUM(`__hw_w`) AS `__hw_w`
    FROM (
      SELECT `k`, CAST(1 AS BIGINT) AS `__hw_w`
      FROM `__hw_stage_4`
      UNION ALL
      SELECT `k`, -`__hw_w` AS `__hw_w`
      FROM (
        SELECT `k`, `__hw_w`
        FROM `__hw_src_0_delta` ) AS t1
      LEFT SEMI JOIN (
        SELECT `k` AS `__hw_f2`
        FROM `__hw_stage_1` ) AS t2
        ON `k` IS NOT DISTINCT FROM `__hw_f2` ) AS t3
    GROUP BY `k` ) AS t4
  WHERE `__hw_w` <> 0 ) AS t5
LATERAL VIEW
EXPLODE(ARRAY_REPEAT(0, CAST(`__hw_w` AS INT))) g6 AS `__hw_f6`

-- __hw_stage_10
SELECT `g`, `v`, `n`, `__hw_w`
FROM (
  SELECT `g`, `v`, `n`, SUM(`__hw_w`) AS `__hw_w`
  FROM (
    SELECT `g`, `y` AS `v`, `n`, CAST(1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT `g`, `y`, COUNT(*) OVER (PARTITION BY `g`) AS `n`
      FROM (
        SELECT COALESCE(`k`, `k_1`) AS `g`, `y`
        FROM (
          SELECT `k`
          FROM `__hw_stage_6` ) AS t1
        FULL JOIN (
          SELECT `k_1`, `y`
          FROM `__hw_stage_7` ) AS t2
          ON `k` = `k_1` ) AS t3 ) AS t4
    UNION ALL
    SELECT `g`, `v`, `n`, CAST(-1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT `g`, `v`, `n`
      FROM `__hw_target` ) AS t5
    LEFT SEMI JOIN (
      SELECT DISTINCT
        `g` AS `__hw_f3`
      FROM (
        SELECT COALESCE(`k`, `k_1`) AS `g`
        FROM (
          SELECT `k`, `k_1`, `y`, SUM(`__hw_w`) AS `__hw_w`
          FROM (
            SELECT `k`, `k_1`, `y`, `__hw_w`
            FROM (
              SELECT `k`, `__hw_w`
              FROM `__hw_stage_1` ) AS t6
            LEFT JOIN (
              SELECT `k` AS `k_1`, `y`
              FROM `__hw_src_1_new`
              WHERE __HW_AMONG('__hw_stage_1', 'k', `k`) ) AS t7
              ON `k` = `k_1`
            UNION ALL
            (
              SELECT `k`, `k_1`, `y`, `__hw_w`
              FROM (
                SELECT `k`
                FROM `__hw_src_0_old`
                WHERE __HW_AMONG('__hw_stage_2', 'k_1', `k`) ) AS t8
              INNER JOIN (
                SELECT `k_1`, `y`, `__hw_w`
                FROM `__hw_stage_2` ) AS t9
                ON `k` = `k_1`
              UNION ALL
              SELECT CAST(NULL AS INT) AS `k`, `k_1`, `y`, `__hw_w`
              FROM (
                SELECT `k_1`, `y`, `__hw_w`
                FROM `__hw_stage_2` ) AS t10
              LEFT ANTI JOIN (
                SELECT `k`
                FROM `__hw_src_0_new`
                WHERE __HW_AMONG('__hw_stage_2', 'k_1', `k`) ) AS t11
                ON `k` = `k_1` )
            UNION ALL
            SELECT `k`, CAST(NULL AS INT) AS `k_1`, CAST(NULL AS INT) AS `y`, CAST(-1 AS BIGINT) AS `__hw_w`
            FROM (
              SELECT `k`
              FROM `__hw_src_0_old`
              WHERE __HW_AMONG('__hw_stage_3', 'k_1', `k`) AND __HW_AMONG('__hw_stage_2', 'k_1', `k`) ) AS t14
            LEFT SEMI JOIN (
              SELECT `k_1`, `y`, `__hw_w`
              FROM `__hw_stage_2` ) AS t15
              ON `k` = `k_1`
            LEFT ANTI JOIN (
              SELECT `k_1`, `y`
              FROM `__hw_stage_8` ) AS t16
              ON `k` = `k_1`
            LEFT SEMI JOIN (
              SELECT `k_1`, `y`
              FROM `__hw_stage_3` ) AS t17
              ON `k` = `k_1`
            UNION ALL
            SELECT `k`, CAST(NULL AS INT) AS `k_1`, CAST(NULL AS INT) AS `y`, CAST(1 AS BIGINT) AS `__hw_w`
            FROM (
              SELECT `k`
              FROM `__hw_src_0_old`
              WHERE __HW_AMONG('__hw_stage_8', 'k_1', `k`) AND __HW_AMONG('__hw_stage_2', 'k_1', `k`) ) AS t18
            LEFT SEMI JOIN (
              SELECT `k_1`, `y`, `__hw_w`
              FROM `__hw_stage_2` ) AS t19
              ON `k` = `k_1`
            LEFT SEMI JOIN (
              SELECT `k_1`, `y`
              FROM `__hw_stage_8` ) AS t20
              ON `k` = `k_1`
            LEFT ANTI JOIN (
              SELECT `k_1`, `y`
              FROM `__hw_stage_3` ) AS t21
              ON `k` = `k_1`
            UNION ALL
            SELECT CAST(NULL AS INT) AS `k`, `k_1`, `y`, CAST(-1 AS BIGINT) AS `__hw_w`
            FROM (
              SELECT `k` AS `k_1`, `y`
              FROM `__hw_src_1_old`
              WHERE __HW_AMONG('__hw_stage_4', 'k', `k`) AND __HW_AMONG('__hw_stage_1', 'k', `k`) ) AS t22
            LEFT SEMI JOIN (
              SELECT `k`, `__hw_w`
              FROM `__hw_stage_1` ) AS t23
              ON `k` = `k_1`
            LEFT ANTI JOIN (
              SELECT `k`
              FROM `__hw_stage_9` ) AS t24
              ON `k` = `k_1`
            LEFT SEMI JOIN (
              SELECT `k`
              FROM `__hw_stage_4` ) AS t25
              ON `k` = `k_1`
            UNION ALL
            SELECT CAST(NULL AS INT) AS `k`, `k_1`, `y`, CAST(1 AS BIGINT) AS `__hw_w`
            FROM (
              SELECT `k` AS `k_1`, `y`
              FROM `__hw_src_1_old`
              WHERE __HW_AMONG('__hw_stage_9', 'k', `k`) AND __HW_AMONG('__hw_stage_1', 'k', `k`) ) AS t26
            LEFT SEMI JOIN (
              SELECT `k`, `__hw_w`
              FROM `__hw_stage_1` ) AS t27
              ON `k` = `k_1`
            LEFT SEMI JOIN (
              SELECT `k`
              FROM `__hw_stage_9` ) AS t28
              ON `k` = `k_1`
            LEFT ANTI JOIN (
              SELECT `k`
              FROM `__hw_stage_4` ) AS t29
              ON `k` = `k_1` ) AS t30
          GROUP BY `k`, `k_1`, `y` ) AS t31
        WHERE `__hw_w` <> 0 ) AS t32 ) AS t33
      ON `g` IS NOT DISTINCT FROM `__hw_f3` ) AS t34
  GROUP BY `g`, `v`, `n` ) AS t35
WHERE `__hw_w` <> 0

-- __hw_stage_11
SELECT IF( `__hw_copies` >= -`__hw_w`, `__hw_stored_id`, CAST(RAISE_ERROR('HW4003: the stream table lacks a row that is to be deleted') AS STRING) ) AS `__hw_id`, CAST(NULL AS INT) AS `g`, CAST(NULL AS INT) AS `v`, CAST(NULL AS BIGINT) AS `n`
FROM (
  SELECT `g`, `v`, `n`, `__hw_w`, `__hw_t1`, `__hw_t2`, `__hw_t3`, `__hw_stored_id`, ROW_NUMBER() OVER (PARTITION BY `g`, `v`, `n` ORDER BY `__hw_stored_id` NULLS LAST) AS `__hw_rank`, COUNT(`__hw_stored_id`) OVER (PARTITION BY `g`, `v`, `n`) AS `__hw_copies`
  FROM (
    SELECT `g`, `v`, `n`, `__hw_w`
    FROM `__hw_stage_10`
    WHERE `__hw_w` < 0 ) AS t1
  LEFT JOIN (
    SELECT `g` AS `__hw_t1`, `v` AS `__hw_t2`, `n` AS `__hw_t3`, `__hw_id` AS `__hw_stored_id`
    FROM `__hw_target`
    WHERE __HW_AMONG('__hw_stage_10', 'g', `g`)
      AND __HW_AMONG('__hw_stage_10', 'v', `v`)
      AND __HW_AMONG('__hw_stage_10', 'n', `n`) ) AS t2
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
        FROM `__hw_stage_10`
        WHERE `__hw_w` > 0 ) AS t4
      LATERAL VIEW
      EXPLODE(ARRAY_REPEAT(0, CAST(`__hw_w` AS INT))) g5 AS `__hw_copy` ) AS t6 ) AS t7 ) AS t8

-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT `__hw_id`, `g`, `v`, `n`
FROM `__hw_stage_11` ) AS s
ON t.`__hw_id` IS NOT DISTINCT FROM s.`__hw_id` AND __HW_AMONG('__hw_stage_11', '__hw_id', t.`__hw_id`)
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED THEN INSERT (`g`, `v`, `n`, `__hw_id`)
VALUES ( s.`g`, s.`v`, s.`n`, s.`__hw_id` )
