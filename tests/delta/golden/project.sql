-- query
SELECT x + 1 AS y, k FROM l

-- stored as rows with ids, inserted and deleted one by one
SELECT
  `y`,
  `k`,
  CONCAT('__hw_run', ':', MONOTONICALLY_INCREASING_ID()) AS `__hw_id`
FROM (
  SELECT
    `x` + 1 AS `y`,
    `k`
  FROM `__hw_src_0_new`
) AS t1

-- append changes: append
-- statement
INSERT INTO `__hw_target` (`y`, `k`, `__hw_id`)
SELECT
  `y`,
  `k`,
  CONCAT('__hw_run', ':', MONOTONICALLY_INCREASING_ID()) AS `__hw_id`
FROM (
  SELECT
    `x` + 1 AS `y`,
    `k`,
    `__hw_w`
  FROM `__hw_src_0_delta`
) AS t1

-- mixed changes: bag
-- __hw_stage_1
SELECT
  `y`,
  `k`,
  `__hw_w`
FROM (
  SELECT
    `y`,
    `k`,
    SUM(`__hw_w`) AS `__hw_w`
  FROM (
    SELECT
      `x` + 1 AS `y`,
      `k`,
      `__hw_w`
    FROM `__hw_src_0_delta`
  ) AS t1
  GROUP BY
    `y`,
    `k`
) AS t2
WHERE
  `__hw_w` <> 0
-- __hw_stage_2
SELECT
  IF(
    `__hw_copies` >= -`__hw_w`,
    `__hw_stored_id`,
    CAST(RAISE_ERROR('HW4003: the stream table lacks a row that is to be deleted') AS STRING)
  ) AS `__hw_id`,
  CAST(NULL AS INT) AS `y`,
  CAST(NULL AS INT) AS `k`
FROM (
  SELECT
    `y`,
    `k`,
    `__hw_w`,
    `__hw_t1`,
    `__hw_t2`,
    `__hw_stored_id`,
    ROW_NUMBER() OVER (PARTITION BY `y`, `k` ORDER BY `__hw_stored_id` NULLS LAST) AS `__hw_rank`,
    COUNT(`__hw_stored_id`) OVER (PARTITION BY `y`, `k`) AS `__hw_copies`
  FROM (
    SELECT
      `y`,
      `k`,
      `__hw_w`
    FROM `__hw_stage_1`
    WHERE
      `__hw_w` < 0
  ) AS t1
  LEFT JOIN (
    SELECT
      `y` AS `__hw_t1`,
      `k` AS `__hw_t2`,
      `__hw_id` AS `__hw_stored_id`
    FROM `__hw_target`
  ) AS t2
    ON `y` IS NOT DISTINCT FROM `__hw_t1` AND `k` IS NOT DISTINCT FROM `__hw_t2`
) AS t3
WHERE
  `__hw_rank` <= -`__hw_w`
UNION ALL
SELECT
  `__hw_id`,
  `y`,
  `k`
FROM (
  SELECT
    `y`,
    `k`,
    CONCAT('__hw_run', ':', HEX(`__hw_hash`), ':', `__hw_number`) AS `__hw_id`
  FROM (
    SELECT
      `y`,
      `k`,
      `__hw_hash`,
      ROW_NUMBER() OVER (PARTITION BY `__hw_hash` ORDER BY `y` NULLS LAST, `k` NULLS LAST) AS `__hw_number`
    FROM (
      SELECT
        `y`,
        `k`,
        XXHASH64(`y`, `y` IS NULL, `k`, `k` IS NULL) AS `__hw_hash`
      FROM (
        SELECT
          `y`,
          `k`,
          `__hw_w`
        FROM `__hw_stage_1`
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
  `y`,
  `k`
FROM `__hw_stage_2`
) AS s
ON t.`__hw_id` IS NOT DISTINCT FROM s.`__hw_id`
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED THEN INSERT (`y`, `k`, `__hw_id`)
VALUES (
  s.`y`,
  s.`k`,
  s.`__hw_id`
)
