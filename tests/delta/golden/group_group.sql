-- query
SELECT s, COUNT(*) AS n FROM (SELECT k, SUM(x) AS s FROM l GROUP BY k) q GROUP BY s

-- stored as one row per group, with hidden state that changes are added to
SELECT
  `s`,
  `__hw_n` AS `n`,
  `__hw_n`
FROM (
  SELECT
    `s`,
    COUNT(*) AS `__hw_n`
  FROM (
    SELECT
      `k`,
      SUM(`x`) AS `s`
    FROM `__hw_src_0_new`
    GROUP BY
      `k`
  ) AS t1
  GROUP BY
    `s`
) AS t2

-- append changes: merge
-- __hw_stage_1
SELECT DISTINCT
  `k` AS `__hw_f1`
FROM `__hw_src_0_delta`
-- __hw_stage_2
SELECT
  `s`,
  `__hw_d_n`
FROM (
  SELECT
    `s`,
    SUM(`__hw_w`) AS `__hw_d_n`
  FROM (
    SELECT
      `k`,
      `s`,
      CAST(1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT
        `k`,
        SUM(`x`) AS `s`
      FROM (
        SELECT
          `k`,
          `x`
        FROM `__hw_src_0_new`
      ) AS t1
      LEFT SEMI JOIN (
        SELECT
          `__hw_f1`
        FROM `__hw_stage_1`
      ) AS t2
        ON `k` IS NOT DISTINCT FROM `__hw_f1`
      GROUP BY
        `k`
    ) AS t3
    UNION ALL
    SELECT
      `k`,
      `s`,
      CAST(-1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT
        `k`,
        SUM(`x`) AS `s`
      FROM (
        SELECT
          `k`,
          `x`
        FROM `__hw_src_0_old`
      ) AS t4
      LEFT SEMI JOIN (
        SELECT
          `__hw_f1`
        FROM `__hw_stage_1`
      ) AS t5
        ON `k` IS NOT DISTINCT FROM `__hw_f1`
      GROUP BY
        `k`
    ) AS t6
  ) AS t7
  GROUP BY
    `s`
) AS t8
WHERE
  `__hw_d_n` <> 0
-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT
  `s`,
  `__hw_d_n`
FROM `__hw_stage_2`
) AS s
ON t.`s` IS NOT DISTINCT FROM s.`s`
WHEN MATCHED AND (t.`__hw_n` + s.`__hw_d_n` = 0) THEN DELETE
WHEN MATCHED THEN UPDATE SET
  `n` = t.`__hw_n` + s.`__hw_d_n`,
  `__hw_n` = IF(t.`__hw_n` + s.`__hw_d_n` >= 1, t.`__hw_n` + s.`__hw_d_n`, CAST(RAISE_ERROR('HW4003: a group of the stream table holds fewer rows than are to be taken away') AS BIGINT))
WHEN NOT MATCHED THEN INSERT (`s`, `n`, `__hw_n`)
VALUES (
  s.`s`,
  s.`__hw_d_n`,
  IF(s.`__hw_d_n` >= 1, s.`__hw_d_n`, CAST(RAISE_ERROR('HW4003: a group of the stream table holds fewer rows than are to be taken away') AS BIGINT))
)

-- mixed changes: merge
-- __hw_stage_1
SELECT DISTINCT
  `k` AS `__hw_f1`
FROM `__hw_src_0_delta`
-- __hw_stage_2
SELECT
  `s`,
  `__hw_d_n`
FROM (
  SELECT
    `s`,
    SUM(`__hw_w`) AS `__hw_d_n`
  FROM (
    SELECT
      `k`,
      `s`,
      CAST(1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT
        `k`,
        SUM(`x`) AS `s`
      FROM (
        SELECT
          `k`,
          `x`
        FROM `__hw_src_0_new`
      ) AS t1
      LEFT SEMI JOIN (
        SELECT
          `__hw_f1`
        FROM `__hw_stage_1`
      ) AS t2
        ON `k` IS NOT DISTINCT FROM `__hw_f1`
      GROUP BY
        `k`
    ) AS t3
    UNION ALL
    SELECT
      `k`,
      `s`,
      CAST(-1 AS BIGINT) AS `__hw_w`
    FROM (
      SELECT
        `k`,
        SUM(`x`) AS `s`
      FROM (
        SELECT
          `k`,
          `x`
        FROM `__hw_src_0_old`
      ) AS t4
      LEFT SEMI JOIN (
        SELECT
          `__hw_f1`
        FROM `__hw_stage_1`
      ) AS t5
        ON `k` IS NOT DISTINCT FROM `__hw_f1`
      GROUP BY
        `k`
    ) AS t6
  ) AS t7
  GROUP BY
    `s`
) AS t8
WHERE
  `__hw_d_n` <> 0
-- statement
MERGE INTO `__hw_target` AS t
USING (
SELECT
  `s`,
  `__hw_d_n`
FROM `__hw_stage_2`
) AS s
ON t.`s` IS NOT DISTINCT FROM s.`s`
WHEN MATCHED AND (t.`__hw_n` + s.`__hw_d_n` = 0) THEN DELETE
WHEN MATCHED THEN UPDATE SET
  `n` = t.`__hw_n` + s.`__hw_d_n`,
  `__hw_n` = IF(t.`__hw_n` + s.`__hw_d_n` >= 1, t.`__hw_n` + s.`__hw_d_n`, CAST(RAISE_ERROR('HW4003: a group of the stream table holds fewer rows than are to be taken away') AS BIGINT))
WHEN NOT MATCHED THEN INSERT (`s`, `n`, `__hw_n`)
VALUES (
  s.`s`,
  s.`__hw_d_n`,
  IF(s.`__hw_d_n` >= 1, s.`__hw_d_n`, CAST(RAISE_ERROR('HW4003: a group of the stream table holds fewer rows than are to be taken away') AS BIGINT))
)
