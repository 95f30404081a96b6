---- query
SELECT k AS g, SUM(id) AS v, grouping_id(k, x) AS gid FROM l GROUP BY ROLLUP (k, x)

-- stored as state, key g, __hw_k1, gid
SELECT `k` AS `g`, CASE WHEN `__hw_c2` > 0 THEN `__hw_s1` END AS `v`, `grouping_id` AS `gid`, `x` AS `__hw_k1`, `__hw_n`, `__hw_s1`, `__hw_c2`
FROM (
  SELECT `k`, `x`, CAST(0 AS BIGINT) + GROUPING(`x`) * 1 + GROUPING(`k`) * 2 AS `grouping_id`, COUNT(*) AS `__hw_n`, COALESCE(SUM(`id`), 0) AS `__hw_s1`, COUNT(CASE WHEN NOT ( `id` ) IS NULL THEN 1 END) AS `__hw_c2`
  FROM (
    SELECT `id`, `k`, `x`
    FROM `__hw_src_0_new` ) AS t1
  GROUP BY GROUPING SETS ( (`k`, `x`), (`k`), () ) ) AS t2

-- changed: l append; apply: merge

-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT `k`, `x`, CAST(0 AS BIGINT) + GROUPING(`x`) * 1 + GROUPING(`k`) * 2 AS `grouping_id`, SUM(`__hw_w`) AS `__hw_d_n`, COALESCE(SUM(`__hw_w` * CAST(`id` AS BIGINT)), 0) AS `__hw_d_s1`, SUM(IF(NOT ( `id` ) IS NULL, `__hw_w`, CAST(0 AS BIGINT))) AS `__hw_d_c2`
FROM (
  SELECT `id`, `k`, `x`, `__hw_w`
  FROM `__hw_src_0_delta` ) AS t1
GROUP BY GROUPING SETS ( (`k`, `x`), (`k`), () ) ) AS s
ON t.`g` IS NOT DISTINCT FROM s.`k` AND t.`__hw_k1` IS NOT DISTINCT FROM s.`x` AND t.`gid` IS NOT DISTINCT FROM s.`grouping_id` AND __HW_AMONG('__hw_stage_using', 'k', t.`g`) AND __HW_AMONG('__hw_stage_using', 'grouping_id', t.`gid`)
WHEN MATCHED THEN UPDATE SET `v` = CASE WHEN (t.`__hw_c2` + s.`__hw_d_c2`) > 0 THEN (t.`__hw_s1` + s.`__hw_d_s1`) END, `__hw_n` = t.`__hw_n` + s.`__hw_d_n`, `__hw_s1` = t.`__hw_s1` + s.`__hw_d_s1`, `__hw_c2` = t.`__hw_c2` + s.`__hw_d_c2`
WHEN NOT MATCHED THEN INSERT (`g`, `v`, `gid`, `__hw_k1`, `__hw_n`, `__hw_s1`, `__hw_c2`)
VALUES ( s.`k`, CASE WHEN s.`__hw_d_c2` > 0 THEN s.`__hw_d_s1` END, s.`grouping_id`, s.`x`, s.`__hw_d_n`, s.`__hw_d_s1`, s.`__hw_d_c2` )

-- changed: l mixed; apply: merge

-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT `k`, `x`, `grouping_id`, `__hw_d_n`, `__hw_d_s1`, `__hw_d_c2`
FROM (
  SELECT `k`, `x`, CAST(0 AS BIGINT) + GROUPING(`x`) * 1 + GROUPING(`k`) * 2 AS `grouping_id`, SUM(`__hw_w`) AS `__hw_d_n`, COALESCE(SUM(`__hw_w` * CAST(`id` AS BIGINT)), 0) AS `__hw_d_s1`, SUM(IF(NOT ( `id` ) IS NULL, `__hw_w`, CAST(0 AS BIGINT))) AS `__hw_d_c2`
  FROM (
    SELECT `id`, `k`, `x`, `__hw_w`
    FROM `__hw_src_0_delta` ) AS t1
  GROUP BY GROUPING SETS ( (`k`, `x`), (`k`), () ) ) AS t2
WHERE ( `__hw_d_n` <> 0 OR `__hw_d_s1` <> 0 OR `__hw_d_c2` <> 0 ) ) AS s
ON t.`g` IS NOT DISTINCT FROM s.`k` AND t.`__hw_k1` IS NOT DISTINCT FROM s.`x` AND t.`gid` IS NOT DISTINCT FROM s.`grouping_id` AND __HW_AMONG('__hw_stage_using', 'k', t.`g`) AND __HW_AMONG('__hw_stage_using', 'grouping_id', t.`gid`)
WHEN MATCHED AND (t.`__hw_n` + s.`__hw_d_n` = 0) THEN DELETE
WHEN MATCHED THEN UPDATE SET `v` = CASE WHEN (t.`__hw_c2` + s.`__hw_d_c2`) > 0 THEN (t.`__hw_s1` + s.`__hw_d_s1`) END, `__hw_n` = IF(t.`__hw_n` + s.`__hw_d_n` >= 1, t.`__hw_n` + s.`__hw_d_n`, CAST(RAISE_ERROR('HW4003: a group of the stream table holds fewer rows than are to be taken away') AS BIGINT)), `__hw_s1` = t.`__hw_s1` + s.`__hw_d_s1`, `__hw_c2` = t.`__hw_c2` + s.`__hw_d_c2`
WHEN NOT MATCHED THEN INSERT (`g`, `v`, `gid`, `__hw_k1`, `__hw_n`, `__hw_s1`, `__hw_c2`)
VALUES ( s.`k`, CASE WHEN s.`__hw_d_c2` > 0 THEN s.`__hw_d_s1` END, s.`grouping_id`, s.`x`, IF(s.`__hw_d_n` >= 1, s.`__hw_d_n`, CAST(RAISE_ERROR('HW4003: a group of the stream table holds fewer rows than are to be taken away') AS BIGINT)), s.`__hw_d_s1`, s.`__hw_d_c2` )

-- changed: l netted; apply: merge

-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT `k`, `x`, `grouping_id`, `__hw_d_n`, `__hw_d_s1`, `__hw_d_c2`
FROM (
  SELECT `k`, `x`, CAST(0 AS BIGINT) + GROUPING(`x`) * 1 + GROUPING(`k`) * 2 AS `grouping_id`, SUM(`__hw_w`) AS `__hw_d_n`, COALESCE(SUM(`__hw_w` * CAST(`id` AS BIGINT)), 0) AS `__hw_d_s1`, SUM(IF(NOT ( `id` ) IS NULL, `__hw_w`, CAST(0 AS BIGINT))) AS `__hw_d_c2`
  FROM (
    SELECT `id`, `k`, `x`, `__hw_w`
    FROM `__hw_src_0_delta` ) AS t1
  GROUP BY GROUPING SETS ( (`k`, `x`), (`k`), () ) ) AS t2
WHERE ( `__hw_d_n` <> 0 OR `__hw_d_s1` <> 0 OR `__hw_d_c2` <> 0 ) ) AS s
ON t.`g` IS NOT DISTINCT FROM s.`k` AND t.`__hw_k1` IS NOT DISTINCT FROM s.`x` AND t.`gid` IS NOT DISTINCT FROM s.`grouping_id` AND __HW_AMONG('__hw_stage_using', 'k', t.`g`) AND __HW_AMONG('__hw_stage_using', 'grouping_id', t.`gid`)
WHEN MATCHED AND (t.`__hw_n` + s.`__hw_d_n` = 0) THEN DELETE
WHEN MATCHED THEN UPDATE SET `v` = CASE WHEN (t.`__hw_c2` + s.`__hw_d_c2`) > 0 THEN (t.`__hw_s1` + s.`__hw_d_s1`) END, `__hw_n` = IF(t.`__hw_n` + s.`__hw_d_n` >= 1, t.`__hw_n` + s.`__hw_d_n`, CAST(RAISE_ERROR('HW4003: a group of the stream table holds fewer rows than are to be taken away') AS BIGINT)), `__hw_s1` = t.`__hw_s1` + s.`__hw_d_s1`, `__hw_c2` = t.`__hw_c2` + s.`__hw_d_c2`
WHEN NOT MATCHED THEN INSERT (`g`, `v`, `gid`, `__hw_k1`, `__hw_n`, `__hw_s1`, `__hw_c2`)
VALUES ( s.`k`, CASE WHEN s.`__hw_d_c2` > 0 THEN s.`__hw_d_s1` END, s.`grouping_id`, s.`x`, IF(s.`__hw_d_n` >= 1, s.`__hw_d_n`, CAST(RAISE_ERROR('HW4003: a group of the stream table holds fewer rows than are to be taken away') AS BIGINT)), s.`__hw_d_s1`, s.`__hw_d_c2` )

---- query
SELECT g, COUNT(*) AS n, SUM(v) AS s FROM (SELECT k AS g, SUM(id) AS v, grouping_id(k, x) AS gid FROM l GROUP BY ROLLUP (k, x)) q GROUP BY g

-- stored as state, key g
SELECT `k` AS `g`, `__hw_n` AS `n`, CASE WHEN `__hw_c2` > 0 THEN `__hw_s1` END AS `s`, `__hw_n`, `__hw_s1`, `__hw_c2`
FROM (
  SELECT `k`, COUNT(*) AS `__hw_n`, COALESCE(SUM(`v`), 0) AS `__hw_s1`, COUNT(CASE WHEN NOT ( `v` ) IS NULL THEN 1 END) AS `__hw_c2`
  FROM (
    SELECT `k`, `x`, CAST(0 AS BIGINT) + GROUPING(`x`) * 1 + GROUPING(`k`) * 2 AS `grouping_id`, SUM(`id`) AS `v`
    FROM (
      SELECT `id`, `k`, `x`
      FROM `__hw_src_0_new` ) AS t1
    GROUP BY GROUPING SETS ( (`k`, `x`), (`k`), () ) ) AS t2
  GROUP BY `k` ) AS t3

-- changed: l mixed; apply: merge

-- __hw_stage_1
SELECT DISTINCT
  `k` AS `__hw_f1`, `x` AS `__hw_f2`, `grouping_id` AS `__hw_f3`
FROM (
  SELECT `k`, `x`, CAST(0 AS BIGINT) + GROUPING(`x`) * 1 + GROUPING(`k`) * 2 AS `grouping_id`
  FROM (
    SELECT `id`, `k`, `x`, SUM(`__hw_w`) AS `__hw_w`
    FROM `__hw_src_0_delta`
    GROUP BY `id`, `k`, `x` ) AS t1
  WHERE `__hw_w` <> 0
  GROUP BY GROUPING SETS ( (`k`, `x`), (`k`), () ) ) AS t2

-- __hw_stage_2
SELECT `id`, `k`, `x`
FROM (
  SELECT `id`, `k`, `x`
  FROM `__hw_src_0_new`
  WHERE __HW_AMONG('__hw_stage_1', '__hw_f1', `k`)
    AND __HW_AMONG('__hw_stage_1', '__hw_f2', `x`) ) AS t1
LEFT SEMI JOIN (
  SELECT `__hw_f1`, `__hw_f2`
  FROM `__hw_stage_1`
  WHERE `__hw_f3` = CAST(0 AS BIGINT) ) AS t2
  ON `k` IS NOT DISTINCT FROM `__hw_f1` AND `x` IS NOT DISTINCT FROM `__hw_f2`

-- __hw_stage_3
SELECT `id`, `k`, `x`
FROM (
  SELECT `id`, `k`, `x`
  FROM `__hw_src_0_new`
  WHERE __HW_AMONG('__hw_stage_1', '__hw_f1', `k`) ) AS t1
LEFT SEMI JOIN (
  SELECT `__hw_f1`
  FROM `__hw_stage_1`
  WHERE `__hw_f3` = CAST(1 AS BIGINT) ) AS t2
  ON `k` IS NOT DISTINCT FROM `__hw_f1`

-- __hw_stage_4
SELECT `k`, `__hw_d_n`, `__hw_d_s1`, `__hw_d_c2`
FROM (
  SELECT `k`, SUM(`__hw_w`) AS `__hw_d_n`, COALESCE(SUM(`__hw_w` * CAST(`v` AS BIGINT)), 0) AS `__hw_d_s1`, SUM(IF(NOT ( `v` ) IS NULL, `__hw_w`, CAST(0 AS BIGINT))) AS `__hw_d_c2`
  FROM (
    SELECT `k`, `x`, `grouping_id`, `v`, CAST(1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT `k`, `x`, CAST(0 AS BIGINT) AS `grouping_id`, `v`
      FROM (
        SELECT `k`, `x`, SUM(`id`) AS `v`
        FROM `__hw_stage_2`
        GROUP BY `k`, `x` ) AS t1
      UNION ALL
      SELECT `k`, CAST(NULL AS INT) AS `x`, CAST(1 AS BIGINT) AS `grouping_id`, `v`
      FROM (
        SELECT `k`, SUM(`id`) AS `v`
        FROM `__hw_stage_3`
        GROUP BY `k` ) AS t2
      UNION ALL
      SELECT CAST(NULL AS INT) AS `k`, CAST(NULL AS INT) AS `x`, CAST(3 AS BIGINT) AS `grouping_id`, `v`
      FROM (
        SELECT SUM(`id`) AS `v`, COUNT(*) AS `__hw_rows`
        FROM `__hw_src_0_new` ) AS t3
      WHERE `__hw_rows` > 0 ) AS t4
    UNION ALL
    SELECT `k`, `x`, `grouping_id`, `v`, CAST(-1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT `k`, `x`, CAST(0 AS BIGINT) AS `grouping_id`, `v`
      FROM (
        SELECT `k`, `x`, SUM(`id`) AS `v`
        FROM (
          SELECT `id`, `k`, `x`, `__hw_w`
          FROM (
            SELECT `id`, `k`, `x`, SUM(`__hw_w`) AS `__hw_w`
            FROM (
              SELECT `id`, `k`, `x`, CAST(1 AS BIGINT) AS `__hw_w`
              FROM `__hw_stage_2`
              UNION ALL
              SELECT `id`, `k`, `x`, -`__hw_w` AS `__hw_w`
              FROM (
                SELECT `id`, `k`, `x`, `__hw_w`
                FROM `__hw_src_0_delta` ) AS t5
              LEFT SEMI JOIN (
                SELECT `__hw_f1`, `__hw_f2`
                FROM `__hw_stage_1`
                WHERE `__hw_f3` = CAST(0 AS BIGINT) ) AS t6
                ON `k` IS NOT DISTINCT FROM `__hw_f1` AND `x` IS NOT DISTINCT FROM `__hw_f2` ) AS t7
            GROUP BY `id`, `k`, `x` ) AS t8
          WHERE `__hw_w` <> 0 ) AS t9
        LATERAL VIEW
        EXPLODE(ARRAY_REPEAT(0, CAST(`__hw_w` AS INT))) g10 AS `__hw_f4`
        GROUP BY `k`, `x` ) AS t11
      UNION ALL
      SELECT `k`, CAST(NULL AS INT) AS `x`, CAST(1 AS BIGINT) AS `grouping_id`, `v`
      FROM (
        SELECT `k`, SUM(`id`) AS `v`
        FROM (
          SELECT `id`, `k`, `x`, `__hw_w`
          FROM (
            SELECT `id`, `k`, `x`, SUM(`__hw_w`) AS `__hw_w`
            FROM (
              SELECT `id`, `k`, `x`, CAST(1 AS BIGINT) AS `__hw_w`
              FROM `__hw_stage_3`
              UNION ALL
              SELECT `id`, `k`, `x`, -`__hw_w` AS `__hw_w`
              FROM (
                SELECT `id`, `k`, `x`, `__hw_w`
                FROM `__hw_src_0_delta` ) AS t12
              LEFT SEMI JOIN (
                SELECT `__hw_f1`
                FROM `__hw_stage_1`
                WHERE `__hw_f3` = CAST(1 AS BIGINT) ) AS t13
                ON `k` IS NOT DISTINCT FROM `__hw_f1` ) AS t14
            GROUP BY `id`, `k`, `x` ) AS t15
          WHERE `__hw_w` <> 0 ) AS t16
        LATERAL VIEW
        EXPLODE(ARRAY_REPEAT(0, CAST(`__hw_w` AS INT))) g17 AS `__hw_f5`
        GROUP BY `k` ) AS t18
      UNION ALL
      SELECT CAST(NULL AS INT) AS `k`, CAST(NULL AS INT) AS `x`, CAST(3 AS BIGINT) AS `grouping_id`, `v`
      FROM (
        SELECT SUM(`id`) AS `v`, COUNT(*) AS `__hw_rows`
        FROM `__hw_src_0_old` ) AS t19
      WHERE `__hw_rows` > 0 ) AS t20 ) AS t21
  GROUP BY `k` ) AS t22
WHERE ( `__hw_d_n` <> 0 OR `__hw_d_s1` <> 0 OR `__hw_d_c2` <> 0 )

-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT `k`, `__hw_d_n`, `__hw_d_s1`, `__hw_d_c2`
FROM `__hw_stage_4` ) AS s
ON t.`g` IS NOT DISTINCT FROM s.`k` AND __HW_AMONG('__hw_stage_4', 'k', t.`g`)
WHEN MATCHED AND (t.`__hw_n` + s.`__hw_d_n` = 0) THEN DELETE
WHEN MATCHED THEN UPDATE SET `n` = t.`__hw_n` + s.`__hw_d_n`, `s` = CASE WHEN (t.`__hw_c2` + s.`__hw_d_c2`) > 0 THEN (t.`__hw_s1` + s.`__hw_d_s1`) END, `__hw_n` = IF(t.`__hw_n` + s.`__hw_d_n` >= 1, t.`__hw_n` + s.`__hw_d_n`, CAST(RAISE_ERROR('HW4003: a group of the stream table holds fewer rows than are to be taken away') AS BIGINT)), `__hw_s1` = t.`__hw_s1` + s.`__hw_d_s1`, `__hw_c2` = t.`__hw_c2` + s.`__hw_d_c2`
WHEN NOT MATCHED THEN INSERT (`g`, `n`, `s`, `__hw_n`, `__hw_s1`, `__hw_c2`)
VALUES ( s.`k`, s.`__hw_d_n`, CASE WHEN s.`__hw_d_c2` > 0 THEN s.`__hw_d_s1` END, IF(s.`__hw_d_n` >= 1, s.`__hw_d_n`, CAST(RAISE_ERROR('HW4003: a group of the stream table holds fewer rows than are to be taken away') AS BIGINT)), s.`__hw_d_s1`, s.`__hw_d_c2` )

---- query
SELECT g, COUNT(DISTINCT v) AS n FROM (SELECT k AS g, SUM(id) AS v, grouping_id(k, x) AS gid FROM l GROUP BY ROLLUP (k, x)) q GROUP BY g

-- stored as keyed, key g
SELECT `k` AS `g`, `n`
FROM (
  SELECT `k`, COUNT(DISTINCT `v`) AS `n`
  FROM (
    SELECT `k`, `x`, CAST(0 AS BIGINT) + GROUPING(`x`) * 1 + GROUPING(`k`) * 2 AS `grouping_id`, SUM(`id`) AS `v`
    FROM (
      SELECT `id`, `k`, `x`
      FROM `__hw_src_0_new` ) AS t1
    GROUP BY GROUPING SETS ( (`k`, `x`), (`k`), () ) ) AS t2
  GROUP BY `k` ) AS t3

-- changed: l mixed; apply: replace_keys

-- __hw_stage_1
SELECT DISTINCT
  `k` AS `__hw_f1`
FROM (
  SELECT `k`, `x`, CAST(0 AS BIGINT) + GROUPING(`x`) * 1 + GROUPING(`k`) * 2 AS `grouping_id`
  FROM (
    SELECT `id`, `k`, `x`, SUM(`__hw_w`) AS `__hw_w`
    FROM `__hw_src_0_delta`
    GROUP BY `id`, `k`, `x` ) AS t1
  WHERE `__hw_w` <> 0
  GROUP BY GROUPING SETS ( (`k`, `x`), (`k`), () ) ) AS t2

-- __hw_stage_2
SELECT `__hw_f1`, `g`, `n`, `__hw_here`
FROM (
  SELECT `__hw_f1`
  FROM `__hw_stage_1` ) AS t1
LEFT JOIN (
  SELECT `k` AS `g`, `n`, TRUE AS `__hw_here`
  FROM (
    SELECT `k`, COUNT(DISTINCT `v`) AS `n`
    FROM (
      SELECT `k`, `x`, CAST(0 AS BIGINT) + GROUPING(`x`) * 1 + GROUPING(`k`) * 2 AS `grouping_id`, SUM(`id`) AS `v`
      FROM (
        SELECT `id`, `k`, `x`
        FROM `__hw_src_0_new` ) AS t2
      GROUP BY GROUPING SETS ( (`k`, `x`), (`k`), () ) ) AS t3
    LEFT SEMI JOIN (
      SELECT `__hw_f1`
      FROM `__hw_stage_1` ) AS t4
      ON `k` IS NOT DISTINCT FROM `__hw_f1`
    GROUP BY `k` ) AS t5 ) AS t6
  ON `g` IS NOT DISTINCT FROM `__hw_f1`

-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT `__hw_f1`, `g`, `n`, `__hw_here`
FROM `__hw_stage_2` ) AS s
ON t.`g` IS NOT DISTINCT FROM s.`__hw_f1` AND __HW_AMONG('__hw_stage_2', '__hw_f1', t.`g`)
WHEN MATCHED AND (s.`__hw_here` IS NULL) THEN DELETE
WHEN MATCHED AND (NOT t.`n` IS NOT DISTINCT FROM s.`n`) THEN UPDATE SET `n` = s.`n`
WHEN NOT MATCHED AND (s.`__hw_here`) THEN INSERT (`g`, `n`)
VALUES ( s.`g`, s.`n` )

---- query
SELECT g, v, COUNT(*) OVER (PARTITION BY g) AS n FROM (SELECT k AS g, SUM(id) AS v, grouping_id(k, x) AS gid FROM l GROUP BY ROLLUP (k, x)) q

-- stored as replace, key __hw_id
SELECT `k` AS `g`, `v`, `n`, CONCAT('__hw_run', ':', MONOTONICALLY_INCREASING_ID()) AS `__hw_id`
FROM (
  SELECT `k`, `v`, COUNT(*) OVER (PARTITION BY `k`) AS `n`
  FROM (
    SELECT `k`, `x`, CAST(0 AS BIGINT) + GROUPING(`x`) * 1 + GROUPING(`k`) * 2 AS `grouping_id`, SUM(`id`) AS `v`
    FROM (
      SELECT `id`, `k`, `x`
      FROM `__hw_src_0_new` ) AS t1
    GROUP BY GROUPING SETS ( (`k`, `x`), (`k`), () ) ) AS t2 ) AS t3

-- changed: l mixed; apply: replace_keys

-- __hw_stage_1
SELECT DISTINCT
  `k` AS `__hw_f1`
FROM (
  SELECT `k`, `x`, CAST(0 AS BIGINT) + GROUPING(`x`) * 1 + GROUPING(`k`) * 2 AS `grouping_id`
  FROM (
    SELECT `id`, `k`, `x`, SUM(`__hw_w`) AS `__hw_w`
    FROM `__hw_src_0_delta`
    GROUP BY `id`, `k`, `x` ) AS t1
  WHERE `__hw_w` <> 0
  GROUP BY GROUPING SETS ( (`k`, `x`), (`k`), () ) ) AS t2

-- __hw_stage_2
SELECT `g`, `v`, `n`, `__hw_w`
FROM (
  SELECT `g`, `v`, `n`, SUM(`__hw_w`) AS `__hw_w`
  FROM (
    SELECT `k` AS `g`, `v`, `n`, CAST(1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT `k`, `v`, COUNT(*) OVER (PARTITION BY `k`) AS `n`
      FROM (
        SELECT `k`, `x`, CAST(0 AS BIGINT) + GROUPING(`x`) * 1 + GROUPING(`k`) * 2 AS `grouping_id`, SUM(`id`) AS `v`
        FROM (
          SELECT `id`, `k`, `x`
          FROM `__hw_src_0_new` ) AS t1
        GROUP BY GROUPING SETS ( (`k`, `x`), (`k`), () ) ) AS t2
      LEFT SEMI JOIN (
        SELECT `__hw_f1`
        FROM `__hw_stage_1` ) AS t3
        ON `k` IS NOT DISTINCT FROM `__hw_f1` ) AS t4
    UNION ALL
    SELECT `g`, `v`, `n`, CAST(-1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT `g`, `v`, `n`
      FROM `__hw_target`
      WHERE __HW_AMONG('__hw_stage_1', '__hw_f1', `g`) ) AS t5
    LEFT SEMI JOIN (
      SELECT `__hw_f1`
      FROM `__hw_stage_1` ) AS t6
      ON `g` IS NOT DISTINCT FROM `__hw_f1` ) AS t7
  GROUP BY `g`, `v`, `n` ) AS t8
WHERE `__hw_w` <> 0

-- __hw_stage_3
SELECT IF( `__hw_copies` >= -`__hw_w`, `__hw_stored_id`, CAST(RAISE_ERROR('HW4003: the stream table lacks a row that is to be deleted') AS STRING) ) AS `__hw_id`, CAST(NULL AS INT) AS `g`, CAST(NULL AS BIGINT) AS `v`, CAST(NULL AS BIGINT) AS `n`
FROM (
  SELECT `g`, `v`, `n`, `__hw_w`, `__hw_t1`, `__hw_t2`, `__hw_t3`, `__hw_stored_id`, ROW_NUMBER() OVER (PARTITION BY `g`, `v`, `n` ORDER BY `__hw_stored_id` NULLS LAST) AS `__hw_rank`, COUNT(`__hw_stored_id`) OVER (PARTITION BY `g`, `v`, `n`) AS `__hw_copies`
  FROM (
    SELECT `g`, `v`, `n`, `__hw_w`
    FROM `__hw_stage_2`
    WHERE `__hw_w` < 0 ) AS t1
  LEFT JOIN (
    SELECT `g` AS `__hw_t1`, `v` AS `__hw_t2`, `n` AS `__hw_t3`, `__hw_id` AS `__hw_stored_id`
    FROM `__hw_target`
    WHERE __HW_AMONG('__hw_stage_2', 'g', `g`)
      AND __HW_AMONG('__hw_stage_2', 'v', `v`)
      AND __HW_AMONG('__hw_stage_2', 'n', `n`) ) AS t2
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
        FROM `__hw_stage_2`
        WHERE `__hw_w` > 0 ) AS t4
      LATERAL VIEW
      EXPLODE(ARRAY_REPEAT(0, CAST(`__hw_w` AS INT))) g5 AS `__hw_copy` ) AS t6 ) AS t7 ) AS t8

-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT `__hw_id`, `g`, `v`, `n`
FROM `__hw_stage_3` ) AS s
ON t.`__hw_id` IS NOT DISTINCT FROM s.`__hw_id` AND __HW_AMONG('__hw_stage_3', '__hw_id', t.`__hw_id`)
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED THEN INSERT (`g`, `v`, `n`, `__hw_id`)
VALUES ( s.`g`, s.`v`, s.`n`, s.`__hw_id` )
