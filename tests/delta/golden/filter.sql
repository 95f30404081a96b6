-- query
SELECT k, x FROM l WHERE x > 1

-- stored as rows with ids, inserted and deleted one by one
SELECT
  `k`,
  `x`,
  CONCAT('__hw_run', ':', MONOTONICALLY_INCREASING_ID()) AS `__hw_id`
FROM `__hw_src_0_new`
WHERE
  `x` > 1

-- append changes: append
-- statement
INSERT INTO `__hw_target` (`k`, `x`, `__hw_id`)
SELECT
  `k`,
  `x`,
  CONCAT('__hw_run', ':', MONOTONICALLY_INCREASING_ID()) AS `__hw_id`
FROM `__hw_src_0_delta`
WHERE
  `x` > 1

-- mixed changes: bag
-- __hw_stage_1
SELECT
  `k`,
  `x`,
  `__hw_w`
FROM (
  SELECT
    `k`,
    `x`,
    SUM(`__hw_w`) AS `__hw_w`
  FROM `__hw_src_0_delta`
  WHERE
    `x` > 1
  GROUP BY
    `k`,
    `x`
) AS t1
WHERE
  `__hw_w` <> 0
-- __hw_stage_2
SELECT
  IF(
    `__hw_copies` >= -`__hw_w`,
    `__hw_stored_id`,
    CAST(RAISE_ERROR('HW4003: the stream table lacks a row that is to be deleted') AS STRING)
  ) AS `__hw_id`,
  CAST(NULL AS INT) AS `k`,
  CAST(NULL AS INT) AS `x`
FROM (
  SELECT
    `k`,
    `x`,
    `__hw_w`,
    `__hw_t1`,
    `__hw_t2`,
    `__hw_stored_id`,
    ROW_NUMBER() OVER (PARTITION BY `k`, `x` ORDER BY `__hw_stored_id` NULLS LAST) AS `__hw_rank`,
    COUNT(`__hw_stored_id`) OVER (PARTITION BY `k`, `x`) AS `__hw_copies`
  FROM (
    SELECT
      `k`,
      `x`,
      `__hw_w`
    FROM `__hw_stage_1`
    WHERE
      `__hw_w` < 0
  ) AS t1
  LEFT JOIN (
    SELECT
      `k` AS `__hw_t1`,
      `x` AS `__hw_t2`,
      `__hw_id` AS `__hw_stored_id`
    FROM `__hw_target`
  ) AS t2
    ON `k` IS NOT DISTINCT FROM `__hw_t1` AND `x` IS NOT DISTINCT FROM `__hw_t2`
) AS t3
WHERE
  `__hw_rank` <= -`__hw_w`
UNION ALL
SELECT
  `__hw_id`,
  `k`,
  `x`
FROM (
  SELECT
    `k`,
    `x`,
    CONCAT('__hw_run', ':', HEX(`__hw_hash`), ':', `__hw_number`) AS `__hw_id`
  FROM (
    SELECT
      `k`,
      `x`,
      `__hw_hash`,
      ROW_NUMBER() OVER (PARTITION BY `__hw_hash` ORDER BY `k` NULLS LAST, `x` NULLS LAST) AS `__hw_number`
    FROM (
      SELECT
        `k`,
        `x`,
        XXHASH64(`k`, `k` IS NULL, `x`, `x` IS NULL) AS `__hw_hash`
      FROM (
        SELECT
          `k`,
          `x`,
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
  `k`,
  `x`
FROM `__hw_stage_2`
) AS s
ON t.`__hw_id` IS NOT DISTINCT FROM s.`__hw_id`
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED THEN INSERT (`k`, `x`, `__hw_id`)
VALUES (
  s.`k`,
  s.`x`,
  s.`__hw_id`
)
