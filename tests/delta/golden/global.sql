-- query
SELECT COUNT(*) AS c, SUM(x) AS s FROM l

-- stored as one row per group, with hidden state that changes are added to
SELECT
  `__hw_n` AS `c`,
  CASE WHEN `__hw_c2` > 0 THEN `__hw_s1` END AS `s`,
  `__hw_n`,
  `__hw_s1`,
  `__hw_c2`
FROM (
  SELECT
    COUNT(*) AS `__hw_n`,
    COALESCE(SUM(`x`), 0) AS `__hw_s1`,
    COUNT(CASE WHEN NOT (
      `x`
    ) IS NULL THEN 1 END) AS `__hw_c2`
  FROM `__hw_src_0_new`
) AS t1

-- append changes: merge
-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT
  `__hw_d_n`,
  `__hw_d_s1`,
  `__hw_d_c2`
FROM (
  SELECT
    SUM(`__hw_w`) AS `__hw_d_n`,
    COALESCE(SUM(`__hw_w` * CAST(`x` AS BIGINT)), 0) AS `__hw_d_s1`,
    SUM(IF(NOT (
      `x`
    ) IS NULL, `__hw_w`, CAST(0 AS BIGINT))) AS `__hw_d_c2`
  FROM `__hw_src_0_delta`
) AS t1
WHERE
  (
    `__hw_d_n` <> 0 OR `__hw_d_s1` <> 0 OR `__hw_d_c2` <> 0
  )
) AS s
ON TRUE
WHEN MATCHED THEN UPDATE SET
  `c` = t.`__hw_n` + s.`__hw_d_n`,
  `s` = CASE WHEN (t.`__hw_c2` + s.`__hw_d_c2`) > 0 THEN (t.`__hw_s1` + s.`__hw_d_s1`) END,
  `__hw_n` = t.`__hw_n` + s.`__hw_d_n`,
  `__hw_s1` = t.`__hw_s1` + s.`__hw_d_s1`,
  `__hw_c2` = t.`__hw_c2` + s.`__hw_d_c2`
WHEN NOT MATCHED THEN INSERT (`c`, `s`, `__hw_n`, `__hw_s1`, `__hw_c2`)
VALUES (
  s.`__hw_d_n`,
  CASE WHEN s.`__hw_d_c2` > 0 THEN s.`__hw_d_s1` END,
  CAST(RAISE_ERROR('HW4003: a group of the stream table holds fewer rows than are to be taken away') AS BIGINT),
  s.`__hw_d_s1`,
  s.`__hw_d_c2`
)

-- mixed changes: merge
-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT
  `__hw_d_n`,
  `__hw_d_s1`,
  `__hw_d_c2`
FROM (
  SELECT
    SUM(`__hw_w`) AS `__hw_d_n`,
    COALESCE(SUM(`__hw_w` * CAST(`x` AS BIGINT)), 0) AS `__hw_d_s1`,
    SUM(IF(NOT (
      `x`
    ) IS NULL, `__hw_w`, CAST(0 AS BIGINT))) AS `__hw_d_c2`
  FROM `__hw_src_0_delta`
) AS t1
WHERE
  (
    `__hw_d_n` <> 0 OR `__hw_d_s1` <> 0 OR `__hw_d_c2` <> 0
  )
) AS s
ON TRUE
WHEN MATCHED THEN UPDATE SET
  `c` = t.`__hw_n` + s.`__hw_d_n`,
  `s` = CASE WHEN (t.`__hw_c2` + s.`__hw_d_c2`) > 0 THEN (t.`__hw_s1` + s.`__hw_d_s1`) END,
  `__hw_n` = IF(t.`__hw_n` + s.`__hw_d_n` >= 0, t.`__hw_n` + s.`__hw_d_n`, CAST(RAISE_ERROR('HW4003: a group of the stream table holds fewer rows than are to be taken away') AS BIGINT)),
  `__hw_s1` = t.`__hw_s1` + s.`__hw_d_s1`,
  `__hw_c2` = t.`__hw_c2` + s.`__hw_d_c2`
WHEN NOT MATCHED THEN INSERT (`c`, `s`, `__hw_n`, `__hw_s1`, `__hw_c2`)
VALUES (
  s.`__hw_d_n`,
  CASE WHEN s.`__hw_d_c2` > 0 THEN s.`__hw_d_s1` END,
  CAST(RAISE_ERROR('HW4003: a group of the stream table holds fewer rows than are to be taken away') AS BIGINT),
  s.`__hw_d_s1`,
  s.`__hw_d_c2`
)
