---- query
SELECT k AS g, SUM(x) AS v, MIN(x) AS lo FROM l GROUP BY k

-- stored as state, key g
SELECT `k` AS `g`, CASE WHEN `__hw_c2` > 0 THEN `__hw_s1` END AS `v`, `__hw_m3` AS `lo`, `__hw_n`, `__hw_s1`, `__hw_c2`
FROM (
  SELECT `k`, COUNT(*) AS `__hw_n`, COALESCE(SUM(`x`), 0) AS `__hw_s1`, COUNT(CASE WHEN NOT ( `x` ) IS NULL THEN 1 END) AS `__hw_c2`, MIN(`x`) AS `__hw_m3`
  FROM `__hw_src_0_new`
  GROUP BY `k` ) AS t1

-- changed: l append; apply: merge

-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT `k`, SUM(`__hw_w`) AS `__hw_d_n`, COALESCE(SUM(`__hw_w` * CAST(`x` AS BIGINT)), 0) AS `__hw_d_s1`, SUM(IF(NOT ( `x` ) IS NULL, `__hw_w`, CAST(0 AS BIGINT))) AS `__hw_d_c2`, MIN(`x`) AS `__hw_d_m3`
FROM `__hw_src_0_delta`
GROUP BY `k` ) AS s
ON t.`g` IS NOT DISTINCT FROM s.`k` AND __HW_AMONG('__hw_stage_using', 'k', t.`g`)
WHEN MATCHED THEN UPDATE SET `v` = CASE WHEN (t.`__hw_c2` + s.`__hw_d_c2`) > 0 THEN (t.`__hw_s1` + s.`__hw_d_s1`) END, `lo` = LEAST(t.`lo`, s.`__hw_d_m3`), `__hw_n` = t.`__hw_n` + s.`__hw_d_n`, `__hw_s1` = t.`__hw_s1` + s.`__hw_d_s1`, `__hw_c2` = t.`__hw_c2` + s.`__hw_d_c2`
WHEN NOT MATCHED THEN INSERT (`g`, `v`, `lo`, `__hw_n`, `__hw_s1`, `__hw_c2`)
VALUES ( s.`k`, CASE WHEN s.`__hw_d_c2` > 0 THEN s.`__hw_d_s1` END, s.`__hw_d_m3`, s.`__hw_d_n`, s.`__hw_d_s1`, s.`__hw_d_c2` )

-- changed: l mixed; apply: replace_keys

-- __hw_stage_1
SELECT DISTINCT
  `k` AS `__hw_f1`
FROM (
  SELECT `k`, `x`, SUM(`__hw_w`) AS `__hw_w`
  FROM `__hw_src_0_delta`
  GROUP BY `k`, `x` ) AS t1
WHERE `__hw_w` <> 0

-- __hw_stage_2
SELECT `__hw_f1`, `g`, `v`, `lo`, `__hw_n`, `__hw_s1`, `__hw_c2`, `__hw_here`
FROM (
  SELECT `__hw_f1`
  FROM `__hw_stage_1` ) AS t1
LEFT JOIN (
  SELECT `g`, `v`, `lo`, `__hw_n`, `__hw_s1`, `__hw_c2`, TRUE AS `__hw_here`
  FROM (
    SELECT `k` AS `g`, CASE WHEN `__hw_c2` > 0 THEN `__hw_s1` END AS `v`, `__hw_m3` AS `lo`, `__hw_n`, `__hw_s1`, `__hw_c2`
    FROM (
      SELECT `k`, COUNT(*) AS `__hw_n`, COALESCE(SUM(`x`), 0) AS `__hw_s1`, COUNT(CASE WHEN NOT ( `x` ) IS NULL THEN 1 END) AS `__hw_c2`, MIN(`x`) AS `__hw_m3`
      FROM (
        SELECT `k`, `x`
        FROM `__hw_src_0_new`
        WHERE __HW_AMONG('__hw_stage_1', '__hw_f1', `k`) ) AS t2
      LEFT SEMI JOIN (
        SELECT `__hw_f1`
        FROM `__hw_stage_1` ) AS t3
        ON `k` IS NOT DISTINCT FROM `__hw_f1`
      GROUP BY `k` ) AS t4 ) AS t5 ) AS t6
  ON `g` IS NOT DISTINCT FROM `__hw_f1`

-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT `__hw_f1`, `g`, `v`, `lo`, `__hw_n`, `__hw_s1`, `__hw_c2`, `__hw_here`
FROM `__hw_stage_2` ) AS s
ON t.`g` IS NOT DISTINCT FROM s.`__hw_f1` AND __HW_AMONG('__hw_stage_2', '__hw_f1', t.`g`)
WHEN MATCHED AND (s.`__hw_here` IS NULL) THEN DELETE
WHEN MATCHED AND (NOT t.`v` IS NOT DISTINCT FROM s.`v` OR NOT t.`lo` IS NOT DISTINCT FROM s.`lo` OR NOT t.`__hw_n` IS NOT DISTINCT FROM s.`__hw_n` OR NOT t.`__hw_s1` IS NOT DISTINCT FROM s.`__hw_s1` OR NOT t.`__hw_c2` IS NOT DISTINCT FROM s.`__hw_c2`) THEN UPDATE SET `v` = s.`v`, `lo` = s.`lo`, `__hw_n` = s.`__hw_n`, `__hw_s1` = s.`__hw_s1`, `__hw_c2` = s.`__hw_c2`
WHEN NOT MATCHED AND (s.`__hw_here`) THEN INSERT (`g`, `v`, `lo`, `__hw_n`, `__hw_s1`, `__hw_c2`)
VALUES ( s.`g`, s.`v`, s.`lo`, s.`__hw_n`, s.`__hw_s1`, s.`__hw_c2` )

-- changed: l netted; apply: replace_keys

-- __hw_stage_1
SELECT DISTINCT
  `k` AS `__hw_f1`
FROM `__hw_src_0_delta`

-- __hw_stage_2
SELECT `__hw_f1`, `g`, `v`, `lo`, `__hw_n`, `__hw_s1`, `__hw_c2`, `__hw_here`
FROM (
  SELECT `__hw_f1`
  FROM `__hw_stage_1` ) AS t1
LEFT JOIN (
  SELECT `g`, `v`, `lo`, `__hw_n`, `__hw_s1`, `__hw_c2`, TRUE AS `__hw_here`
  FROM (
    SELECT `k` AS `g`, CASE WHEN `__hw_c2` > 0 THEN `__hw_s1` END AS `v`, `__hw_m3` AS `lo`, `__hw_n`, `__hw_s1`, `__hw_c2`
    FROM (
      SELECT `k`, COUNT(*) AS `__hw_n`, COALESCE(SUM(`x`), 0) AS `__hw_s1`, COUNT(CASE WHEN NOT ( `x` ) IS NULL THEN 1 END) AS `__hw_c2`, MIN(`x`) AS `__hw_m3`
      FROM (
        SELECT `k`, `x`
        FROM `__hw_src_0_new`
        WHERE __HW_AMONG('__hw_stage_1', '__hw_f1', `k`) ) AS t2
      LEFT SEMI JOIN (
        SELECT `__hw_f1`
        FROM `__hw_stage_1` ) AS t3
        ON `k` IS NOT DISTINCT FROM `__hw_f1`
      GROUP BY `k` ) AS t4 ) AS t5 ) AS t6
  ON `g` IS NOT DISTINCT FROM `__hw_f1`

-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT `__hw_f1`, `g`, `v`, `lo`, `__hw_n`, `__hw_s1`, `__hw_c2`, `__hw_here`
FROM `__hw_stage_2` ) AS s
ON t.`g` IS NOT DISTINCT FROM s.`__hw_f1` AND __HW_AMONG('__hw_stage_2', '__hw_f1', t.`g`)
WHEN MATCHED AND (s.`__hw_here` IS NULL) THEN DELETE
WHEN MATCHED AND (NOT t.`v` IS NOT DISTINCT FROM s.`v` OR NOT t.`lo` IS NOT DISTINCT FROM s.`lo` OR NOT t.`__hw_n` IS NOT DISTINCT FROM s.`__hw_n` OR NOT t.`__hw_s1` IS NOT DISTINCT FROM s.`__hw_s1` OR NOT t.`__hw_c2` IS NOT DISTINCT FROM s.`__hw_c2`) THEN UPDATE SET `v` = s.`v`, `lo` = s.`lo`, `__hw_n` = s.`__hw_n`, `__hw_s1` = s.`__hw_s1`, `__hw_c2` = s.`__hw_c2`
WHEN NOT MATCHED AND (s.`__hw_here`) THEN INSERT (`g`, `v`, `lo`, `__hw_n`, `__hw_s1`, `__hw_c2`)
VALUES ( s.`g`, s.`v`, s.`lo`, s.`__hw_n`, s.`__hw_s1`, s.`__hw_c2` )

---- query
SELECT g, COUNT(*) AS n, SUM(v) AS s FROM (SELECT k AS g, SUM(x) AS v, MIN(x) AS lo FROM l GROUP BY k) q GROUP BY g

-- stored as state, key g
SELECT `k` AS `g`, `__hw_n` AS `n`, CASE WHEN `__hw_c2` > 0 THEN `__hw_s1` END AS `s`, `__hw_n`, `__hw_s1`, `__hw_c2`
FROM (
  SELECT `k`, COUNT(*) AS `__hw_n`, COALESCE(SUM(`v`), 0) AS `__hw_s1`, COUNT(CASE WHEN NOT ( `v` ) IS NULL THEN 1 END) AS `__hw_c2`
  FROM (
    SELECT `k`, SUM(`x`) AS `v`
    FROM `__hw_src_0_new`
    GROUP BY `k` ) AS t1
  GROUP BY `k` ) AS t2

-- changed: l mixed; apply: merge

-- __hw_stage_1
SELECT DISTINCT
  `k` AS `__hw_f1`
FROM (
  SELECT `k`, `x`, SUM(`__hw_w`) AS `__hw_w`
  FROM `__hw_src_0_delta`
  GROUP BY `k`, `x` ) AS t1
WHERE `__hw_w` <> 0

-- __hw_stage_2
SELECT `k`, `x`
FROM (
  SELECT `k`, `x`
  FROM `__hw_src_0_new`
  WHERE __HW_AMONG('__hw_stage_1', '__hw_f1', `k`) ) AS t1
LEFT SEMI JOIN (
  SELECT `__hw_f1`
  FROM `__hw_stage_1` ) AS t2
  ON `k` IS NOT DISTINCT FROM `__hw_f1`

-- __hw_stage_3
SELECT `k`, `__hw_d_n`, `__hw_d_s1`, `__hw_d_c2`
FROM (
  SELECT `k`, SUM(`__hw_w`) AS `__hw_d_n`, COALESCE(SUM(`__hw_w` * CAST(`v` AS BIGINT)), 0) AS `__hw_d_s1`, SUM(IF(NOT ( `v` ) IS NULL, `__hw_w`, CAST(0 AS BIGINT))) AS `__hw_d_c2`
  FROM (
    SELECT `k`, `v`, CAST(1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT `k`, SUM(`x`) AS `v`
      FROM `__hw_stage_2`
      GROUP BY `k` ) AS t1
    UNION ALL
    SELECT `k`, `v`, CAST(-1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT `k`, SUM(`x`) AS `v`
      FROM (
        SELECT `k`, `x`, `__hw_w`
        FROM (
          SELECT `k`, `x`, SUM(`__hw_w`) AS `__hw_w`
          FROM (
            SELECT `k`, `x`, CAST(1 AS BIGINT) AS `__hw_w`
            FROM `__hw_stage_2`
            UNION ALL
            SELECT `k`, `x`, -`__hw_w` AS `__hw_w`
            FROM (
              SELECT `k`, `x`, `__hw_w`
              FROM `__hw_src_0_delta` ) AS t2
            LEFT SEMI JOIN (
              SELECT `__hw_f1`
              FROM `__hw_stage_1` ) AS t3
              ON `k` IS NOT DISTINCT FROM `__hw_f1` ) AS t4
          GROUP BY `k`, `x` ) AS t5
        WHERE `__hw_w` <> 0 ) AS t6
      LATERAL VIEW
      EXPLODE(ARRAY_REPEAT(0, CAST(`__hw_w` AS INT))) g7 AS `__hw_f2`
      GROUP BY `k` ) AS t8 ) AS t9
  GROUP BY `k` ) AS t10
WHERE ( `__hw_d_n` <> 0 OR `__hw_d_s1` <> 0 OR `__hw_d_c2` <> 0 )

-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT `k`, `__hw_d_n`, `__hw_d_s1`, `__hw_d_c2`
FROM `__hw_stage_3` ) AS s
ON t.`g` IS NOT DISTINCT FROM s.`k` AND __HW_AMONG('__hw_stage_3', 'k', t.`g`)
WHEN MATCHED AND (t.`__hw_n` + s.`__hw_d_n` = 0) THEN DELETE
WHEN MATCHED THEN UPDATE SET `n` = t.`__hw_n` + s.`__hw_d_n`, `s` = CASE WHEN (t.`__hw_c2` + s.`__hw_d_c2`) > 0 THEN (t.`__hw_s1` + s.`__hw_d_s1`) END, `__hw_n` = IF(t.`__hw_n` + s.`__hw_d_n` >= 1, t.`__hw_n` + s.`__hw_d_n`, CAST(RAISE_ERROR('HW4003: a group of the stream table holds fewer rows than are to be taken away') AS BIGINT)), `__hw_s1` = t.`__hw_s1` + s.`__hw_d_s1`, `__hw_c2` = t.`__hw_c2` + s.`__hw_d_c2`
WHEN NOT MATCHED THEN INSERT (`g`, `n`, `s`, `__hw_n`, `__hw_s1`, `__hw_c2`)
VALUES ( s.`k`, s.`__hw_d_n`, CASE WHEN s.`__hw_d_c2` > 0 THEN s.`__hw_d_s1` END, IF(s.`__hw_d_n` >= 1, s.`__hw_d_n`, CAST(RAISE_ERROR('HW4003: a group of the stream table holds fewer rows than are to be taken away') AS BIGINT)), s.`__hw_d_s1`, s.`__hw_d_c2` )

---- query
SELECT g, COUNT(DISTINCT v) AS n FROM (SELECT k AS g, SUM(x) AS v, MIN(x) AS lo FROM l GROUP BY k) q GROUP BY g

-- stored as keyed, key g
SELECT `k` AS `g`, `n`
FROM (
  SELECT `k`, COUNT(DISTINCT `v`) AS `n`
  FROM (
    SELECT `k`, SUM(`x`) AS `v`
    FROM `__hw_src_0_new`
    GROUP BY `k` ) AS t1
  GROUP BY `k` ) AS t2

-- changed: l mixed; apply: replace_keys

-- __hw_stage_1
SELECT DISTINCT
  `k` AS `__hw_f1`
FROM (
  SELECT `k`, `x`, SUM(`__hw_w`) AS `__hw_w`
  FROM `__hw_src_0_delta`
  GROUP BY `k`, `x` ) AS t1
WHERE `__hw_w` <> 0

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
      SELECT `k`, SUM(`x`) AS `v`
      FROM (
        SELECT `k`, `x`
        FROM `__hw_src_0_new`
        WHERE __HW_AMONG('__hw_stage_1', '__hw_f1', `k`) ) AS t2
      LEFT SEMI JOIN (
        SELECT `__hw_f1`
        FROM `__hw_stage_1` ) AS t3
        ON `k` IS NOT DISTINCT FROM `__hw_f1`
      GROUP BY `k` ) AS t4
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
SELECT g, v, COUNT(*) OVER (PARTITION BY g) AS n FROM (SELECT k AS g, SUM(x) AS v, MIN(x) AS lo FROM l GROUP BY k) q

-- stored as replace, key __hw_id
SELECT `k` AS `g`, `v`, `n`, CONCAT('__hw_run', ':', MONOTONICALLY_INCREASING_ID()) AS `__hw_id`
FROM (
  SELECT `k`, `v`, COUNT(*) OVER (PARTITION BY `k`) AS `n`
  FROM (
    SELECT `k`, SUM(`x`) AS `v`
    FROM `__hw_src_0_new`
    GROUP BY `k` ) AS t1 ) AS t2

-- changed: l mixed; apply: replace_keys

-- __hw_stage_1
SELECT DISTINCT
  `k` AS `__hw_f1`
FROM (
  SELECT `k`, `x`, SUM(`__hw_w`) AS `__hw_w`
  FROM `__hw_src_0_delta`
  GROUP BY `k`, `x` ) AS t1
WHERE `__hw_w` <> 0

-- __hw_stage_2
SELECT `k`, `x`
FROM (
  SELECT `k`, `x`
  FROM `__hw_src_0_new`
  WHERE __HW_AMONG('__hw_stage_1', '__hw_f1', `k`) ) AS t1
LEFT SEMI JOIN (
  SELECT `__hw_f1`
  FROM `__hw_stage_1` ) AS t2
  ON `k` IS NOT DISTINCT FROM `__hw_f1`

-- __hw_stage_3
SELECT `g`, `v`, `n`, `__hw_w`
FROM (
  SELECT `g`, `v`, `n`, SUM(`__hw_w`) AS `__hw_w`
  FROM (
    SELECT `k` AS `g`, `v`, `n`, CAST(1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT `k`, `v`, COUNT(*) OVER (PARTITION BY `k`) AS `n`
      FROM (
        SELECT `k`, SUM(`x`) AS `v`
        FROM `__hw_stage_2`
        GROUP BY `k` ) AS t1 ) AS t2
    UNION ALL
    SELECT `g`, `v`, `n`, CAST(-1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT `g`, `v`, `n`
      FROM `__hw_target`
      WHERE __HW_AMONG('__hw_stage_1', '__hw_f1', `g`) ) AS t3
    LEFT SEMI JOIN (
      SELECT `__hw_f1`
      FROM `__hw_stage_1` ) AS t4
      ON `g` IS NOT DISTINCT FROM `__hw_f1` ) AS t5
  GROUP BY `g`, `v`, `n` ) AS t6
WHERE `__hw_w` <> 0

-- __hw_stage_4
SELECT IF( `__hw_copies` >= -`__hw_w`, `__hw_stored_id`, CAST(RAISE_ERROR('HW4003: the stream table lacks a row that is to be deleted') AS STRING) ) AS `__hw_id`, CAST(NULL AS INT) AS `g`, CAST(NULL AS BIGINT) AS `v`, CAST(NULL AS BIGINT) AS `n`
FROM (
  SELECT `g`, `v`, `n`, `__hw_w`, `__hw_t1`, `__hw_t2`, `__hw_t3`, `__hw_stored_id`, ROW_NUMBER() OVER (PARTITION BY `g`, `v`, `n` ORDER BY `__hw_stored_id` NULLS LAST) AS `__hw_rank`, COUNT(`__hw_stored_id`) OVER (PARTITION BY `g`, `v`, `n`) AS `__hw_copies`
  FROM (
    SELECT `g`, `v`, `n`, `__hw_w`
    FROM `__hw_stage_3`
    WHERE `__hw_w` < 0 ) AS t1
  LEFT JOIN (
    SELECT `g` AS `__hw_t1`, `v` AS `__hw_t2`, `n` AS `__hw_t3`, `__hw_id` AS `__hw_stored_id`
    FROM `__hw_target`
    WHERE __HW_AMONG('__hw_stage_3', 'g', `g`)
      AND __HW_AMONG('__hw_stage_3', 'v', `v`)
      AND __HW_AMONG('__hw_stage_3', 'n', `n`) ) AS t2
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
        FROM `__hw_stage_3`
        WHERE `__hw_w` > 0 ) AS t4
      LATERAL VIEW
      EXPLODE(ARRAY_REPEAT(0, CAST(`__hw_w` AS INT))) g5 AS `__hw_copy` ) AS t6 ) AS t7 ) AS t8

-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT `__hw_id`, `g`, `v`, `n`
FROM `__hw_stage_4` ) AS s
ON t.`__hw_id` IS NOT DISTINCT FROM s.`__hw_id` AND __HW_AMONG('__hw_stage_4', '__hw_id', t.`__hw_id`)
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED THEN INSERT (`g`, `v`, `n`, `__hw_id`)
VALUES ( s.`g`, s.`v`, s.`n`, s.`__hw_id` )
