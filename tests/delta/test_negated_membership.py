"""NOT over IN whose value is unknown: Spark reads NOT IN where its optimizer brings both together.

Where it does not, an unknown IN is false and its negation true.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from delta_harness import World
from test_on_spark import check

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

FLAGGED = "(SELECT id, k, x, k IN (SELECT k FROM r) AS i FROM l)"
SOME = "(SELECT id, k IN (SELECT k FROM r) AS i FROM l WHERE id < 4)"

COMMON = {
    "of_and": "SELECT id FROM l WHERE NOT (k IN (SELECT k FROM r) AND x = 1)",
    "of_comparison": "SELECT id, NOT ((k IN (SELECT k FROM r)) = FALSE) AS n FROM l",
    "filtered": f"SELECT id, i FROM {FLAGGED} WHERE NOT i",
    "projected": f"SELECT id, NOT i AS n FROM {FLAGGED}",
    "projected_beside_itself": f"SELECT id, i, NOT i AS n FROM {FLAGGED}",
    "having": f"SELECT k, COUNT(*) AS n FROM {FLAGGED} GROUP BY k, i HAVING NOT i",
    "key": f"SELECT NOT i AS g, COUNT(*) AS n FROM {FLAGGED} GROUP BY NOT i",
    "argument": f"SELECT x, SUM(CASE WHEN NOT i THEN 1 ELSE 0 END) AS n FROM {FLAGGED} GROUP BY x",
    "outer_joined": f"SELECT l.id, a.id AS o FROM l LEFT JOIN {SOME} a ON a.id = l.id "
    "WHERE NOT a.i",
    "counted": f"SELECT x, COUNT_IF(i) AS a, COUNT_IF(NOT i) AS n FROM {FLAGGED} GROUP BY x",
    "guarded": f"SELECT id FROM (SELECT * FROM {FLAGGED} WHERE id > 1) "
    "WHERE NOT (i AND 1 DIV (id - 1) = 1)",
    "of_union": f"SELECT * FROM (SELECT id, i FROM {FLAGGED} UNION ALL SELECT id, x = 1 FROM l) "
    "WHERE NOT i",
}
RARE = {
    "counted_alone": f"SELECT x, COUNT_IF(NOT i) AS n FROM {FLAGGED} GROUP BY x",
    "equal_to_false": "SELECT id FROM l WHERE (k IN (SELECT k FROM r)) = FALSE",
    "where_of_comparison": "SELECT id FROM l WHERE NOT ((k IN (SELECT k FROM r)) = FALSE)",
    "computed_twice": f"SELECT id, NOT i AS n, y, y + 1 AS z FROM "
    f"(SELECT id, x * 2 AS y, i FROM {FLAGGED})",
    "computed_once": f"SELECT id, NOT i AS n, y FROM (SELECT id, x * 2 AS y, i FROM {FLAGGED})",
    "in_case": f"SELECT id, CASE WHEN NOT (i AND x = 1) THEN 1 ELSE 2 END AS c FROM {FLAGGED}",
    "of_or": f"SELECT id, NOT (i OR x = 1) AS n FROM {FLAGGED}",
    "of_not": f"SELECT id, NOT n AS m FROM (SELECT id, NOT i AS n FROM {FLAGGED})",
    "of_not_in": "SELECT id, NOT n AS m FROM (SELECT id, k NOT IN (SELECT k FROM r) AS n FROM l)",
    "compared": f"SELECT id, i = FALSE AS n FROM {FLAGGED}",
    "if": f"SELECT id, if(i, false, true) AS n FROM {FLAGGED}",
    "is_not_true": f"SELECT id, i IS NOT TRUE AS n, i IS FALSE AS f FROM {FLAGGED}",
    "where_is_not_true": f"SELECT id FROM {FLAGGED} WHERE i IS NOT TRUE",
    "beside_another": f"SELECT id, NOT i AS n, x IN (SELECT k FROM r) AS j FROM {FLAGGED}",
    "above_a_filter": f"SELECT id, NOT i AS n FROM (SELECT * FROM {FLAGGED} WHERE x = 1)",
    "group": f"SELECT i, COUNT(*) AS n FROM {FLAGGED} GROUP BY i HAVING NOT i",
    "group_from_outside": f"SELECT * FROM (SELECT i, COUNT(*) AS n FROM {FLAGGED} GROUP BY i) "
    "WHERE NOT i",
    "whole_sum": f"SELECT SUM(CASE WHEN NOT i THEN 1 ELSE 0 END) AS n FROM {FLAGGED}",
    "aggregate_filter": f"SELECT x, COUNT(*) FILTER (WHERE NOT i) AS n FROM {FLAGGED} GROUP BY x",
    "of_aggregate": f"SELECT id, NOT MAX(i) AS n FROM {FLAGGED} GROUP BY id",
    "of_key": f"SELECT id, NOT i AS n FROM (SELECT id, i FROM {FLAGGED} GROUP BY id, i)",
    "distinct": f"SELECT * FROM (SELECT DISTINCT id, i FROM {FLAGGED}) WHERE NOT i",
    "joined": f"SELECT a.id, l.id AS o FROM {FLAGGED} a JOIN l ON a.id = l.id WHERE NOT a.i",
    "condition": f"SELECT a.id, l.id AS o FROM {FLAGGED} a JOIN l ON a.id = l.id AND NOT a.i",
    "outer_condition": f"SELECT l.id, a.id AS o FROM l LEFT JOIN {FLAGGED} a "
    "ON a.id = l.id AND NOT a.i",
    "right_condition": f"SELECT l.id, a.id AS o FROM {SOME} a RIGHT JOIN l "
    "ON a.id = l.id + 1 AND a.i = FALSE",
    "full_joined": f"SELECT l.id, a.id AS o FROM l FULL JOIN {SOME} a ON a.id = l.id + 1 "
    "WHERE NOT a.i",
    "above_a_join": f"SELECT a.id, NOT a.i AS n, l.x FROM {FLAGGED} a JOIN l ON a.id = l.id",
    "above_a_union": f"SELECT id, NOT i AS n FROM "
    f"(SELECT id, i FROM {FLAGGED} UNION ALL SELECT id, x = 1 FROM l)",
    "window": f"SELECT id, ROW_NUMBER() OVER (PARTITION BY i ORDER BY id) AS n FROM {FLAGGED} "
    "WHERE NOT i",
    "above_a_window": "SELECT * FROM (SELECT id, i, ROW_NUMBER() OVER (PARTITION BY i ORDER BY id) "
    f"AS n FROM {FLAGGED}) WHERE NOT i",
    "in_a_window": "SELECT id, SUM(CASE WHEN NOT i THEN 1 ELSE 0 END) OVER (PARTITION BY x) AS n "
    f"FROM {FLAGGED}",
    "first_rows": f"SELECT id, NOT i AS n FROM {FLAGGED} ORDER BY id LIMIT 3",
    "of_exists": f"WITH c AS (SELECT id, i FROM {FLAGGED}) SELECT a.id, NOT a.i AS n FROM c a "
    "WHERE NOT EXISTS (SELECT 1 FROM c b WHERE b.id = a.id + 1 AND NOT b.i)",
    "in_a_subquery": f"SELECT id FROM l WHERE id IN (SELECT id FROM {FLAGGED} WHERE NOT i)",
}


@pytest.mark.parametrize("name", COMMON)
def test_common(spark: SparkSession, name: str) -> None:
    both_ways(spark, COMMON[name])


@pytest.mark.long
@pytest.mark.parametrize("name", RARE)
def test_rare(spark: SparkSession, name: str) -> None:
    both_ways(spark, RARE[name])


def both_ways(spark: SparkSession, query: str) -> None:
    """The subquery gets its first row; it loses its last one."""
    schemas = {"l": "id int, k int, x int", "r": "k int"}
    left = [(1, None, None), (2, None, 1), (3, 5, 1), (4, 6, None)]
    full, empty = {"l": left, "r": [(5,)]}, {"l": left, "r": []}
    check(spark, query, World(schemas, empty, full))
    check(spark, query, World(schemas, full, empty))
