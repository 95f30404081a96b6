---- query
SELECT COUNT(*) AS g, SUM(x) AS v FROM l

-- stored as state
SELECT `__hw_n` AS `g`, CASE WHEN `__hw_c2` > 0 THEN `__hw_s1` END AS `v`, `__hw_n`, `__hw_s1`, `__hw_c2`
FROM (
  SELECT COUNT(*) AS `__hw_n`, COALESCE(SUM(`x`), 0) AS `__hw_s1`, COUNT(CASE WHEN NOT ( `x` ) IS NULL THEN 1 END) AS `__hw_c2`
  FROM `__hw_src_0_new` ) AS t1

-- changed: l append; apply: merge

-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT `__hw_d_n`, `__hw_d_s1`, `__hw_d_c2`
FROM (
  SELECT SUM(`__hw_w`) AS `__hw_d_n`, COALESCE(SUM(`__hw_w` * CAST(`x` AS BIGINT)), 0) AS `__hw_d_s1`, SUM(IF(NOT ( `x` ) IS NULL, `__hw_w`, CAST(0 AS BIGINT))) AS `__hw_d_c2`
  FROM `__hw_src_0_delta` ) AS t1
WHERE ( `__hw_d_n` <> 0 OR `__hw_d_s1` <> 0 OR `__hw_d_c2` <> 0 ) ) AS s
ON TRUE
WHEN MATCHED THEN UPDATE SET `g` = t.`__hw_n` + s.`__hw_d_n`, `v` = CASE WHEN (t.`__hw_c2` + s.`__hw_d_c2`) > 0 THEN (t.`__hw_s1` + s.`__hw_d_s1`) END, `__hw_n` = t.`__hw_n` + s.`__hw_d_n`, `__hw_s1` = t.`__hw_s1` + s.`__hw_d_s1`, `__hw_c2` = t.`__hw_c2` + s.`__hw_d_c2`
WHEN NOT MATCHED THEN INSERT (`g`, `v`, `__hw_n`, `__hw_s1`, `__hw_c2`)
VALUES ( s.`__hw_d_n`, CASE WHEN s.`__hw_d_c2` > 0 THEN s.`__hw_d_s1` END, CAST(RAISE_ERROR('HW4003: a group of the stream table holds fewer rows than are to be taken away') AS BIGINT), s.`__hw_d_s1`, s.`__hw_d_c2` )

-- changed: l mixed; apply: merge

-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT `__hw_d_n`, `__hw_d_s1`, `__hw_d_c2`
FROM (
  SELECT SUM(`__hw_w`) AS `__hw_d_n`, COALESCE(SUM(`__hw_w` * CAST(`x` AS BIGINT)), 0) AS `__hw_d_s1`, SUM(IF(NOT ( `x` ) IS NULL, `__hw_w`, CAST(0 AS BIGINT))) AS `__hw_d_c2`
  FROM `__hw_src_0_delta` ) AS t1
WHERE ( `__hw_d_n` <> 0 OR `__hw_d_s1` <> 0 OR `__hw_d_c2` <> 0 ) ) AS s
ON TRUE
WHEN MATCHED THEN UPDATE SET `g` = t.`__hw_n` + s.`__hw_d_n`, `v` = CASE WHEN (t.`__hw_c2` + s.`__hw_d_c2`) > 0 THEN (t.`__hw_s1` + s.`__hw_d_s1`) END, `__hw_n` = IF(t.`__hw_n` + s.`__hw_d_n` >= 0, t.`__hw_n` + s.`__hw_d_n`, CAST(RAISE_ERROR('HW4003: a group of the stream table holds fewer rows than are to be taken away') AS BIGINT)), `__hw_s1` = t.`__hw_s1` + s.`__hw_d_s1`, `__hw_c2` = t.`__hw_c2` + s.`__hw_d_c2`
WHEN NOT MATCHED THEN INSERT (`g`, `v`, `__hw_n`, `__hw_s1`, `__hw_c2`)
VALUES ( s.`__hw_d_n`, CASE WHEN s.`__hw_d_c2` > 0 THEN s.`__hw_d_s1` END, CAST(RAISE_ERROR('HW4003: a group of the stream table holds fewer rows than are to be taken away') AS BIGINT), s.`__hw_d_s1`, s.`__hw_d_c2` )

-- changed: l netted; apply: merge

-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT `__hw_d_n`, `__hw_d_s1`, `__hw_d_c2`
FROM (
  SELECT SUM(`__hw_w`) AS `__hw_d_n`, COALESCE(SUM(`__hw_w` * CAST(`x` AS BIGINT)), 0) AS `__hw_d_s1`, SUM(IF(NOT ( `x` ) IS NULL, `__hw_w`, CAST(0 AS BIGINT))) AS `__hw_d_c2`
  FROM `__hw_src_0_delta` ) AS t1
WHERE ( `__hw_d_n` <> 0 OR `__hw_d_s1` <> 0 OR `__hw_d_c2` <> 0 ) ) AS s
ON TRUE
WHEN MATCHED THEN UPDATE SET `g` = t.`__hw_n` + s.`__hw_d_n`, `v` = CASE WHEN (t.`__hw_c2` + s.`__hw_d_c2`) > 0 THEN (t.`__hw_s1` + s.`__hw_d_s1`) END, `__hw_n` = IF(t.`__hw_n` + s.`__hw_d_n` >= 0, t.`__hw_n` + s.`__hw_d_n`, CAST(RAISE_ERROR('HW4003: a group of the stream table holds fewer rows than are to be taken away') AS BIGINT)), `__hw_s1` = t.`__hw_s1` + s.`__hw_d_s1`, `__hw_c2` = t.`__hw_c2` + s.`__hw_d_c2`
WHEN NOT MATCHED THEN INSERT (`g`, `v`, `__hw_n`, `__hw_s1`, `__hw_c2`)
VALUES ( s.`__hw_d_n`, CASE WHEN s.`__hw_d_c2` > 0 THEN s.`__hw_d_s1` END, CAST(RAISE_ERROR('HW4003: a group of the stream table holds fewer rows than are to be taken away') AS BIGINT), s.`__hw_d_s1`, s.`__hw_d_c2` )

---- query
SELECT g, COUNT(*) AS n, SUM(v) AS s FROM (SELECT COUNT(*) AS g, SUM(x) AS v FROM l) q GROUP BY g

-- stored as state, key g
SELECT `g`, `__hw_n` AS `n`, CASE WHEN `__hw_c2` > 0 THEN `__hw_s1` END AS `s`, `__hw_n`, `__hw_s1`, `__hw_c2`
FROM (
  SELECT `g`, COUNT(*) AS `__hw_n`, COALESCE(SUM(`v`), 0) AS `__hw_s1`, COUNT(CASE WHEN NOT ( `v` ) IS NULL THEN 1 END) AS `__hw_c2`
  FROM (
    SELECT COUNT(*) AS `g`, SUM(`x`) AS `v`
    FROM `__hw_src_0_new` ) AS t1
  GROUP BY `g` ) AS t2

-- changed: l mixed; apply: merge

-- __hw_stage_1
SELECT `g`, `__hw_d_n`, `__hw_d_s1`, `__hw_d_c2`
FROM (
  SELECT `g`, SUM(`__hw_w`) AS `__hw_d_n`, COALESCE(SUM(`__hw_w` * CAST(`v` AS BIGINT)), 0) AS `__hw_d_s1`, SUM(IF(NOT ( `v` ) IS NULL, `__hw_w`, CAST(0 AS BIGINT))) AS `__hw_d_c2`
  FROM (
    SELECT `g`, `v`, CAST(1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT COUNT(*) AS `g`, SUM(`x`) AS `v`
      FROM `__hw_src_0_new` ) AS t1
    UNION ALL
    SELECT `g`, `v`, CAST(-1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT COUNT(*) AS `g`, SUM(`x`) AS `v`
      FROM `__hw_src_0_old` ) AS t2 ) AS t3
  GROUP BY `g` ) AS t4
WHERE ( `__hw_d_n` <> 0 OR `__hw_d_s1` <> 0 OR `__hw_d_c2` <> 0 )

-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT `g`, `__hw_d_n`, `__hw_d_s1`, `__hw_d_c2`
FROM `__hw_stage_1` ) AS s
ON t.`g` IS NOT DISTINCT FROM s.`g` AND __HW_AMONG('__hw_stage_1', 'g', t.`g`)
WHEN MATCHED AND (t.`__hw_n` + s.`__hw_d_n` = 0) THEN DELETE
WHEN MATCHED THEN UPDATE SET `n` = t.`__hw_n` + s.`__hw_d_n`, `s` = CASE WHEN (t.`__hw_c2` + s.`__hw_d_c2`) > 0 THEN (t.`__hw_s1` + s.`__hw_d_s1`) END, `__hw_n` = IF(t.`__hw_n` + s.`__hw_d_n` >= 1, t.`__hw_n` + s.`__hw_d_n`, CAST(RAISE_ERROR('HW4003: a group of the stream table holds fewer rows than are to be taken away') AS BIGINT)), `__hw_s1` = t.`__hw_s1` + s.`__hw_d_s1`, `__hw_c2` = t.`__hw_c2` + s.`__hw_d_c2`
WHEN NOT MATCHED THEN INSERT (`g`, `n`, `s`, `__hw_n`, `__hw_s1`, `__hw_c2`)
VALUES ( s.`g`, s.`__hw_d_n`, CASE WHEN s.`__hw_d_c2` > 0 THEN s.`__hw_d_s1` END, IF(s.`__hw_d_n` >= 1, s.`__hw_d_n`, CAST(RAISE_ERROR('HW4003: a group of the stream table holds fewer rows than are to be taken away') AS BIGINT)), s.`__hw_d_s1`, s.`__hw_d_c2` )

---- query
SELECT g, COUNT(DISTINCT v) AS n FROM (SELECT COUNT(*) AS g, SUM(x) AS v FROM l) q GROUP BY g

-- stored as keyed, key g
SELECT `g`, COUNT(DISTINCT `v`) AS `n`
FROM (
  SELECT COUNT(*) AS `g`, SUM(`x`) AS `v`
  FROM `__hw_src_0_new` ) AS t1
GROUP BY `g`

-- changed: l mixed; apply: replace_keys

-- __hw_stage_1
SELECT DISTINCT
  `g` AS `__hw_f1`
FROM (
  SELECT `g`, `v`, SUM(`__hw_w`) AS `__hw_w`
  FROM (
    SELECT `g`, `v`, CAST(1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT COUNT(*) AS `g`, SUM(`x`) AS `v`
      FROM `__hw_src_0_new` ) AS t1
    UNION ALL
    SELECT `g`, `v`, CAST(-1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT COUNT(*) AS `g`, SUM(`x`) AS `v`
      FROM `__hw_src_0_old` ) AS t2 ) AS t3
  GROUP BY `g`, `v` ) AS t4
WHERE `__hw_w` <> 0

-- __hw_stage_2
SELECT `__hw_f1`, `g`, `n`, `__hw_here`
FROM (
  SELECT `__hw_f1`
  FROM `__hw_stage_1` ) AS t1
LEFT JOIN (
  SELECT `g`, `n`, TRUE AS `__hw_here`
  FROM (
    SELECT `g`, COUNT(DISTINCT `v`) AS `n`
    FROM (
      SELECT COUNT(*) AS `g`, SUM(`x`) AS `v`
      FROM `__hw_src_0_new` ) AS t2
    LEFT SEMI JOIN (
      SELECT `__hw_f1`
      FROM `__hw_stage_1` ) AS t3
      ON `g` IS NOT DISTINCT FROM `__hw_f1`
    GROUP BY `g` ) AS t4 ) AS t5
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
SELECT g, v, COUNT(*) OVER (PARTITION BY g) AS n FROM (SELECT COUNT(*) AS g, SUM(x) AS v FROM l) q

-- stored as replace, key __hw_id
SELECT `g`, `v`, `n`, CONCAT('__hw_run', ':', MONOTONICALLY_INCREASING_ID()) AS `__hw_id`
FROM (
  SELECT `g`, `v`, COUNT(*) OVER (PARTITION BY `g`) AS `n`
  FROM (
    SELECT COUNT(*) AS `g`, SUM(`x`) AS `v`
    FROM `__hw_src_0_new` ) AS t1 ) AS t2

-- changed: l mixed; apply: replace_keys

-- __hw_stage_1
SELECT DISTINCT
  `g` AS `__hw_f1`
FROM (
  SELECT `g`, `v`, SUM(`__hw_w`) AS `__hw_w`
  FROM (
    SELECT `g`, `v`, CAST(1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT COUNT(*) AS `g`, SUM(`x`) AS `v`
      FROM `__hw_src_0_new` ) AS t1
    UNION ALL
    SELECT `g`, `v`, CAST(-1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT COUNT(*) AS `g`, SUM(`x`) AS `v`
      FROM `__hw_src_0_old` ) AS t2 ) AS t3
  GROUP BY `g`, `v` ) AS t4
WHERE `__hw_w` <> 0

-- __hw_stage_2
SELECT `g`, `v`, `n`, `__hw_w`
FROM (
  SELECT `g`, `v`, `n`, SUM(`__hw_w`) AS `__hw_w`
  FROM (
    SELECT `g`, `v`, `n`, CAST(1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT `g`, `v`, COUNT(*) OVER (PARTITION BY `g`) AS `n`
      FROM (
        SELECT COUNT(*) AS `g`, SUM(`x`) AS `v`
        FROM `__hw_src_0_new` ) AS t1
      LEFT SEMI JOIN (
        SELECT `__hw_f1`
        FROM `__hw_stage_1` ) AS t2
        ON `g` IS NOT DISTINCT FROM `__hw_f1` ) AS t3
    UNION ALL
    SELECT `g`, `v`, `n`, CAST(-1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT `g`, `v`, `n`
      FROM `__hw_target`
      WHERE __HW_AMONG('__hw_stage_1', '__hw_f1', `g`) ) AS t4
    LEFT SEMI JOIN (
      SELECT `__hw_f1`
      FROM `__hw_stage_1` ) AS t5
      ON `g` IS NOT DISTINCT FROM `__hw_f1` ) AS t6
  GROUP BY `g`, `v`, `n` ) AS t7
WHERE `__hw_w` <> 0

-- __hw_stage_3
SELECT IF( `__hw_copies` >= -`__hw_w`, `__hw_stored_id`, CAST(RAISE_ERROR('HW4003: the stream table lacks a row that is to be deleted') AS STRING) ) AS `__hw_id`, CAST(NULL AS BIGINT) AS `g`, CAST(NULL AS BIGINT) AS `v`, CAST(NULL AS BIGINT) AS `n`
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
